"""The machine code of angles: from cosines of unit vectors, from 1 - cos θ and from slopes; small ones keep digits."""

from __future__ import annotations

import math
from typing import Any

import numba

from holokern.numeric.arcs import ARCSINE, ARCTANGENT, TANGENT
from holokern.numeric.machine.compiled import entry

_ARCSINE, _ARCTANGENT, _TANGENT = ARCSINE, ARCTANGENT, TANGENT
_SMALLEST = 1e-300
"""Added to divisors that may be zero."""

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


@numba.njit(inline="always")
def angle_from_slope(up: Any, along: Any) -> Any:
    """The angle between 0 and π/2 whose tangent is up/along, both ≥ 0; a polynomial arctangent. 0 if both are 0."""
    low, high = min(up, along), max(up, along) + _SMALLEST
    is_steep = low > _TANGENT * high
    # tan(φ - π/4) = (tan φ - 1)/(1 + tan φ)
    slope = (low - high if is_steep else low) / (low + high if is_steep else high)
    y = (2.0 / (_TANGENT * _TANGENT)) * slope * slope - 1.0
    z = y * y
    even = _ARCTANGENT[1]
    odd = _ARCTANGENT[0]
    even = even * z + _ARCTANGENT[3]
    odd = odd * z + _ARCTANGENT[2]
    even = even * z + _ARCTANGENT[5]
    odd = odd * z + _ARCTANGENT[4]
    even = even * z + _ARCTANGENT[7]
    odd = odd * z + _ARCTANGENT[6]
    even = even * z + _ARCTANGENT[9]
    odd = odd * z + _ARCTANGENT[8]
    even = even * z + _ARCTANGENT[11]
    odd = odd * z + _ARCTANGENT[10]
    small = slope * (even + y * odd)
    small = 0.25 * math.pi + small if is_steep else small
    return small if up <= along else 0.5 * math.pi - small


@numba.njit(inline="always")
def angle_from_slopes(up: Any, along: Any) -> Any:
    """The same between 0 and π, where ``along`` may be negative."""
    angle = angle_from_slope(up, abs(along))
    return angle if along >= 0.0 else math.pi - angle


@entry
def angles_between(cosines: Any, rows: Any, columns: Any) -> None:
    """Turn cosines of unit vectors into angles, in place.

    Nearly parallel vectors are subtracted from each other, or added if they are opposite.
    """
    for i in range(cosines.shape[0]):
        for j in range(cosines.shape[1]):
            cosines[i, j] = angle_from_gap(1.0 - cosines[i, j])
        # Counted in a loop of its own: it would keep the one above from becoming vector instructions.
        near = 0
        for j in range(cosines.shape[1]):
            near += 1 if min(cosines[i, j], math.pi - cosines[i, j]) < _NEAR else 0
        for j in range(cosines.shape[1] if near else 0):
            angle = cosines[i, j]
            if min(angle, math.pi - angle) < _NEAR:
                sign, square = 1.0 if angle < 1.0 else -1.0, 0.0
                for k in range(rows.shape[1]):
                    part = rows[i, k] - sign * columns[j, k]
                    square += part * part
                small = 2.0 * math.asin(0.5 * math.sqrt(square))
                cosines[i, j] = small if sign > 0.0 else math.pi - small
