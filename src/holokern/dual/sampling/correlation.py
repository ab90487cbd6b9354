"""E[f(x) g(y)] for standard normal x, y with correlation cos θ, for many functions f and g at once.

Functions are rows of values on a mesh, so no function is evaluated again for another angle. Given x, the mean of g(y)
is a matrix times the values of g, the same for all functions: see :mod:`holokern.dual.sampling.conditional`. All of
this stays accurate as θ → 0. Even and odd parts of functions do not meet, and what they share is a sum over x > 0.

Away from θ = 0 and π sums over Hermite coefficients are cheaper: see :mod:`holokern.dual.sampling.mehler`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from holokern.dual.sampling.conditional import Conditional
from holokern.dual.sampling.mesh import Mesh
from holokern.numeric import Array, charge

_PRODUCT_UNITS = 5e-5
"""Units of work of a product, 0.5 ns."""


@dataclass(frozen=True, eq=False)
class Correlation:
    """Rows of functions on a mesh, and their correlations."""

    mesh: Mesh  # the mesh
    values: Array  # groups of functions, of shape (groups, functions, nodes). Only functions of one group are paired.
    kinks: bool  # whether functions break at zero
    _octaves: dict[int, Conditional] = field(default_factory=dict, repr=False)

    def at(self, theta: float) -> tuple[Array, Array]:
        """E[f_a(x) f_b(y)] at the angles θ and π - θ, for 0 < θ ≤ π/2, of shape (groups, functions, functions).

        Examples
        --------
        >>> mesh = Mesh(np.linspace(0.0, 9.0, 19))
        >>> same, opposite = Correlation(mesh, np.maximum(mesh.nodes, 0.0)[None, None], True).at(np.pi / 3)
        >>> round(float(same[0, 0, 0]), 12), round(float(opposite[0, 0, 0]), 12)
        (0.304498890522, 0.054498890522)
        """
        octave = int(np.floor(np.log2(theta)))
        if octave not in self._octaves:
            self._octaves[octave] = Conditional(self.mesh, self._parts[0], self.kinks, 2.0**octave)
        given = self._octaves[octave]
        groups, count, _ = self.values.shape
        found = np.zeros((2, groups, count, count))
        for sums, owners, weighted, means in zip(found, self._parts[1], given.weighted, given.at(theta), strict=True):
            charge(weighted.size * count * _PRODUCT_UNITS)
            for place, group in enumerate(owners):
                some = slice(place * count, (place + 1) * count)
                sums[group] = weighted[some] @ means[:, some]
        return found[0] + found[1], found[0] - found[1]

    @cached_property
    def _parts(self) -> tuple[tuple[Array, Array], tuple[list[int], list[int]]]:
        """Even and odd parts of the functions at the nodes x > 0, and the groups that have such parts."""
        half = self.values.shape[2] // 2
        right, left = self.values[:, :, half:], self.values[:, :, half - 1 :: -1]
        rows, owners = [], []
        for part in ((right + left) / 2, (right - left) / 2):
            own = [group for group in range(len(part)) if np.any(part[group])]
            rows.append(part[own].reshape(-1, half))
            owners.append(own)
        return (rows[0], rows[1]), (owners[0], owners[1])

    def aligned(self) -> tuple[Array, Array]:
        """The same at θ = 0 and θ = π."""
        heavy = self.values * self.mesh.masses
        turned = np.swapaxes(self.values, 1, 2)
        return heavy @ turned, heavy @ turned[:, ::-1]
