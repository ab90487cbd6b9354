"""Compiled tensors cut down to what the data needs: few functions of each deviation, few terms in the angle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from holokern.dual.compiled_tensors import CompiledDual
from holokern.numeric.chebyshev import chebyshev_matrix, chebyshev_nodes
from holokern.numeric.panels import Array

__all__ = ["WHOLE", "Block", "Factors", "LocalDual", "localise"]

_DROPPED = 2e-14
_UNROLLED = 4


WHOLE = (-1.0, 1.0)


@lru_cache(maxsize=256)
def narrowing(count: int, interval: tuple[float, float]) -> Array:
    """The matrix that turns Chebyshev coefficients on [-1, 1] into those on a part of it."""
    low, high = interval
    at = low + (high - low) / 2 * (chebyshev_nodes(count) + 1)
    return np.asarray((chebyshev_matrix(count) @ np.polynomial.chebyshev.chebvander(at, count - 1)).T)


@dataclass(frozen=True)
class Block:
    """A tensor for all rows and a block of columns of similar deviations: Σ core[p, q, m] b_p(c1) t_q(c2) T_m.

    Attributes
    ----------
    core
        Padded in m with zeros.
    lengths
        How many m each q needs.
    columns
        The functions t at the columns of the block, one row each.
    """

    core: Array
    lengths: NDArray[np.int64]
    columns: Array

    def on(self, angles: tuple[float, float]) -> Block:
        """The block on a part of the interval [-1, 1] of angles, where shorter expansions do; lengths in fours."""
        constant = self.core.shape[2] == 1
        core = self.core if angles == WHOLE or constant else self.core @ narrowing(self.core.shape[2], angles)
        heavy = np.abs(core).sum(axis=0) > _DROPPED
        needed = np.max(np.where(heavy, np.arange(1, core.shape[2] + 1), 0), axis=1, initial=0)
        kept = max(1, int(np.max(np.nonzero(needed)[0], initial=0)) + 1)
        lengths = -(-needed[:kept] // _UNROLLED) * _UNROLLED
        padded = np.zeros((len(core), kept, int(np.max(lengths))))
        inside = min(padded.shape[2], core.shape[2])
        padded[:, :, :inside] = np.where(np.arange(inside) < needed[:kept, None], core[:, :kept, :inside], 0.0)
        return Block(padded, np.asarray(lengths, dtype=np.int64), self.columns[:kept])


@dataclass(frozen=True)
class Factors:
    """Σ core[p, q, m] b_p(c1) b_q(c2) T_m: a symmetric tensor with the best few functions b of a deviation.

    Attributes
    ----------
    core
        The tensor in the functions b.
    functions
        Chebyshev coefficients in log c of the b, one column each.
    """

    core: Array
    functions: Array

    @classmethod
    def of(cls, tensor: Array) -> Factors:
        """Truncate a tensor, symmetric in its first two indices, by its singular vectors."""
        if len(tensor) == 1:
            return cls(tensor, np.ones((1, 1)))
        left, sizes, _ = np.linalg.svd(tensor.reshape(len(tensor), -1), full_matrices=False)
        basis = left[:, : max(1, int(np.sum(sizes > _DROPPED / 10)))]
        return cls(np.einsum("pa,qb,pqm->abm", basis, basis, tensor, optimize=True), basis)

    def vectors(self, place: Array) -> Array:
        """The functions b at the points, one row each."""
        return np.ascontiguousarray(
            (np.polynomial.chebyshev.chebvander(place, len(self.functions) - 1) @ self.functions).T
        )

    def block(self, place: Array) -> Block:
        """Re-expand in polynomials of the second deviation about those of a block of columns; few if it is narrow."""
        low, high = float(np.min(place)), float(np.max(place))
        middle, half = (low + high) / 2, max((high - low) / 2, 1e-8)
        count = len(self.functions) if high > low else 1
        to_block = chebyshev_matrix(count) @ self.vectors(middle + half * chebyshev_nodes(count)).T
        core = np.matmul(to_block, self.core)
        columns = np.polynomial.chebyshev.chebvander((place - middle) / half, count - 1).T
        return Block(core, np.full(count, core.shape[2]), np.ascontiguousarray(columns))


@dataclass(frozen=True)
class LocalDual:
    """A compiled dual activation on a part of its range, as the kernels use it.

    Attributes
    ----------
    whole
        The compiled dual activation.
    low, high
        The part.
    gap, bend, slope
        The factors of W, H and K; ``slope`` is empty when σ jumps.
    """

    whole: CompiledDual
    low: float
    high: float
    gap: Factors
    bend: Factors
    slope: Factors

    def place(self, c: Array) -> Array:
        """The place of log c, mapped to [-1, 1] over the part."""
        if self.whole.homogeneity is not None or self.low == self.high:
            return np.zeros(len(c))
        position = (2 * np.log(c) - np.log(self.low * self.high)) / np.log(self.high / self.low)
        return np.asarray(np.clip(position, -1.0, 1.0))


def localise(made: CompiledDual, low: float, high: float) -> LocalDual:
    """The compiled dual activation for deviations in [low, high], a part of its range.

    Examples
    --------
    >>> from holokern.dual.compiled import compile_dual
    >>> whole = compile_dual("gelu", 0.5, 2.0)
    >>> localise(whole, 0.9, 1.1).bend.core.size < localise(whole, 0.5, 2.0).bend.core.size
    True
    """
    if made.homogeneity is not None:
        transfer = np.ones((1, 1))
    else:
        count = len(made.bend) if low < high else 1
        middle, half = np.log(low * high) / 2, np.log(high / low) / 2
        at = made.place(np.clip(np.exp(middle + half * chebyshev_nodes(count)), made.low, made.high))
        transfer = chebyshev_matrix(count) @ np.polynomial.chebyshev.chebvander(at, len(made.bend) - 1)
    tensors = (made.gap[:, :, None], made.bend, made.slope)
    moved = [np.einsum("ap,bq,pqm->abm", transfer, transfer, tensor, optimize=True) for tensor in tensors]
    empty = Factors(np.zeros((1, 1, 1)), np.ones((1, 1)))
    gap, bend, slope = (Factors.of(tensor) if tensor.shape[2] else empty for tensor in moved)
    return LocalDual(made, low, high, gap, bend, slope)
