"""The machine code of angles: from cosines of unit vectors, from 1 - cos θ and from slopes; small ones keep digits."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numba
from numba.core import types

from holokern.numeric.arcs import ARCSINE, ARCTANGENT, SHORT_ARCSINE, TANGENT
from holokern.numeric.machine.compiled import FAST, bare_entry, instructions

_TANGENT = TANGENT
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


def _polynomial(coefficients: tuple[float, ...], context: Any, builder: Any, kind: Any, y: Any) -> Any:
    """Instructions for a polynomial, highest coefficient first, as two in y² by Horner's rule; ``kind`` is y's type.

    numba takes a tenth of a second for as many terms. A loop would keep the loops around it scalar.
    """

    def step(total: Any, a: Any) -> Any:
        return builder.fadd(builder.fmul(total, square, FAST), a, FAST)

    square = builder.fmul(y, y, FAST)
    terms = [context.get_constant(kind, a) for a in coefficients[::-1]]
    even, odd = (reduce(step, terms[first::2][::-1]) for first in (0, 1))
    return builder.fadd(even, builder.fmul(y, odd, FAST), FAST)


@instructions
def _arctangent(_: Any, y: Any) -> Any:
    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _polynomial(ARCTANGENT, context, builder, y, arguments[0])

    return y(y), code


@instructions
def angle_from_gap(_: Any, gap: Any) -> Any:
    """The angle θ from 1 - cos θ by half-angle chords and a polynomial arcsine, in the precision of its argument.

    In double precision to full relative accuracy as θ → 0; in single precision a cosine leaves an error of 1e-7/θ. Its
    instructions are written here: numba would compile it by itself and again inside of what calls it.
    """
    coefficients = SHORT_ARCSINE if gap == types.float32 else ARCSINE

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        numbers = 0.0, 0.5, 1.0, 2.0, 4.0, math.pi
        zero, half, one, two, four, half_turn = (context.get_constant(gap, a) for a in numbers)
        is_sharp = builder.fcmp_ordered("<=", arguments[0], one)
        near = builder.select(is_sharp, arguments[0], builder.fsub(two, arguments[0], FAST))
        near = builder.select(builder.fcmp_ordered(">", near, zero), near, zero)
        square = builder.fmul(half, near, FAST)
        root = builder.call(builder.module.declare_intrinsic("llvm.sqrt", [square.type]), [square])
        y = builder.fsub(builder.fmul(four, square, FAST), one, FAST)
        arcsine = _polynomial(coefficients, context, builder, gap, y)
        small = builder.fmul(builder.fmul(two, root, FAST), arcsine, FAST)
        return builder.select(is_sharp, small, builder.fsub(half_turn, small, FAST))

    return gap(gap), code


@numba.njit(inline="always")
def loss_of(gap: Any, apart: Any, inverse: Any) -> Any:
    """1 - cos θ of two vectors from half their squared distance, that of their lengths, and 1 over their product.

    What may be the rounding of this difference counts as parallel or opposite vectors. Rounding of the distance itself
    may still leave parallel vectors of different lengths an angle of 1e-8.
    """
    found, noise = (gap - apart) * inverse, _NOISE * gap * inverse
    return 2.0 if found > 2.0 - noise else found if found > noise else 0.0


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


@bare_entry
def angles_between(cosines: Any, rows: Any, columns: Any) -> Any:
    """Turn cosines of unit vectors into angles, in place; all arrays may be of single precision.

    Nearly parallel vectors are subtracted from each other, or added if they are opposite. Returns how many angles are
    so close to 0 or π (`TINY`) that rounded unit vectors do not tell them.
    """
    tiny, one = 0, cosines.dtype.type(1)
    for i in range(cosines.shape[0]):
        for j in range(cosines.shape[1]):
            cosines[i, j] = angle_from_gap(one - cosines[i, j])
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
                    small = angle_from_gap(0.5 * square)
                    line[j] = small if sign > 0.0 else math.pi - small
                    tiny += 1 if small < TINY else 0
    return tiny
