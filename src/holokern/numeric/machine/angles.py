"""The machine code of angles: from cosines of unit vectors, from 1 - cos θ and from slopes; small ones keep digits."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

from holokern.numeric.arcs import ARCSINE, ARCTANGENT, SHORT_ARCSINE, TANGENT
from holokern.numeric.machine.compiled import FAST, entry

_TANGENT = TANGENT
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


def _polynomial(coefficients: tuple[float, ...]) -> Any:
    """A polynomial, highest coefficient first, as two in y² by Horner's rule; y and the result have one type.

    Its instructions are written here: numba takes a tenth of a second for as many terms. A loop would keep the loops
    around it scalar.
    """

    @intrinsic
    def value(_: Any, y: Any) -> Any:
        def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            def step(total: Any, a: Any) -> Any:
                return builder.fadd(builder.fmul(total, square, FAST), a, FAST)

            square = builder.fmul(arguments[0], arguments[0], FAST)
            terms = [context.get_constant(y, a) for a in coefficients[::-1]]
            even, odd = (reduce(step, terms[first::2][::-1]) for first in (0, 1))
            return builder.fadd(even, builder.fmul(arguments[0], odd, FAST), FAST)

        return y(y), code

    return value


_arcsine, _short_arcsine, _arctangent = _polynomial(ARCSINE), _polynomial(SHORT_ARCSINE), _polynomial(ARCTANGENT)


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
    # Written out: numba compiles min and max as functions of their own.
    near = gap if gap <= 1.0 else 2.0 - gap
    square = 0.5 * near if near > 0.0 else 0.0
    small = 2.0 * math.sqrt(square) * _arcsine(4.0 * square - 1.0)
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
    small = slope * _arctangent(y)
    small = 0.25 * math.pi + small if low > _TANGENT * high else small
    return small if up <= along else 0.5 * math.pi - small


def _single_angle(cosine: Any) -> Any:
    """The angle from its cosine in single precision, with an error of 1e-7/θ."""
    square = _HALF * max(_ONE - abs(cosine), _ONE - _ONE)
    small = _TWO * np.sqrt(square) * _short_arcsine(_TWO * (square + square) - _ONE)
    return small if cosine >= _ONE - _ONE else _PI - small


def _double_angle(cosine: Any) -> Any:
    return angle_from_gap(1.0 - cosine)


def _angle(cosine: Any) -> Any:
    """The angle from its cosine: the code of one precision is not compiled for the other."""
    raise NotImplementedError(f"only machine code calls this, not Python with {cosine}")


@overload(_angle, inline="always")
def _angle_code(cosine: Any) -> Any:
    return _single_angle if cosine == types.float32 else _double_angle


@entry
def angles_between(cosines: Any, rows: Any, columns: Any) -> Any:
    """Turn cosines of unit vectors into angles, in place; all arrays may be of single precision.

    Nearly parallel vectors are subtracted from each other, or added if they are opposite. Returns how many angles are
    so close to 0 or π (`TINY`) that rounded unit vectors do not tell them.
    """
    tiny = 0
    for i in range(cosines.shape[0]):
        for j in range(cosines.shape[1]):
            cosines[i, j] = _angle(cosines[i, j])
        # Counted in a loop of its own: it would keep the one above from becoming vector instructions.
        for first in range(0, cosines.shape[1], _BLOCK):
            line, near = cosines[i, first : first + _BLOCK], 0
            for j in range(line.shape[0]):
                near += 1 if abs(line[j] - 0.5 * math.pi) > 0.5 * math.pi - _NEAR else 0
            for j in range(line.shape[0] if near else 0):
                angle = line[j]
                if abs(angle - 0.5 * math.pi) > 0.5 * math.pi - _NEAR:
                    sign, square = 1.0 if angle < 1.0 else -1.0, 0.0
                    for k in range(rows.shape[1]):
                        part = rows[i, k] - sign * columns[first + j, k]
                        square += part * part
                    small = 2.0 * math.asin(0.5 * math.sqrt(square))
                    line[j] = small if sign > 0.0 else math.pi - small
                    tiny += 1 if small < TINY else 0
    return tiny
