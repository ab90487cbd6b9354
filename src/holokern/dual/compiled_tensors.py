"""`CompiledDual`: tensors of Chebyshev coefficients that stand for k and k̇, and their evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holokern.errors import BadInput
from holokern.numeric.panels import Array

__all__ = ["CompiledDual", "chebyshev_basis"]


@dataclass(frozen=True)
class CompiledDual:
    """k and k̇ of one activation for deviations in [low, high], ready for evaluation in bulk.

    Attributes
    ----------
    activation
        The activation.
    low, high
        The range of deviations; (0, ∞) for a homogeneous σ.
    homogeneity
        The degree p of σ(λu) = λ^p σ(u) for λ > 0, or None.
    fold
        +1 if k is even in r (then θ runs over [0, π/2] only), -1 if it is odd, else 0.
    power
        The power of θ that was split off: 2, or 1 when σ jumps.
    log_norm, log_slope
        Chebyshev coefficients of log n and log d in ℓ; without axes longer than 1 when σ is homogeneous.
    mean
        Chebyshev coefficients in ℓ of E[σ(cz)]/n(c).
    gap, bend, slope
        The tensors W, H and K; K is empty when σ jumps.
    error
        The largest error of k/(n1 n2) and k̇/(d1 d2) at points on which the tensors were not built.
    """

    activation: Any
    low: float
    high: float
    homogeneity: float | None
    fold: int
    power: int
    log_norm: Array
    log_slope: Array
    mean: Array
    gap: Array
    bend: Array
    slope: Array
    error: float

    @property
    def has_slope(self) -> bool:
        """Whether k̇ is a function on all of [0, π]; it is not when σ jumps."""
        return self.power == 2

    def covers(self, low: float, high: float) -> bool:
        """Whether these deviations are inside the range."""
        return self.low <= low and high <= self.high

    def place(self, c: Array) -> Array:
        """ℓ mapped to [-1, 1] over the range.

        Raises
        ------
        BadInput
            If a deviation is outside the range.
        """
        if self.homogeneity is not None:
            return np.zeros(len(c))
        if len(c) and not self.covers(float(np.min(c)), float(np.max(c))):
            raise BadInput(
                f"{self.activation} was compiled for deviations in [{self.low:.6g}, {self.high:.6g}] and was asked for "
                f"[{np.min(c):.6g}, {np.max(c):.6g}]; call compile_dual with the wider range"
            )
        return np.asarray((2 * np.log(c) - np.log(self.low * self.high)) / np.log(self.high / self.low))

    def norms(self, c: Array) -> Array:
        """n(c) = E[σ(cz)²]^(1/2)."""
        return self._radical(self.log_norm, c, 0)

    def slope_norms(self, c: Array) -> Array:
        """d(c) = E[σ̇(cz)²]^(1/2)."""
        return self._radical(self.log_slope, c, -1)

    def means(self, c: Array) -> Array:
        """E[σ(cz)]."""
        ratio = np.polynomial.chebyshev.chebval(self.place(c), self.mean)
        return np.asarray(ratio * self.norms(c))

    def _radical(self, coefficients: Array, c: Array, shift: int) -> Array:
        if self.homogeneity is not None:
            return np.asarray(np.exp(coefficients[0]) * c ** (self.homogeneity + shift))
        return np.asarray(np.exp(np.polynomial.chebyshev.chebval(self.place(c), coefficients)))

    def angles_to_unit(self, theta: Array) -> Array:
        """θ mapped to [-1, 1] over the interval of the tensors."""
        return np.asarray(theta * (4 / np.pi if self.fold else 2 / np.pi) - 1)

    def __call__(self, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
        """Both k and k̇ for flat arrays; k̇ is NaN when σ jumps."""
        folded = (theta > np.pi / 2) if self.fold else np.zeros(len(theta), dtype=bool)
        angle = np.where(folded, np.pi - theta, theta)
        first, second = (chebyshev_basis(self.place(c), len(self.bend)) for c in (c1, c2))
        third = chebyshev_basis(self.angles_to_unit(angle), max(self.bend.shape[2], self.slope.shape[2]))
        gap = _contract(self.gap[:, :, None], first, second, np.ones((1, len(theta))))
        bend = _contract(self.bend, first, second, third)
        lost = (np.log(c1) - np.log(c2)) ** 2 * gap + angle**self.power * bend
        k = self.norms(c1) * self.norms(c2) * (1 - lost)
        if not self.has_slope:
            return np.where(folded, self.fold * k, k), np.full(len(theta), np.nan)
        kdot = self.slope_norms(c1) * self.slope_norms(c2) * _contract(self.slope, first, second, third)
        return np.where(folded, self.fold * k, k), np.where(folded, -self.fold * kdot, kdot)


def chebyshev_basis(x: Array, count: int) -> Array:
    """T_0(x), …, T_{count-1}(x), one row each."""
    return np.cos(np.multiply.outer(np.arange(count), np.arccos(np.clip(x, -1.0, 1.0))))


def _contract(tensor: Array, first: Array, second: Array, third: Array) -> Array:
    """Σ tensor[p, q, m] first[p, i] second[q, i] third[m, i] for each i, in slices that bound the memory."""
    count = first.shape[1]
    result = np.empty(count)
    for start in range(0, count, 4096):
        some = slice(start, start + 4096)
        rows = np.tensordot(first[:, some].T, tensor, axes=1)
        result[some] = np.einsum("iqm,qi,mi->i", rows, second[:, some], third[: tensor.shape[2], some], optimize=True)
    return result
