"""Charts as SVG and PNG: the same every time, no addresses, names that do not clash, every label there."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from holokern.paper.results import Chart, Series
from holokern.report.figures import chart_png, chart_svg, inline_svg

CURVES = (
    Series("first & <last>", (1.0, 10.0, 100.0), (1e-3, 1e-9, 1e-15), "both"),
    Series("points", (1.0, 100.0), (1e-1, 1e-2), "points"),
    Series("expected", (1.0, 100.0), (1.0, 1e-1), "reference"),
)
LOGARITHMIC = Chart("errors", "Errors", "size", "error", CURVES, log="xy")
NAMED = Chart("times", "Times", "activation", "s", (Series("", (0.0, 1.0), (2.0, 3.0)),), names=("ReLU", "GELU"))


@pytest.mark.parametrize("chart", [LOGARITHMIC, NAMED])
def test_files_are_whole_and_the_same_every_time(chart: Chart) -> None:
    svg, png = chart_svg(chart), chart_png(chart)
    ET.fromstring(svg)
    assert (svg, png) == (chart_svg(chart), chart_png(chart))
    assert png.startswith(b"\x89PNG")
    assert png[-8:-4] == b"IEND"


@pytest.mark.parametrize("chart", [LOGARITHMIC, NAMED])
def test_every_label_is_text(chart: Chart) -> None:
    words = "".join(ET.fromstring(chart_svg(chart)).itertext())
    for text in (chart.title, chart.x_label, chart.y_label, *chart.names):
        assert text in words
    if chart is LOGARITHMIC:
        assert all(text in words for text in ("first & <last>", "expected", "10⁻¹⁵", "10²"))


def test_inline_charts_can_share_a_page() -> None:
    both = [inline_svg(LOGARITHMIC), inline_svg(NAMED)]
    for text in both:
        assert "://" not in text
        assert "<style" not in text
        assert "#1c2330" not in text
        assert "currentColor" in text
        ids = set(re.findall(r'\bid="([^"]+)"', text))
        used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
        assert used <= ids
    first, second = (set(re.findall(r'\bid="([^"]+)"', text)) for text in both)
    assert not first & second


@pytest.mark.parametrize("length", [8, 24, 32])
def test_legends_stay_inside_the_figure(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_args, **_options: drawn.append(self))
    curves = tuple(Series(f"{i}" * length, (0.0, 1.0), (0.0, float(i))) for i in range(1, 5))
    chart_svg(Chart("long", "Long labels", "x", "y", curves))
    (figure,) = drawn
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box, frame = legend.get_window_extent(), figure.bbox
    assert frame.x0 <= box.x0 < box.x1 <= frame.x1
    assert frame.y0 <= box.y0 < box.y1 < figure.axes[0].get_window_extent().y0


def test_points_of_a_category_stand_side_by_side_and_are_not_joined() -> None:
    series = tuple(Series(name, (0.0, 1.0), (1.0, 2.0), "points") for name in ("first", "second", "third"))
    svg = chart_svg(Chart("kinds", "Kinds", "kind", "s", series, names=("a", "b")))
    places = re.findall(r'<use xlink:href="#\w+" x="([\d.]+)" y="[\d.]+" style="fill: #(?:2f74d0|d1620a|1f8f55)', svg)
    assert len(set(places[:6])) == 6
    assert not re.findall(r'<path d="[^"]*" clip-path[^>]*style="fill: none; stroke: #(?:2f74d0|d1620a|1f8f55)', svg)
