"""Kernel ridge regression (K + αI) C = Y by one factorisation: coefficients, leave-one-out, variances, ridge path."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from holokern.numeric import Array


@dataclass(frozen=True)
class CholeskyRidge:
    """K + αI = L Lᵀ.

    >>> CholeskyRidge.of(np.array([[3.0]]), alpha=1.0).solve(np.array([[8.0]])).tolist()
    [[2.0]]
    """

    lower: Array

    @classmethod
    def of(cls, kernel: Array, alpha: float) -> CholeskyRidge:
        """Factorise; raises ``numpy.linalg.LinAlgError`` if the matrix is not positive definite within rounding."""
        from scipy.linalg import cholesky

        shifted = kernel.copy()
        shifted.flat[:: len(kernel) + 1] += alpha
        lower = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        pivots = np.diagonal(lower)
        if np.min(pivots) ** 2 <= _cutoff(len(kernel), float(np.max(pivots)) ** 2):
            raise np.linalg.LinAlgError("singular within rounding")
        return cls(lower)

    def solve(self, targets: Array) -> Array:
        """(K + αI)⁻¹ times the targets."""
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve((self.lower, True), targets, check_finite=False))

    def inverse_diagonal(self) -> Array:
        """The diagonal of (K + αI)⁻¹, from the squares of L⁻¹."""
        inverse = self._half_solve(np.eye(len(self.lower)))
        return np.asarray(np.einsum("ij,ij->j", inverse, inverse))

    def half(self, cross: Array) -> Array:
        """L⁻¹ Bᵀ."""
        return self._half_solve(cross.T)

    def log_determinant(self) -> float:
        """The logarithm of det (K + αI)."""
        return 2.0 * float(np.sum(np.log(np.diagonal(self.lower))))

    def _half_solve(self, right: Array) -> Array:
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.lower, right, lower=True, check_finite=False))


@dataclass(frozen=True)
class EighRidge:
    """K = Q diag(λ) Qᵀ with one α; directions in which K + αI vanishes within rounding are left out (pseudo-inverse).

    >>> EighRidge.of(np.ones((2, 2)), alpha=0.0).solve(np.array([[1.0], [1.0]])).round(12).tolist()
    [[0.5], [0.5]]
    """

    values: Array
    vectors: Array
    alpha: float

    @classmethod
    def of(cls, kernel: Array, alpha: float) -> EighRidge:
        """Diagonalise; rounding below zero is cut off because K is positive semidefinite."""
        from scipy.linalg import eigh

        values, vectors = eigh(kernel, check_finite=False)
        return cls(np.maximum(values, 0.0), vectors, alpha)

    @property
    def inverse_values(self) -> Array:
        """1/(λ + α), or 0 where λ + α vanishes within rounding."""
        shifted = self.values + self.alpha
        kept = shifted > _cutoff(len(shifted), float(shifted[-1]))
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=kept)

    def solve(self, targets: Array) -> Array:
        """(K + αI)⁺ times the targets."""
        return np.asarray(self.vectors @ (self.inverse_values[:, None] * (self.vectors.T @ targets)))

    def inverse_diagonal(self) -> Array:
        """The diagonal of (K + αI)⁺."""
        return np.asarray(self.vectors**2 @ self.inverse_values)

    def half(self, cross: Array) -> Array:
        """The coordinates of B in the basis of eigenvectors, weighted by the roots of the inverse eigenvalues."""
        return np.asarray(np.sqrt(self.inverse_values)[:, None] * (self.vectors.T @ cross.T))

    def log_determinant(self) -> float:
        """The logarithm of det (K + αI), without the directions that are left out."""
        inverse = self.inverse_values
        return -float(np.sum(np.log(inverse[inverse > 0])))


Factorisation: TypeAlias = CholeskyRidge | EighRidge


@dataclass(frozen=True)
class RidgePath:
    """Coefficients and leave-one-out predictions for several ridges, all from one diagonalisation."""

    alphas: Array  # the ridges
    coefficients: Array  # one matrix (K + αI)⁻¹ Y for each ridge
    left_out: Array  # one matrix of leave-one-out predictions for each ridge
    errors: Array  # the mean squared leave-one-out error for each ridge

    @classmethod
    def of(cls, factor: EighRidge, targets: Array, alphas: Sequence[float] | Array) -> RidgePath:
        """The path over ``alphas``.

        >>> path = RidgePath.of(EighRidge.of(np.eye(2), 0.0), np.array([[1.0], [2.0]]), [1.0, 3.0])
        >>> path.coefficients[:, :, 0].tolist(), path.best
        ([[0.5, 1.0], [0.25, 0.5]], 1.0)
        """
        steps = [replace(factor, alpha=float(alpha)) for alpha in alphas]
        coefficients = np.array([step.solve(targets) for step in steps])
        left_out = np.array(
            [left_out_predictions(step, targets, c) for step, c in zip(steps, coefficients, strict=True)]
        )
        errors = np.mean((left_out - targets) ** 2, axis=(1, 2))
        return cls(np.asarray(alphas, dtype=float), coefficients, left_out, errors)

    @property
    def best(self) -> float:
        """The ridge with the least leave-one-out error; the first of several."""
        return float(self.alphas[int(np.argmin(self.errors))])


def factorise(kernel: Array, alpha: float, method: str) -> Factorisation:
    """Factorise K + αI by ``"cholesky"`` or ``"eigh"``; a singular matrix is warned about and left to the second.

    >>> factorise(np.eye(2), 1.0, "cholesky").inverse_diagonal().round(12).tolist()
    [0.5, 0.5]
    """
    if method == "cholesky":
        try:
            return CholeskyRidge.of(kernel, alpha)
        except np.linalg.LinAlgError:
            warnings.warn(
                f"the kernel matrix plus alpha={alpha:g} is singular within rounding (duplicated rows?); "
                "the solution of least norm is used; a larger alpha avoids this",
                stacklevel=2,
            )
    return EighRidge.of(kernel, alpha)


def explained(factor: Factorisation, cross: Array) -> Array:
    """The diagonal of B (K + αI)⁻¹ Bᵀ for the rows B."""
    half = factor.half(cross)
    return np.asarray(np.einsum("ij,ij->j", half, half))


def left_out_predictions(factor: Factorisation, targets: Array, coefficients: Array) -> Array:
    """Prediction of each target by a fit without it: y_i - c_i / ((K + αI)⁻¹)_ii, exact when K + αI is regular.

    A point that the kernel does not see at all (a zero row of a pseudo-inverse) is predicted as zero.
    """
    diagonal = factor.inverse_diagonal()[:, None]
    seen = diagonal > 0
    return np.where(seen, targets - coefficients / np.where(seen, diagonal, 1.0), 0.0)


def _cutoff(size: int, largest: float) -> float:
    return size * float(np.finfo(float).eps) * largest
