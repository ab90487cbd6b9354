"""One-dimensional Gaussian moments in balls."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx
from scipy import integrate

from holokern.activation import activation
from holokern.activation.pieces.tail_bounds import tail_bound
from holokern.dual.enclosure.moments import gaussian_expectation, hermite_moment, read_number, second_moment
from holokern.errors import BadInput, Unsupported

ONE = Fraction(1)


def dawson(x: arb) -> arb:
    """F(x) = √π/2 exp(-x²) erfi(x)."""
    return arb.pi().sqrt() / 2 * (-x * x).exp() * x.erfi()


def test_the_papers_initial_values_of_resin() -> None:
    line = activation("resin").pieces
    with ctx.workprec(300):
        root = (2 * arb.pi()).sqrt()
        d0 = arb(2).sqrt() * dawson(1 / arb(2).sqrt())
        d1 = (arb.pi() / (2 * arb.const_e())).sqrt()
        expected = [d0, d1, 1 - d0, -d1, d0 - 2, d1]
        for n, value in enumerate(expected):
            found = root * hermite_moment(line, ONE, n)
            assert found.overlaps(value), n
            assert found.rad() < arb(2) ** -270


def test_the_papers_initial_values_of_relu() -> None:
    line = activation("relu").pieces
    root = (2 * arb.pi()).sqrt()
    assert (root * hermite_moment(line, ONE, 0)).overlaps(arb(1))
    assert (root * hermite_moment(line, ONE, 1)).overlaps((arb.pi() / 2).sqrt())


@pytest.mark.parametrize("name", ["gelu", "tanh", "softplus", "silu", "softsign", "erf", "besselj(0, u)", "sin(u)/u"])
@pytest.mark.parametrize("c", [Fraction(1, 10), ONE, Fraction(4)])
def test_numerical_integrals_against_scipy(name: str, c: Fraction) -> None:
    sigma = activation(name)
    line = sigma.pieces

    def integrand(z: float) -> float:
        from math import exp, pi, sqrt

        return float(sigma(float(c) * z)) * (z * z - 1) * exp(-z * z / 2) / sqrt(2 * pi)

    points = sorted(float(b) / float(c) for b in line.breaks)
    expected, _ = integrate.quad(integrand, -12, 12, points=points or None, limit=400, epsabs=1e-13)
    with ctx.workprec(90):
        found = hermite_moment(line, c, 2)
    assert found.rad() < 1e-20
    assert abs(float(found) - expected) < 1e-10


@pytest.mark.parametrize(
    ("name", "scale"), [("elu", 1), ("resin", 1), ("gelu", 1), ("relu6", 2), ("hardtanh", 3), ("gaussian", 1)]
)
def test_closed_and_numerical_integrals_overlap(name: str, scale: int) -> None:
    """The same moment, once in closed form and once with a factor that forces rigorous integration."""
    line = activation(name).pieces
    unit = activation("erf(u)^2 + erfc(u)*(1 + erf(u))").pieces
    with ctx.workprec(120):
        closed = hermite_moment(line, Fraction(scale), 1)
        forced = gaussian_expectation([(line, Fraction(scale)), (unit, ONE)], (0, 1))
        assert forced.overlaps(closed)
        assert forced.rad() < 1e-25


def test_product_moments_at_both_ends() -> None:
    line = activation("relu").pieces
    assert gaussian_expectation([(line, ONE), (line, Fraction(2))]) == 1
    assert gaussian_expectation([(line, ONE), (line, Fraction(-2))]).is_zero()
    assert second_moment(line, Fraction(3)).overlaps(arb(9) / 2)


def test_balls_as_deviations() -> None:
    line = activation("hardtanh").pieces
    wide = arb(1, 1e-10)
    found = gaussian_expectation([(line, wide), (line, arb(1, 1e-10))])
    assert found.overlaps(second_moment(line, ONE))
    assert found.rad() < 1e-8


def test_a_moment_that_does_not_exist() -> None:
    with pytest.raises(BadInput, match="grows too fast"):
        hermite_moment(activation("erf(u)*exp(u^2/2)").pieces, ONE, 0)


def test_growth_that_is_not_known() -> None:
    with pytest.raises(Unsupported, match="quadrature"):
        tail_bound(activation("1/(u - 3)").tree, 1)


@pytest.mark.parametrize("bad", [0.1, "x", None, float("nan"), True, arb("nan")])
def test_only_exact_numbers_and_balls(bad: object) -> None:
    with pytest.raises(BadInput, match="c"):
        read_number("c", bad)


def test_exact_balls_become_fractions() -> None:
    assert read_number("c", arb(0.75)) == Fraction(3, 4)
    assert read_number("c", "1e-3") == Fraction(1, 1000)
