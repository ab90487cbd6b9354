"""The machine code of Chebyshev sums along a row of a tile; every inner loop becomes vector instructions."""

from __future__ import annotations

from typing import Any

import numba

__all__ = ["contract", "expand", "polynomials_of"]

_FAST = {"contract", "nsz"}


@numba.njit(nogil=True, fastmath=_FAST)
def contract(core: Any, lengths: Any, row: Any, coefficients: Any) -> int:
    """coefficients[q, m] = Σ core[p, q, m] row[p]; returns the largest length."""
    most = 0
    for q in range(lengths.shape[0]):
        line, length = coefficients[q], lengths[q]
        most = max(most, length)
        for m in range(length):
            line[m] = 0.0
        for p in range(core.shape[0]):
            factor, source = row[p], core[p, q]
            for m in range(length):
                line[m] += factor * source[m]
    return most


@numba.njit(nogil=True, fastmath=_FAST)
def expand(coefficients: Any, lengths: Any, columns: Any, start: Any, polynomials: Any, part: Any, result: Any) -> None:
    """result[j] = Σ coefficients[q, m] columns[q, start + j] polynomials[m, j]; the first row of ``columns`` is 1."""
    width = result.shape[0]
    if lengths[0] == 0:
        result[:] = 0.0
    for q in range(lengths.shape[0]):
        length = lengths[q]
        if length == 0:
            continue
        line = coefficients[q]
        # Eight terms at a time, to load and store the sums less often; the lengths are multiples of four.
        m = 0
        if length % 8:
            a0, a1, a2, a3 = line[0], line[1], line[2], line[3]
            t0, t1, t2, t3 = polynomials[0], polynomials[1], polynomials[2], polynomials[3]
            for j in range(width):
                part[j] = a0 * t0[j] + a1 * t1[j] + a2 * t2[j] + a3 * t3[j]
            m = 4
        else:
            for j in range(width):
                part[j] = 0.0
        while m < length:
            a0, a1, a2, a3 = line[m], line[m + 1], line[m + 2], line[m + 3]
            a4, a5, a6, a7 = line[m + 4], line[m + 5], line[m + 6], line[m + 7]
            t0, t1, t2, t3 = polynomials[m], polynomials[m + 1], polynomials[m + 2], polynomials[m + 3]
            t4, t5, t6, t7 = polynomials[m + 4], polynomials[m + 5], polynomials[m + 6], polynomials[m + 7]
            for j in range(width):
                low = a0 * t0[j] + a1 * t1[j] + a2 * t2[j] + a3 * t3[j]
                part[j] += low + (a4 * t4[j] + a5 * t5[j] + a6 * t6[j] + a7 * t7[j])
            m += 8
        if q == 0:
            for j in range(width):
                result[j] = part[j]
        else:
            column = columns[q, start : start + width]
            for j in range(width):
                result[j] += part[j] * column[j]


@numba.njit(nogil=True, fastmath=_FAST)
def polynomials_of(angles: Any, low: Any, high: Any, most: Any, polynomials: Any) -> None:
    """T_m of the angles mapped from [low, high] to [-1, 1], one row each."""
    width = angles.shape[0]
    scale, shift = 2.0 / (high - low), (high + low) / (high - low)
    constant, linear = polynomials[0], polynomials[1]
    for j in range(width):
        constant[j] = 1.0
        linear[j] = scale * angles[j] - shift
    for m in range(2, most):
        now, before, earlier = polynomials[m], polynomials[m - 1], polynomials[m - 2]
        for j in range(width):
            now[j] = 2.0 * linear[j] * before[j] - earlier[j]
