"""Limits at singular covariances."""

import numpy as np
import pytest

from holokern.activation import activation
from holokern.dual import dual, enclose
from holokern.dual.degenerate import infinite_slope_sign
from holokern.errors import BadInput, Unsupported

SMOOTH_AND_KINKED = ["relu", "gelu", "tanh", "elu", "hardtanh", "relu6", "resin", "cos", "softsign", "leaky_relu"]


@pytest.mark.parametrize("name", SMOOTH_AND_KINKED)
@pytest.mark.parametrize("end", [0.0, np.pi])
def test_aligned_is_the_limit(name, end):
    c1, c2 = np.array([1.0, 0.7, 3.0]), np.array([1.0, 1.9, 0.2])
    at_end = dual(name, c1, c2, theta=end)
    near = dual(name, c1, c2, theta=abs(end - 1e-7), method="quadrature")
    assert at_end.method == "limit"
    assert np.allclose(at_end.k, near.k, rtol=0, atol=1e-6)
    assert np.allclose(at_end.kdot, near.kdot, rtol=0, atol=1e-6)
    assert np.all(at_end.error < 1e-13 * 10)


@pytest.mark.parametrize("name", SMOOTH_AND_KINKED)
def test_zero_variance_is_the_limit(name):
    theta = np.array([0.0, 0.5, 2.0, np.pi])
    for c2 in (0.0, 1.3):
        exact = dual(name, 0.0, c2, theta=theta)
        near = dual(name, 1e-9, c2 or 1e-9, theta=theta, method="quadrature")
        assert np.allclose(exact.k, near.k, rtol=0, atol=1e-8)
        assert np.allclose(exact.kdot, near.kdot, rtol=0, atol=1e-8)


def test_known_limits():
    theta = np.array([0.3, 1.0, 3.0])
    quarter = (np.pi - theta) / (2 * np.pi)
    for c in (0.0, 2.0):
        assert np.allclose(dual("step", 0, c, theta=theta).k, quarter, rtol=0, atol=1e-15)
        assert np.all(dual("step", 0, c, theta=theta).kdot == np.inf)
        relu = dual("relu", 0, c, theta=theta)
        assert np.allclose(relu.kdot, quarter, rtol=0, atol=1e-15)
        assert np.allclose(relu.k, 0, atol=1e-15)
    assert dual("cos", 0, 0, 0.3).k == 1
    assert dual("cos", 0, 2, 0.3).k == pytest.approx(np.exp(-2), rel=1e-14)


def test_a_jump_at_zero_is_infinite_on_the_diagonal_only():
    v = dual("step", 1.5, 0.5, [1.0, -1.0, 0.0])
    assert v.kdot[0] == v.kdot[1] == np.inf
    assert v.kdot_error[0] == 0
    assert v.kdot[2] == pytest.approx(1 / (2 * np.pi * 0.75), rel=1e-15)
    assert dual("step", 1, 1, 1 - 1e-12).kdot == pytest.approx(1 / (2 * np.pi * np.sqrt(2e-12)), rel=1e-4)


def test_jumps_off_zero():
    # Breaks ±1/2 with jumps 1/2: they meet at r = ±1 when c1 = c2, and not otherwise.
    assert dual("hardshrink", 1, 1, 1).kdot == np.inf
    assert dual("hardshrink", 1, 1, -1).kdot == np.inf
    for end in (0.0, np.pi):
        apart = dual("hardshrink", 1.0, 1.5, theta=end)
        near = dual("hardshrink", 1.0, 1.5, theta=abs(end - 1e-7), method="quadrature")
        assert np.isfinite(apart.kdot)
        assert apart.kdot == pytest.approx(near.kdot, abs=1e-5)
    # One break at 1 never meets its mirror image.
    assert dual("Heaviside(u - 1)", 1, 1, -1).kdot == 0
    assert dual("Heaviside(u - 1)", 1, 1, 1).kdot == np.inf
    # A jump up against a jump down.
    assert dual("Heaviside(u - 1) - Heaviside(u + 1)", 1, 1, -1).kdot == -np.inf


def test_a_delta_meets_a_kink_half_way():
    # At r = 1, c2 = 2 c1 the jump at 1 meets the kink of relu6 type at 2.
    source = "Heaviside(u - 1) + Max(u - 2, 0)"
    exact = dual(source, 1.0, 2.0, 1)
    near = dual(source, 1.0, 2.0, theta=1e-8, method="quadrature")
    assert exact.kdot == pytest.approx(near.kdot, abs=1e-6)


def test_jump_at_zero_with_a_slope_as_c_vanishes():
    assert dual("Heaviside(u)*(1 + u)", 0, 1, 0.2).kdot == np.inf
    assert dual("Heaviside(u) - 5*u", 0, 1, 0.2).kdot == -np.inf
    assert dual("Heaviside(u - 1)", 0, 1, 0.2).kdot == 0


@pytest.mark.parametrize(
    ("text", "plus", "minus"),
    [
        ("Abs(u)^(1/2)", np.inf, -np.inf),
        ("Abs(u)^(1/4)", np.inf, -np.inf),
        ("Heaviside(u)*sqrt(u)", np.inf, 0.0),
        ("log(Abs(u))", np.inf, -np.inf),
        ("u*Abs(u)^(-1/2)", np.inf, np.inf),
    ],
)
def test_slopes_that_are_not_square_integrable(text, plus, minus):
    """E[σ′²] is infinite, so k′ is at r = 1 and, where both singular sides meet, at r = -1."""
    v = dual(text, [1, 2, 1], [1, 0.5, 1], [1, 1, -1])
    assert v.kdot.tolist() == [plus, plus, minus]
    assert np.all(np.isfinite(v.k))
    # k′ grows towards that
    near = dual(text, 1, 1, theta=np.array([1e-2, 1e-3]), method="hgm").kdot
    assert near[1] > near[0] > 0


def test_steep_slopes_that_are_square_integrable_or_do_not_meet():
    assert np.isfinite(dual("Abs(u)^(3/4)", 1, 1, 1).kdot)
    # E[(3/4)²|z|^(-1/2)]
    assert dual("Abs(u)^(3/4)", 1, 1, 1).kdot == pytest.approx(9 / 16 * 1.7200799746, rel=1e-9)
    points = np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 1.0]), np.array([1.0, 1.0, -1.0])
    assert infinite_slope_sign(activation("Abs(u - 1)^(1/2)"), *points).tolist() == [1, 0, 0]
    assert infinite_slope_sign(activation("sqrt(Abs(u^2 - 1))"), *points).tolist() == [1, 0, -1]


def test_an_activation_that_is_not_square_integrable_is_refused():
    for method in ("auto", "quadrature"):
        with pytest.raises(BadInput, match="square-integrable"):
            dual("Abs(u)^(-3/4)", 1, 1, 0.5, method=method)


def test_enclose_refuses_unbounded_slopes_at_once():
    with pytest.raises(Unsupported, match="unbounded"):
        enclose("Abs(u)^(3/4)", 1, 1, "1/2")


@pytest.mark.parametrize("r", [0.0, 1e-9, -1e-9])
def test_what_cancels_at_zero_deviations_has_an_error(r):
    """k′ of |u| is 2 arcsin(r)/π there, the difference of two halves."""
    value = dual("log(1+Abs(u))", 0.0, 0.0, r)
    assert abs(value.kdot - 2 / np.pi * np.arcsin(r)) <= value.kdot_error < 1e-14
