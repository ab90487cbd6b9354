"""E[g(y) | x] for standard normal x, y with correlation cos θ: many functions g at once, angles within a factor of two.

Functions are rows of values on a mesh, which is fine next to zero and coarse elsewhere. Around most x the panels are
wide beside the deviation sin θ of y given x. There a Gauss–Hermite rule takes the mean, and its nodes are interpolated.
Where panels are narrow, or functions break, the mean is a sum over panels that are as narrow as the density of y, and
narrower ones are taken together: the density sees their moments alone. So few points are left, however small or large
the angle is on the scale of the mesh. Even and odd parts of functions stay such, and x, y > 0 are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from holokern.dual.sampling.mesh import NODES, Mesh, interpolated, lagrange, panel_of
from holokern.numeric import Array, charge, hermite_rule, how_many_fit, legendre_rule

_FARTHEST = 8.5
"""Given x, y is within so many of its deviations but for 2e-17."""

_WIDEST = 3.4
"""On so many deviations the normal density is a polynomial of degree 31 to rounding."""

_RESOLVED = 1.2
"""On so many deviations the density, and the mean of any function given x, is a polynomial of degree 15 to rounding."""

_CLOSE = 0.4
"""Deviations of y given x, in widths of the narrowest panel, up to which 20 Gauss–Hermite nodes are enough."""

CLOSE_NODES = 20
"""Gauss–Hermite nodes for y given x where y hardly differs from x."""

_TOGETHER = 4.0
"""Panels of x within so many deviations share the y of their sums: a quarter more of them, and fewer products."""

_LAYERS = 2.0 ** np.arange(-1.0, 6.0)
"""Ends of panels, in deviations of the smallest angle, that resolve the layer which a break at zero leaves; from the
last one on y does not reach zero at any angle."""

_DENSITY_UNITS, _PRODUCT_UNITS, _VALUE_UNITS = 1e-3, 5e-5, 4e-3
"""Units of work of a density or of a weight, 10 ns, and of what it takes part in for each function, 0.5 ns.
A value on a finer mesh takes 40 ns: interpolated, and copied."""

_COPIES = 8
"""Arrays of nodes of a finer mesh beside the functions: the nodes themselves, their weights, their edges."""


def is_close(mesh: Mesh, theta: float) -> bool:
    """Whether y hardly differs from x, on the scale of a mesh."""
    return float(np.sin(theta)) <= _CLOSE * float(np.min(np.diff(mesh.edges)))


@dataclass(frozen=True, eq=False)
class Conditional:
    """The means of even and of odd functions for angles from ``smallest`` to twice that, up to π/2.

    Examples
    --------
    >>> mesh = Mesh(np.linspace(0.0, 9.0, 19))
    >>> x = mesh.right[0]
    >>> given = Conditional(mesh, (x[None] ** 2, x[None]), False, 0.01)
    >>> even, odd = given.at(0.015)
    >>> bool(np.allclose(even[:, 0], (np.cos(0.015) * x) ** 2 + np.sin(0.015) ** 2, rtol=1e-13))
    True
    >>> bool(np.allclose(odd[:, 0], np.cos(0.015) * x, rtol=1e-13))
    True
    """

    mesh: Mesh
    parts: tuple[Array, Array]  # even and odd functions at the nodes x > 0 of the mesh, one row each
    kinks: bool  # whether functions break at zero
    smallest: float

    @cached_property
    def _sines(self) -> tuple[float, float]:
        """Those of the smallest and of the largest angle."""
        return float(np.sin(self.smallest)), float(np.sin(min(2 * self.smallest, np.pi / 2)))

    @cached_property
    def _used(self) -> Mesh:
        """The mesh of x: at zero the mean of a function with a break has a layer of the width of the sine."""
        if not self.kinks:
            return self.mesh
        layer = self._sines[0] * _LAYERS
        return Mesh(np.unique(np.concatenate([self.mesh.edges, layer[layer < self.mesh.edges[-1]]])))

    @cached_property
    def _rough(self) -> NDArray[np.bool_]:
        """The panels of x from which y reaches panels that are narrow beside the sine, or a break."""
        edges, widths, largest = self.mesh.edges, np.diff(self.mesh.edges), self._sines[1]
        cosine, reach = np.sqrt(1 - largest**2), _FARTHEST * largest
        low, high = cosine * self._used.edges[:-1] - reach, self._used.edges[1:] + reach
        first, last = (panel_of(edges, np.maximum(y, 0.0)) for y in (low, high))
        narrowest = np.array([np.min(widths[a : b + 1]) for a, b in zip(first, last, strict=True)])
        return np.asarray((largest > _CLOSE * narrowest) | (self.kinks & (low < 0)))

    @cached_property
    def _given(self) -> tuple[Array, Array, tuple[Array, Array]]:
        """Points x of rough panels, those of the others, and at all of them what sums over x take of the functions."""
        x, w = self._used.right
        rows = np.concatenate(self.parts)
        rows = rows if self._used is self.mesh else interpolated(self.mesh.edges, rows, x)
        heavy = rows * (w * np.exp(-x * x / 2) * np.sqrt(2 / np.pi))
        rough, gathered = _gathered(self._used.edges, heavy, _RESOLVED * self._sines[0], self._rough)
        others = np.repeat(~self._rough, NODES)
        even, odd = np.split(np.concatenate([gathered, heavy[:, others]], axis=1), [len(self.parts[0])])
        return rough, x[others], (even, odd)

    @property
    def weighted(self) -> tuple[Array, Array]:
        """Even and odd functions, times weights of the normal law on both sides of zero, at the points of `at`."""
        return self._given[2]

    @cached_property
    def _groups(self) -> list[slice]:
        """The points x of rough panels, those of neighbours together."""
        found: list[slice] = []
        most, ends = _TOGETHER * self._sines[0], self._given[0].reshape(-1, NODES)[:, [0, -1]]
        for panel, (_, high) in enumerate(ends):
            if found and high - ends[found[-1].start // NODES, 0] <= most:
                found[-1] = slice(found[-1].start, (panel + 1) * NODES)
            else:
                found.append(slice(panel * NODES, (panel + 1) * NODES))
        return found

    @cached_property
    def _fine(self) -> tuple[Array, tuple[Array, Array]]:
        """Points y > 0 as far as rough panels reach, and what sums over y take of the functions, as columns."""
        (smallest, largest), edges = self._sines, self.mesh.edges
        end = min(float(self._used.edges[1:][self._rough][-1]) + _FARTHEST * largest, float(edges[-1]))
        cut, width = Mesh(np.append(edges[edges < end], end)), _WIDEST * smallest
        count, rows = cut.nodes_after_split(width) / 2, np.concatenate(self.parts)
        how_many_fit(
            8.0 * (2 * len(rows) + _COPIES) * count, 1, f"a mesh of {count:.3g} nodes for {len(rows)} functions"
        )
        charge(count * len(rows) * _VALUE_UNITS)
        fine = cut.split(width)
        y, w = fine.right
        everywhere = np.ones(len(fine.edges) - 1, dtype=bool)
        y, rows = _gathered(fine.edges, interpolated(edges, rows, y) * w, _RESOLVED * smallest, everywhere)
        even, odd = np.split(rows, [len(self.parts[0])])
        return y, (np.ascontiguousarray(even.T), np.ascontiguousarray(odd.T))

    def at(self, theta: float) -> tuple[Array, Array]:
        """The means of even and of odd functions given some points x > 0, one row for each of these."""
        rough, others, _ = self._given
        even, odd = (np.empty((len(rough) + len(others), len(part))) for part in self.parts)
        if len(rough):
            self._by_density(rough, theta, (even[: len(rough)], odd[: len(rough)]))
        if len(others):
            self._by_rule(others.reshape(-1, NODES), theta, (even[len(rough) :], odd[len(rough) :]))
        return even, odd

    def _by_density(self, x: Array, theta: float, result: tuple[Array, Array]) -> None:
        """The means given points of rough panels."""
        sine, cosine = float(np.sin(theta)), float(np.cos(theta))
        y, values = self._fine
        units = _DENSITY_UNITS + _PRODUCT_UNITS * sum(len(part) for part in self.parts)
        for some in self._groups:
            centre = cosine * x[some, None] / sine
            low, high = float(centre[0, 0]) - _FARTHEST, float(centre[-1, 0]) + _FARTHEST
            # whole panels, since points of one stand for it together
            a, b = np.searchsorted(y[::NODES], [low * sine, high * sine]) * NODES
            a = max(a - NODES, 0)
            charge(len(centre) * (b - a) * units)
            densities = [np.exp((y[a:b] / sine - centre) ** 2 / -2) / (sine * np.sqrt(2 * np.pi))] * 2
            if low < 0:
                # y < 0, as -y > 0
                end = int(np.searchsorted(y[::NODES], -low * sine)) * NODES
                mirrored = np.exp((y[:end] / sine + centre) ** 2 / -2) / (sine * np.sqrt(2 * np.pi))
                densities = [densities[0].copy(), densities[0]]
                densities[0][:, :end] += mirrored
                densities[1][:, :end] -= mirrored
            for out, density, functions in zip(result, densities, values, strict=True):
                out[some] = density @ functions[a:b]

    def _by_rule(self, x: Array, theta: float, result: tuple[Array, Array]) -> None:
        """The means given points of other panels: a Gauss–Hermite rule, each of whose nodes is 16 of the mesh."""
        edges, (z, mass) = self.mesh.edges, hermite_rule(CLOSE_NODES)
        charge(x.size * CLOSE_NODES * NODES * _DENSITY_UNITS)
        y = np.cos(theta) * x[:, :, None] + np.sin(theta) * z
        near = np.abs(y)
        place = panel_of(edges, near)
        weights = lagrange((near - edges[place]) / (edges[place + 1] - edges[place]))
        first, last = np.min(place, axis=(1, 2)), np.max(place, axis=(1, 2))
        # which of the panels from the first one on a node of the rule is in
        inside = place[:, :, None, :] == (first[:, None] + np.arange(1 + np.max(last - first)))[:, None, :, None]
        both = [(inside * mass) @ weights] * 2
        if np.any(y < 0):
            both[1] = (inside * (mass * np.sign(y))[:, :, None, :]) @ weights
        for k in range(len(x)):
            some, a, b = slice(k * NODES, (k + 1) * NODES), first[k] * NODES, (last[k] + 1) * NODES
            charge(NODES * (b - a) * _PRODUCT_UNITS * sum(len(part) for part in self.parts))
            for out, matrix, part in zip(result, both, self._columns, strict=True):
                out[some] = matrix[k].reshape(NODES, -1)[:, : b - a] @ part[a:b]

    @cached_property
    def _columns(self) -> tuple[Array, Array]:
        """The functions at the nodes of the mesh, one column each."""
        return np.ascontiguousarray(self.parts[0].T), np.ascontiguousarray(self.parts[1].T)


def _gathered(edges: Array, rows: Array, width: float, chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Points, and rows of weighted values there, that stand for those at the nodes of the chosen panels between edges.

    Sums of the rows times a function that is a polynomial of degree 15 on intervals of this width stay as they are:
    neighbours that are narrower together become one panel.

    Examples
    --------
    >>> mesh = Mesh(np.array([0.0, 0.1, 0.3, 2.0]))
    >>> x, w = mesh.right
    >>> points, rows = _gathered(mesh.edges, np.exp(x)[None] * w, 0.5, np.ones(3, dtype=bool))
    >>> len(points), round(float(rows[0] @ points), 12) == round(float(np.exp(x) * w @ x), 12)
    (32, True)
    """
    t, _ = legendre_rule(NODES)
    points, found, panel = [np.empty(0)], [np.empty((len(rows), 0))], 0
    while panel < len(chosen):
        stop = panel + 1
        while chosen[panel] and stop < len(chosen) and chosen[stop] and edges[stop + 1] - edges[panel] <= width:
            stop += 1
        if chosen[panel]:
            low, high, some = edges[panel], edges[stop], rows[:, panel * NODES : stop * NODES]
            points.append(low + (high - low) * t)
            if stop > panel + 1:
                inner = (edges[panel:stop, None] + np.diff(edges[panel : stop + 1])[:, None] * t).ravel()
                some = some @ lagrange((inner - low) / (high - low))
            found.append(some)
        panel = stop
    return np.concatenate(points), np.concatenate(found, axis=1)
