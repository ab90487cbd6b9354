"""Initial vectors: Hermite moments against exact values and balls, and the series in the correlation."""

from fractions import Fraction
from math import factorial, sqrt

import numpy as np
import pytest
from flint import arb, ctx
from scipy.special import dawsn

from holokern.activation import activation
from holokern.dual.enclosure.moments import hermite_moment
from holokern.dual.methods.initial import hermite_moments
from holokern.dual.quadrature.method import quadrature


def test_resin_moments_of_the_paper():
    """√(2π) E[He_n σ]: √2 F(1/√2) with Dawson's F, √(π/2e), 1 - c0, -c1, c0 - 2, c1."""
    found = hermite_moments(activation("resin"), np.array([1.0]), 6).values[0] * np.sqrt(2 * np.pi)
    found = found * np.array([sqrt(factorial(n)) for n in range(6)])
    c0, c1 = np.sqrt(2) * dawsn(np.sqrt(0.5)), np.sqrt(np.pi / (2 * np.e))
    np.testing.assert_allclose(found, [c0, c1, 1 - c0, -c1, c0 - 2, c1], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["relu", "step", "elu", "gelu", "erf", "hardtanh", "resin", "gaussian"])
@pytest.mark.parametrize("c", [0.05, 1.0, 7.0])
def test_against_balls(name, c):
    a = activation(name)
    found = hermite_moments(a, np.array([c]), 12)
    line = a.pieces
    for n in range(12):
        with ctx.workprec(200):
            want = float((hermite_moment(line, Fraction(c), n) / arb(factorial(n)).sqrt()).mid())
        assert abs(found.values[0, n] - want) <= 5 * found.errors[0, n] + 1e-300
        assert found.errors[0, n] <= 1e-13 * (1 + abs(found.values[0, 0]))


@pytest.mark.parametrize("name", ["relu", "resin", "gelu", "hardtanh"])
def test_series_in_the_correlation(name):
    a = activation(name)
    c1, c2, r = np.array([1.0, 0.7]), np.array([1.0, 1.9]), np.array([0.4, -0.3])
    moments = hermite_moments(a, np.concatenate([c1, c2]), 60)
    found, error = moments.correlated(c1, c2, [(0, 0), (1, 1)], r)
    k, kdot, _, _ = quadrature(a, c1, c2, np.arccos(r), 1e-12)
    assert np.all(np.abs(found[:, 0] - k) <= 1e-13)
    assert np.all(np.abs(found[:, 1] - c1 * c2 * kdot) <= 1e-12)
    assert np.all(np.abs(found[:, 0] - k) <= 5 * error[:, 0] + 1e-15)
