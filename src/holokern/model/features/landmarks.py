"""Nyström approximation from landmarks: features Φ with ΦΦᵀ ≈ K, and ridge regression on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holokern.model.kernel import Array, NetworkKernel, row_blocks
from holokern.model.solvers.ridge import EighRidge
from holokern.progress import report

__all__ = ["Landmarks", "NystromRidge", "draw"]


def draw(points: Array, count: int, rng: np.random.RandomState) -> Array:
    """Distinct landmarks drawn uniformly among the rows of ``points``, in their order."""
    return np.asarray(points[np.sort(rng.permutation(len(points))[:count])])


@dataclass(frozen=True)
class Landmarks:
    """Points z with a matrix W, so that φ(x) = K(x, z) W has φ(x)·φ(x') = K(x, z) K(z, z)⁺ K(z, x').

    W is the symmetric root of K(z, z)⁺, hence φ does not depend on signs or on the order of eigenvectors.
    """

    kernel: NetworkKernel
    points: Array
    root: Array

    @classmethod
    def choose(cls, kernel: NetworkKernel, points: Array, count: int, rng: np.random.RandomState) -> Landmarks:
        """Landmarks as :func:`draw` gives them."""
        return cls.at(kernel, draw(points, count, rng))

    @classmethod
    def at(cls, kernel: NetworkKernel, points: Array) -> Landmarks:
        """The given landmarks."""
        factor = EighRidge.of(kernel(points), 0.0)
        root = (factor.vectors * np.sqrt(factor.inverse_values)) @ factor.vectors.T
        return cls(kernel, points, root)

    def features(self, x: Array) -> Array:
        """φ of each row of ``x``, block by block."""
        result = np.empty((len(x), len(self.points)))
        for rows in row_blocks(len(x), len(self.points)):
            np.matmul(self.kernel(x[rows], self.points), self.root, out=result[rows])
            report("Nyström features", rows.stop, len(x))
        return result


@dataclass(frozen=True)
class NystromRidge:
    """Ridge regression on Nyström features: (ΦᵀΦ + αI) w = ΦᵀY."""

    landmarks: Landmarks
    gram: EighRidge
    weights: Array
    left_out: Array

    @classmethod
    def of(cls, landmarks: Landmarks, x: Array, targets: Array, alpha: float) -> NystromRidge:
        """Fit, with the leave-one-out predictions for these landmarks from the hat matrix."""
        features = landmarks.features(x)
        gram = EighRidge.of(features.T @ features, alpha)
        weights = gram.solve(features.T @ targets)
        fitted = features @ weights
        room = 1.0 - gram.explained(features)[:, None]
        free = room > len(features) * np.finfo(float).eps
        left_out = np.where(free, targets - (targets - fitted) / np.where(free, room, 1.0), 0.0)
        return cls(landmarks, gram, weights, left_out)

    def mean(self, x: Array) -> Array:
        """Predictions."""
        return np.asarray(self.landmarks.features(x) @ self.weights)

    def variance(self, x: Array) -> Array:
        """Posterior variance k(x, x) - φ·φ + α φᵀ(ΦᵀΦ + αI)⁻¹φ: what the landmarks miss counts as unknown."""
        features = self.landmarks.features(x)
        missed = self.landmarks.kernel.diagonal(x) - np.einsum("ij,ij->i", features, features)
        return np.asarray(np.maximum(missed, 0.0) + self.gram.alpha * self.gram.explained(features))
