"""Feature maps, how far the inner products of their features are from the kernel, and Nyström features.

Nyström features from landmarks z are φ(x) = K(x, z) K(z, z)^(-1/2), exact at the landmarks.  K - φφᵀ is a Schur
complement, hence positive semidefinite, so that |K(x, y) - φ(x)·φ(y)| is at most the root of the product of what is
missing at (x, x) and at (y, y): a bound for every pair from the diagonal alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from holokern.model.kernel import NetworkKernel, alike
from holokern.model.solvers.ridge import CholeskyRidge, EighRidge, explained
from holokern.numeric import Array

if TYPE_CHECKING:
    from holokern.model.features.harmonics import HarmonicFeatures


FeatureMap: TypeAlias = "Landmarks | HarmonicFeatures"
"""Features φ of points with φ(x)·φ(y) ≈ K(x, y), one row for each point."""


@dataclass(frozen=True)
class FeatureError:
    """How far φ(x)·φ(y) is from K(x, y).

    Attributes
    ----------
    mean
        The mean of |φ(x)·φ(y) - K(x, y)| over pairs that the features were not made from, divided by the mean of |K|.
    largest
        The largest of |φ(x)·φ(y) - K(x, y)|/√(K(x, x) K(y, y)) over these pairs.
    pairs
        The number of pairs.
    proved
        A proved bound of the same quotient for all these pairs, from exact diagonals; None for random features, of
        which only the expectation is known.
    truncation
        For random features, the most that the degrees that were left out can contribute, in the same units.
    """

    mean: float
    largest: float
    pairs: int
    proved: float | None
    truncation: float | None = None


def measure(features: FeatureMap, rows: Array, columns: Array, truncation: float | None = None) -> FeatureError:
    """The error on the pairs between two sets of points."""
    kernel = features.kernel
    exact = kernel(rows, columns)
    error = np.abs(features.features(rows) @ features.features(columns).T - exact)
    own = np.sqrt(np.outer(kernel.diagonal(rows), kernel.diagonal(columns)))
    size = float(np.mean(np.abs(exact)))
    return FeatureError(
        mean=float(np.mean(error)) / size if size else float(np.mean(error)),
        largest=float(np.max(np.divide(error, own, out=np.zeros_like(error), where=own > 0))),
        pairs=error.size,
        proved=features.proved(np.concatenate([rows, columns])),
        truncation=truncation,
    )


def missing(features: FeatureMap, x: Array, made: Array) -> Array:
    """K(x, x) - φ(x)·φ(x) from the features made of ``x``, never negative."""
    return np.asarray(np.maximum(features.kernel.diagonal(x) - np.einsum("ij,ij->i", made, made), 0.0))


_POOL = 8  # A pool of so many points for each landmark: more cost a pass over the kernel and change the choice little.
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
        """φ of each row of ``x``, an array of numpy, JAX or torch."""
        if isinstance(x, np.ndarray):
            return self.kernel(x, self.points) @ self.root
        points, root = (alike(part, x) for part in (self.points, self.root))
        return getattr(self.kernel.network, self.kernel.kind)(x, points) @ root

    def proved(self, x: Array) -> float:
        """A bound of |K - φ·φ|/√(K(x,x) K(y,y)) for all pairs: the largest share of the diagonal that is missing."""
        own = self.kernel.diagonal(x)
        share = np.divide(missing(self, x, self.features(x)), own, out=np.zeros_like(own), where=own > 0)
        return float(np.max(share, initial=0.0))
