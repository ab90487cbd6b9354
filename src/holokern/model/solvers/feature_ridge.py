"""Ridge regression on features: (ΦᵀΦ + αI) w = ΦᵀY, in one pass over blocks of points.

No more than a block of features is ever held, so the memory does not depend on the number of points. The predictions
are those of kernel ridge regression with the kernel φ·φ that the features span. What the features miss of the diagonal
of the kernel may count as noise besides, as in FITC [Cutajar2016]: in many dimensions the high degrees that are left
out hardly correlate different points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holokern.model.features.feature_map import FeatureMap
from holokern.model.kernel import Array, row_blocks
from holokern.model.solvers.ridge import CholeskyRidge, EighRidge, Factorisation, explained
from holokern.progress import report


@dataclass(frozen=True)
class FeatureRidge:
    """A fit on features; leave-one-out keeps the features."""

    features: FeatureMap
    points: Array
    targets: Array
    gram: Factorisation  # of ΦᵀΦ + αI
    weights: Array  # one column for each target
    alpha: float
    evidence: float  # the log marginal likelihood of all targets together; -∞ without a ridge
    # whether what the features miss of the diagonal counts as noise; the equations are (ΦᵀSΦ + αI) w = ΦᵀSY then, with
    # α/s the noise of a point
    remainder: bool = False
    steps: int = 1

    @classmethod
    def of(cls, features: FeatureMap, x: Array, targets: Array, alpha: float, remainder: bool = False) -> FeatureRidge:
        """Fit."""
        from scipy.linalg.blas import dsyrk

        gram = np.zeros((features.count, features.count), order="F")
        right, squares, logs = np.zeros((features.count, targets.shape[1])), 0.0, 0.0
        for rows in row_blocks(len(x), features.count):
            block = features.features(x[rows])
            shares = _shares(features, x[rows], block, alpha) if remainder else np.ones(len(block))
            block *= np.sqrt(shares)[:, None]
            weighted = targets[rows] * np.sqrt(shares)[:, None]
            gram = dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=True, lower=True)
            right += block.T @ weighted
            squares += float(np.sum(weighted**2))
            logs -= float(np.sum(np.log(shares)))
            report("features", rows.stop, len(x))
        gram = np.tril(gram) + np.tril(gram, -1).T
        factor = _factor(gram, alpha)
        weights = factor.solve(right)
        evidence = -np.inf
        if alpha > 0:
            rest = len(x) - features.count
            quadratic = (squares - float(np.sum(right * weights))) / alpha
            logs += factor.log_determinant() + rest * np.log(alpha) + len(x) * np.log(2 * np.pi)
            evidence = -0.5 * (quadratic + targets.shape[1] * logs)
        return cls(features, x, targets, factor, weights, alpha, float(evidence), remainder)

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

    def log_marginal_likelihood(self) -> float:
        """Of the Gaussian process with the covariance φ·φ."""
        return self.evidence

    def leave_one_out(self) -> Array:
        """Prediction of every training target by a fit without its point, from the hat matrix."""
        x, targets = self.points, self.targets
        result = np.empty_like(targets)
        for rows in row_blocks(len(x), self.features.count):
            block = self.features.features(x[rows])
            shares = _shares(self.features, x[rows], block, self.alpha) if self.remainder else np.ones(len(block))
            room = 1.0 - (shares * explained(self.gram, block))[:, None]
            free = room > len(x) * np.finfo(float).eps
            rest = targets[rows] - block @ self.weights
            result[rows] = np.where(free, targets[rows] - rest / np.where(free, room, 1.0), 0.0)
        return result


def _shares(features: FeatureMap, x: Array, block: Array, alpha: float) -> Array:
    """α/(α + what the features miss) for each point."""
    missed = np.maximum(features.kernel.diagonal(x) - np.einsum("ij,ij->i", block, block), 0.0)
    return np.asarray(np.divide(alpha, alpha + missed, out=np.ones_like(missed), where=alpha + missed > 0))


def _factor(gram: Array, alpha: float) -> Factorisation:
    """By Cholesky, or diagonalised where the features depend on each other within rounding."""
    if alpha > 0:
        try:
            return CholeskyRidge.of(gram, alpha)
        except np.linalg.LinAlgError:
            pass
    return EighRidge.of(gram, alpha)
