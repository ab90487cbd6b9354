"""Conjugate gradients for (K + αI) C = Y with a Nyström preconditioner, on a kernel that is never stored.

The preconditioner is P = Φ Φᵀ + diag(K - Φ Φᵀ) + αI with Nyström features Φ, called FITC [Cutajar2016]. Without the
middle term the condition number is 1 + ‖K - Φ Φᵀ‖/α [Frangella2023]; with it, what the landmarks miss of the diagonal
counts as ridge, which saves steps where α is not large beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holokern.model.kernel import Array, NetworkKernel, row_blocks
from holokern.network.matvec import TILE, matvec
from holokern.progress import report

__all__ = ["CgResult", "NystromPreconditioner", "TiledKernel", "conjugate_gradients"]

_LEAST_RIDGE = 1e-13


@dataclass(frozen=True)
class TiledKernel:
    """The product of K(x, x) with vectors, tile by tile; each tile above the diagonal serves twice."""

    kernel: NetworkKernel
    points: Array
    tile: int = TILE

    def __post_init__(self) -> None:
        # Refuses points whose kernel overflows: no entry is larger than the diagonal.
        self.kernel.diagonal(self.points)

    def __matmul__(self, vectors: Array) -> Array:
        return matvec(self.kernel.network, self.points, vectors, self.kernel.kind, tile=self.tile)


@dataclass(frozen=True)
class NystromPreconditioner:
    """P⁻¹ = D - D Φ (I + Φᵀ D Φ)⁻¹ Φᵀ D with D = (diag(K - Φ Φᵀ) + αI)⁻¹.

    Attributes
    ----------
    features
        Φ = K(x, z) L⁻ᵀ for K(z, z) = L Lᵀ, one row a point.
    weights
        The diagonal of D.
    lower
        The Cholesky factor of I + Φᵀ D Φ.
    """

    features: Array
    weights: Array
    lower: Array

    @classmethod
    def of(cls, kernel: NetworkKernel, landmarks: Array, points: Array, alpha: float) -> NystromPreconditioner:
        """In one pass over blocks of points; the memory is that of Φ and of a few matrices of landmarks."""
        from scipy.linalg import cholesky
        from scipy.linalg.blas import dsyrk

        own = _root(kernel(landmarks))
        diagonal = kernel.diagonal(points)
        # Below this P⁻¹ would lose its digits against the largest eigenvalue of Φ Φᵀ.
        least = _LEAST_RIDGE * float(np.sum(diagonal))
        features, weights = np.empty((len(points), len(landmarks))), np.empty(len(points))
        gram = np.eye(len(landmarks), order="F")
        for rows in row_blocks(len(points), len(landmarks)):
            block = _whiten(own, kernel(points[rows], landmarks))
            missed = np.maximum(diagonal[rows] - np.einsum("ij,ij->i", block, block), 0.0)
            weights[rows] = 1.0 / np.maximum(missed + alpha, least)
            features[rows] = block
            block *= np.sqrt(weights[rows])[:, None]
            gram = dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=True, lower=True)
            report("preconditioner", rows.stop, len(points))
        return cls(features, weights, cholesky(gram, lower=True, overwrite_a=True, check_finite=False))

    def __matmul__(self, vectors: Array) -> Array:
        from scipy.linalg import cho_solve

        weighted = self.weights[:, None] * vectors
        inner = cho_solve((self.lower, True), self.features.T @ weighted, check_finite=False)
        return np.asarray(weighted - self.weights[:, None] * (self.features @ inner))


def _root(matrix: Array) -> Array:
    """A Cholesky factor of a positive semidefinite matrix plus as little of the unit matrix as it takes."""
    from scipy.linalg import cholesky

    jitter = len(matrix) * float(np.finfo(float).eps) * float(np.max(np.diagonal(matrix)))
    while True:
        shifted = matrix.copy()
        shifted.flat[:: len(matrix) + 1] += jitter
        try:
            return np.asarray(cholesky(shifted, lower=True, overwrite_a=True, check_finite=False))
        except np.linalg.LinAlgError:
            jitter = 10 * jitter or 1.0


def _whiten(lower: Array, block: Array) -> Array:
    """The block times L⁻ᵀ, in its own memory."""
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(lower, block.T, lower=True, overwrite_b=True, check_finite=False)).T


@dataclass(frozen=True)
class CgResult:
    """A solution with the number of steps and the largest relative residual of its columns, computed afresh.

    ``residuals`` are the largest relative residuals after each step, by the recursion.
    """

    solution: Array
    steps: int
    residual: float
    converged: bool
    residuals: tuple[float, ...]


def conjugate_gradients(
    product: Callable[[Array], Array],
    right: Array,
    precondition: Callable[[Array], Array] = lambda vectors: vectors,
    *,
    tolerance: float = 1e-10,
    max_steps: int = 1000,
) -> CgResult:
    """Solve A C = Y for symmetric positive definite A, all columns side by side with their own step lengths.

    A column stops once its residual is below ``tolerance`` times its right-hand side.

    Examples
    --------
    >>> a = np.diag([1.0, 2.0, 4.0])
    >>> result = conjugate_gradients(lambda v: a @ v, np.array([[1.0], [2.0], [4.0]]))
    >>> result.solution.round(9).ravel().tolist(), result.steps, result.converged
    ([1.0, 1.0, 1.0], 3, True)
    """
    solution = np.zeros_like(right)
    residual = right.copy()
    norms = np.linalg.norm(right, axis=0)
    step = precondition(residual)
    inner = np.einsum("ij,ij->j", residual, step)
    direction = step
    residuals: list[float] = []
    while len(residuals) < max_steps and _largest(residual, norms) > tolerance:
        image = product(direction)
        length = _ratio(inner, np.einsum("ij,ij->j", direction, image))
        solution = solution + length * direction
        residual = residual - length * image
        step = precondition(residual)
        before, inner = inner, np.einsum("ij,ij->j", residual, step)
        direction = step + _ratio(inner, before) * direction
        residuals.append(_largest(residual, norms))
        report(f"conjugate gradients, residual {residuals[-1]:.1e}", len(residuals), max_steps)
    relative = _largest(right - product(solution), norms)
    # The recursive residual that stops the loop drifts from the true one by rounding, hence the factor.
    return CgResult(solution, len(residuals), relative, relative <= 10 * tolerance, tuple(residuals))


def _largest(residual: Array, norms: Array) -> float:
    """The largest norm of a column relative to its right-hand side."""
    return float(np.max(_ratio(np.linalg.norm(residual, axis=0), norms), initial=0.0))


def _ratio(numerator: Array, denominator: Array) -> Array:
    """The quotient, or 0 for a column that is finished."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
