"""The machine code of an activation on many tiles at once, one tile for each position."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from holokern.numeric.machine.angles import angle_from_gap
from holokern.numeric.machine.look_up import CHUNK, look_up
from holokern.numeric.panels import Array

__all__ = ["Fold", "TileSides", "activate", "angles_of"]

_FAST = {"contract", "nsz"}


class Fold(NamedTuple):
    """The symmetry of an activation: +1 for even, -1 for odd, else 0; and the power of θ in its table."""

    fold: int
    power: int


class TileSides(NamedTuple):
    """The rows or the columns of tiles.

    Attributes
    ----------
    cells
        The cell of each point, of shape (tiles, points).
    polynomials
        Chebyshev polynomials of the place in the cell: (tiles, points, polynomials) for rows, and for columns
        (tiles, polynomials, points).
    numbers
        log c, n, d and c, of shape (4, tiles, points).
    """

    cells: NDArray[np.int64]
    polynomials: Array
    numbers: Array


@numba.njit(inline="always")
def _gap(distance: Any, c: Any, d: Any) -> Any:
    """1 - cos θ from the half squared distance of two Gaussian variables with deviations c and d."""
    apart = c - d
    return (distance - 0.5 * apart * apart) / (c * d)


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def angles_of(gap: Any, rows: Any, columns: Any, theta: Any) -> None:
    """The angles of one tile from its half squared distances, and the deviations of its rows and columns."""
    for i in range(gap.shape[0]):
        for j in range(gap.shape[1]):
            theta[i, j] = angle_from_gap(_gap(gap[i, j], rows[i], columns[j]))


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def activate(
    fold: Any, cores: Any, room: Any, wanted: Any, rows: Any, columns: Any, order: Any, gap: Any, tangent: Any
) -> None:
    """G and Θ after an activation, in place, from a table that serves all angles.

    ``gap`` has shape (tiles, rows, columns). The columns of each tile are given in the order of their cells; ``order``
    says where they stand in ``gap``.
    """
    angles, found, lost = np.empty(CHUNK), np.empty((2, CHUNK)), np.empty(CHUNK)
    flat = np.empty(rows.polynomials.shape[2])
    for tile in range(gap.shape[0]):
        cells, vectors, places = columns.cells[tile], columns.polynomials[tile], order[tile]
        logs, norms = columns.numbers[0, tile], columns.numbers[1, tile]
        slopes, deviations = columns.numbers[2, tile], columns.numbers[3, tile]
        for i in range(gap.shape[1]):
            line, own = gap[tile, i], rows.cells[tile, i]
            row = rows.polynomials[tile, i]
            log_c, norm = rows.numbers[0, tile, i], rows.numbers[1, tile, i]
            slope, deviation = rows.numbers[2, tile, i], rows.numbers[3, tile, i]
            start = 0
            while start < line.shape[0]:
                cell = cells[start]
                stop = start
                while stop < line.shape[0] and cells[stop] == cell:
                    stop += 1
                room.known[:] = 0
                for q in range(flat.shape[0]):
                    flat[q] = 0.0
                    for p in range(flat.shape[0]):
                        flat[q] += cores.flats[0, own, cell, p, q] * row[p]
                while start < stop:
                    size = min(CHUNK, stop - start)
                    for j in range(size):
                        angle = angle_from_gap(_gap(line[places[start + j]], deviation, deviations[start + j]))
                        angles[j] = angle
                    if fold.fold != 0:
                        for j in range(size):
                            angles[j] = min(angles[j], math.pi - angles[j])
                    look_up(cores, own, row, cell, vectors, start, angles[:size], wanted, room, found)
                    for j in range(size):
                        lost[j] = 0.0
                    for q in range(flat.shape[0]):
                        factor, column = flat[q], vectors[q, start : start + size]
                        for j in range(size):
                            lost[j] += factor * column[j]
                    for j in range(size):
                        apart = log_c - logs[start + j]
                        raised = angles[j] * angles[j] if fold.power == 2 else angles[j]
                        lost[j] = apart * apart * lost[j] + raised * found[0, j]
                    for j in range(size):
                        place, other = places[start + j], norms[start + j]
                        # cos θ < 0 means that the distance is larger than that of independent variables
                        c, d = deviation, deviations[start + j]
                        far = fold.fold != 0 and 2.0 * line[place] > c * c + d * d
                        missing = 2.0 - lost[j] if far and fold.fold < 0 else lost[j]
                        line[place] = 0.5 * (norm - other) * (norm - other) + norm * other * missing
                        if wanted.shape[0] > 1:
                            rate = found[1, j] * slope * slopes[start + j]
                            tangent[tile, i, place] *= -rate if far and fold.fold > 0 else rate
                    start += size
