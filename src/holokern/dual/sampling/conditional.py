"""E[g(y) | x] for standard normal x, y with correlation cos θ: many functions g at once, angles within a factor of two.

Functions are rows of values on a mesh, which is fine next to zero and coarse elsewhere. Around most x the panels are
wide beside the deviation sin θ of y given x. There a Gauss–Hermite rule takes the mean, and its nodes are interpolated.
Where panels are narrow, or functions break, the mean is a sum over panels that are as narrow as the density of y. So
few panels are divided, however small the angle. Even and odd parts of functions stay such, and x, y > 0 are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from holokern.dual.sampling.mesh import NODES, Mesh, interpolated, lagrange, panel_of
from holokern.numeric import Array, charge, hermite_rule, how_many_fit

_FARTHEST = 8.5
"""Given x, y is within so many of its deviations but for 2e-17."""

_WIDEST = 3.4
"""On so many deviations the normal density is a polynomial of degree 31 to rounding."""

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
    def _largest(self) -> float:
        """The sine of the largest angle."""
        return float(np.sin(min(2 * self.smallest, np.pi / 2)))

    @cached_property
    def used(self) -> Mesh:
        """The mesh of x: at zero the mean of a function with a break has a layer of the width of the sine."""
        if not self.kinks:
            return self.mesh
        layer = float(np.sin(self.smallest)) * _LAYERS
        return Mesh(np.unique(np.concatenate([self.mesh.edges, layer[layer < self.mesh.edges[-1]]])))

    @cached_property
    def weighted(self) -> tuple[Array, Array]:
        """The functions at the nodes x of `used`, times weights of the normal law on both sides of zero."""
        x, w = self.used.right
        heavy = w * np.exp(-x * x / 2) * np.sqrt(2 / np.pi)
        even, odd = (part if self.used is self.mesh else self._interpolated(part, x) for part in self.parts)
        return even * heavy, odd * heavy

    def _interpolated(self, part: Array, x: Array) -> Array:
        return interpolated(self.mesh.edges, part, x)

    @cached_property
    def _rough(self) -> NDArray[np.bool_]:
        """The panels of x from which y reaches panels that are narrow beside the sine, or a break."""
        edges, widths = self.mesh.edges, np.diff(self.mesh.edges)
        cosine, reach = np.sqrt(1 - self._largest**2), _FARTHEST * self._largest
        low, high = cosine * self.used.edges[:-1] - reach, self.used.edges[1:] + reach
        first, last = (panel_of(edges, np.maximum(y, 0.0)) for y in (low, high))
        narrowest = np.array([np.min(widths[a : b + 1]) for a, b in zip(first, last, strict=True)])
        return np.asarray((self._largest > _CLOSE * narrowest) | (self.kinks & (low < 0)))

    @cached_property
    def _groups(self) -> list[slice]:
        """The nodes x of rough panels, those of neighbours together."""
        found: list[slice] = []
        most, edges = _TOGETHER * float(np.sin(self.smallest)), self.used.edges
        for panel in np.flatnonzero(self._rough):
            start, stop = panel * NODES, (panel + 1) * NODES
            if found and found[-1].stop == start and edges[panel + 1] - edges[found[-1].start // NODES] <= most:
                found[-1] = slice(found[-1].start, stop)
            else:
                found.append(slice(start, stop))
        return found

    @cached_property
    def _fine(self) -> tuple[Array, tuple[Array, Array]]:
        """Nodes y > 0 as far as rough panels reach, and the functions there times the weights of dy, as columns."""
        far = float(self.used.edges[1:][self._rough][-1]) + _FARTHEST * self._largest
        edges = self.mesh.edges
        end, width = min(far, float(edges[-1])), _WIDEST * float(np.sin(self.smallest))
        cut = Mesh(np.append(edges[edges < end], end))
        count, functions = cut.nodes_after_split(width) / 2, sum(len(part) for part in self.parts)
        how_many_fit(8.0 * (functions + _COPIES) * count, 1, f"a mesh of {count:.3g} nodes for {functions} functions")
        charge(count * functions * _VALUE_UNITS)
        y, w = cut.split(width).right
        even, odd = (np.ascontiguousarray((self._interpolated(part, y) * w).T) for part in self.parts)
        return y, (even, odd)

    def at(self, theta: float) -> tuple[Array, Array]:
        """The means given the nodes x > 0 of `used`, one row for each of them, of even and of odd functions."""
        x = self.used.right[0]
        result = np.empty((len(x), len(self.parts[0]))), np.empty((len(x), len(self.parts[1])))
        if np.any(self._rough):
            self._by_density(x, theta, result)
        if not np.all(self._rough):
            self._by_rule(x, theta, result)
        return result

    def _by_density(self, x: Array, theta: float, result: tuple[Array, Array]) -> None:
        """The means given nodes of rough panels."""
        sine, cosine = float(np.sin(theta)), float(np.cos(theta))
        y, values = self._fine
        units = _DENSITY_UNITS + _PRODUCT_UNITS * sum(len(part) for part in self.parts)
        for some in self._groups:
            centre = cosine * x[some, None] / sine
            low, high = float(centre[0, 0]) - _FARTHEST, float(centre[-1, 0]) + _FARTHEST
            a, b = np.searchsorted(y, [low * sine, high * sine])
            charge(len(centre) * (b - a) * units)
            densities = [np.exp((y[a:b] / sine - centre) ** 2 / -2) / (sine * np.sqrt(2 * np.pi))] * 2
            if low < 0:
                # y < 0, as -y > 0
                end = int(np.searchsorted(y, -low * sine))
                mirrored = np.exp((y[:end] / sine + centre) ** 2 / -2) / (sine * np.sqrt(2 * np.pi))
                densities = [densities[0].copy(), densities[0]]
                densities[0][:, :end] += mirrored
                densities[1][:, :end] -= mirrored
            for out, density, functions in zip(result, densities, values, strict=True):
                out[some] = density @ functions[a:b]

    def _by_rule(self, x: Array, theta: float, result: tuple[Array, Array]) -> None:
        """The means given the other nodes: a Gauss–Hermite rule, each of whose nodes is 16 of the mesh."""
        panels = np.flatnonzero(~self._rough)
        edges, (z, mass) = self.mesh.edges, hermite_rule(CLOSE_NODES)
        charge(len(panels) * NODES * CLOSE_NODES * NODES * _DENSITY_UNITS)
        y = np.cos(theta) * x.reshape(-1, NODES, 1)[panels] + np.sin(theta) * z
        near = np.abs(y)
        place = panel_of(edges, near)
        weights = lagrange((near - edges[place]) / (edges[place + 1] - edges[place]))
        first, last = np.min(place, axis=(1, 2)), np.max(place, axis=(1, 2))
        # which of the panels from the first one on a node of the rule is in
        inside = place[:, :, None, :] == (first[:, None] + np.arange(1 + np.max(last - first)))[:, None, :, None]
        both = [(inside * mass) @ weights] * 2
        if np.any(y < 0):
            both[1] = (inside * (mass * np.sign(y))[:, :, None, :]) @ weights
        for k, panel in enumerate(panels):
            some, a, b = slice(panel * NODES, (panel + 1) * NODES), first[k] * NODES, (last[k] + 1) * NODES
            charge(NODES * (b - a) * _PRODUCT_UNITS * sum(len(part) for part in self.parts))
            for out, matrix, part in zip(result, both, self._columns, strict=True):
                out[some] = matrix[k].reshape(NODES, -1)[:, : b - a] @ part[a:b]

    @cached_property
    def _columns(self) -> tuple[Array, Array]:
        """The functions at the nodes of the mesh, one column each."""
        return np.ascontiguousarray(self.parts[0].T), np.ascontiguousarray(self.parts[1].T)
