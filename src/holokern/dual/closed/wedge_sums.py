"""The machine code of hinges: 1 - k/(n₁n₂) and k′ of a tile for piecewise polynomial activations.

Every inner loop runs along a chunk of a row without branches, so that it becomes vector instructions.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

from holokern.dual.closed.wedge import FARTHEST, HingeArrays, HingedActivation, mills_coefficients
from holokern.numeric import ARCSINE, Array, machine

# floats of a row at a time: the seventeen rows of room take 17 kB, half of a first-level cache
_CHUNK = 128
# about √eps, where 1 - k/(n₁n₂) has lost half its digits; and |log c₁/c₂| up to which `_careful` expands
_CAREFUL, _ALIKE = 2e-8, 1e-3
# an array, which machine code takes as a constant
_ARCSINE = np.array(ARCSINE)
# likewise
_MILLS = np.array(mills_coefficients())
# Taylor terms of sin x/x in x², |x| ≤ π/2: the next one is 3e-21
_SINE = np.array([(-1.0) ** k / math.factorial(2 * k + 1) for k in range(11, -1, -1)])
# Taylor terms of cos x in x², |x| ≤ π/2: the next one is 3e-22
_COSINE = np.array([(-1.0) ** k / math.factorial(2 * k) for k in range(12, -1, -1)])
# Taylor terms for |y| ≤ (ln 2)/2: the next one is 4e-18
_EXPONENTIAL = np.array([1.0 / math.factorial(k) for k in range(13, -1, -1)])
# ln 2 in two parts, so that n·high is exact (as in fdlibm)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# the normal density at 0
_PER_ROOT = 1 / math.sqrt(2 * math.pi)
# the density of an angle
_PER_TURN = 1 / (2 * math.pi)


@intrinsic
def _from_bits(_: Any, bits: Any) -> Any:
    """The float64 with the given bits."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), code


@machine.called
def _polynomial(coefficients: Array, y: Array, result: Array) -> None:
    """Horner's rule for a chunk, two terms at a time."""
    odd = coefficients.shape[0] % 2
    first = coefficients[0]
    for j in range(y.shape[0]):
        result[j] = first if odd else 0.0
    for m in range(odd, coefficients.shape[0], 2):
        a, b = coefficients[m], coefficients[m + 1]
        for j in range(y.shape[0]):
            result[j] = (result[j] * y[j] + a) * y[j] + b


@machine.called
def _exponential(x: Array, y: Array, result: Array) -> None:
    """exp(-x) for a chunk of 0 ≤ x < 700; y is room."""
    for j in range(x.shape[0]):
        whole = math.floor(x[j] * 1.4426950408889634 + 0.5)
        y[j] = (whole * _LN2_HIGH - x[j]) + whole * _LN2_LOW
    _polynomial(_EXPONENTIAL, y, result)
    for j in range(x.shape[0]):
        whole = math.floor(x[j] * 1.4426950408889634 + 0.5)
        result[j] *= _from_bits((np.int64(1023) - np.int64(np.int32(whole))) << 52)  # type: ignore[call-arg]


@machine.called
def _series_of_row(coefficients: Array, x: Array, before: Array, result: Array) -> None:
    """Clenshaw's sum with the same coefficients for the chunk; their number is even."""
    for j in range(x.shape[0]):
        result[j] = 0.0
        before[j] = 0.0
    for m in range(coefficients.shape[0] - 1, 0, -2):
        a, b = coefficients[m], coefficients[m - 1]
        for j in range(x.shape[0]):
            twice = 2.0 * x[j]
            before[j] = a + twice * result[j] - before[j]
            result[j] = b + twice * before[j] - result[j]
    for j in range(x.shape[0]):
        result[j] -= x[j] * before[j]


@machine.called
def _series_of_columns(coefficients: Array, start: int, x: Array, before: Array, result: Array) -> None:
    """Clenshaw's sum with coefficients for each column; their number is even."""
    for j in range(x.shape[0]):
        result[j] = 0.0
        before[j] = 0.0
    for m in range(coefficients.shape[0] - 1, 0, -2):
        a, b = coefficients[m, start : start + x.shape[0]], coefficients[m - 1, start : start + x.shape[0]]
        for j in range(x.shape[0]):
            twice = 2.0 * x[j]
            before[j] = a[j] + twice * result[j] - before[j]
            result[j] = b[j] + twice * before[j] - result[j]
    for j in range(x.shape[0]):
        result[j] -= x[j] * before[j]


@numba.njit(inline="always")
def _small_angle(alpha: float, h: float) -> float:
    """sin²(φ/2) for tan φ = α/h."""
    root = math.sqrt(h * h + alpha * alpha)
    return 0.5 * alpha * alpha / (root * (root + h))


@machine.called
def _edges(width: Array, bell: Array, lost: Array, edge: Array) -> None:
    """Moments along an edge: N_{m+1} = m s² N_{m-1} - sα N_m, from N_0 and N_1 = s exp(-Q/2)/2π - sα N_0."""
    zeroth, first = edge[0], edge[1]
    for j in range(width.shape[0]):
        first[j] = width[j] * bell[j] * _PER_TURN - lost[j] * zeroth[j]
    for m in range(1, edge.shape[0] - 1):
        before, now, new = edge[m - 1], edge[m], edge[m + 1]
        for j in range(width.shape[0]):
            new[j] = m * width[j] * width[j] * before[j] - lost[j] * now[j]


@machine.called
def _moments(h: float, there: Array, turn: Array, edge_x: Array, edge_y: Array, moment: Array) -> None:
    """All B_ij from B_00 and the moments along the edges."""
    degree, size = moment.shape[0] - 1, there.shape[0]
    for q in range(degree):
        now, new, edge, other = moment[0, q], moment[0, q + 1], edge_x[q], edge_y[0]
        for j in range(size):
            new[j] = turn[j] * edge[j] - there[j] * now[j]
        if q == 0:
            for j in range(size):
                new[j] += other[j]
        else:
            before = moment[0, q - 1]
            for j in range(size):
                new[j] += q * before[j]
    for p in range(degree):
        for q in range(degree + 1):
            now, new = moment[p, q], moment[p + 1, q]
            down = moment[p - 1, q] if p > 0 else edge_x[q]
            left = moment[p, q - 1] if q > 0 else edge_y[p]
            by_p, by_q = (float(p) if p > 0 else 1.0), (float(q) if q > 0 else 1.0)
            for j in range(size):
                new[j] = by_p * down[j] + by_q * turn[j] * left[j] - h * now[j]


@machine.called
def _add(first: float, other: Array, moment: Array, total: Array) -> None:
    for j in range(total.shape[0]):
        total[j] += first * other[j] * moment[j]


@machine.called
def _careful(
    i: int, j: int, angle: float, slope: float, sigma: HingedActivation, row_side: HingeArrays, column_side: HingeArrays
) -> float:
    """1 - k/(n₁n₂) of nearly equal points, without cancellation.

    [Price1958] twice, k(0) - k(θ) = c₁c₂((1 - cos θ) k′(θ) + Σ J J' ∫ (1 - cos t) exp(-Q/2)/(2π) dt), the integral to
    leading order in θ; the part of θ = 0 by the numbers W and C of `HingeSide`.
    """
    signs, row_marks, column_marks, jumps = row_side.signs, row_side.marks, column_side.marks, sigma.jumps
    rows, columns = row_side.numbers, column_side.numbers
    # The quotient of the deviations less 1; their difference is exact.
    more: float = (rows[3, i] - columns[3, j]) / columns[3, j] + (rows[6, i] - columns[6, j])
    apart: float = abs(math.log1p(more))
    mean_w: float = 0.5 * (rows[4, i] + columns[4, j])
    mean_c: float = 0.5 * (rows[5, i] + columns[5, j])
    length = 2.0 * math.tan(0.5 * angle)
    total: float = 0.0
    if length > 0.0:
        for a in range(signs.shape[0]):
            for b in range(signs.shape[0]):
                h, k = signs[a] * row_marks[a, 0, i], signs[b] * column_marks[b, 0, j]
                d = abs(h * more) if a == b else abs(h - k)
                ratio = d / length
                if ratio < 9.0:
                    bell = length * math.exp(-0.5 * ratio * ratio)
                    zeroth = bell - d * math.sqrt(0.5 * math.pi) * math.erfc(ratio * math.sqrt(0.5))
                    part = zeroth if sigma.jumping else (length * length * bell - d * d * zeroth) / 6.0
                    total += jumps[a] * jumps[b] * _PER_TURN * math.exp(-0.5 * h * k - 0.25 * d * d) * part
    scale: float = rows[1, i] * columns[1, j]
    if sigma.jumping:
        return apart * mean_w + total / scale
    half = math.sin(0.5 * angle)
    price: float = rows[3, i] * columns[3, j] / scale * (2.0 * half * half * slope + total)
    return apart * apart * mean_w - apart**3 * mean_c + price


@machine.entry
def wedge_tile(  # noqa: PLR0915 (one pass over a row: splitting it would pass every array again)
    sigma: HingedActivation,
    theta: Array,
    row_side: HingeArrays,
    column_side: HingeArrays,
    lost: Array,
    slope: Array,
) -> None:
    """Write 1 - k/(n₁n₂) and k′ for the angles of a tile.

    Moments of wedges come from B_00 = P(X > h, Y > k) by Stein's lemma [Stein1981],

        B_{i+1,j} = i B_{i-1,j} - h B_{ij} + r j B_{i,j-1} + (boundary terms),    B_ij = E[(X - h)₊^i (Y - k)₊^j].
    """
    row_signs, row_marks, row_series, row_weights = row_side[:4]
    row_slope_weights, row_base, row_slope_base, rows = row_side[4:]
    column_signs, column_marks, column_series, column_weights = column_side[:4]
    column_slope_weights, column_base, column_slope_base, columns = column_side[4:]
    fold, mirrored, degree = sigma.fold, sigma.mirrored, row_weights.shape[1] - 1
    terms = row_series.shape[1]
    series = np.empty(terms)
    room = np.empty((17, _CHUNK))
    edge_x, edge_y = np.empty((max(2, degree + 1), _CHUNK)), np.empty((max(2, degree + 1), _CHUNK))
    moment = np.empty((degree + 1, degree + 1, _CHUNK))
    for i in range(theta.shape[0]):
        for start in range(0, theta.shape[1], _CHUNK):
            size = min(_CHUNK, theta.shape[1] - start)
            stop = start + size
            angle, sine, cosine, room_1 = room[0, :size], room[1, :size], room[2, :size], room[3, :size]
            square, bell, x, room_2 = room[4, :size], room[5, :size], room[6, :size], room[7, :size]
            mass, alpha, beta, width = room[8, :size], room[9, :size], room[10, :size], room[11, :size]
            turn, lost_x, lost_y = room[12, :size], room[13, :size], room[14, :size]
            value, rate = room[15, :size], room[16, :size]
            line = theta[i, start:stop]
            for j in range(size):
                angle[j] = math.pi - line[j] if fold != 0 and line[j] > 0.5 * math.pi else line[j]
                square[j] = 0.25 * angle[j] * angle[j]
            _polynomial(_SINE, square, sine)
            _polynomial(_COSINE, square, cosine)
            for j in range(size):
                sine[j] *= 0.5 * angle[j]
                turn[j] = 1.0 - 2.0 * sine[j] * sine[j]
                value[j] = 0.0
                rate[j] = 0.0
            for m in range(row_base.shape[1] - 1, -1, -1):
                p, g = row_base[0, m, i], row_base[1, m, i]
                other, hinge = column_base[0, m, start:stop], column_base[1, m, start:stop]
                for j in range(size):
                    value[j] = value[j] * turn[j] + (p * (other[j] + hinge[j]) + g * other[j])
            for m in range(row_slope_base.shape[1] - 1, -1, -1):
                p, g = row_slope_base[0, m, i], row_slope_base[1, m, i]
                other, hinge = column_slope_base[0, m, start:stop], column_slope_base[1, m, start:stop]
                for j in range(size):
                    rate[j] = rate[j] * turn[j] + (p * (other[j] + hinge[j]) + g * other[j])
            for a in range(row_signs.shape[0]):
                if mirrored and row_signs[a] < 0:
                    continue
                times = 2.0 if mirrored else 1.0
                h, own_form, own_tail = row_marks[a, 0, i], row_marks[a, 1, i], row_marks[a, 2, i]
                own_density, own_front, own_bound = row_marks[a, 3, i], row_marks[a, 4, i], row_marks[a, 5, i]
                for m in range(terms):
                    series[m] = row_series[a, m, i]
                for b in range(column_signs.shape[0]):
                    same = row_signs[a] == column_signs[b]
                    there = column_marks[b, 0, start:stop]
                    form, tail = column_marks[b, 1, start:stop], column_marks[b, 2, start:stop]
                    density, front = column_marks[b, 3, start:stop], column_marks[b, 4, start:stop]
                    bound = column_marks[b, 5, start:stop]
                    near, far = (sine, cosine) if same else (cosine, sine)
                    for j in range(size):
                        twice = 2.0 * near[j] * near[j]
                        width[j] = 2.0 * near[j] * far[j]
                        lost_x[j] = (there[j] - h) + h * twice
                        lost_y[j] = (h - there[j]) + there[j] * twice
                        safe = max(width[j], 1e-200)
                        alpha[j] = min(max(lost_x[j] / safe, -1e8), 1e8)
                        beta[j] = min(max(lost_y[j] / safe, -1e8), 1e8)
                        turn[j] = 1.0 - twice
                        square[j] = min(0.5 * (h * h + alpha[j] * alpha[j]), 690.0)
                    _exponential(square, x, bell)
                    # F(h, φ₁) of the row
                    for j in range(size):
                        square[j] = _small_angle(min(abs(alpha[j]), own_bound), h)
                        x[j] = 4.0 * square[j] - 1.0
                    _polynomial(_ARCSINE, x, room_1)
                    for j in range(size):
                        square[j] = 2.0 * math.sqrt(square[j]) * room_1[j]
                        along = (2.0 / FARTHEST) * min(abs(alpha[j]), FARTHEST) - 1.0
                        x[j] = own_form * ((4.0 / math.pi) * square[j] - 1.0) + (1.0 - own_form) * along
                    _series_of_row(series, x, room_1, room_2)
                    for j in range(size):
                        plain = (0.5 * math.pi - square[j]) * _PER_TURN - own_front * room_2[j]
                        part = own_form * bell[j] * room_2[j] + (1.0 - own_form) * plain
                        mass[j] = part if alpha[j] >= 0.0 else own_tail - part
                    # F(k, φ₂) of the columns
                    for j in range(size):
                        square[j] = _small_angle(min(abs(beta[j]), bound[j]), there[j])
                        x[j] = 4.0 * square[j] - 1.0
                    _polynomial(_ARCSINE, x, room_1)
                    for j in range(size):
                        square[j] = 2.0 * math.sqrt(square[j]) * room_1[j]
                        along = (2.0 / FARTHEST) * min(abs(beta[j]), FARTHEST) - 1.0
                        x[j] = form[j] * ((4.0 / math.pi) * square[j] - 1.0) + (1.0 - form[j]) * along
                    _series_of_columns(column_series[b], start, x, room_1, room_2)
                    zeroth = moment[0, 0, :size]
                    for j in range(size):
                        plain = (0.5 * math.pi - square[j]) * _PER_TURN - front[j] * room_2[j]
                        part = form[j] * bell[j] * room_2[j] + (1.0 - form[j]) * plain
                        zeroth[j] = mass[j] + (part if beta[j] >= 0.0 else tail[j] - part)
                    # The density along the edges X = h and Y = k.
                    for j in range(size):
                        x[j] = (abs(alpha[j]) - 4.0) / (abs(alpha[j]) + 4.0)
                    _polynomial(_MILLS, x, room_1)
                    for j in range(size):
                        part = bell[j] * room_1[j] * _PER_ROOT
                        edge_x[0, j] = part if alpha[j] >= 0.0 else own_density - part
                        x[j] = (abs(beta[j]) - 4.0) / (abs(beta[j]) + 4.0)
                    _polynomial(_MILLS, x, room_1)
                    for j in range(size):
                        part = bell[j] * room_1[j] * _PER_ROOT
                        edge_y[0, j] = part if beta[j] >= 0.0 else density[j] - part
                    if degree > 0:
                        _edges(width, bell, lost_x, edge_x)
                        _edges(width, bell, lost_y, edge_y)
                        _moments(h, there, turn, edge_x, edge_y, moment)
                    for p in range(degree + 1):
                        first = times * row_weights[a, p, i]
                        for q in range(degree + 1):
                            _add(first, column_weights[b, q, start:stop], moment[p, q], value)
                    for p in range(row_slope_weights.shape[1]):
                        first = times * row_slope_weights[a, p, i]
                        for q in range(row_slope_weights.shape[1]):
                            _add(first, column_slope_weights[b, q, start:stop], moment[p, q], rate)
            norm = rows[1, i]
            smallest = 1.0
            for j in range(size):
                scale = norm * columns[1, start + j]
                value[j] = 1.0 - value[j] / (scale if scale > 0.0 else 1.0)
                smallest = min(smallest, value[j])
                lost[i, start + j] = max(value[j], 0.0)
                # Rounding of terms that cancel may exceed the bound of Cauchy and Schwarz where σ′ is nearly 0.
                most = rows[2, i] * columns[2, start + j]
                slope[i, start + j] = min(max(rate[j], -most), most)
            if smallest < _CAREFUL:
                for j in range(size):
                    if value[j] < _CAREFUL and abs(rows[0, i] - columns[0, start + j]) < _ALIKE:
                        kept = _careful(i, start + j, angle[j], rate[j], sigma, row_side, column_side)
                        lost[i, start + j] = max(0.0, kept)
