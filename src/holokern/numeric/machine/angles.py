"""The machine code of angles: from cosines of unit vectors, and from 1 - cos θ, without loss for small angles."""

from __future__ import annotations

import math
from typing import Any

import numba

from holokern.numeric.arcsine import ARCSINE
from holokern.numeric.machine.compiled import entry

__all__ = ["angle_from_gap", "angles_between"]

_ARCSINE = ARCSINE
_NEAR = 0.06
"""Below this angle, and beyond its supplement, a cosine has lost digits: the vectors are subtracted."""


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


@entry
def angles_between(cosines: Any, rows: Any, columns: Any) -> None:
    """Turn cosines of unit vectors into angles, in place.

    Nearly parallel vectors are subtracted from each other, or added if they are opposite.
    """
    for i in range(cosines.shape[0]):
        nearest = 1.0
        for j in range(cosines.shape[1]):
            angle = angle_from_gap(1.0 - cosines[i, j])
            cosines[i, j] = angle
            nearest = min(nearest, angle, math.pi - angle)
        for j in range(cosines.shape[1] if nearest < _NEAR else 0):
            angle = cosines[i, j]
            if min(angle, math.pi - angle) < _NEAR:
                sign, square = 1.0 if angle < 1.0 else -1.0, 0.0
                for k in range(rows.shape[1]):
                    part = rows[i, k] - sign * columns[j, k]
                    square += part * part
                small = 2.0 * math.asin(0.5 * math.sqrt(square))
                cosines[i, j] = small if sign > 0.0 else math.pi - small
