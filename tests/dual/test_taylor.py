"""Neighbours by Taylor expansion from representatives."""

import numpy as np
import pytest

import holokern as hk
from holokern.activation import activation
from holokern.dual.methods.taylor import expand
from holokern.dual.quadrature.method import quadrature
from holokern.errors import BadInput


@pytest.mark.parametrize(
    "name",
    [
        "relu",
        "step",
        "gelu",
        "resin",
        "erf",
        "identity",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("elu", "snake")),
    ],
)
def test_values_and_honest_errors(name):
    a = activation(name)
    random = np.random.default_rng(3)
    c1, c2 = 1 + random.uniform(-0.1, 0.1, (2, 40))
    theta = random.uniform(0.01, 3.1, 40)
    theta[0] = 1e-6
    (k, kdot, k_error, kdot_error), representative = expand(a, c1, c2, theta, 1e-12)
    want_k, want_kdot, noise, noise_dot = quadrature(a, c1, c2, theta, 1e-12)
    assert np.all(np.abs(k - want_k) <= 1e-11)
    assert np.all(np.abs(k - want_k) <= 5 * (k_error + noise))
    assert np.all(np.abs(kdot - want_kdot) <= 5 * (kdot_error + noise_dot))
    assert len(np.unique(representative)) < 40


def test_the_remainder_decides_who_is_a_neighbour():
    a = activation("resin")
    theta = np.array([1.0, 1.05, 1.15])
    one = np.ones(3)
    long, from_long = expand(a, one, one, theta, 1e-12, radius=0.5, order=30)
    short, from_short = expand(a, one, one, theta, 1e-12, radius=0.5, order=6)
    assert from_long.tolist() == [0, 0, 0]
    assert from_short.tolist() != [0, 0, 0]
    np.testing.assert_allclose(short[0], long[0], rtol=1e-12)


def test_points_of_one_cluster_share_a_representative():
    a = activation("relu")
    near = 1 + 1e-6 * np.arange(5)
    _, representative = expand(a, near, near, near, 1e-12)
    assert representative.tolist() == [0] * 5


@pytest.mark.parametrize("options", [{"radius": 0.0}, {"order": 2}, {"order": 2.5}])
def test_bad_options(options):
    with pytest.raises(BadInput):
        hk.dual("relu", 1, 1, 0.5, method="taylor", **options)
