"""The machine code of kernels: angles of a tile, one layer of a tile, and writing finished rows.

A tile is small enough for the cache. Every inner loop runs along a row of the tile without branches, so that it becomes
vector instructions.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from holokern.network.angles import ARCSINE

__all__ = ["first_angles", "layer", "mirror", "write_rows"]

_ARCSINE = np.array(ARCSINE)
_NEAR = 2e-3
_BLOCK = 64
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": {"contract", "nsz"}}


@numba.njit(inline="always")
def _angle(gap: Any) -> Any:
    """The angle θ from 1 - cos θ by half-angle chords, to full relative accuracy as θ → 0; a polynomial arcsine."""
    gap = min(max(gap, 0.0), 2.0)
    square = 0.5 * min(gap, 2.0 - gap)
    y = 4.0 * square - 1.0
    total = _ARCSINE[0]
    for n in range(1, _ARCSINE.shape[0]):
        total = total * y + _ARCSINE[n]
    small = 2.0 * math.sqrt(square) * total
    return small if gap <= 1.0 else math.pi - small


@numba.njit("void(f8[:, ::1], f8[:, ::1], f8[:, ::1], b1[::1], b1[::1])", **_OPTIONS)
def first_angles(tile: Any, rows: Any, columns: Any, zero_rows: Any, zero_columns: Any) -> None:
    """Turn cosines of unit vectors into angles, in place; nearly parallel vectors are subtracted from each other.

    A zero vector counts as orthogonal to all others and as parallel to zero vectors.
    """
    for i in range(tile.shape[0]):
        line = tile[i]
        for j in range(line.shape[0]):
            cosine = line[j]
            if abs(cosine) > 1.0 - _NEAR:
                square = 0.0
                sign = 1.0 if cosine > 0 else -1.0
                for k in range(rows.shape[1]):
                    part = rows[i, k] - sign * columns[j, k]
                    square += part * part
                small = 2.0 * math.asin(min(0.5 * math.sqrt(square), 1.0))
                line[j] = small if cosine > 0 else math.pi - small
            elif zero_rows[i] and zero_columns[j]:
                line[j] = 0.0
            else:
                line[j] = _angle(1.0 - cosine)


@numba.njit(**_OPTIONS)
def _expand(core: Any, lengths: Any, row: Any, columns: Any, polynomials: Any, coefficients: Any, part: Any, result: Any) -> None:
    """result[j] = Σ core[p, q, m] row[p] columns[q, j] polynomials[m, j]."""
    width = result.shape[0]
    for j in range(width):
        result[j] = 0.0
    for q in range(lengths.shape[0]):
        length = lengths[q]
        for m in range(length):
            coefficients[m] = 0.0
        for p in range(row.shape[0]):
            factor = row[p]
            for m in range(length):
                coefficients[m] += factor * core[p, q, m]
        for j in range(width):
            part[j] = 0.0
        for m in range(0, length, 4):
            a, b, c, d = coefficients[m], coefficients[m + 1], coefficients[m + 2], coefficients[m + 3]
            t0, t1, t2, t3 = polynomials[m], polynomials[m + 1], polynomials[m + 2], polynomials[m + 3]
            for j in range(width):
                part[j] += a * t0[j] + b * t1[j] + c * t2[j] + d * t3[j]
        column = columns[q]
        for j in range(width):
            result[j] += part[j] * column[j]


_MATRIX, _CUBE, _COUNTS = "f8[:, ::1]", "f8[:, :, ::1]", "i8[::1]"
_FACTORS = f"{_CUBE}, {_COUNTS}, {_MATRIX}, {_MATRIX}"


@numba.njit(
    f"void({_MATRIX}, {_MATRIX}, {_MATRIX}, b1, b1, i8, i8, f8, {_FACTORS}, {_FACTORS}, {_FACTORS}, {_MATRIX}, {_MATRIX})",
    **_OPTIONS,
)
def layer(
    theta: Any,
    sigma: Any,
    tangent: Any,
    with_tangent: Any,
    residual: Any,
    fold: Any,
    power: Any,
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

    ``rows`` and ``columns`` hold, for each point, log c, the scaled norms n and d, and c. The new angle comes from
    1 - r without cancellation: with the parts a_t = (n, bias, c) of a point and their own 1 - r_t,

        √(q_i q_j) (1 - r) = Σ_t a_ti a_tj (1 - r_t) + Σ_{s<t} (a_si a_tj - a_ti a_sj)² / (√(q_i q_j) + Σ_t a_ti a_tj).
    """
    height, width = theta.shape
    degrees = max(4, bend_core.shape[2], slope_core.shape[2])
    polynomials = np.empty((degrees, width))
    coefficients = np.empty(degrees)
    part, gap, bend, slope = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    folded, sign = np.empty(width), np.empty(width)
    ones = np.zeros((4, width))
    ones[0, :] = 1.0
    scale = 4.0 / math.pi if fold != 0 else 2.0 / math.pi
    log_columns, norm_columns, slope_columns_norm, c_columns = columns[0], columns[1], columns[2], columns[3]
    for i in range(height):
        line = theta[i]
        t0, t1 = polynomials[0], polynomials[1]
        for j in range(width):
            far = fold != 0 and line[j] > 0.5 * math.pi
            angle = math.pi - line[j] if far else line[j]
            folded[j] = angle
            sign[j] = -1.0 if far else 1.0
            t0[j] = 1.0
            t1[j] = scale * angle - 1.0
        for m in range(2, degrees):
            now, before, earlier = polynomials[m], polynomials[m - 1], polynomials[m - 2]
            for j in range(width):
                now[j] = 2.0 * t1[j] * before[j] - earlier[j]
        _expand(gap_core, gap_lengths, gap_rows[i], gap_columns, ones, coefficients, part, gap)
        _expand(bend_core, bend_lengths, bend_rows[i], bend_columns, polynomials, coefficients, part, bend)
        log_c, norm, slope_norm, deviation = rows[0, i], rows[1, i], rows[2, i], rows[3, i]
        for j in range(width):
            apart = log_c - log_columns[j]
            step = folded[j] * folded[j] if power == 2 else folded[j]
            gap[j] = apart * apart * gap[j] + step * bend[j]
        if with_tangent:
            _expand(slope_core, slope_lengths, slope_rows[i], slope_columns, polynomials, coefficients, part, slope)
            for j in range(width):
                turned = -fold if sign[j] < 0 else 1
                slope[j] *= slope_norm * slope_columns_norm[j] * turned
        square = bias * bias
        own, tan = sigma[i], tangent[i]
        for j in range(width):
            turned = fold if sign[j] < 0 else 1
            new = norm * norm_columns[j] * (1.0 - gap[j]) * turned + square
            if residual:
                tan[j] += (tan[j] * slope[j] if with_tangent else 0.0) + new
                own[j] += new
            else:
                tan[j] = (tan[j] * slope[j] if with_tangent else 0.0) + new
                own[j] = new
        if bias == 0.0 and not residual:
            for j in range(width):
                angle = _angle(gap[j])
                line[j] = math.pi - angle if sign[j] < 0 and fold < 0 else angle
        else:
            for j in range(width):
                other = norm_columns[j]
                far = sign[j] < 0 and fold < 0
                inner = norm * other + square
                cross = bias * (norm - other)
                lagrange = cross * cross
                lost = norm * other * (2.0 - gap[j] if far else gap[j])
                outer = (norm * norm + square) * (other * other + square)
                if residual:
                    there = c_columns[j]
                    left, right = norm * norm + square + deviation * deviation, other * other + square + there * there
                    outer = left * right
                    inner += deviation * there
                    first, second = norm * there - deviation * other, bias * (there - deviation)
                    lagrange += first * first + second * second
                    half = math.sin(0.5 * line[j])
                    lost += deviation * there * 2.0 * half * half
                root = math.sqrt(outer)
                line[j] = _angle((lost + lagrange / (root + inner)) / root) if root > 0.0 else 0.5 * math.pi


@numba.njit(**_OPTIONS)
def write_rows(panel: Any, first: Any, order: Any, rank: Any, out: Any) -> None:
    """Write rows of the sorted matrix, which hold the columns from ``first`` on, to their places in ``out``."""
    for i in range(panel.shape[0]):
        source = panel[i]
        line = out[order[i]]
        for column in range(line.shape[0]):
            place = rank[column]
            if place >= first:
                line[column] = source[place]


@numba.njit(**_OPTIONS)
def mirror(out: Any, rank: Any, start: Any, stop: Any) -> None:
    """Copy each entry that was computed, the one whose row comes first in the sorted order, to its mirror image."""
    size = out.shape[0]
    for low in range(start, stop, _BLOCK):
        for left in range(0, low + _BLOCK, _BLOCK):
            for i in range(low, min(low + _BLOCK, stop)):
                for j in range(left, min(left + _BLOCK, i, size)):
                    if rank[i] < rank[j]:
                        out[j, i] = out[i, j]
                    else:
                        out[i, j] = out[j, i]
