"""A fitted kernel ridge regression, whichever solver made it: means, variances and leave-one-out predictions.

Ridge regression on features, (ΦᵀΦ + αI) w = ΦᵀY, makes one pass over blocks of points.  No more than a block of
features is ever held, so the memory does not depend on the number of points. The predictions are those of kernel ridge
regression with the kernel φ·φ that the features span. What the features miss of the diagonal of the kernel may count as
noise besides, as in FITC [Cutajar2016]: in many dimensions the high degrees that are left out hardly correlate
different points.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from holokern.errors import BadInput, Unsupported
from holokern.model.features.feature_map import FeatureMap, Landmarks, draw, missing
from holokern.model.features.harmonics import HarmonicFeatures
from holokern.model.kernel import NetworkKernel, row_blocks
from holokern.model.solvers.conjugate_gradients import CgResult, NystromPreconditioner, conjugate_gradients
from holokern.model.solvers.ridge import (
    CholeskyRidge,
    EighRidge,
    Factorisation,
    RidgePath,
    explained,
    factorise,
    left_out_predictions,
)
from holokern.network import KernelProduct
from holokern.numeric import Array
from holokern.progress import report

# Points beyond which steps take products in single precision: their machine code takes seconds to compile.
_MANY = 20_000

SOLVERS = ("cholesky", "eigh", "nystrom", "harmonics", "cg")


@dataclass(frozen=True)
class Problem:
    """Points, targets (a matrix), ridges to choose from, and the limits of the approximate solvers."""

    kernel: NetworkKernel
    points: Array
    targets: Array
    alphas: tuple[float, ...]
    landmarks: int
    tolerance: float
    max_steps: int
    random_state: np.random.RandomState
    remainder: bool = False


@dataclass(frozen=True)
class _KernelSolution:
    """A solution C of (K + αI) C = Y."""

    problem: Problem
    coefficients: Array
    alpha: float

    def mean(self, x: Array) -> Array:
        """Predictions K(x, X) C, block by block."""
        points = self.problem.points
        return _products(lambda some: self.problem.kernel(some, points), x, len(points), self.coefficients)


@dataclass(frozen=True)
class DenseSolution(_KernelSolution):
    """By a factorisation of the whole matrix."""

    factor: Factorisation
    path: RidgePath | None
    steps: int = 1

    def variance(self, x: Array) -> Array:
        """k(x, x) - K(x, X) (K + αI)⁻¹ K(X, x)."""
        result = self.problem.kernel.diagonal(x)
        for rows in row_blocks(len(x), len(self.problem.points)):
            result[rows] -= explained(self.factor, self.problem.kernel(x[rows], self.problem.points))
        return np.maximum(result, 0.0)

    def covariance(self, x: Array) -> Array:
        """K(x, x) - K(x, X) (K + αI)⁻¹ K(X, x)."""
        half = self.factor.half(self.problem.kernel(x, self.problem.points))
        return self.problem.kernel(x) - half.T @ half

    def leave_one_out(self) -> Array:
        """From the diagonal of the inverse."""
        return left_out_predictions(self.factor, self.problem.targets, self.coefficients)

    def log_marginal_likelihood(self) -> float:
        """-½ Σ YᵀC - ½ log det (K + αI) - ½ n log 2π a target."""
        targets = self.problem.targets
        logs = self.factor.log_determinant() + len(targets) * np.log(2 * np.pi)
        return float(-0.5 * (np.sum(targets * self.coefficients) + targets.shape[1] * logs))


@dataclass(frozen=True)
class CgSolution(_KernelSolution):
    """By conjugate gradients on tiles."""

    preconditioner: NystromPreconditioner
    steps: int
    residual: float

    def variance(self, x: Array) -> Array:
        """k(x, x) - K(x, X) (K + αI)⁻¹ K(X, x), with one more solution by conjugate gradients a block of rows."""
        result = self.problem.kernel.diagonal(x)
        for rows in row_blocks(len(x), len(self.problem.points)):
            cross, inverse = self._inverse(x[rows])
            result[rows] -= np.einsum("ij,ji->i", cross, inverse)
        return np.maximum(result, 0.0)

    def covariance(self, x: Array) -> Array:
        """K(x, x) - K(x, X) (K + αI)⁻¹ K(X, x), with one more solution by conjugate gradients."""
        cross, inverse = self._inverse(x)
        known = cross @ inverse
        return self.problem.kernel(x) - 0.5 * (known + known.T)

    def _inverse(self, x: Array) -> tuple[Array, Array]:
        """K(x, X), and (K + αI)⁻¹ times its transpose."""
        cross = self.problem.kernel(x, self.problem.points)
        found = _run_cg(self.problem, self.preconditioner, self.alpha, np.ascontiguousarray(cross.T))
        return cross, found.solution

    def log_marginal_likelihood(self) -> float:
        """Refused: the determinant is not at hand."""
        raise Unsupported(
            "the marginal likelihood needs the determinant, which solver='cg' never forms; "
            "use solver='cholesky', 'eigh', 'nystrom' or 'harmonics'"
        )

    def leave_one_out(self) -> Array:
        """Refused: the diagonal of the inverse is not at hand."""
        raise Unsupported(
            "leave-one-out needs the diagonal of the inverse, which solver='cg' never forms; "
            "use solver='cholesky', 'eigh', 'nystrom' or 'harmonics'"
        )


def solve(problem: Problem, solver: str) -> DenseSolution | FeatureRidge | CgSolution:
    """Fit by one of SOLVERS; several ridges need ``"cholesky"`` or ``"eigh"``."""
    if solver in {"cholesky", "eigh"}:
        return _dense(problem, solver)
    if len(problem.alphas) > 1:
        raise BadInput(
            f"several values of alpha need solver='cholesky' or 'eigh', got solver={solver!r}; give one alpha"
        )
    (alpha,) = problem.alphas
    if solver == "harmonics":
        harmonics = HarmonicFeatures.of(problem.kernel, problem.points, problem.landmarks, problem.random_state)
        return FeatureRidge.of(harmonics, problem.points, problem.targets, alpha, problem.remainder)
    landmarks = draw(problem.points, problem.landmarks, problem.random_state)
    if solver == "nystrom":
        features = Landmarks.at(problem.kernel, landmarks)
        return FeatureRidge.of(features, problem.points, problem.targets, alpha, problem.remainder)
    preconditioner = NystromPreconditioner.of(problem.kernel, landmarks, problem.points, alpha)
    result = _run_cg(problem, preconditioner, alpha, problem.targets)
    return CgSolution(problem, result.solution, alpha, preconditioner, max(result.steps, 1), result.residual)


def _dense(problem: Problem, solver: str) -> DenseSolution:
    matrix = problem.kernel(problem.points)
    if len(problem.alphas) == 1:
        (alpha,) = problem.alphas
        factor = factorise(matrix, alpha, solver)
        return DenseSolution(problem, factor.solve(problem.targets), alpha, factor, None)
    every = EighRidge.of(matrix, 0.0)
    path = RidgePath.of(every, problem.targets, problem.alphas)
    chosen = replace(every, alpha=path.best)
    return DenseSolution(problem, chosen.solve(problem.targets), path.best, chosen, path)


def _run_cg(problem: Problem, preconditioner: NystromPreconditioner, alpha: float, right: Array) -> CgResult:
    kernel = KernelProduct(problem.kernel.network, problem.points, problem.kernel.kind)

    def rough(vectors: Array) -> Array:
        return kernel.times(vectors, single=True) + alpha * vectors

    found = conjugate_gradients(
        lambda vectors: kernel.times(vectors) + alpha * vectors,
        right,
        lambda vectors: preconditioner @ vectors,
        rough=rough if len(problem.points) > _MANY else None,
        tolerance=problem.tolerance,
        max_steps=problem.max_steps,
    )
    if not found.converged:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"conjugate gradients stopped after {found.steps} steps at a relative residual of {found.residual:.1e} "
            f"(tol={problem.tolerance:.1e}); raise max_iter, n_landmarks or alpha",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found


def _products(columns: Callable[[Array], Array], x: Array, width: int, weights: Array) -> Array:
    """Products of ``columns``, so many numbers for each point, with weights: some points at a time."""
    result = np.empty((len(x), weights.shape[1]))
    for rows in row_blocks(len(x), width):
        np.matmul(columns(x[rows]), weights, out=result[rows])
    return result


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
        return _products(self.features.features, x, self.features.count, self.weights)

    def variance(self, x: Array) -> Array:
        """Posterior variance k(x, x) - φ·φ + α φᵀ(ΦᵀΦ + αI)⁻¹φ: what the features miss counts as unknown."""
        result = np.empty(len(x))
        for rows in row_blocks(len(x), self.features.count):
            block = self.features.features(x[rows])
            result[rows] = missing(self.features, x[rows], block) + self.alpha * explained(self.gram, block)
        return result

    def covariance(self, x: Array) -> Array:
        """Posterior covariance; what the features miss counts as unknown at each point by itself."""
        block = self.features.features(x)
        half = self.gram.half(block)
        result = self.alpha * (half.T @ half)
        result.flat[:: len(x) + 1] += missing(self.features, x, block)
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
    noise = alpha + missing(features, x, block)
    return np.asarray(np.divide(alpha, noise, out=np.ones_like(noise), where=noise > 0))


def _factor(gram: Array, alpha: float) -> Factorisation:
    """By Cholesky, or diagonalised where the features depend on each other within rounding."""
    if alpha > 0:
        try:
            return CholeskyRidge.of(gram, alpha)
        except np.linalg.LinAlgError:
            pass
    return EighRidge.of(gram, alpha)
