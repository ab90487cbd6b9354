"""The edge of chaos and critical points, against the literature and against their own definition."""

from __future__ import annotations

import numpy as np
import pytest

from holokern import critical, dual
from holokern.errors import Unsupported
from holokern.network import edge_of_chaos


def test_gelu_and_silu_are_those_of_the_textbook() -> None:
    """Roberts, Yaida and Hanin, Section 5.3.4: K* = (3 + √17)/2 for GELU, and numbers for SWISH."""
    gelu = critical("gelu")
    assert gelu.deviation**2 == pytest.approx((3 + 17**0.5) / 2, rel=1e-10)
    assert (gelu.W_std**2, gelu.b_std**2) == pytest.approx((1.98305826, 0.17292239), rel=1e-7)
    silu = critical("silu")
    assert (silu.W_std**2, silu.b_std**2) == pytest.approx((1.98800468, 0.55514317), rel=1e-7)
    assert silu.deviation**2 == pytest.approx(14.32017362, rel=1e-8)


@pytest.mark.parametrize("name", ["gelu", "mish", "hardswish"])
def test_both_rates_are_one_at_the_fixed_point(name: str) -> None:
    point = critical(name)
    weight, bias = point
    c = point.deviation
    here = dual(name, c, c, 1.0)
    assert weight**2 * here.k + bias**2 == pytest.approx(c**2, rel=1e-10)
    assert weight**2 * here.kdot == pytest.approx(1, rel=1e-10)
    step = 1e-4 * c
    ahead, behind = (float(dual(name, x, x, 1.0).k) for x in (c + step, c - step))
    assert weight**2 * (ahead - behind) / (4 * c * step) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "weight", "deviation"),
    [("relu", 2**0.5, None), ("abs", 1.0, None), ("tanh", 1.0, 0.0), ("erf", np.pi**0.5 / 2, 0.0), ("sin", 1.0, 0.0)],
)
def test_points_without_biases(name: str, weight: float, deviation: float | None) -> None:
    point = critical(name)
    assert tuple(point) == pytest.approx((weight, 0.0))
    assert point.deviation == deviation


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("step", "it jumps"),
        ("u^2", "explode or vanish"),
        ("softplus", "negative variance"),
        ("1 + u", "negative variance"),
        ("exp(u)", "runs away"),
    ],
)
def test_the_reason_when_there_is_none(name: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        critical(name)


def test_the_edge_passes_through_the_critical_point() -> None:
    parts = edge_of_chaos("gelu", 0.125, 8.0)
    assert {part.stable for part in parts} == {True, False}
    point = critical("gelu")
    distances = [np.min(np.hypot(part.weight - point.W_std, part.bias - point.b_std)) for part in parts]
    assert max(distances) < 0.01
    assert edge_of_chaos("step", 0.5, 2.0) == []
