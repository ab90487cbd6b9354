"""σ(cx) and σ′(cx) for the deviations c of a table: few rows that stand for all of them.

The rows of σ(cx), divided by their norms, at Chebyshev nodes in log c are sums U V with few rows V. So k and k′ of all
pairs of deviations follow from the correlations of the rows V, whatever the angle. For angles away from 0 and π the
rows are Hermite coefficients, of which few count, and σ may break anywhere. For all angles they are values on a mesh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from holokern.activation import Activation
from holokern.dual.quadrature.pairing import Side
from holokern.dual.quadrature.profile import HALF_RANGE, profile_of
from holokern.dual.sampling.correlation import CLOSE_NODES, Correlation, is_close
from holokern.dual.sampling.mehler import HermiteRows, coefficients_on_mesh, hermite_sums, terms_needed
from holokern.dual.sampling.mesh import Mesh
from holokern.dual.sampling.range_nodes import RangeNodes
from holokern.dual.tables.compressed import Compressed, compressed
from holokern.numeric import Array, Range, hermite_rule, legendre_rule
from holokern.progress import note

_RESOLVED = 4e-15
"""What the mesh may leave out of σ(cx), relative to its norm."""

_MOST_NODES = 150_000
"""Nodes of a mesh, beyond which a table takes longer than integrals pair by pair."""

_MOST_OF_A_ROW = 1 << 18
"""Nodes of the mesh of a single deviation, which takes a tenth of a second."""

_OSCILLATING = 2000
"""Nodes of a mesh from which on it is taken to resolve oscillations."""

_SLOW = 8000
"""Nodes of a mesh from which on a table for small angles takes more than about twenty seconds."""

_FURTHER = 3.3
"""How much further a mesh reaches for Hermite coefficients of an oscillation, which decay like the density's root."""

_AT_ONCE = 1 << 22
"""Values that are sampled at a time: 32 megabytes."""

_TESTS = 9
"""Deviations at which the mesh is made; those between them oscillate no faster."""

_BY_SERIES = 0.4
"""From this angle to its supplement pairs of single deviations are sums over Hermite coefficients."""

_NODES, _PHASE = 24, 9.0
"""Nodes of a panel that ends at breaks, and radians of a Hermite function there: degree 47 in all."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Few rows for a range of deviations.

    Attributes
    ----------
    nodes
        The nodes in log c.
    functions
        U: what the rows of σ(cx) over its norm at the nodes are in terms of few rows.
    correlation
        Those rows, in one group for σ and, unless σ jumps, another one for σ′.
    constant
        The coordinates of the constant function 1 of c, in the columns of U.
    norms, slopes, means
        E[σ(cz)²]^(1/2), E[σ′(cz)²]^(1/2) and E[σ(cz)] at the nodes.
    scale
        The smallest width of a panel: σ(cx) varies on this scale.
    """

    nodes: RangeNodes
    functions: Array
    correlation: Correlation | HermiteRows
    constant: Array
    norms: Array
    slopes: Array
    means: Array
    scale: float


def mesh_rows(sigma: Activation, span: Range) -> Rows:
    """Rows for all angles, of an activation whose only break may be zero.

    Raises
    ------
    PrecisionLost
        If σ(cx) is too rough for a mesh or a series of bearable size, or its mass overflows.
    """
    mesh = _mesh_for(sigma, span)
    if len(mesh.nodes) > _SLOW and not span.is_point:
        note(
            f"{sigma} oscillates so often at deviations up to {span.ends[1]:.4g} that its table for small angles may "
            "take minutes; it is kept on disk. Smaller norms, or engine='pairs' for few points, avoid it"
        )

    def sampled(c: Array, _: Range) -> tuple[Array, list[Array]]:
        values = [f(np.multiply.outer(c, mesh.nodes)) for f in _functions(sigma)]
        return np.stack(values), [value * np.sqrt(mesh.masses) for value in values]

    made = compressed(sigma, span, sampled, 1.0, len(mesh.nodes) > _OSCILLATING)
    means = made.values[0] @ mesh.masses
    rows = np.stack([made.functions.T @ group for group in made.normalised])
    correlation = Correlation(mesh, rows, bool(sigma.breaks))
    return _rows(made, correlation, means, float(np.min(np.diff(mesh.edges))))


def hermite_rows(sigma: Activation, span: Range, smallest: float) -> Rows:
    """Rows for angles between ``smallest`` and its supplement.

    Raises
    ------
    PrecisionLost
        If σ(cx) is too rough for a mesh or a series of bearable size, or its mass overflows.
    """
    count = terms_needed(smallest)
    away = any(b != 0 for b in sigma.breaks)
    whole = None if away else _mesh_for(sigma, span)
    oscillates = whole is not None and len(whole.nodes) > _OSCILLATING

    def sampled(c: Array, part: Range) -> tuple[Array, list[Array]]:
        if whole is None:
            found = [_between_breaks(count, sigma, f, c) for f in _functions(sigma)]
        else:
            mesh = _mesh_for(sigma, part, _FURTHER) if oscillates else whole
            found = [_on_mesh(count, mesh, f, c) for f in _functions(sigma)]
        return np.stack([terms for terms, _ in found]), [np.sqrt(square) for _, square in found]

    # Correlations at θ are products of coefficients that are damped by half a power of cos θ each.
    made = compressed(sigma, span, sampled, float(np.sqrt(np.cos(smallest))), oscillates)
    rows = np.stack([made.functions.T @ group for group in made.normalised])
    scale = float(np.exp(-span.high)) if whole is None else float(np.min(np.diff(whole.edges)))
    return _rows(made, HermiteRows(rows), made.values[0][:, 0], scale)


def checking_rows(sigma: Activation, c: Array, smallest: float) -> Correlation | HermiteRows:
    """Rows for single deviations, made in another way than those of tables: a finer mesh, or finer panels."""
    if any(b != 0 for b in sigma.breaks):
        count = 2 * terms_needed(0.4)
        return HermiteRows(np.stack([_between_breaks(count, sigma, f, c)[0] for f in _functions(sigma)]))
    ends = np.log(np.array([np.min(c), np.max(c)]))
    coarse = _mesh_for(sigma, Range(*ends)).edges
    mesh = Mesh(np.sort(np.concatenate([coarse, (coarse[1:] + coarse[:-1]) / 2])))
    values = np.stack([f(np.multiply.outer(c, mesh.nodes)) for f in _functions(sigma)])
    if smallest and len(mesh.nodes) > 2 * _OSCILLATING:
        flat = coefficients_on_mesh(mesh, values.reshape(-1, len(mesh.nodes)), terms_needed(smallest))
        return HermiteRows(flat.reshape(*values.shape[:2], -1))
    return Correlation(mesh, values, bool(sigma.breaks))


@dataclass(frozen=True, eq=False)
class PointRow:
    """σ(cx) and, unless σ jumps, σ′(cx) on a mesh for one deviation, of an activation whose only break may be zero.

    Whatever is computed from two of these depends on the two deviations alone, to the last bit.

    Attributes
    ----------
    sigma, c
        The activation and the deviation.
    mesh
        A mesh that resolves it.
    values
        Of shape (functions, nodes).
    """

    sigma: Activation
    c: float
    mesh: Mesh
    values: Array

    @classmethod
    def of(cls, sigma: Activation, c: float) -> PointRow:
        """Sample at a deviation.

        Raises
        ------
        PrecisionLost
            If σ(cx) is too rough for a mesh of bearable size, or its mass overflows.
        """
        mesh = _mesh_for(sigma, Range(*np.log([c, c])), most=_MOST_OF_A_ROW)
        return cls(sigma, c, mesh, np.stack([f(c * mesh.nodes) for f in _functions(sigma)]))

    def norm(self, function: int = 0) -> float:
        """E[f(cz)²]^(1/2) of σ or σ′."""
        return float(scaled_norms(self.values[function : function + 1], self.mesh)[0])

    @property
    def mean(self) -> float:
        """E[σ(cz)]."""
        return float(np.sum(self.values[0] * self.mesh.masses))

    @cached_property
    def _terms(self) -> Array:
        return coefficients_on_mesh(self.mesh, self.values, terms_needed(_BY_SERIES))

    def paired(self, other: PointRow, theta: float) -> Array:
        """E[f(u) f(v)] for f = σ and σ′, with the other deviation and 0 < θ < π."""
        small = min(theta, float(np.pi) - theta)
        if small >= _BY_SERIES:
            powers = np.cos(theta) ** np.arange(self._terms.shape[1])
            return np.asarray(np.sum(self._terms * other._terms * powers, axis=1))
        close = self.close_to(other, small)
        if close is not None:
            return close.correlations(-1.0 if theta > np.pi / 2 else 1.0)
        mesh = self._joint_mesh(other)
        first, second = (one.mesh.values_at(one.values, mesh.nodes) for one in (self, other))
        beyond = mesh.nodes[:, None] ** 2 > np.array([self.mesh.edges[-1], other.mesh.edges[-1]]) ** 2
        first[:, beyond[:, 0]], second[:, beyond[:, 1]] = 0.0, 0.0
        found = Correlation(mesh, np.stack([first, second], axis=1), bool(self.sigma.breaks)).at(small)
        return np.asarray(found[int(theta > np.pi / 2)][:, 0, 1])

    def close_to(self, other: PointRow, theta: float) -> ClosePair | None:
        """The pair with another deviation at the angle θ ≤ π/2, if it is a close one."""
        mesh = self._joint_mesh(other)
        if self.sigma.breaks or not is_close(mesh, theta):
            return None
        return ClosePair(self, other, mesh, theta)

    def _joint_mesh(self, other: PointRow) -> Mesh:
        return Mesh(np.unique(np.concatenate([self.mesh.edges, other.mesh.edges])))


@dataclass(frozen=True, eq=False)
class ClosePair:
    """Two deviations at an angle so small that, given u, a Gauss–Hermite rule resolves σ(v), which must have no break.

    Attributes
    ----------
    first, second
        The rows.
    mesh
        A mesh that resolves both.
    theta
        The angle.
    """

    first: PointRow
    second: PointRow
    mesh: Mesh
    theta: float

    @cached_property
    def _points(self) -> tuple[Array, Array, Array]:
        """The values of u and v, and the weights of the rule."""
        z, weights = hermite_rule(CLOSE_NODES)
        x = self.mesh.nodes
        y = np.cos(self.theta) * x[:, None] + np.sin(self.theta) * z
        return self.first.c * x, self.second.c * y, weights

    def correlations(self, sign: float) -> Array:
        """E[f(u) f(sign v)] for f = σ and σ′."""
        u, v, weights = self._points
        given = [f(sign * v) @ weights * f(u) for f in _functions(self.first.sigma)]
        return np.array([np.sum(one * self.mesh.masses) for one in given])

    def loss(self, norms: tuple[float, float]) -> float:
        """1 - E[σ(u)σ(v)]/(n1 n2) for the norms n1 and n2, as half the mean square of a difference."""
        u, v, weights = self._points
        sigma = self.first.sigma
        difference = (sigma(u) / norms[0])[:, None] - sigma(v) / norms[1]
        return float(np.sum(difference**2 @ weights * self.mesh.masses)) / 2


def scaled_norms(values: Array, mesh: Mesh) -> Array:
    """E[f²]^(1/2) of rows on a mesh; squares neither overflow nor underflow."""
    size = np.max(np.abs(values), axis=1, keepdims=True)
    safe = np.where((size > 0) & np.isfinite(size), size, 1.0)
    return np.asarray(safe[:, 0] * np.sqrt(np.sum((values / safe) ** 2 * mesh.masses, axis=1)))


def moments_on_mesh(sigma: Activation, c: Array) -> tuple[Array, Array, Array]:
    """E[σ(cz)²]^(1/2), E[σ′(cz)²]^(1/2) (1 if σ jumps) and E[σ(cz)] for many deviations on one mesh."""
    mesh = _mesh_for(sigma, Range(float(np.log(np.min(c))), float(np.log(np.max(c)))))
    found = np.ones((3, len(c)))
    # Some deviations at a time, to bound the memory.
    some = max(1, _AT_ONCE // len(mesh.nodes))
    for start in range(0, len(c), some):
        part = slice(start, start + some)
        u = np.multiply.outer(c[part], mesh.nodes)
        for row, function in enumerate(_functions(sigma)):
            values = function(u)
            found[row, part] = scaled_norms(values, mesh)
            if row == 0:
                found[2, part] = values @ mesh.masses
    return found[0], found[1], found[2]


def hermite_coefficients(sigma: Activation, c: Array, count: int) -> Array:
    """Hermite coefficients of σ(cx), one row for each deviation, of an activation whose only break may be zero."""
    mesh = _mesh_for(sigma, Range(float(np.log(np.min(c))), float(np.log(np.max(c)))))
    return _on_mesh(count, mesh, sigma, c)[0]


def hermite_rows_at(sigma: Activation, c: Array, smallest: float) -> Array:
    """Hermite coefficients of σ(cx) and, unless σ jumps, of σ′(cx), whatever the breaks: (functions, c, terms)."""
    return np.stack([_between_breaks(terms_needed(smallest), sigma, f, c)[0] for f in _functions(sigma)])


def _functions(sigma: Activation) -> tuple[Activation, ...]:
    return (sigma,) if sigma.jump_order == 0 else (sigma, sigma.derivative)


def _reach(sigma: Activation, c: Array) -> float:
    side = Side.of(profile_of(sigma), c)
    return HALF_RANGE + float(max(np.max(side.left), np.max(side.right)))


def _mesh_for(sigma: Activation, span: Range, further: float = 0.0, most: int = _MOST_NODES) -> Mesh:
    tests = np.exp(np.unique(np.linspace(span.low, span.high, _TESTS)))
    reach = _reach(sigma, tests) + further
    x = np.linspace(-reach, reach, 2001)
    root = np.exp(-x * x / 4) * np.sqrt((x[1] - x[0]) / np.sqrt(2 * np.pi))
    functions: list[Callable[[Array], Array]] = []
    for function in _functions(sigma):
        with np.errstate(all="ignore"):
            norm = np.sqrt(np.sum(np.nan_to_num(function(np.multiply.outer(tests, x)) * root) ** 2, axis=1))
        scale = np.where(norm > 0, norm, 1.0)[:, None, None]
        functions.append(partial(_scaled, function, tests, scale))
    return Mesh.resolving(functions, reach, _RESOLVED, most, str(sigma))


def _scaled(function: Activation, c: Array, scale: Array, x: Array) -> Array:
    return np.asarray(function(np.multiply.outer(c, x)) / scale)


def _on_mesh(count: int, mesh: Mesh, function: Activation, c: Array) -> tuple[Array, Array]:
    """Hermite coefficients of f(cx), and E[f(cx)²]."""
    values = function(np.multiply.outer(c, mesh.nodes))
    return coefficients_on_mesh(mesh, values, count), (values * np.sqrt(mesh.masses)) ** 2


def _between_breaks(count: int, sigma: Activation, function: Activation, c: Array) -> tuple[Array, Array]:
    """The same for functions with breaks anywhere, on panels that end at the breaks of each deviation."""
    profile, reach = profile_of(sigma), _reach(sigma, c)
    smooth = profile.panels(reach * float(np.max(c)))
    ends = np.concatenate([profile.breaks, smooth.ends])
    grid = np.linspace(-reach, reach, 1 + int(np.ceil(2 * reach * np.sqrt(count) / _PHASE)))
    t, w = legendre_rule(_NODES)
    coefficients, squares = np.empty((len(c), count)), np.empty((len(c), 1))
    for row, deviation in enumerate(c):
        inside = ends[np.abs(ends) < reach * deviation] / deviation
        edges = np.unique(np.concatenate([grid, inside]))
        width = np.diff(edges)[:, None]
        x, weights = (edges[:-1, None] + width * t).ravel(), (width * w).ravel()
        values = function(deviation * x)
        coefficients[row] = hermite_sums(values[None], x, weights, count)[0]
        squares[row] = np.sum(values**2 * weights * np.exp(-x * x / 2)) / np.sqrt(2 * np.pi)
    return coefficients, squares


def _rows(made: Compressed, correlation: Correlation | HermiteRows, means: Array, scale: float) -> Rows:
    constant = made.functions.T @ np.ones(len(means))
    slopes = made.norms[-1] if len(made.norms) > 1 else np.ones(len(means))
    return Rows(made.nodes, made.functions, correlation, constant, made.norms[0], slopes, means, scale)
