"""E[f(x) g(y)] for standard normal x, y with correlation cos θ, for many functions f and g at once.

Functions are rows of values on a mesh, so no function is evaluated again for another angle. Given x, the mean of g(y)
is a matrix times the values of g, the same for all functions. Where y hardly differs from x on the scale of the mesh it
is a Gauss–Hermite rule, and points next to a break at zero take panels that end there; at larger angles it is the
density of y on panels as narrow as that density. All of this stays accurate as θ → 0.

Away from θ = 0 and π sums over Hermite coefficients are cheaper: see :mod:`holokern.dual.sampling.mehler`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holokern.dual.sampling.mesh import NODES, Mesh, lagrange
from holokern.numeric import Array, Index, between, charge, hermite_rule, how_many_fit, legendre_rule

_FARTHEST = 8.5
"""Given x, y is within so many of its deviations but for 2e-17."""

_WIDEST = 3.4
"""On so many deviations the normal density is a polynomial of degree 31 to rounding."""

_CLOSE = 0.4
"""Deviations of y given x, in widths of the narrowest panel, up to which 20 Gauss–Hermite nodes are enough."""

CLOSE_NODES = 20
"""Gauss–Hermite nodes for y given x where y hardly differs from x."""

_DENSITY_UNITS, _PRODUCT_UNITS, _VALUE_UNITS = 1e-3, 5e-5, 4e-3
"""Units of work of a density, 10 ns, and of what it takes part in for each function, 0.5 ns: two products.
A sparse product takes four times as long. A value on a finer mesh takes 40 ns: interpolated, and copied."""


def is_close(mesh: Mesh, theta: float) -> bool:
    """Whether y hardly differs from x, on the scale of a mesh."""
    return float(np.sin(theta)) <= _CLOSE * float(np.min(np.diff(mesh.edges)))


@dataclass(frozen=True, eq=False)
class Correlation:
    """Rows of functions on a mesh, and their correlations."""

    mesh: Mesh  # the mesh
    values: Array  # groups of functions, of shape (groups, functions, nodes). Only functions of one group are paired.
    kinks: bool  # whether functions break at zero
    _fine: dict[float, tuple[Mesh, Array]] = field(default_factory=dict, repr=False)

    def at(self, theta: float) -> tuple[Array, Array]:
        """E[f_a(x) f_b(y)] at the angles θ and π - θ, for 0 < θ ≤ π/2, of shape (groups, functions, functions).

        Examples
        --------
        >>> mesh = Mesh(np.linspace(0.0, 9.0, 19))
        >>> same, opposite = Correlation(mesh, np.maximum(mesh.nodes, 0.0)[None, None], True).at(np.pi / 3)
        >>> round(float(same[0, 0, 0]), 12), round(float(opposite[0, 0, 0]), 12)
        (0.304498890522, 0.054498890522)
        """
        sine = float(np.sin(theta))
        used = self.mesh
        if self.kinks:
            # The mean of g(y) given x has a layer of the width of the sine at zero.
            layer = sine * 2.0 ** np.arange(-1.0, 4.0)
            used = Mesh(np.unique(np.concatenate([used.edges, layer[layer < used.edges[-1]]])))
        x, w = used.right
        groups, count, _ = self.values.shape
        flat = self._flat
        mirrored = flat[:, ::-1]
        if used is self.mesh:
            right, left = flat[:, len(x) :], mirrored[:, len(x) :]
        else:
            right, left = self.mesh.values_at(flat, x), self.mesh.values_at(mirrored, x)
        if is_close(self.mesh, theta):
            charge(len(x) * CLOSE_NODES * NODES * (_DENSITY_UNITS + 4 * _PRODUCT_UNITS * len(flat)))
            matrix = self._close(x, theta)
            same, other = matrix @ flat.T, matrix @ mirrored.T
        else:
            same, other = self._banded(x, theta)
        heavy = w * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        charge(2 * len(x) * groups * count**2 * _PRODUCT_UNITS)
        here, there = np.empty((groups, count, count)), np.empty((groups, count, count))
        for group in range(groups):
            some = slice(group * count, (group + 1) * count)
            parts = (right[some] * heavy, left[some] * heavy), (same[:, some], other[:, some])
            here[group] = parts[0][0] @ parts[1][0] + parts[0][1] @ parts[1][1]
            there[group] = parts[0][0] @ parts[1][1] + parts[0][1] @ parts[1][0]
        return here, there

    @property
    def _flat(self) -> Array:
        return self.values.reshape(-1, self.values.shape[2])

    def aligned(self) -> tuple[Array, Array]:
        """The same at θ = 0 and θ = π."""
        heavy = self.values * self.mesh.masses
        turned = np.swapaxes(self.values, 1, 2)
        return heavy @ turned, heavy @ turned[:, ::-1]

    def _banded(self, x: Array, theta: float) -> tuple[Array, Array]:
        """E[g(y) | x] and E[g(-y) | x], one row for each x > 0, on panels no wider than the density of y given x."""
        sine, cosine = float(np.sin(theta)), float(np.cos(theta))
        # One refined mesh for all angles of an octave.
        width = _WIDEST * float(np.sin(2.0 ** np.floor(np.log2(theta))))
        if width not in self._fine:
            count, octaves = self.mesh.nodes_after_split(width), len(self._fine) + 1
            # the nodes themselves, their weights and their edges beside the functions
            size = 8.0 * (len(self._flat) * (octaves + 1) + 8) * count
            how_many_fit(size, 1, f"a mesh of {count:.3g} nodes for {len(self._flat)} functions")
            charge(count * len(self._flat) * _VALUE_UNITS)
            fine = self.mesh.split(width)
            self._fine[width] = fine, np.ascontiguousarray(self.mesh.values_at(self._flat, fine.nodes).T)
        fine, values = self._fine[width]
        mirrored = values[::-1]
        y, weights = fine.nodes, np.tile(fine.right[1], 2)
        weights[: len(weights) // 2] = fine.right[1][::-1]
        weights = weights / (sine * np.sqrt(2 * np.pi))
        same, other = np.empty((len(x), values.shape[1])), np.empty((len(x), values.shape[1]))
        for start in range(0, len(x), NODES):
            some = slice(start, start + NODES)
            low, high = cosine * x[some][0] - _FARTHEST * sine, cosine * x[some][-1] + _FARTHEST * sine
            a, b = np.searchsorted(y, [low, high])
            charge(NODES * (b - a) * (_DENSITY_UNITS + _PRODUCT_UNITS * values.shape[1]))
            density = np.exp(-(((y[a:b] - cosine * x[some, None]) / sine) ** 2) / 2) * weights[a:b]
            same[some] = density @ values[a:b]
            other[some] = density @ mirrored[a:b]
        return same, other

    def _close(self, x: Array, theta: float) -> Any:
        """The sparse matrix that takes values of g to E[g(y) | x] for points x > 0."""
        from scipy.sparse import csr_array

        sine, cosine = float(np.sin(theta)), float(np.cos(theta))
        near = cosine * x < _FARTHEST * sine if self.kinks else np.zeros(len(x), dtype=bool)
        owners, places, shares = [], [], []
        far = np.nonzero(~near)[0]
        z, mass = hermite_rule(CLOSE_NODES)
        y = cosine * x[far, None] + sine * z
        place, weights = self._interpolation(y)
        owners.append(np.repeat(far, len(z)))
        places.append(place.ravel())
        shares.append((weights * mass[:, None]).reshape(-1, NODES))
        if np.any(near):
            some = np.nonzero(near)[0]
            cut = np.clip(-cosine * x[some, None] / sine, -_FARTHEST, _FARTHEST)
            ends = np.linspace(-_FARTHEST, _FARTHEST, 1 + int(np.ceil(2 * _FARTHEST / _WIDEST)))
            panels = between(np.concatenate([cut, np.broadcast_to(ends, (len(some), len(ends)))], axis=1))
            t, w = legendre_rule(NODES)
            z = panels.start[:, None] + panels.width[:, None] * t
            density = np.exp(-z * z / 2) * w * (panels.width / np.sqrt(2 * np.pi))[:, None]
            place, weights = self._interpolation(cosine * x[some][panels.owner, None] + sine * z)
            owners.append(np.repeat(some[panels.owner], NODES))
            places.append(place.ravel())
            shares.append((weights * density[..., None]).reshape(-1, NODES))
        rows = np.repeat(np.concatenate(owners), NODES)
        columns = (np.concatenate(places)[:, None] * NODES + np.arange(NODES)).ravel()
        shape = (len(x), len(self.mesh.nodes))
        return csr_array((np.concatenate(shares).ravel(), (rows, columns)), shape=shape)

    def _interpolation(self, y: Array) -> tuple[Index, Array]:
        """The panel of each point, and the weights of its nodes."""
        edges = self.mesh.all_edges
        place = self.mesh.panel_of(y)
        return place, lagrange((y - edges[place]) / (edges[place + 1] - edges[place]))
