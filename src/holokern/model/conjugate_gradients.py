"""Conjugate gradients for (K + αI) C = Y with a Nyström preconditioner, on a kernel that is never stored.

The preconditioner is that of [Frangella2023]: with the Nyström approximation U diag(λ) Uᵀ of K,
P⁻¹ = (λ_last + α) U (diag(λ) + α)⁻¹ Uᵀ + (I - U Uᵀ).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holokern.model.kernel import Array, NetworkKernel
from holokern.model.nystrom import Landmarks
from holokern.network.matvec import TILE, matvec
from holokern.progress import report

__all__ = ["CgResult", "NystromPreconditioner", "TiledKernel", "conjugate_gradients"]


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
    """P⁻¹ of the module's docstring."""

    basis: Array
    shrink: Array

    @classmethod
    def of(cls, landmarks: Landmarks, points: Array, alpha: float) -> NystromPreconditioner:
        """From Φ = U diag(√λ) Vᵀ, whose right half comes from the small matrix ΦᵀΦ."""
        from scipy.linalg import eigh

        features = landmarks.features(points)
        values, right = eigh(features.T @ features, check_finite=False)
        kept = values > len(points) * np.finfo(float).eps * max(float(values[-1]), 0.0)
        values, right = values[kept], right[:, kept]
        if not len(values):
            return cls(np.zeros((len(points), 0)), values)
        basis = features @ (right / np.sqrt(values))
        return cls(basis, 1.0 - (values[0] + alpha) / (values + alpha))

    def __matmul__(self, vectors: Array) -> Array:
        return np.asarray(vectors - self.basis @ (self.shrink[:, None] * (self.basis.T @ vectors)))


@dataclass(frozen=True)
class CgResult:
    """A solution with the number of steps and the largest relative residual of its columns, computed afresh."""

    solution: Array
    steps: int
    residual: float
    converged: bool


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
    bound = tolerance * np.linalg.norm(right, axis=0)
    step = precondition(residual)
    inner = np.einsum("ij,ij->j", residual, step)
    direction = step
    steps = 0
    while steps < max_steps and np.any(np.linalg.norm(residual, axis=0) > bound):
        image = product(direction)
        length = _ratio(inner, np.einsum("ij,ij->j", direction, image))
        solution = solution + length * direction
        residual = residual - length * image
        step = precondition(residual)
        before, inner = inner, np.einsum("ij,ij->j", residual, step)
        direction = step + _ratio(inner, before) * direction
        steps += 1
        report("conjugate gradients", steps)
    norms = np.linalg.norm(right, axis=0)
    missing = np.linalg.norm(right - product(solution), axis=0)
    relative = float(np.max(_ratio(missing, norms), initial=0.0))
    # The recursive residual that stops the loop drifts from the true one by rounding, hence the factor.
    return CgResult(solution, steps, relative, relative <= 10 * tolerance)


def _ratio(numerator: Array, denominator: Array) -> Array:
    """The quotient, or 0 for a column that is finished."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
