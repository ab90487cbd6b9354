"""The machine code of kernels layer by layer: one layer of a tile.

A tile is small enough for the cache. Every inner loop runs along a row of the tile without branches, so that it becomes
vector instructions.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from holokern.network.tile_angles import angle_from_gap
from holokern.network.tile_sums import contract, expand, polynomials_of

__all__ = ["advance", "layer"]

_CHUNK = 128
_FAST = {"contract", "nsz"}


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _joined(
    gap: Any, sign: Any, norms: Any, deviations: Any, norm: Any, bias: Any, deviation: Any, residual: Any, line: Any
) -> None:
    """The angle between points whose parts are joined: the formula of `layer`."""
    square = bias * bias
    deviation = deviation if residual else 0.0
    for j in range(line.shape[0]):
        other = norms[j]
        there = deviations[j] if residual else 0.0
        left = norm * norm + square + deviation * deviation
        right = other * other + square + there * there
        root = math.sqrt(left * right)
        inner = norm * other + square + deviation * there
        a, b, c = bias * (norm - other), bias * (deviation - there), norm * there - deviation * other
        half = math.sin(0.5 * line[j]) if residual else 0.0
        lost = norm * other * (2.0 - gap[j] if sign[j] < 0.0 else gap[j]) + deviation * there * 2.0 * half * half
        line[j] = (
            angle_from_gap((lost + (a * a + b * b + c * c) / (root + inner)) / root) if root > 0.0 else 0.5 * math.pi
        )


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _combine(coefficients: Any, lengths: Any, columns: Any, start: Any, result: Any) -> None:
    """result[j] = Σ coefficients[q, 0] columns[q, start + j], for terms that are there."""
    width = result.shape[0]
    for j in range(width):
        result[j] = 0.0
    for q in range(lengths.shape[0]):
        if lengths[q] > 0:
            factor, column = coefficients[q, 0], columns[q, start : start + width]
            for j in range(width):
                result[j] += factor * column[j]


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _advance(
    line: Any,
    own: Any,
    tan: Any,
    gap: Any,
    slope: Any,
    sign: Any,
    part: Any,
    norm: Any,
    norms: Any,
    deviation: Any,
    deviations: Any,
    bias: Any,
    residual: Any,
) -> None:
    """θ, Σ and Θ of a chunk of a row from 1 - |k|/(n₁n₂), the sign of k, and k̇; ``part`` is room."""
    square = bias * bias
    for j in range(line.shape[0]):
        part[j] = norm * norms[j] * (1.0 - gap[j]) * sign[j] + square
    if residual:
        for j in range(line.shape[0]):
            tan[j] += tan[j] * slope[j] + part[j]
            own[j] += part[j]
    else:
        for j in range(line.shape[0]):
            tan[j] = tan[j] * slope[j] + part[j]
            own[j] = part[j]
    if residual or bias != 0.0:
        _joined(gap, sign, norms, deviations, norm, bias, deviation, residual, line)
    else:
        for j in range(line.shape[0]):
            angle = angle_from_gap(gap[j])
            line[j] = math.pi - angle if sign[j] < 0.0 else angle


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def layer(
    theta: Any,
    sigma: Any,
    tangent: Any,
    with_tangent: Any,
    residual: Any,
    fold: Any,
    power: Any,
    low: Any,
    high: Any,
    bias: Any,
    gap_core: Any,
    gap_lengths: Any,
    gap_rows: Any,
    gap_columns: Any,
    bend_core: Any,
    bend_lengths: Any,
    bend_rows: Any,
    bend_columns: Any,
    slope_core: Any,
    slope_lengths: Any,
    slope_rows: Any,
    slope_columns: Any,
    rows: Any,
    columns: Any,
) -> None:
    """One layer of a tile, in place: θ, Σ and Θ before it become θ, Σ and Θ after it.

    The polynomials in the angle belong to [low, high]. ``rows`` and ``columns`` hold, for each point, log c, the
    scaled norms n and d, and c. The new angle comes from 1 - r without cancellation: with the parts a_t = (n, bias, c)
    of a point and their own 1 - r_t,

        √(q_i q_j) (1 - r) = Σ_t a_ti a_tj (1 - r_t) + Σ_{s<t} (a_si a_tj - a_ti a_sj)² / (√(q_i q_j) + Σ_t a_ti a_tj).
    """
    height, width = theta.shape
    degrees = max(4, bend_core.shape[2], slope_core.shape[2])
    gap_line = np.zeros((gap_core.shape[1], 4))
    bend_line, slope_line = np.empty(bend_core.shape[1:]), np.empty(slope_core.shape[1:])
    # The polynomials of a chunk of columns stay in the nearest cache.
    room = np.empty((degrees, _CHUNK))
    scratch = np.empty((6, _CHUNK))
    turn = float(fold)
    for i in range(height):
        log_c, norm, slope_norm, deviation = rows[0, i], rows[1, i], rows[2, i], rows[3, i]
        contract(gap_core, gap_lengths, gap_rows[i], gap_line)
        contract(bend_core, bend_lengths, bend_rows[i], bend_line)
        if with_tangent:
            contract(slope_core, slope_lengths, slope_rows[i], slope_line)
        for start in range(0, width, _CHUNK):
            stop = min(start + _CHUNK, width)
            size = stop - start
            line, own, tan = theta[i, start:stop], sigma[i, start:stop], tangent[i, start:stop]
            logs, norms, slopes = columns[0, start:stop], columns[1, start:stop], columns[2, start:stop]
            part, gap, bend = scratch[0, :size], scratch[1, :size], scratch[2, :size]
            slope, folded, sign = scratch[3, :size], scratch[4, :size], scratch[5, :size]
            if fold == 0:
                for j in range(size):
                    folded[j] = line[j]
                    sign[j] = 1.0
            else:
                for j in range(size):
                    far = line[j] > 0.5 * math.pi
                    folded[j] = math.pi - line[j] if far else line[j]
                    sign[j] = turn if far else 1.0
            polynomials_of(folded, low, high, degrees, room)
            _combine(gap_line, gap_lengths, gap_columns, start, gap)
            expand(bend_line, bend_lengths, bend_columns, start, room, part, bend)
            if power == 2:
                for j in range(size):
                    apart = log_c - logs[j]
                    gap[j] = apart * apart * gap[j] + folded[j] * folded[j] * bend[j]
            else:
                for j in range(size):
                    apart = log_c - logs[j]
                    gap[j] = apart * apart * gap[j] + folded[j] * bend[j]
            if with_tangent:
                expand(slope_line, slope_lengths, slope_columns, start, room, part, slope)
                for j in range(size):
                    slope[j] *= slope_norm * slopes[j]
                if fold > 0:
                    for j in range(size):
                        slope[j] = -slope[j] if line[j] > 0.5 * math.pi else slope[j]
            else:
                for j in range(size):
                    slope[j] = 0.0
            _advance(
                line, own, tan, gap, slope, sign, part, norm, norms, deviation, columns[3, start:stop], bias, residual
            )


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def advance(
    theta: Any,
    sigma: Any,
    tangent: Any,
    residual: Any,
    fold: Any,
    weight: Any,
    bias: Any,
    lost: Any,
    slope: Any,
    rows: Any,
    columns: Any,
) -> None:
    """One layer of a tile, in place, from 1 - k/(n₁n₂) and k̇; the arguments are those of `layer`."""
    width = theta.shape[1]
    sign, part = np.empty(width), np.empty(width)
    for i in range(theta.shape[0]):
        line, rate = theta[i], slope[i]
        for j in range(width):
            far = fold != 0 and line[j] > 0.5 * math.pi
            sign[j] = float(fold) if far else 1.0
            rate[j] *= -weight if far and fold > 0 else weight
        _advance(
            line,
            sigma[i],
            tangent[i],
            lost[i],
            rate,
            sign,
            part,
            rows[1, i],
            columns[1],
            rows[3, i],
            columns[3],
            bias,
            residual,
        )
