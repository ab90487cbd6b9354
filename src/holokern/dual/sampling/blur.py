"""Functions with breaks anywhere, blurred until they are smooth: correlations at small angles without the breaks.

Blurring is (B_r f)(x) = E[f(rx + √(1 - r²) z)]. By Mehler's formula [Mehler1866] E[f(x) g(y)] at the angle θ is that of
B_r f and B_r g at the angle τ with cos τ = cos θ/r². With r² = cos β, functions that break at different places become
rows on one mesh, which serve all angles θ ≥ β.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from holokern.dual.sampling.correlation import Correlation
from holokern.dual.sampling.mesh import Mesh
from holokern.numeric import Array, Index

_FARTHEST = 8.5
"""Given x, what is averaged lies within so many deviations but for 2e-17."""

_WIDTH = 1.2
"""On so many deviations of the blur a blurred step is a polynomial of degree 15 to rounding."""

_PANEL = 3.4
"""On so many deviations the normal density is a polynomial of degree 31 to rounding."""

_AT_ONCE = 48
"""Nodes of the mesh at a time: the density between them and those within reach of them stays in the cache."""

_SMALLEST = 1e-7
"""An angle τ that counts as zero: correlations change by its square."""


@dataclass(frozen=True)
class Blur:
    """The blur that serves angles from ``angle`` on."""

    angle: float

    @property
    def width(self) -> float:
        """The deviation √(1 - r²) of the blur."""
        return float(np.sqrt(2.0) * np.sin(self.angle / 2))

    @property
    def resolved(self) -> float:
        """The width of panels on which a blurred function is resolved, whatever it was before."""
        return _WIDTH * self.width

    @property
    def panel(self) -> float:
        """The width of panels on which 24 nodes integrate the density of the blur times a smooth function."""
        return _PANEL * self.width

    @property
    def reach(self) -> float:
        """How far from a point the blur takes its values."""
        return _FARTHEST * self.width

    def mesh(self, coarse: Mesh, breaks: list[Array]) -> Mesh:
        """A mesh with panels as narrow as the blur round breaks, each of which moves in an interval."""
        edges = coarse.edges
        for low, high in breaks:
            a, b = sorted((abs(low), abs(high))) if low * high > 0 else (0.0, max(abs(low), abs(high)))
            room = self.reach + self.width
            a, b = max(a - room, 0.0), min(b + room, float(edges[-1]))
            if a < b:
                fine = np.linspace(a, b, 2 + int((b - a) / self.resolved))
                inside = (edges > a) & (edges < b)
                edges = np.unique(np.concatenate([edges[~inside], fine, _kept(edges[inside], fine)]))
        return Mesh(edges)

    def values(self, mesh: Mesh, x: Array, weights: Array, first: Index, values: Array) -> Array:
        """Blurred functions at the nodes of a mesh, from their values at nodes that differ from row to row.

        The nodes of row i run from ``first[i]`` to ``first[i + 1]``. Shape of the result: (functions, rows, mesh).
        """
        centre = np.sqrt(np.cos(self.angle)) * mesh.nodes
        heavy = values * (weights / (self.width * np.sqrt(2 * np.pi)))
        result = np.empty((len(values), len(first) - 1, len(centre)))
        for row, (start, stop) in enumerate(pairwise(first)):
            own = x[start:stop]
            for begin in range(0, len(centre), _AT_ONCE):
                some = centre[begin : begin + _AT_ONCE]
                a, b = start + np.searchsorted(own, [some[0] - self.reach, some[-1] + self.reach])
                density = np.exp(-(((x[a:b, None] - some) / self.width) ** 2) / 2)
                result[:, row, begin : begin + _AT_ONCE] = heavy[:, a:b] @ density
        return result


def _kept(edges: Array, fine: Array) -> Array:
    """The edges that are not next to a fine one, so that no panel becomes needlessly narrow."""
    near = np.min(np.abs(edges[:, None] - fine), axis=1, initial=np.inf)
    return np.asarray(edges[near > (fine[1] - fine[0]) / 2])


@dataclass(frozen=True, eq=False)
class BlurredRows:
    """Rows of blurred functions, and their correlations before the blur."""

    blur: Blur
    rows: Correlation

    def at(self, theta: float) -> tuple[Array, Array]:
        """E[f_a(x) f_b(y)] at the angles θ and π - θ, for θ ≥ the angle of the blur."""
        angle = self.blur.angle
        # 1 - cos τ = (cos β - cos θ)/cos β as a product, since both cosines are close to one
        half = np.sin((theta + angle) / 2) * np.sin((theta - angle) / 2) / np.cos(angle)
        tau = 2 * float(np.arcsin(np.sqrt(max(half, 0.0))))
        return self.rows.at(tau) if tau > _SMALLEST else self.rows.aligned()
