"""Least squares for holonomic functions: the paper's example, bases, hard and soft constraints."""

import itertools

import numpy as np
import pytest

from holokern.errors import BadInput
from holokern.hgm.least_squares import (
    ChebyshevBasis,
    Constraint,
    FunctionBasis,
    MonomialBasis,
    fit_operator,
    fit_system,
    gauss_nodes,
)
from holokern.pfaffian import pfaffian
from holokern.weyl import weyl_algebra

RELU = weyl_algebra("x")("(1 - x^2)*dx^2 - 5*x*dx - 4")


def relu(x):
    """The unnormalised expectation of ReLU at x11 = x22 = -1, x12 = x: k π/√(1 - x²)."""
    # Σ = -½x⁻¹: c² = 1/(2(1 - x²)), r = x
    k = (np.sqrt(1 - x**2) + x * (np.pi - np.arccos(x))) / (4 * np.pi * (1 - x**2))
    return k * np.pi / np.sqrt(1 - x**2)


def error(size, mu=None, basis=ChebyshevBasis):
    low, high = -0.7, 0.7
    made = basis(size, low, high) if basis is ChebyshevBasis else basis(size)
    constraints = [Constraint(0.0, 0.25), Constraint(0.0, np.pi / 8, order=1)]
    fit = fit_operator(RELU, made, gauss_nodes(3 * size, low, high), constraints, mu)
    x = np.linspace(low, high, 50)
    return np.max(np.abs(fit(x) - relu(x)))


def test_the_operator_is_the_restricted_system():
    system = pfaffian(operator="u*D - 1", coordinates="x", basis="1, d12")
    ode = system.restrict({"x11": -1, "x12": "x", "x22": -1}, "x").scalar_ode()
    assert ode in (RELU, -RELU)


def test_relu_of_the_paper_improves_with_the_basis():
    """Values of f and f' at 0, as the paper's series gives them: (1/4, π/8)."""
    errors = [error(size) for size in (6, 10, 14, 20, 30)]
    assert all(later < earlier / 3 for earlier, later in itertools.pairwise(errors))
    assert errors[-1] < 1e-8


def test_values_at_two_points_as_in_the_paper():
    p, q = -0.5, 0.6
    fit = fit_operator(
        RELU, ChebyshevBasis(30, -0.7, 0.7), gauss_nodes(60, -0.7, 0.7), [Constraint(x, relu(x)) for x in (p, q)]
    )
    x = np.linspace(-0.7, 0.7, 30)
    assert np.max(np.abs(fit(x) - relu(x))) < 1e-9


def test_hard_constraints_hold_and_penalties_come_close():
    gaps = []
    for mu in (1e-6, 1.0, 1e6, None):
        fit = fit_operator(
            RELU, ChebyshevBasis(8, -0.7, 0.7), gauss_nodes(30, -0.7, 0.7), [Constraint(0.2, relu(0.2))], mu
        )
        gaps.append(abs(float(fit(0.2)) - relu(0.2)))
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[3] < 1e-14


def test_monomials_give_the_series_at_the_point():
    """With powers of x and the values at 0 the fit is nearly the Taylor polynomial."""
    fit = fit_operator(
        RELU,
        MonomialBasis(8),
        gauss_nodes(30, -0.05, 0.05),
        [Constraint(0.0, 0.25), Constraint(0.0, np.pi / 8, order=1)],
    )
    # f'' = 4f and f''' = 9f' at 0
    np.testing.assert_allclose(fit.coefficients[:4, 0], [1 / 4, np.pi / 8, 1 / 2, 3 * np.pi / 16], rtol=1e-6)


def test_fundamental_solutions_as_basis():
    """With solutions as basis only the constraints remain."""
    operator = weyl_algebra("x")("dx^2 + 1")
    basis = FunctionBasis(
        [(np.sin, np.cos, lambda x: -np.sin(x)), (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x))]
    )
    fit = fit_operator(operator, basis, gauss_nodes(10, 0, 1), [Constraint(0.0, 2.0), Constraint(0.0, 3.0, order=1)])
    np.testing.assert_allclose(fit.coefficients[:, 0], [3, 2], atol=1e-14)
    assert fit.residual < 1e-14
    assert fit(0.5, 1) == pytest.approx(3 * np.cos(0.5) - 2 * np.sin(0.5))


def test_system():
    nodes, weights = gauss_nodes(30, 0.0, 2.0)
    top = np.tile(np.array([[0.0, 1.0], [-1.0, 0.0]]), (30, 1, 1))
    constraints = [Constraint(0.0, 0.0, component=0), Constraint(2.0, np.cos(2.0), component=1)]
    fit = fit_system((np.ones(30), top), ChebyshevBasis(18, 0.0, 2.0), (nodes, weights), constraints)
    x = np.linspace(0, 2, 9)
    np.testing.assert_allclose(fit(x), np.stack([np.sin(x), np.cos(x)], axis=1), atol=1e-12)


def test_bad_input():
    basis, rule = ChebyshevBasis(6, 0.0, 1.0), gauss_nodes(10, 0.0, 1.0)
    with pytest.raises(BadInput, match="one variable"):
        fit_operator(weyl_algebra("x y")("dx + dy"), basis, rule, [Constraint(0.0, 1.0)])
    with pytest.raises(BadInput, match="at least one constraint"):
        fit_operator(RELU, basis, rule, [])
    with pytest.raises(BadInput, match="depend on each other"):
        fit_operator(RELU, basis, rule, [Constraint(0.0, 1.0), Constraint(0.0, 1.0)])
    with pytest.raises(BadInput, match="mu"):
        fit_operator(RELU, basis, rule, [Constraint(0.0, 1.0)], mu=0.0)
    with pytest.raises(BadInput, match="derivatives"):
        fit_operator(RELU, FunctionBasis([(np.sin,)]), rule, [Constraint(0.0, 1.0)])
