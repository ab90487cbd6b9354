"""Ridge regression on features: (ΦᵀΦ + αI) w = ΦᵀY, in one pass over blocks of points.

No more than a block of features is ever held, so the memory does not depend on the number of points. The predictions
are those of kernel ridge regression with the kernel φ·φ that the features span.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holokern.model.features.feature_map import FeatureMap
from holokern.model.kernel import Array, row_blocks
from holokern.model.solvers.ridge import CholeskyRidge, EighRidge, explained
from holokern.progress import report


@dataclass(frozen=True)
class FeatureRidge:
    """A fit on features.

    Attributes
    ----------
    features
        The feature map.
    gram
        ΦᵀΦ + αI, factorised.
    weights
        One column for each target.
    alpha
        The ridge.
    evidence
        The log marginal likelihood of all targets together; -∞ without a ridge.
    """

    features: FeatureMap
    gram: CholeskyRidge | EighRidge
    weights: Array
    alpha: float
    evidence: float

    @classmethod
    def of(cls, features: FeatureMap, x: Array, targets: Array, alpha: float) -> FeatureRidge:
        """Fit."""
        from scipy.linalg.blas import dsyrk

        gram = np.zeros((features.count, features.count), order="F")
        right, squares = np.zeros((features.count, targets.shape[1])), 0.0
        for rows in row_blocks(len(x), features.count):
            block = features.features(x[rows])
            gram = dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=True, lower=True)
            right += block.T @ targets[rows]
            squares += float(np.sum(targets[rows] ** 2))
            report("features", rows.stop, len(x))
        gram = np.tril(gram) + np.tril(gram, -1).T
        factor = _factor(gram, alpha)
        weights = factor.solve(right)
        evidence = -np.inf
        if alpha > 0:
            rest = len(x) - features.count
            quadratic = (squares - float(np.sum(right * weights))) / alpha
            logs = factor.log_determinant() + rest * np.log(alpha) + len(x) * np.log(2 * np.pi)
            evidence = -0.5 * (quadratic + targets.shape[1] * logs)
        return cls(features, factor, weights, alpha, float(evidence))

    def mean(self, x: Array) -> Array:
        """Predictions."""
        result = np.empty((len(x), self.weights.shape[1]))
        for rows in row_blocks(len(x), self.features.count):
            np.matmul(self.features.features(x[rows]), self.weights, out=result[rows])
        return result

    def variance(self, x: Array) -> Array:
        """Posterior variance k(x, x) - φ·φ + α φᵀ(ΦᵀΦ + αI)⁻¹φ: what the features miss counts as unknown."""
        result = np.empty(len(x))
        for rows in row_blocks(len(x), self.features.count):
            block = self.features.features(x[rows])
            missed = self.features.kernel.diagonal(x[rows]) - np.einsum("ij,ij->i", block, block)
            result[rows] = np.maximum(missed, 0.0) + self.alpha * explained(self.gram, block)
        return result

    def covariance(self, x: Array) -> Array:
        """Posterior covariance; what the features miss counts as unknown at each point by itself."""
        block = self.features.features(x)
        half = self.gram.half(block)
        result = self.alpha * (half.T @ half)
        missed = self.features.kernel.diagonal(x) - np.einsum("ij,ij->i", block, block)
        result.flat[:: len(x) + 1] += np.maximum(missed, 0.0)
        return result

    def left_out(self, x: Array, targets: Array) -> Array:
        """Prediction of every training target by a fit without its point, from the hat matrix, with these features."""
        result = np.empty_like(targets)
        for rows in row_blocks(len(x), self.features.count):
            block = self.features.features(x[rows])
            room = 1.0 - explained(self.gram, block)[:, None]
            free = room > len(x) * np.finfo(float).eps
            rest = targets[rows] - block @ self.weights
            result[rows] = np.where(free, targets[rows] - rest / np.where(free, room, 1.0), 0.0)
        return result


def _factor(gram: Array, alpha: float) -> CholeskyRidge | EighRidge:
    """By Cholesky, or diagonalised where the features depend on each other within rounding."""
    if alpha > 0:
        try:
            return CholeskyRidge.of(gram, alpha)
        except np.linalg.LinAlgError:
            pass
    return EighRidge.of(gram, alpha)
