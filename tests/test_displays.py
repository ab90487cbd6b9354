"""What people see in notebooks and in figures: plots, rich displays, progress of long work."""

from __future__ import annotations

import io
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import holokern as hk
from holokern.errors import BadInput, Unsupported
from holokern.network.plot import by_depth
from holokern.progress import report


@pytest.fixture(autouse=True)
def _no_windows(monkeypatch: pytest.MonkeyPatch):
    mpl.use("Agg")
    yield
    plt.close("all")


def test_an_activation_is_drawn_with_its_jumps() -> None:
    value, slope = hk.activation("step").plot().lines
    assert np.isnan(value.get_ydata()).sum() == 1
    assert value.get_ydata()[0] == 0
    assert value.get_ydata()[-1] == 1
    value, slope = hk.activation("gelu").plot().lines
    assert not np.isnan(slope.get_ydata()).any()
    assert value.get_ydata() == pytest.approx(hk.activation("gelu")(value.get_xdata()))


def test_plots_draw_into_given_axes() -> None:
    _, axes = plt.subplots(2, 2)
    net = hk.Network("gelu", depth=3, b_std=0.1)
    X = np.random.default_rng(0).standard_normal((6, 3))
    assert hk.activation("elu").plot(axes[0, 0]) is axes[0, 0]
    k, slope = hk.dual_activation("elu").plot(0.5, 2.0, axes[0, 1]).lines
    assert k.get_ydata()[0] == pytest.approx(hk.dual("elu", 0.5, 2.0, 1.0).k)
    assert slope.get_ydata()[-1] == pytest.approx(hk.dual("elu", 0.5, 2.0, -1.0).kdot)
    (image,) = net.plot(X, "nngp", axes[1, 0]).images
    assert np.array_equal(image.get_array(), net.nngp(X))
    with pytest.raises(BadInput, match="choose 'ntk' or 'nngp'"):
        net.plot(X, "both")


@pytest.mark.parametrize("settings", [{}, {"weight_variance": 1.7}, {"residual": True}, {"W_std": 1.3, "b_std": 0.4}])
def test_depth_is_that_of_networks_of_every_depth(settings: dict[str, float]) -> None:
    r = [-0.3, 0.6, 0.95]
    correlations, tangents = by_depth(hk.Network("erf", depth=3, **settings), r)
    assert correlations.shape == tangents.shape == (4, 3)
    points = np.stack([np.append(1.0, r), np.append(0.0, np.sqrt(1 - np.square(r)))], axis=1)
    scale = np.sqrt(2) if {"weight_variance", "W_std"} & set(settings) else 1.0
    for depth in (1, 2, 3):
        nngp, ntk = hk.Network("erf", depth=depth, **settings).both(scale * points)
        expected = nngp[0, 1:] / np.sqrt(nngp[0, 0] * np.diag(nngp)[1:])
        assert correlations[depth] == pytest.approx(expected, rel=1e-9)
        assert tangents[depth] == pytest.approx(ntk[0, 1:] / ntk[0, 0], rel=1e-9)


def test_depth_plot() -> None:
    left, right = hk.Network("relu", depth=5).depth_plot()
    assert [len(ax.lines) for ax in (left, right)] == [3, 3]
    assert len(left.lines[0].get_xdata()) == 6
    with pytest.raises(BadInput, match="from -1 to 1"):
        hk.Network("relu", depth=2).depth_plot([2.0])
    convolution = hk.Network(
        hk.layers.Serial(hk.layers.Conv(3), hk.layers.Activation("relu"), hk.layers.GlobalAvgPool())
    )
    with pytest.raises(Unsupported, match="fully connected"):
        convolution.depth_plot()


def test_notebooks_show_activations_systems_networks_and_enclosures() -> None:
    assert hk.activation("elu")._repr_latex_().startswith("$")
    assert r"\begin{pmatrix}" in hk.pfaffian("relu")._repr_latex_()
    assert "<table>" in hk.Network("elu", depth=2)._repr_html_()
    page = hk.enclose("relu", 1, 1, "1/2", digits=20)._repr_html_()
    assert "0.304498890522114679" in page
    assert "<th>k′</th>" in page


def test_long_work_in_python_shows_progress_in_a_terminal_and_not_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    from holokern.network import matrices as module

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def slowly(*_: object) -> None:
        report("kernel rows", 1, 2)
        time.sleep(1.3)

    monkeypatch.setattr(module, "fill", slowly)
    for stream, expected in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        hk.Network("relu", depth=1).nngp(np.eye(2))
        assert ("kernel rows 1/2 (1 s)" in stream.getvalue()) is expected
    monkeypatch.setattr(module, "fill", lambda *_: None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    hk.Network("gelu", depth=3).nngp(np.zeros((400, 1)) + 1.0, engine="pairs")
    assert "engine='auto' makes tables instead" in sys.stderr.getvalue()
    slow = hk.Network("tanh(u) + Abs(u - 1)*exp(-u^2)", depth=1, bias=0.1, weight_variance=1.0)
    for points, expected in ((20, 0), (200, 1)):
        monkeypatch.setattr(sys, "stderr", Terminal())
        slow.nngp(np.ones((points, 1)))
        assert sys.stderr.getvalue().count("take 1 to 20 milliseconds each") == expected
