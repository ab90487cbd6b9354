"""The page about an activation: what it says, and what it does in a browser."""

from __future__ import annotations

import math
import re
from functools import cache

import numpy as np
import pytest

from holokern import Network, activation, dual
from holokern.network import edge_of_chaos
from holokern.report import method_times as timing
from holokern.report.activation_page import page_about
from holokern.report.algebra_section import algebra_section, closed_form_section
from holokern.report.formula import Typesetter
from holokern.report.method_times import method_times

SLIDERS = {"c1": ("plot-k", "plot-kdot"), "c2": ("plot-k", "plot-kdot"), "depth": ("plot-circle", "plot-length")}


@cache
def page(*names: str) -> str:
    """A page, made once: that of ELU has large matrices and Φ₂ in its closed form, that of the step no NTK."""
    return page_about(*names, timings=False).html


@pytest.fixture(scope="module")
def pages(chromium, tmp_path_factory):
    """Files for a browser."""
    folder = tmp_path_factory.mktemp("pages")
    for names in (("elu",), ("step",), ("relu", "erf")):
        (folder / f"{'-'.join(names)}.html").write_text(page(*names), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["erf", "step", pytest.param("elu", marks=pytest.mark.slow)])
def test_the_page_is_one_file_with_every_part(name: str) -> None:
    text = page(name)
    assert "://" not in text
    assert len(text) < 400_000
    # the line of Python can be run: the step has no NTK
    assert f".{'nngp' if name == 'step' else 'ntk'}(X)" in text
    for anchor in ("algebra", "dual", "spectrum", "network"):
        assert f'<section id="{anchor}">' in text
    assert not re.search(r"\b(NaN|Infinity)\b", text.split('id="data">')[1].split("</script>")[0])


def test_a_jump_has_no_ntk_and_no_edge() -> None:
    assert "the NTK does not exist" in page("step")
    assert "there is no edge" in page("step")
    assert "the NTK does not exist" not in page("erf")


def test_activations_without_algebra_or_closed_form_say_why() -> None:
    typesetter = Typesetter()
    assert "infinitely many complex poles" in algebra_section(activation("tanh"), typesetter)
    assert "no closed form" in closed_form_section(activation("tanh"), typesetter)
    assert "no closed form" in closed_form_section(activation("resin"), typesetter)
    assert "The 15 equations of rank 5" in algebra_section(activation("resin"), typesetter)


def test_the_step_function_is_explained_where_it_is_used() -> None:
    assert "H is the Heaviside step function" in page("step")
    assert "H is the Heaviside step function" not in page("erf")


def test_the_critical_point_is_the_true_one() -> None:
    from holokern.report.activation_page import _edge_text
    from holokern.report.subject import Subject

    text = _edge_text(Subject.of(activation("gelu")), alone=True)
    assert "= 1.40821, " in text
    assert "= 0.415839; the fixed point is c = 1.8872." in text


def test_text_is_escaped() -> None:
    assert "<h1>The activation Piecewise((u, u &gt; 0)" in page("Piecewise((u, u > 0), (0, u <= 0))")


def test_methods_are_timed_or_say_why_not(monkeypatch) -> None:
    monkeypatch.setattr(timing, "_METHODS", ("closed", "quadrature"))
    table = method_times(activation("tanh"), patience=60)
    (closed, quadrature) = table.rows
    assert closed[1] is None
    assert "not holonomic" in str(closed[4])
    assert quadrature[1] > 0
    assert quadrature[2] > 0
    assert quadrature[3] < 1e-12


def test_a_reason_that_methods_share_is_written_once(monkeypatch) -> None:
    monkeypatch.setattr(timing, "_METHODS", ("closed", "hgm", "taylor"))
    reason = "it is not holonomic, so that there is no system to solve"
    found = dict.fromkeys(("hgm", "taylor"), (None, None, None, reason)) | {"closed": (1.0, 1.0, 0.0, None)}
    monkeypatch.setattr(timing, "_measure", lambda *_: found)
    assert [row[-1] for row in method_times(activation("relu")).rows] == [None, reason, "as for hgm"]


def test_a_method_that_takes_too_long_is_stopped(monkeypatch) -> None:
    monkeypatch.setattr(timing, "_METHODS", ("closed", "hgm"))
    monkeypatch.setattr(timing, "_WORKER", "import time; print(0, flush=True); time.sleep(60)")
    table = method_times(activation("relu"), patience=0.2)
    assert [row[-1] for row in table.rows] == ["stopped after 0.2 s"] * 2


def test_a_process_that_dies_leaves_a_remark(monkeypatch) -> None:
    monkeypatch.setattr(timing, "_METHODS", ("closed",))
    monkeypatch.setattr(timing, "_WORKER", "raise SystemExit(1)")
    ((_, *numbers, remark),) = method_times(activation("relu"), patience=5).rows
    assert numbers == [None] * 3
    assert remark == "its process ended without a result"


# -- in Chromium -----------------------------------------------------------------------------------------------------


# anything that sticks out of the page or of its own box
OVERFLOW = """[...document.querySelectorAll("body *")].filter((e) => !e.closest("svg, .scroll") || e.matches(".tex"))
  .filter((e) => { const box = e.getBoundingClientRect();
    return box.width && (box.right > WIDTH + 1 || box.left < -1); })
  .map((e) => e.tagName + "." + e.className.baseVal + e.className)"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_legible_and_quiet(pages, chromium, legibility_problems, width: int, dark: bool) -> None:
    for name in ("elu", "step", "relu-erf"):
        path = pages / f"{name}.html"
        tab = chromium.open(path, width, dark)
        assert tab.complaints == []
        assert tab.requests == [path.resolve().as_uri()]
        tab.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert legibility_problems(tab) == []
        assert tab.run(OVERFLOW.replace("WIDTH", str(width))) == []
        assert tab.run("document.documentElement.scrollWidth") == width
        background = tab.run("getComputedStyle(document.body).backgroundColor")
        assert (max(map(int, re.findall(r"\d+", background))) < 64) is dark
        # every chart is there, inside its column
        assert tab.run("document.querySelectorAll('.plot svg').length") == len(
            re.findall('class="plot"', path.read_text(encoding="utf-8"))
        )
        tab.close()


def test_sliders_redraw_the_curves(pages, chromium) -> None:
    tab = chromium.open(pages / "elu.html")

    def curves(chart: str) -> list[str]:
        found = tab.run(f"[...document.querySelectorAll('#{chart} path.curve')].map((p) => p.getAttribute('d'))")
        assert found
        assert all(len(path) > 30 and "NaN" not in path for path in found)
        return found

    for slider, charts in SLIDERS.items():
        before = [curves(chart) for chart in charts]
        shown = tab.run(f"document.getElementById('{slider}-value').textContent")
        tab.run(f"(() => {{ const s = document.getElementById('{slider}'); s.value = s.max; "
                "s.dispatchEvent(new Event('input')); })()")  # fmt: skip
        assert tab.run(f"document.getElementById('{slider}-value').textContent") != shown
        for chart, old in zip(charts, before, strict=True):
            assert curves(chart) != old
    # the pointer shows the values under it
    reading = tab.run("""(() => {
      const chart = document.querySelector('#plot-k svg'), box = chart.getBoundingClientRect();
      chart.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + box.width / 2 }));
      return [...chart.querySelectorAll('.reading tspan')].map((row) => row.textContent);
    })()""")
    assert re.fullmatch(r"r = [−0-9.]+", reading[0])
    assert re.fullmatch(r"k: [−0-9.]+", reading[1])
    # the buttons hold what they copy
    assert tab.run("document.querySelectorAll('.formula > button.copy').length") == tab.run(
        "document.querySelectorAll('.formula').length"
    )
    tab.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    tab.run("document.querySelector('.formula > button.copy').click()")
    assert tab.run("window.copied").startswith(r"\sigma(u) = ")
    tab.run("document.querySelector('pre.python > button.copy').click()")
    assert tab.run("window.copied").startswith("import holokern as hk\na = hk.activation('elu'")
    assert tab.complaints == []
    tab.close()


def test_two_activations_share_the_charts(pages, chromium) -> None:
    tab = chromium.open(pages / "relu-erf.html")
    for chart, count in (("plot-k", 2), ("plot-kdot", 2), ("plot-sigma", 4), ("plot-circle", 4), ("plot-gauss", 4)):
        assert tab.run(f"document.querySelectorAll('#{chart} path.curve').length") == count
        keys = tab.run(f"[...document.querySelectorAll('#{chart} .key')].map((key) => key.textContent)")
        assert {key.split(",")[0] for key in keys} == {"relu", "erf"}
    assert tab.run("holokern.models.map((one) => one.name)") == ["relu", "erf"]
    # both keep c = 1 at their usual weights
    assert tab.run("document.getElementById('edge-reading').textContent").count("fixed point c = 1") == 2
    assert tab.complaints == []
    tab.close()


def test_the_browser_computes_what_holokern_computes(pages, chromium) -> None:
    tab = chromium.open(pages / "elu.html")
    thetas = [0.1, 0.9, 1.6, 2.8]
    found = tab.run(f"holokern.curves(0.7, 2.3, {thetas})")
    truth = dual("elu", 0.7, 2.3, theta=thetas)
    assert found["k"] == pytest.approx(truth.k, rel=1e-4)
    assert found["kdot"] == pytest.approx(truth.kdot, rel=1e-4)

    angles = [0.0, 0.3, 1.0, 2.0, math.pi]
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # the page starts from Σ⁰ = cos φ + σ_b², and so does a network on the circle of radius (2/w)^(1/2)
    weight, bias, depth = 1.7, 0.4, 4
    (*_, last) = tab.run(f"holokern.network({weight}, {bias}, {depth}, {angles})")
    net = Network("elu", depth, bias=bias, weight_variance=weight)
    scaled = points * math.sqrt(2 / weight)
    assert last["sigma"] == pytest.approx(net.nngp(scaled[:1], scaled)[0], rel=1e-3)
    assert last["tangent"] == pytest.approx(net.ntk(scaled[:1], scaled)[0], rel=1e-3)

    (part,) = edge_of_chaos("elu", 0.125, 8.0)
    fixed = tab.run(f"holokern.fixedPoint({part.weight[250] ** 2}, {part.bias[250]})")
    assert fixed["chi"] == pytest.approx(1, abs=1e-3)
    assert fixed["c"] == pytest.approx(np.geomspace(0.125, 8.0, 400)[250], rel=1e-3)
    tab.close()
