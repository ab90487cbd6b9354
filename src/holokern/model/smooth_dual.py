"""`SmoothDual`: a dual activation as Chebyshev series in log c1, log c2 and θ, made to be differentiated.

With ℓ = log c, n² = k(c, c, θ=0), d² = k̇(c, c, θ=0), δ = ℓ1 - ℓ2 and p = 2 (or 1 when σ jumps) the series are those of

    k = n1 n2 (1 - δ² W(ℓ1, ℓ2) - θ^p H(ℓ1, ℓ2, θ)),    k̇ = d1 d2 K(ℓ1, ℓ2, θ).

They are made from values of a compiled dual activation, and their derivatives are those of the polynomials.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from holokern.dual.compiled import compile_dual
from holokern.model.kernel import Array
from holokern.numeric.chebyshev import chebyshev_matrix, chebyshev_nodes

__all__ = ["Jet", "SmoothDual", "smooth_dual"]

_STEPS_AN_OCTAVE = 4
_ROOM = 0.02
_TAIL = 1e-10
_RANKS = (4, 6, 9, 13, 18, 25, 36)
_DEGREES = (16, 24, 36, 54, 80)


@dataclass(frozen=True)
class Jet:
    """A function of pairs of points with its derivatives in ℓ1, ℓ2 and θ."""

    value: Array
    first: Array
    second: Array
    angle: Array

    def along(self, log_c: Array, angle: Array) -> Array:
        """The derivative when the ℓ of the points and the angles of the pairs move at these rates."""
        return np.asarray(self.first * log_c[:, None] + self.second * log_c + self.angle * angle)


@dataclass(frozen=True)
class SmoothDual:
    """The series of the module's docstring for deviations in [low, high].

    Attributes
    ----------
    low, high
        The range.
    power
        The exponent p.
    even
        Whether σ is even: then k(π - θ) = k(θ) and k̇(π - θ) = -k̇(θ), and opposite points coincide after the layer.
    log_norm, log_slope
        Series of log n and log d in ℓ.
    gap, bend, slope
        Tensors of W, H and K; the last one is None when σ jumps.
    """

    low: float
    high: float
    power: int
    even: bool
    log_norm: Array
    log_slope: Array | None
    gap: Array
    bend: Array
    slope: Array | None

    def radical(self, series: Array, c: Array) -> tuple[Array, Array]:
        """The exponential of a series in ℓ, and the derivative of the series."""
        place, scale = self._place(c)
        value = np.exp(chebyshev.chebval(place, series))
        return np.asarray(value), np.asarray(chebyshev.chebval(place, chebyshev.chebder(series)) * scale)

    def jet(self, tensor: Array, c: Array, theta: Array) -> Jet:
        """A tensor at all pairs of the deviations c, with its derivatives."""
        place, scale = self._place(c)
        left, right = (chebyshev.chebvander(place, count - 1) for count in tensor.shape[:2])
        x = 2 * theta / np.pi - 1
        factors = (scale, scale, 2 / np.pi)
        parts = [tensor, *(factor * _derived(tensor, axis) for axis, factor in enumerate(factors))]
        sums = [np.zeros_like(theta) for _ in parts]
        now, before = np.ones_like(x), x
        for m in range(tensor.shape[2]):
            for index, core in enumerate(parts):
                if np.any(core[:, :, m]):
                    sums[index] += (left @ core[:, :, m] @ right.T) * now
            # T_{m+1} = 2x T_m - T_{m-1}, with T_{-1} = T_1
            now, before = 2 * x * now - before, now
        return Jet(*sums)

    def _place(self, c: Array) -> tuple[Array, float]:
        """ℓ mapped to [-1, 1], and the derivative of that map."""
        scale = 2 / np.log(self.high / self.low)
        return np.asarray(scale * np.log(c / self.low) - 1), float(scale)


def _derived(tensor: Array, axis: int) -> Array:
    """The series of the derivative along one axis, as long as the series itself."""
    lower = chebyshev.chebder(tensor, axis=axis) if tensor.shape[axis] > 1 else tensor[:0]
    padding = [(0, tensor.shape[k] - lower.shape[k]) for k in range(3)]
    return np.pad(lower, padding)


def smooth_dual(activation: Any, low: float, high: float) -> SmoothDual | None:
    """The series for deviations in [low, high] and slightly beyond, or None when they do not converge.

    They do not when σ breaks away from zero.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> made = smooth_dual(activation("relu"), 0.9, 1.1)
    >>> norm, rate = made.radical(made.log_norm, np.array([1.0, 1.1]))
    >>> norm.round(9).tolist(), rate.round(6).tolist()
    ([0.707106781, 0.777817459], [1.0, 1.0])
    """
    if any(point != 0 for point in activation.breaks):
        return None
    # The grid on which networks compile, so that neighbours share the work.
    return _series(activation, _grid(np.floor, low, -_ROOM), _grid(np.ceil, high, _ROOM))


def _grid(rounded: Any, c: float, room: float) -> float:
    return float(2.0 ** (rounded(_STEPS_AN_OCTAVE * np.log2(c) + room) / _STEPS_AN_OCTAVE))


@lru_cache(maxsize=64)
def _series(activation: Any, low: float, high: float) -> SmoothDual | None:
    made = compile_dual(activation, low, high)
    builder = _Builder(made, low, high)
    degree = _converged(_DEGREES, lambda count: builder.tensors(4, count), 2)
    rank = None if degree is None else _converged(_RANKS, lambda count: builder.tensors(count, 12), 0)
    if degree is None or rank is None:
        return None
    log_norm, log_slope = builder.radicals(rank)
    tensors = builder.tensors(rank, degree)
    return SmoothDual(
        low=low,
        high=high,
        power=builder.power,
        even=activation.parity == "even",
        log_norm=log_norm,
        log_slope=log_slope,
        gap=builder.gap(rank),
        bend=tensors[0],
        slope=tensors[1] if made.has_slope else None,
    )


@dataclass(frozen=True)
class _Builder:
    made: Any
    low: float
    high: float

    @property
    def power(self) -> int:
        return 2 if self.made.has_slope else 1

    def deviations(self, count: int) -> Array:
        return np.asarray(self.low * (self.high / self.low) ** ((chebyshev_nodes(count) + 1) / 2))

    def radicals(self, rank: int) -> tuple[Array, Array | None]:
        c, matrix = self.deviations(rank), chebyshev_matrix(rank)
        slopes = matrix @ np.log(self.made.slope_norms(c)) if self.made.has_slope else None
        return matrix @ np.log(self.made.norms(c)), slopes

    def gap(self, rank: int) -> Array:
        """W on two grids of ℓ that have no point in common, so that δ is never zero."""
        first, second = self.deviations(rank), self.deviations(rank + 1)
        kappa, _ = self._normalised(first, second, np.zeros(1))
        values = (1 - kappa[:, :, 0]) / np.log(first[:, None] / second) ** 2
        return np.asarray(chebyshev_matrix(rank) @ values @ chebyshev_matrix(rank + 1).T)[:, :, None]

    def tensors(self, rank: int, degree: int) -> list[Array]:
        """H, and K unless σ jumps."""
        c = self.deviations(rank)
        theta = np.pi * (chebyshev_nodes(degree) + 1) / 2
        kappa, slope = self._normalised(c, c, np.append(theta, 0.0))
        values = [(kappa[:, :, -1:] - kappa[:, :, :-1]) / theta**self.power]
        values += [slope[:, :, :-1]] if self.made.has_slope else []
        to_rank, to_degree = chebyshev_matrix(rank), chebyshev_matrix(degree)
        return [np.einsum("pa,qb,mt,abt->pqm", to_rank, to_rank, to_degree, v, optimize=True) for v in values]

    def _normalised(self, first: Array, second: Array, theta: Array) -> tuple[Array, Array]:
        """Both k/(n1 n2) and k̇/(d1 d2) on a grid."""
        grid = np.meshgrid(first, second, theta, indexing="ij")
        values = [part.reshape(grid[0].shape) for part in self.made(*(axis.ravel() for axis in grid))]
        norms = self.made.norms(first)[:, None, None] * self.made.norms(second)[:, None]
        if not self.made.has_slope:
            return values[0] / norms, values[1]
        slopes = self.made.slope_norms(first)[:, None, None] * self.made.slope_norms(second)[:, None]
        return values[0] / norms, values[1] / slopes


def _converged(counts: tuple[int, ...], tensors: Callable[[int], list[Array]], axis: int) -> int | None:
    """The first count whose last coefficients along the axis are negligible."""
    for count in counts:
        tails = [float(np.max(np.abs(np.moveaxis(tensor, axis, 0)[-2:]))) for tensor in tensors(count)]
        if max(tails) <= _TAIL:
            return count
    return None
