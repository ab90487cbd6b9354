"""Hermite moments from shared nodes: the balls contain mpmath's integrals and agree with one integral at a time."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import mpmath
import pytest
from flint import arb, ctx

import holokern as hk
from holokern.activation import activation
from holokern.dual.enclosure.hermite_moments import hermite_moments
from holokern.dual.enclosure.moments import hermite_moment
from holokern.errors import PrecisionLost
from holokern.numeric import limited_work, working_precision

ON_THE_LINE = {
    "log(1 + Abs(u))": lambda u: mpmath.log(1 + abs(u)),
    "tanh(u)": mpmath.tanh,
    "Abs(u)^(1/2)": lambda u: mpmath.sqrt(abs(u)),
    "sqrt(1 + u^2) - 1": lambda u: mpmath.sqrt(1 + u * u) - 1,
    "Heaviside(u - 1)*log(u)": lambda u: mpmath.log(u) if u > 1 else mpmath.mpf(0),
}

HERMITE = {
    0: [1],
    1: [1, 0],
    4: [1, 0, -6, 0, 3],
    8: [1, 0, -28, 0, 210, 0, -420, 0, 105],
}


@pytest.mark.parametrize(
    "c", [Fraction(1, 10**6), pytest.param(Fraction(2, 3), marks=pytest.mark.slow), Fraction(7)], ids=str
)
@pytest.mark.parametrize("text", ON_THE_LINE)
def test_balls_contain_the_integrals_of_mpmath(text, c):
    with working_precision(90):
        found = hermite_moments(activation(text).pieces, c, 9)
    sigma = ON_THE_LINE[text]
    with mpmath.workdps(40):
        s = mpmath.mpf(c.numerator) / c.denominator

        @cache
        def density(z):
            # the rules of all moments have the same nodes
            return sigma(s * z) * mpmath.npdf(z)

        ends = [-16, -4, -1, -0.1, -0.01, 0, 0.01, 0.1, 1, 4, 16] + ([1 / s] if 1 / s < 16 else [])
        for n in (0, 1, 4, 8):
            hermite = HERMITE[n]
            exact = mpmath.quad(lambda z: density(z) * mpmath.polyval(hermite, z), sorted(ends))  # noqa: B023
            width = mpmath.mpf(10) ** -17
            assert found[n].overlaps(arb(mpmath.nstr(exact, 35)) + arb(0, mpmath.nstr(width * max(abs(exact), s), 5)))
            assert float(found[n].rad()) < 1e-14 * float(s)


@pytest.mark.parametrize("text", ["tanh(u)", "Abs(u)^(1/2)", "1/(1+exp(-u))"])
def test_they_overlap_with_integrals_one_by_one(text):
    line = activation(text).pieces
    with working_precision(150):
        found = hermite_moments(line, Fraction(3, 2), 80)
        for n in (0, 1, 6, 41, 78, 79):
            assert found[n].overlaps(hermite_moment(line, Fraction(3, 2), n))
            with mpmath.workdps(20):
                assert float(found[n].rad()) < 1e-35 * float(mpmath.sqrt(mpmath.factorial(n)))
    assert ctx.prec == 53


def test_work_is_limited():
    line = activation("tanh(1000*u)").pieces
    with limited_work(2000.0), working_precision(200), pytest.raises(PrecisionLost, match="limit of work"):
        hermite_moments(line, Fraction(1000), 300)


@pytest.mark.parametrize("r", ["1/2", "-2/5"])
@pytest.mark.parametrize(
    "text",
    ["Max(Min(u,1),-1/2)", pytest.param("Max(u-1,Min(u+1,0))", marks=pytest.mark.slow), "log(1+Abs(u))", "tanh(u)"],
)
def test_a_tiny_deviation_beside_one_is_enclosed(text, r):
    proof = hk.enclose(text, "1/100000000", 1, r)
    value = hk.dual(text, 1e-8, 1.0, float(Fraction(r)))
    scale = max(abs(value.k), 1e-300)
    assert abs(float(proof.k.mid()) - value.k) <= value.error + 1e-13 * scale
    assert float(proof.k.rad()) <= 1e-40 * scale
