"""The machine code of one layer of a tile: the step from θ, Σ and Θ before it to those after it.

Every inner loop runs along a row of the tile without branches, so that it becomes vector instructions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from holokern.numeric.machine.angles import angle_from_gap
from holokern.numeric.machine.look_up import CHUNK, look_up
from holokern.numeric.panels import Array

__all__ = ["Step", "TileSide", "advance", "table_losses"]

_FAST = {"contract", "nsz"}


class Step(NamedTuple):
    """The numbers of a layer.

    Attributes
    ----------
    residual, bias, weight
        As in `HiddenLayer`.
    fold
        +1 if k is even in the correlation, -1 if it is odd, else 0.
    power
        The power of θ in the table: 2, or 1 when σ jumps.
    """

    residual: bool
    bias: float
    weight: float
    fold: int
    power: int


class TileSide(NamedTuple):
    """The rows or the columns of a tile in a table.

    Attributes
    ----------
    cells
        The cell of each point.
    polynomials
        Chebyshev polynomials of the place in the cell: one row a point for rows, one column a point for columns.
    numbers
        As in `LayerSide`.
    """

    cells: NDArray[np.int64]
    polynomials: Array
    numbers: Array


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def table_losses(
    step: Any, cores: Any, room: Any, wanted: Any, rows: Any, columns: Any, theta: Any, lost: Any, slope: Any
) -> int:
    """1 - |k|/(n₁n₂) and k′ of a tile from a table; returns how many pairs the table does not serve, which are NaN."""
    own, row, numbers = rows.cells, rows.polynomials, rows.numbers
    cells, vectors, others = columns.cells, columns.polynomials, columns.numbers
    left_out = 0
    folded, found = np.empty(CHUNK), np.empty((2, CHUNK))
    flat = np.empty(vectors.shape[0])
    for i in range(theta.shape[0]):
        start = 0
        while start < theta.shape[1]:
            cell = cells[start]
            stop = start
            while stop < theta.shape[1] and cells[stop] == cell:
                stop += 1
            room.known[:] = 0
            for q in range(flat.shape[0]):
                flat[q] = 0.0
                for p in range(flat.shape[0]):
                    flat[q] += cores.flats[0, own[i], cell, p, q] * row[i, p]
            while start < stop:
                size = min(CHUNK, stop - start)
                angles = folded[:size]
                for j in range(size):
                    angle = theta[i, start + j]
                    far = step.fold != 0 and angle > 0.5 * math.pi
                    angles[j] = math.pi - angle if far else angle
                left_out += look_up(cores, own[i], row[i], cell, vectors, start, angles, wanted, room, found)
                gap = lost[i, start : start + size]
                for j in range(size):
                    gap[j] = 0.0
                for q in range(flat.shape[0]):
                    factor, column = flat[q], vectors[q, start : start + size]
                    for j in range(size):
                        gap[j] += factor * column[j]
                log_c, slope_norm = numbers[0, i], numbers[2, i] / step.weight
                for j in range(size):
                    apart = log_c - others[0, start + j]
                    raised = angles[j] * angles[j] if step.power == 2 else angles[j]
                    gap[j] = apart * apart * gap[j] + raised * found[0, j]
                if wanted.shape[0] > 1:
                    for j in range(size):
                        slope[i, start + j] = found[1, j] * slope_norm * others[2, start + j]
                start += size
    return left_out


@numba.njit(nogil=True, fastmath=_FAST)
def _joined(step: Any, gap: Any, sign: Any, norm: Any, norms: Any, deviation: Any, deviations: Any, line: Any) -> None:
    """The angle between points whose parts are joined: the formula of `advance`."""
    square = step.bias * step.bias
    deviation = deviation if step.residual else 0.0
    for j in range(line.shape[0]):
        other = norms[j]
        there = deviations[j] if step.residual else 0.0
        left = norm * norm + square + deviation * deviation
        right = other * other + square + there * there
        root = math.sqrt(left * right)
        inner = norm * other + square + deviation * there
        a, b, c = step.bias * (norm - other), step.bias * (deviation - there), norm * there - deviation * other
        half = math.sin(0.5 * line[j]) if step.residual else 0.0
        lost = norm * other * (2.0 - gap[j] if sign[j] < 0.0 else gap[j]) + deviation * there * 2.0 * half * half
        line[j] = (
            angle_from_gap((lost + (a * a + b * b + c * c) / (root + inner)) / root) if root > 0.0 else 0.5 * math.pi
        )


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def advance(step: Any, rows: Any, columns: Any, lost: Any, slope: Any, theta: Any, sigma: Any, tangent: Any) -> None:
    """One layer of a tile, in place, from 1 - |k|/(n₁n₂) and k′.

    ``rows`` and ``columns`` are `LayerSide.numbers`. The new angle comes from 1 - r without cancellation: with the
    parts a_t = (n, bias, c) of a point and their own 1 - r_t,

        √(q_i q_j) (1 - r) = Σ_t a_ti a_tj (1 - r_t) + Σ_{s<t} (a_si a_tj - a_ti a_sj)² / (√(q_i q_j) + Σ_t a_ti a_tj).
    """
    width = theta.shape[1]
    square = step.bias * step.bias
    sign, part = np.empty(width), np.empty(width)
    for i in range(theta.shape[0]):
        line, own, tan, gap, rate = theta[i], sigma[i], tangent[i], lost[i], slope[i]
        norm = rows[1, i]
        for j in range(width):
            far = step.fold != 0 and line[j] > 0.5 * math.pi
            sign[j] = float(step.fold) if far else 1.0
            rate[j] *= -step.weight if far and step.fold > 0 else step.weight
            part[j] = norm * columns[1, j] * (1.0 - gap[j]) * sign[j] + square
        for j in range(width):
            moved = tan[j] * rate[j] + part[j]
            tan[j] = tan[j] + moved if step.residual else moved
            own[j] = own[j] + part[j] if step.residual else part[j]
        if step.residual or step.bias != 0.0:
            _joined(step, gap, sign, norm, columns[1], rows[3, i], columns[3], line)
        else:
            for j in range(width):
                angle = angle_from_gap(gap[j])
                line[j] = math.pi - angle if sign[j] < 0.0 else angle
