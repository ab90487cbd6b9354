"""Holonomic interpolation and extrapolation: least squares for the coefficients of a basis [SakodaTakayama2024, Alg 3].

The residual of a linear differential equation at quadrature nodes is made small, subject to values of the function or
of its derivatives: as hard constraints, which a null space takes care of, or with a penalty μ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from holokern.errors import BadInput
from holokern.hgm.steps.series import Array
from holokern.numeric import legendre_rule, one_thread
from holokern.weyl import Operator


class Basis(Protocol):
    """Functions of one variable with their derivatives."""

    @property
    def size(self) -> int:
        """How many functions there are."""

    def derivative(self, x: Array, order: int) -> Array:
        """The derivatives of one order at points, (points, size); order 0 for the functions themselves."""


@dataclass(frozen=True)
class ChebyshevBasis:
    """T_0, …, T_(size-1) on the interval from ``low`` to ``high``.

    Examples
    --------
    >>> ChebyshevBasis(3, 0.0, 1.0).derivative(np.array([1.0]), 1).tolist()
    [[0.0, 2.0, 8.0]]
    """

    size: int
    low: float
    high: float

    def derivative(self, x: Array, order: int) -> Array:
        """Derivatives at points."""
        cheb = np.polynomial.chebyshev
        t = 2 * (np.asarray(x) - self.low) / (self.high - self.low) - 1
        if order >= self.size:
            return np.zeros((*t.shape, self.size))
        lower = cheb.chebder(np.eye(self.size), order)
        values = (cheb.chebvander(t, len(lower) - 1) @ lower).reshape(*t.shape, self.size)
        return np.asarray(values * (2 / (self.high - self.low)) ** order)


@dataclass(frozen=True)
class MonomialBasis:
    """The powers 1, x - centre, (x - centre)² and so on.

    Examples
    --------
    >>> MonomialBasis(3).derivative(np.array([2.0]), 0).tolist()
    [[1.0, 2.0, 4.0]]
    """

    size: int
    centre: float = 0.0

    def derivative(self, x: Array, order: int) -> Array:
        """Derivatives at points."""
        power = np.arange(self.size)
        factor = np.ones(self.size)
        for k in range(order):
            factor = factor * np.maximum(power - k, 0)
        gap = (np.asarray(x) - self.centre)[..., None]
        return np.asarray(factor * gap ** np.maximum(power - order, 0))


@dataclass(frozen=True)
class FunctionBasis:
    """The caller's own functions: each a sequence of callables, the function and as many derivatives as are needed.

    Examples
    --------
    >>> FunctionBasis([(np.sin, np.cos)]).derivative(np.array([0.0]), 1).tolist()
    [[1.0]]
    """

    functions: Sequence[Sequence[Callable[[Array], Array]]]

    @property
    def size(self) -> int:
        """How many functions there are."""
        return len(self.functions)

    def derivative(self, x: Array, order: int) -> Array:
        """Derivatives at points."""
        columns = []
        for number, function in enumerate(self.functions):
            if order >= len(function):
                raise BadInput(
                    f"basis function {number} has {len(function) - 1} derivatives, and the equation needs order {order}"
                )
            columns.append(np.broadcast_to(np.asarray(function[order](x), dtype=float), np.shape(x)))
        return np.stack(columns, axis=-1)


@dataclass(frozen=True)
class Constraint:
    """The condition that a derivative has a given value; ``component`` is 0 for a scalar equation."""

    point: float
    value: float
    order: int = 0
    component: int = 0


@dataclass(frozen=True)
class Fit:
    """Coefficients (size, components) of a basis, with the size of the residual that was left."""

    basis: Basis
    coefficients: Array
    residual: float

    def __call__(self, x: ArrayLike, order: int = 0) -> Array:
        """Values, or derivatives, at points: (…, components), without the last axis for one component."""
        values = self.basis.derivative(np.asarray(x, dtype=float), order) @ self.coefficients
        return np.asarray(values[..., 0] if self.coefficients.shape[1] == 1 else values)


def gauss_nodes(count: int, low: float, high: float) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss–Legendre rule on an interval."""
    t, w = legendre_rule(count)
    return low + (high - low) * t, w * (high - low)


def fit_operator(
    operator: Operator,
    basis: Basis,
    rule: tuple[Array, Array],
    constraints: Sequence[Constraint],
    mu: float | None = None,
) -> Fit:
    """Solve Lf = 0 in least squares for an operator L in one variable.

    Parameters
    ----------
    operator : Operator
        Of a Weyl algebra in one variable.
    basis : Basis
    rule : pair of arrays
        Nodes and positive weights of a quadrature rule, in which the residual is measured.
    constraints : sequence of Constraint
    mu : float, optional
        The weight of the constraints as a penalty; hard constraints when not given.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> grow = weyl_algebra("x")("dx - 1")
    >>> f = fit_operator(grow, ChebyshevBasis(16, 0.0, 1.0), gauss_nodes(24, 0.0, 1.0), [Constraint(0.0, 1.0)])
    >>> round(float(f(1.0)), 12)
    2.718281828459
    """
    if operator.algebra.dimension != 1:
        raise BadInput(f"expected an operator in one variable, got {operator}")
    nodes, weights = rule
    rows = np.zeros((len(nodes), basis.size))
    for (degree, order), c in operator:
        rows += float(c.p) / float(c.q) * (nodes**degree)[:, None] * basis.derivative(nodes, order)
    rows *= np.sqrt(weights)[:, None]
    fixed = np.array([basis.derivative(np.array([c.point]), c.order)[0] for c in constraints])
    return _fit(basis, rows, (fixed, np.array([c.value for c in constraints])), mu)


def fit_system(
    equation: tuple[Array, Array],
    basis: Basis,
    rule: tuple[Array, Array],
    constraints: Sequence[Constraint],
    mu: float | None = None,
) -> Fit:
    """Solve D H' = N H in least squares, every component in the same basis.

    Parameters
    ----------
    equation : pair of arrays, (nodes,) and (nodes, rank, rank)
        D and N at the nodes; each row is scaled, so that every node counts.
    basis, rule, constraints, mu
        As for :func:`fit_operator`.
    """
    (bottom, top), (nodes, weights) = equation, rule
    rank = top.shape[1]
    value, slope = basis.derivative(nodes, 0), basis.derivative(nodes, 1)
    rows = -top[:, :, None, :] * value[:, None, :, None]
    rows[:, np.arange(rank), :, np.arange(rank)] += bottom[:, None] * slope
    rows = rows.reshape(len(nodes) * rank, basis.size * rank)
    size = np.max(np.abs(rows), axis=1)
    rows = rows * (np.repeat(np.sqrt(weights), rank) / np.where(size > 0, size, 1.0))[:, None]
    fixed = np.zeros((len(constraints), basis.size, rank))
    for i, c in enumerate(constraints):
        fixed[i, :, c.component] = basis.derivative(np.array([c.point]), c.order)[0]
    values = np.array([c.value for c in constraints])
    return _fit(basis, rows, (fixed.reshape(len(constraints), -1), values), mu)


def _fit(basis: Basis, rows: Array, constraints: tuple[Array, Array], mu: float | None) -> Fit:
    fixed, values = constraints
    if mu is not None and not mu > 0:
        raise BadInput(f"mu = {mu!r} is not positive; leave it out for hard constraints")
    if not len(values):
        raise BadInput("expected at least one constraint; without any the answer is zero")
    with one_thread():
        found = _coefficients(rows, fixed, values, mu)
    return Fit(basis, found.reshape(basis.size, -1), float(np.linalg.norm(rows @ found)))


def _coefficients(rows: Array, fixed: Array, values: Array, mu: float | None) -> Array:
    if mu is None:
        # all solutions of the constraints: one of them plus the null space of the matrix
        factor, triangle = np.linalg.qr(fixed.T, mode="complete")
        count = len(values)
        triangle = triangle[:count]
        if np.min(np.abs(np.diag(triangle))) < 1e-12 * np.max(np.abs(triangle)):
            raise BadInput("the constraints depend on each other; leave some out, or give a penalty mu")
        particular = factor[:, :count] @ np.linalg.solve(triangle.T, values)
        null = factor[:, count:]
        return np.asarray(particular + null @ _least(rows @ null, -rows @ particular))
    root = np.sqrt(mu)
    system, target = np.concatenate([rows, root * fixed]), np.concatenate([np.zeros(len(rows)), root * values])
    return _least(system, target)


def _least(matrix: Array, right: Array) -> Array:
    """The least squares solution, by QR unless columns depend on each other."""
    if not matrix.shape[1]:
        # the constraints leave nothing open
        return np.zeros(0)
    factor, triangle = np.linalg.qr(matrix)
    diagonal = np.abs(np.diag(triangle))
    if len(triangle) < matrix.shape[1] or np.min(diagonal) < 1e-14 * np.max(diagonal):
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])
    return np.asarray(np.linalg.solve(triangle, factor.T @ right))
