"""Holonomic interpolation and extrapolation: the reference values, other bases, penalties."""

import numpy as np
import pytest

import holokern as hk
from holokern.activation import activation
from holokern.dual.methods.hie import hie
from holokern.dual.quadrature.method import quadrature
from holokern.errors import BadInput, NotHolonomic, UnknownName, Unsupported
from holokern.hgm.least_squares import ChebyshevBasis, FunctionBasis


def test_reference_values(derived_reference):
    reference = derived_reference
    try:
        activation(reference.source).annihilator  # noqa: B018
    except NotHolonomic:
        with pytest.raises(Unsupported):
            hk.dual(reference.source, 1, 1, 0.5, method="hie")
        return
    v = hk.dual(reference.source, reference.c1, reference.c2, theta=reference.theta, method="hie")
    for found, want, estimate in ((v.k, reference.k, v.error), (v.kdot, reference.kdot, v.kdot_error)):
        known = ~np.isnan(want)
        error = np.abs(found - want)[known]
        assert np.all(error <= 1e-11)
        assert np.all(error <= 5 * estimate[known] + 1e-15)


@pytest.mark.parametrize(
    "name", ["relu", "resin", pytest.param("elu", marks=pytest.mark.slow), "gelu", "erf", "identity", "gaussian"]
)
def test_degenerate_corners_and_unequal_deviations(name):
    a = activation(name)
    theta = np.array([1e-8, np.sqrt(2e-12), 0.02, 0.4, 1.4, 2.8, np.pi - 1e-6])
    for c1, c2 in ((1.0, 0.01), (0.05, 5.0), (2.0, 2.0)):
        points = np.full(len(theta), c1), np.full(len(theta), c2), theta
        k, kdot, k_error, kdot_error = hie(a, *points, 1e-12)
        want_k, want_kdot, noise, noise_dot = quadrature(a, *points, 1e-12)
        assert np.all(np.abs(k - want_k) <= 1e-11 * np.max(np.abs(want_k)))
        assert np.all(np.abs(kdot - want_kdot) <= 1e-11 * np.max(np.abs(want_kdot)))
        assert np.all(np.abs(k - want_k) <= 5 * k_error + 5 * noise)
        assert np.all(np.abs(kdot - want_kdot) <= 5 * kdot_error + 5 * noise_dot)


def test_values_at_the_ends_tame_growing_solutions():
    """From θ = π/2 alone errors grow by e^25 here; with k and k′ at r = 1 the problem is well posed."""
    a = activation("sin")
    point = np.array([5.0]), np.array([5.0]), np.array([0.3])
    want = quadrature(a, *point, 1e-12)
    with_end = hie(a, *point, 1e-12)
    without = hie(a, *point, 1e-12, ends=False)
    assert abs(with_end[0] - want[0]) <= 1e-13
    assert abs(without[0] - want[0]) <= 5 * without[2]
    assert without[2] > 10 * with_end[2]


def test_the_error_falls_with_the_size_of_the_basis():
    a = activation("resin")
    point = np.array([1.0]), np.array([1.0]), np.array([0.7])
    want = quadrature(a, *point, 1e-12)[0]
    sizes = (12, 16, 20)
    errors = [abs(float(hie(a, *point, 1e-12, size=n, basis=ChebyshevBasis)[0][0] - want[0])) for n in sizes]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_monomials_and_the_caller_s_own_functions():
    a = activation("relu")
    point = np.array([1.0, 1.0]), np.array([2.0, 2.0]), np.array([0.4, 1.2])
    want = quadrature(a, *point, 1e-12)
    k, kdot, k_error, _ = hie(a, *point, 1e-12, basis="monomial", size=16)
    assert np.all(np.abs(k - want[0]) <= 1e-8)
    assert np.all(np.abs(k - want[0]) <= 5 * k_error)

    def own(size, low, high):
        # k and k′ of ReLU are combinations of these four, whatever the size
        def times(f, df):
            return (lambda x: x * f(x), lambda x: f(x) + x * df(x))

        one = (np.ones_like, np.zeros_like)
        line = (lambda x: x, np.ones_like)
        cosine, sine = (np.cos, lambda x: -np.sin(x)), (np.sin, np.cos)
        return FunctionBasis([one, line, cosine, sine, times(*cosine)])

    k, kdot, _, _ = hie(a, *point, 1e-12, basis=own, size=12)
    assert np.all(np.abs(k - want[0]) <= 1e-13)
    assert np.all(np.abs(kdot - want[1]) <= 1e-13)


def test_a_larger_penalty_comes_closer_to_the_constraints():
    a = activation("resin")
    point = np.array([1.0]), np.array([1.0]), np.array([np.pi / 2])
    exact = quadrature(a, *point, 1e-12)[0][0]
    gaps = [abs(float(hie(a, *point, 1e-12, mu=mu, size=14)[0][0]) - exact) for mu in (1e-14, 1e-10, 1.0)]
    assert gaps[2] < gaps[0]
    assert gaps[2] < 1e-9


@pytest.mark.parametrize(
    ("options", "error"),
    [({"basis": "fourier"}, UnknownName), ({"size": 3}, BadInput), ({"size": 2.5}, BadInput), ({"mu": -1.0}, BadInput)],
)
def test_bad_options(options, error):
    with pytest.raises(error):
        hk.dual("relu", 1, 1, 0.5, method="hie", **options)
