"""Correlations next to -1: the float of the angle loses digits there, which no method may pass over in silence."""

from fractions import Fraction

import mpmath as mp
import pytest

import holokern as hk
from holokern.errors import PrecisionLost


def bump(a, c1, c2, r):
    """k and k′ of exp(-au²), with 50 digits."""
    with mp.workdps(50):
        a, c1, c2, r = map(mp.mpf, (a, c1, c2, r))
        det = (1 + 2 * a * c1**2) * (1 + 2 * a * c2**2) - (2 * a * c1 * c2 * r) ** 2
        return 1 / mp.sqrt(det), 4 * a**2 * c1 * c2 * r / det ** mp.mpf(1.5)


@pytest.mark.parametrize("method", ["auto", "closed", "quadrature", "hgm", "taylor", "hie", "gauss_hermite"])
@pytest.mark.parametrize("gap", [1e-12, *(pytest.param(gap, marks=pytest.mark.slow) for gap in (1e-9, 1e-6)), 1e-2])
def test_errors_of_a_narrow_bump(method, gap):
    for a, c1, c2 in ((10**8, 7, 0.3), (100, 3, 1), (1, 1, 1)):
        found = hk.dual(f"exp(-{a}*u^2)", c1, c2, -1 + gap, method=method)
        k, kdot = bump(a, c1, c2, -1 + gap)
        assert abs(found.k - k) <= 5 * found.error
        assert abs(found.kdot - kdot) <= 5 * found.kdot_error


def test_digits_are_kept():
    for gap in (1e-12, 1e-9, 1e-6):
        found = hk.dual("exp(-100000000*u^2)", 7, 0.3, -1 + gap)
        k, kdot = bump(10**8, 7, 0.3, -1 + gap)
        assert abs(found.k / k - 1) < 1e-15
        assert abs(found.kdot / kdot - 1) < 2e-15


def test_one_angle_and_its_correlation_agree():
    near, far = hk.dual("tanh", 2, 1, [-0.999999, -0.5]), hk.dual("tanh", 2, 1, theta=[3.1401784388, 2.0943951024])
    assert near.k.shape == (2,)
    assert abs(near.k - far.k).max() < 1e-9


def test_the_slope_of_an_even_function_at_independence():
    """It is 0, and the float nearest to π/2 is not π/2."""
    found = hk.dual("1-1/(1+u^2)", 3e-6, 0.3, 0.0, method="hgm")
    assert abs(found.kdot) <= 5 * found.kdot_error < 1e-20


@pytest.mark.parametrize(
    "point",
    [
        ("Abs(u)*exp(-Abs(u))", 2.5, 1e6, -0.5),
        pytest.param(("exp(-400*Abs(u))", 3e-6, 1.0, 0.99999999), marks=pytest.mark.slow),
    ],
)
def test_quadrants_of_two_scales(point):
    """Small angles on both sides of a quadrant keep their digits."""
    expression, c1, c2, r = point
    found = hk.dual(*point, method="closed")
    exact = hk.enclose(expression, Fraction(c1), Fraction(c2), Fraction(r), digits=20)
    assert abs(found.k - float(exact.k)) <= 5 * found.error
    assert abs(found.kdot - float(exact.kdot)) <= 5 * found.kdot_error


def test_what_overflows_next_to_zero_is_refused():
    with pytest.raises(PrecisionLost, match="overflows"):
        hk.dual("cosh(u)-1", 2.5, 1e6, 1.0)
