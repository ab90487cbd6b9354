"""What a feature map is, and how far the inner products of its features are from the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from holokern.model.kernel import Array, NetworkKernel


class FeatureMap(Protocol):
    """Features φ of points with φ(x)·φ(y) ≈ K(x, y)."""

    @property
    def kernel(self) -> NetworkKernel:
        """The kernel."""
        ...

    @property
    def count(self) -> int:
        """The number of features."""
        ...

    def features(self, x: Any) -> Any:
        """One row of features for each row of ``x``: arrays of numpy, JAX or torch."""
        ...

    def proved(self, x: Array) -> float | None:
        """A bound of |K - φ·φ|/√(K(x,x) K(y,y)) for all pairs of these points, None where nothing is proved."""
        ...


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
