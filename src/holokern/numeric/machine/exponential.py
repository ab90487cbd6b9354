"""Exponentials in machine code that becomes vector instructions, which calls of a library do not."""

from __future__ import annotations

import math
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types

from holokern.numeric.machine.compiled import instructions

_PER_OCTAVE = 1 / math.log(2)

_HIGH = round(math.log(2) * 2**40) / 2**40
_LOW = -1.7239444525614835e-13
"""log 2 in two parts: whole multiples of the first one, up to 1022, are floats."""

_WHOLE = 6755399441055744.0
"""3 · 2^51: a float plus and minus this is rounded to a whole number."""

_TAYLOR = tuple(1 / math.factorial(n) for n in range(2, 14))
"""From 1/2! to 1/13!: the next term is 1e-17 of r."""

_LEAST = -700.0
"""Exponents below this give zero beside one; powers of two need no care for tiny floats above it."""


@instructions
def _power_of_two(_: Any, exponent: Any) -> Any:
    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        whole = builder.fptosi(arguments[0], ir.IntType(64))
        # The bits of a float: 52 of its fraction, and before them the exponent plus 1023
        bits = builder.shl(builder.add(whole, ir.IntType(64)(1023)), ir.IntType(64)(52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(exponent), code


@numba.njit(inline="always")
def exponential_less_one(x: Any) -> Any:
    """e^x - 1 for x ≤ 0, to full relative accuracy: e^x = 2^k e^r with |r| ≤ log(2)/2, and r by its Taylor series."""
    x = x if x > _LEAST else _LEAST
    k = (x * _PER_OCTAVE + _WHOLE) - _WHOLE
    r = (x - k * _HIGH) - k * _LOW
    high = _TAYLOR[5] + r * (_TAYLOR[6] + r * (_TAYLOR[7] + r * (_TAYLOR[8] + r * (_TAYLOR[9] + r * _TAYLOR[10]))))
    high = _TAYLOR[3] + r * (_TAYLOR[4] + r * (high + r * r * r * r * r * r * _TAYLOR[11]))
    high = _TAYLOR[0] + r * (_TAYLOR[1] + r * (_TAYLOR[2] + r * high))
    power = _power_of_two(k)
    return power * (r + r * r * high) + (power - 1.0)
