"""Nyström features from landmarks: φ(x) = K(x, z) K(z, z)^(-1/2), exact at the landmarks z.

K - φφᵀ is a Schur complement, hence positive semidefinite, so that |K(x, y) - φ(x)·φ(y)| is at most the root of the
product of what is missing at (x, x) and at (y, y): a bound for every pair from the diagonal alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holokern.model.kernel import Array, NetworkKernel
from holokern.model.solvers.ridge import CholeskyRidge, EighRidge, explained

# A pool of so many points for each landmark: more cost a pass over the kernel and change the choice little.
_POOL = 8
# The ridge of the scores, relative to the trace: what the landmarks see beyond rounding counts as seen.
_LEAST_RIDGE = 1e-10


def draw(points: Array, count: int, rng: np.random.RandomState) -> Array:
    """Distinct landmarks drawn uniformly among the rows of ``points``, in their order."""
    return np.asarray(points[np.sort(rng.permutation(len(points))[:count])])


def draw_by_leverage(kernel: NetworkKernel, points: Array, count: int, rng: np.random.RandomState) -> Array:
    """Distinct landmarks drawn by ridge leverage scores, estimated from as many uniform ones [MuscoMusco2017, Lem. 6].

    The score of x is (K(x, x) - K(x, z) (K(z, z) + λI)⁻¹ K(z, x))/λ, large where the uniform landmarks z see little.
    """
    if count >= len(points):
        return points
    pool = draw(points, _POOL * count, rng)
    first = draw(pool, count, rng)
    ridge = _LEAST_RIDGE * float(np.sum(kernel.diagonal(first)))
    factor = CholeskyRidge.of(kernel(first), ridge)
    scores = kernel.diagonal(pool) - explained(factor, kernel(pool, first))
    # Rounding leaves nothing of points that the first landmarks see whole; they stay possible.
    scores = np.maximum(scores, 1e-12 * float(np.max(scores)) + 1e-300)
    chosen = rng.choice(len(pool), size=count, replace=False, p=scores / np.sum(scores))
    return np.asarray(pool[np.sort(chosen)])


@dataclass(frozen=True)
class Landmarks:
    """Points z with a matrix W, so that φ(x) = K(x, z) W has φ(x)·φ(x') = K(x, z) K(z, z)⁺ K(z, x').

    W is the symmetric root of K(z, z)⁺, hence φ does not depend on signs or on the order of eigenvectors.
    """

    kernel: NetworkKernel
    points: Array
    root: Array

    @classmethod
    def at(cls, kernel: NetworkKernel, points: Array) -> Landmarks:
        """The given landmarks."""
        factor = EighRidge.of(kernel(points), 0.0)
        root = (factor.vectors * np.sqrt(factor.inverse_values)) @ factor.vectors.T
        return cls(kernel, points, root)

    @property
    def count(self) -> int:
        """The number of landmarks."""
        return len(self.points)

    def features(self, x: Any) -> Any:
        """φ of each row of ``x``."""
        if isinstance(x, np.ndarray):
            return self.kernel(x, self.points) @ self.root
        from array_api_compat import array_namespace, device

        xp = array_namespace(x)
        points, root = (xp.asarray(part, dtype=x.dtype, device=device(x)) for part in (self.points, self.root))
        return getattr(self.kernel.network, self.kernel.kind)(x, points) @ root

    def missing(self, x: Array) -> Array:
        """K(x, x) - φ(x)·φ(x), never negative."""
        made = self.features(x)
        return np.asarray(np.maximum(self.kernel.diagonal(x) - np.einsum("ij,ij->i", made, made), 0.0))

    def proved(self, x: Array) -> float:
        """The largest share of the diagonal that is missing bounds the error of all pairs."""
        own = self.kernel.diagonal(x)
        return float(np.max(np.divide(self.missing(x), own, out=np.zeros_like(own), where=own > 0), initial=0.0))
