"""The machine code of angles: from cosines of unit vectors, and from 1 - cos θ, without loss for small angles."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from holokern.numeric.machine.arcsine import ARCSINE

__all__ = ["angle_between", "angle_from_gap", "first_angles"]

_ARCSINE = ARCSINE
_NEAR = 2e-3
_FAST = {"contract", "nsz"}


@numba.njit(inline="always")
def _polynomial(y: Any) -> Any:
    """The polynomial ARCSINE of degree 20; written out, as a loop inside would keep the loops around it scalar."""
    z = y * y
    even = _ARCSINE[0]
    odd = _ARCSINE[1]
    even = even * z + _ARCSINE[2]
    odd = odd * z + _ARCSINE[3]
    even = even * z + _ARCSINE[4]
    odd = odd * z + _ARCSINE[5]
    even = even * z + _ARCSINE[6]
    odd = odd * z + _ARCSINE[7]
    even = even * z + _ARCSINE[8]
    odd = odd * z + _ARCSINE[9]
    even = even * z + _ARCSINE[10]
    odd = odd * z + _ARCSINE[11]
    even = even * z + _ARCSINE[12]
    odd = odd * z + _ARCSINE[13]
    even = even * z + _ARCSINE[14]
    odd = odd * z + _ARCSINE[15]
    even = even * z + _ARCSINE[16]
    odd = odd * z + _ARCSINE[17]
    even = even * z + _ARCSINE[18]
    odd = odd * z + _ARCSINE[19]
    even = even * z + _ARCSINE[20]
    return even + y * odd


@numba.njit(inline="always")
def angle_from_gap(gap: Any) -> Any:
    """The angle θ from 1 - cos θ by half-angle chords, to full relative accuracy as θ → 0; a polynomial arcsine."""
    gap = min(max(gap, 0.0), 2.0)
    square = 0.5 * min(gap, 2.0 - gap)
    y = 4.0 * square - 1.0
    total = _polynomial(y)
    small = 2.0 * math.sqrt(square) * total
    return small if gap <= 1.0 else math.pi - small


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def angle_between(first: Any, second: Any, same: Any) -> Any:
    """The angle between nearly parallel unit vectors by their difference, or sum when they are opposite."""
    square = 0.0
    sign = 1.0 if same else -1.0
    for k in range(first.shape[0]):
        part = first[k] - sign * second[k]
        square += part * part
    small = 2.0 * math.asin(min(0.5 * math.sqrt(square), 1.0))
    return small if same else math.pi - small


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def first_angles(
    tile: Any, sigma: Any, tangent: Any, rows: Any, columns: Any, lengths: Any, other_lengths: Any
) -> None:
    """Turn cosines of unit vectors into angles, in place, and write Σ⁰ twice.

    Nearly parallel vectors are subtracted from each other. A zero vector counts as orthogonal to all others and as
    parallel to zero vectors.
    """
    width = tile.shape[1]
    cosines = np.empty(width)
    for i in range(tile.shape[0]):
        line, own, tan, length = tile[i], sigma[i], tangent[i], lengths[i]
        nearest = 0.0
        for j in range(width):
            cosines[j] = line[j]
            own[j] = length * other_lengths[j] * line[j]
            tan[j] = own[j]
            line[j] = angle_from_gap(1.0 - line[j])
        for j in range(width):
            nearest = max(nearest, abs(cosines[j]))
        if nearest > 1.0 - _NEAR:
            for j in range(width):
                if abs(cosines[j]) > 1.0 - _NEAR:
                    line[j] = angle_between(rows[i], columns[j], cosines[j] > 0.0)
        if length == 0.0:
            for j in range(width):
                if other_lengths[j] == 0.0:
                    line[j] = 0.0
