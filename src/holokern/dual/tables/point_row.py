"""`PointRow`: an activation on a mesh for a single deviation, and pairs of such rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from holokern.activation import Activation
from holokern.dual.sampling.conditional import CLOSE_NODES, is_close
from holokern.dual.sampling.correlation import Correlation
from holokern.dual.sampling.mehler import coefficients_on_mesh, terms_needed
from holokern.dual.sampling.mesh import Mesh
from holokern.dual.tables.samples import RESOLVED, functions_of, reach_of, scale_of, scaled_functions, scaled_norms
from holokern.numeric import Array, hermite_rule

_MOST_OF_A_ROW = 1 << 18
"""Nodes of the mesh of a single deviation, which takes a tenth of a second."""

_BY_SERIES = 0.4
"""From this angle to its supplement pairs of single deviations are sums over Hermite coefficients."""

_TERMS = (28, 56, 112, 224, terms_needed(_BY_SERIES))
"""Hermite coefficients that are made at a time: a pair of nearly orthogonal points needs few."""


@dataclass(frozen=True, eq=False)
class PointRow:
    """σ(cx) and, unless σ jumps, σ′(cx) on a mesh for one deviation, of an activation whose only break may be zero.

    Whatever is computed from two of these depends on the two deviations alone, to the last bit.
    """

    # sigma, c: the activation and the deviation
    sigma: Activation
    c: float
    mesh: Mesh  # a mesh that resolves it
    values: Array  # of shape (functions, nodes)
    _coefficients: dict[int, Array] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, sigma: Activation, c: Array) -> list[PointRow | None]:
        """Sample at different deviations; None where σ(cx) is too rough for a mesh of bearable size.

        Raises PrecisionLost if the mass of σ(cx) overflows for one of them.
        """
        reach = reach_of(sigma, c)
        functions, scale = scaled_functions(sigma, c[:, None], reach), scale_of(sigma, c)
        meshes = Mesh.each_resolving(functions, reach, RESOLVED, _MOST_OF_A_ROW, scale=scale)
        nodes = [np.empty(0) if mesh is None else one * mesh.nodes for one, mesh in zip(c, meshes, strict=True)]
        values = np.stack([f(np.concatenate(nodes)) for f in functions_of(sigma)])
        parts = np.split(values, np.cumsum([len(some) for some in nodes])[:-1], axis=1)
        return [
            None if mesh is None else cls(sigma, one, mesh, part)
            for one, mesh, part in zip(c.tolist(), meshes, parts, strict=True)
        ]

    def norm(self, function: int = 0) -> float:
        """E[f(cz)²]^(1/2) of σ or σ′."""
        return float(scaled_norms(self.values[function : function + 1], self.mesh)[0])

    @property
    def mean(self) -> float:
        """E[σ(cz)]."""
        return float(np.sum(self.values[0] * self.mesh.masses))

    def _terms(self, count: int) -> Array:
        """So many Hermite coefficients, once for each number."""
        if count not in self._coefficients:
            self._coefficients[count] = coefficients_on_mesh(self.mesh, self.values, count)
        return self._coefficients[count]

    def paired(self, other: PointRow, theta: float) -> Array:
        """E[f(u) f(v)] for f = σ and σ′, with the other deviation and 0 < θ < π."""
        small = min(theta, float(np.pi) - theta)
        if small >= _BY_SERIES:
            needed = terms_needed(small)
            count = next(some for some in _TERMS if some >= needed)
            powers = np.cos(theta) ** np.arange(count)
            return np.asarray(np.sum(self._terms(count) * other._terms(count) * powers, axis=1))
        close = self._close(other, small)
        if close is not None:
            (u, v, weights, masses), sign = close, -1.0 if theta > np.pi / 2 else 1.0
            return np.array([np.sum(f(sign * v) @ weights * f(u) * masses) for f in functions_of(self.sigma)])
        mesh = self._joint_mesh(other)
        first, second = (one.mesh.values_at(one.values, mesh.nodes) for one in (self, other))
        beyond = mesh.nodes[:, None] ** 2 > np.array([self.mesh.edges[-1], other.mesh.edges[-1]]) ** 2
        first[:, beyond[:, 0]], second[:, beyond[:, 1]] = 0.0, 0.0
        found = Correlation(mesh, np.stack([first, second], axis=1), bool(self.sigma.breaks)).at(small)
        return np.asarray(found[int(theta > np.pi / 2)][:, 0, 1])

    def loss(self, other: PointRow, theta: float, norms: tuple[float, float]) -> float | None:
        """1 - E[σ(u)σ(v)]/(n1 n2) for the norms n1 and n2 at a small angle, as half the mean square of a difference.

        None if σ has a break, or the angle is not small on the scale of the mesh.
        """
        close = self._close(other, theta)
        if close is None:
            return None
        u, v, weights, masses = close
        difference = (self.sigma(u) / norms[0])[:, None] - self.sigma(v) / norms[1]
        return float(np.sum(difference**2 @ weights * masses)) / 2

    def _close(self, other: PointRow, theta: float) -> tuple[Array, Array, Array, Array] | None:
        """Values of u, those of v given each u, the weights of these and of u.

        None unless a Gauss–Hermite rule resolves σ(v) given u: σ has no break, and the angle is small.
        """
        mesh = self._joint_mesh(other)
        if self.sigma.breaks or not is_close(mesh, theta):
            return None
        z, weights = hermite_rule(CLOSE_NODES)
        y = np.cos(theta) * mesh.nodes[:, None] + np.sin(theta) * z
        return self.c * mesh.nodes, other.c * y, weights, mesh.masses

    def _joint_mesh(self, other: PointRow) -> Mesh:
        return Mesh(np.unique(np.concatenate([self.mesh.edges, other.mesh.edges])))
