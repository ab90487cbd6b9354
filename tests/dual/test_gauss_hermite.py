"""The baseline: right where σ is smooth, slow at breaks, and its error says so."""

import numpy as np
import pytest

from holokern.dual import dual
from holokern.errors import BadInput
from holokern.numeric.gauss import hermite_rule, legendre_rule


def test_smooth_activations_settle():
    v, w = dual("gelu", [1, 2], 1, 0.5, method="gauss_hermite"), dual("gelu", [1, 2], 1, 0.5)
    assert np.all(np.abs(v.k - w.k) <= np.maximum(5 * v.error, 1e-13))
    assert np.all(v.error < 1e-9)


@pytest.mark.parametrize("degree", [25, 100])
def test_a_fixed_degree_is_rough_at_a_break(degree):
    v, w = dual("relu", 1, 1, 0.9, method="gauss_hermite", degree=degree), dual("relu", 1, 1, 0.9)
    assert 1e-6 < abs(v.k - w.k) <= 5 * v.error


@pytest.mark.parametrize("degree", [0, 1, 2.5, "many", 10**6])
def test_bad_degree(degree):
    with pytest.raises(BadInput, match="degree"):
        dual("relu", 1, 1, 0, method="gauss_hermite", degree=degree)


@pytest.mark.parametrize("count", [1, 5, 64, 200])
def test_rules_integrate_polynomials(count):
    t, w = legendre_rule(count)
    x, weights = hermite_rule(count)
    assert w.sum() == pytest.approx(1, abs=1e-15)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    if count > 1:
        assert w @ t**3 == pytest.approx(0.25, abs=1e-15)
        assert weights @ x**2 == pytest.approx(1, rel=1e-11)
    with pytest.raises(ValueError, match="read-only"):
        t[0] = 0.0
