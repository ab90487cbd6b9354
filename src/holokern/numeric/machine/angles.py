"""The machine code of angles: from cosines of unit vectors, from 1 - cos θ and from slopes; small ones keep digits."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from holokern.numeric.arcs import ARCSINE, ARCTANGENT, SHORT_ARCSINE, TANGENT
from holokern.numeric.machine.compiled import entry

_ARCSINE, _ARCTANGENT, _TANGENT = ARCSINE, ARCTANGENT, TANGENT
_SHORT = tuple(np.float32(a) for a in SHORT_ARCSINE)
_HALF, _ONE, _TWO, _PI = (np.float32(a) for a in (0.5, 1.0, 2.0, math.pi))
_SMALLEST = 1e-300
"""Added to divisors that may be zero."""

_NEAR = 0.06
"""Below this angle, and beyond its supplement, a cosine has lost digits: the vectors are subtracted."""

TINY = 1e-6
"""Below this angle unit vectors have lost the digits of their difference: 1e-10 of it is rounding here."""

_NOISE = 2.0**-51
"""Rounding errors of a squared distance, relative to it: two units in the last place."""

_BLOCK = 256
"""Angles that are looked through one by one if one of them is so small: every row of a matrix has its diagonal."""


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
def loss_of(gap: Any, apart: Any, inverse: Any) -> Any:
    """1 - cos θ of two vectors from half their squared distance, that of their lengths, and 1 over their product.

    What may be the rounding of this difference counts as parallel or opposite vectors. Rounding of the distance itself
    may still leave parallel vectors of different lengths an angle of 1e-8.
    """
    found, noise = (gap - apart) * inverse, _NOISE * gap * inverse
    return 2.0 if found > 2.0 - noise else found if found > noise else 0.0


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
def slope_quotient(up: Any, along: Any) -> Any:
    """A numerator and a denominator, whose quotient `angle_of_quotient` takes; up, along ≥ 0, and 0 if both are 0."""
    low, high = min(up, along), max(up, along) + _SMALLEST
    is_steep = low > _TANGENT * high
    # tan(φ - π/4) = (tan φ - 1)/(1 + tan φ)
    return (low - high if is_steep else low), (low + high if is_steep else high)


@numba.njit(inline="always")
def angle_of_quotient(slope: Any, up: Any, along: Any) -> Any:
    """The angle between 0 and π/2 whose tangent is up/along, from the quotient; a polynomial arctangent."""
    low, high = min(up, along), max(up, along) + _SMALLEST
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
    small = 0.25 * math.pi + small if low > _TANGENT * high else small
    return small if up <= along else 0.5 * math.pi - small


@numba.njit(inline="always")
def _single_angle(cosine: Any) -> Any:
    """The angle from its cosine in single precision, with an error of 1e-7/θ."""
    square = _HALF * max(_ONE - abs(cosine), _ONE - _ONE)
    y = _TWO * (square + square) - _ONE
    z = y * y
    even = (((_SHORT[0] * z + _SHORT[2]) * z + _SHORT[4]) * z + _SHORT[6]) * z + _SHORT[8]
    odd = ((_SHORT[1] * z + _SHORT[3]) * z + _SHORT[5]) * z + _SHORT[7]
    small = _TWO * np.sqrt(square) * (even + y * odd)
    return small if cosine >= _ONE - _ONE else _PI - small


@entry
def angles_between(cosines: Any, rows: Any, columns: Any) -> Any:
    """Turn cosines of unit vectors into angles, in place; all arrays may be of single precision.

    Nearly parallel vectors are subtracted from each other, or added if they are opposite. Returns how many angles are
    so close to 0 or π (`TINY`) that rounded unit vectors do not tell them.
    """
    tiny = 0
    for i in range(cosines.shape[0]):
        if cosines.itemsize == 4:
            for j in range(cosines.shape[1]):
                cosines[i, j] = _single_angle(np.float32(cosines[i, j]))
        else:
            for j in range(cosines.shape[1]):
                cosines[i, j] = angle_from_gap(1.0 - cosines[i, j])
        # Counted in a loop of its own: it would keep the one above from becoming vector instructions.
        for first in range(0, cosines.shape[1], _BLOCK):
            line, near = cosines[i, first : first + _BLOCK], 0
            for j in range(line.shape[0]):
                near += 1 if min(line[j], math.pi - line[j]) < _NEAR else 0
            for j in range(line.shape[0] if near else 0):
                angle = line[j]
                if min(angle, math.pi - angle) < _NEAR:
                    sign, square = 1.0 if angle < 1.0 else -1.0, 0.0
                    for k in range(rows.shape[1]):
                        part = rows[i, k] - sign * columns[first + j, k]
                        square += part * part
                    small = 2.0 * math.asin(0.5 * math.sqrt(square))
                    line[j] = small if sign > 0.0 else math.pi - small
                    tiny += 1 if small < TINY else 0
    return tiny
