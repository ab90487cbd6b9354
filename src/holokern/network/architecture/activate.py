"""The machine code of an activation on many tiles at once, one tile for each position."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from holokern.numeric import Array, machine

__all__ = ["Fold", "TileSides", "activate", "activate_series", "angles_of"]


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


@machine.entry
def angles_of(gap: Any, rows: Any, columns: Any, theta: Any) -> None:
    """The angles of one tile from its half squared distances, and the deviations of its rows and columns."""
    for i in range(gap.shape[0]):
        for j in range(gap.shape[1]):
            theta[i, j] = machine.angle_from_gap(_gap(gap[i, j], rows[i], columns[j]))


@machine.entry
def activate_series(
    start: Any, step: Any, rows: Any, columns: Any, first: Any, second: Any, gap: Any, tangent: Any
) -> None:
    """G and Θ after a smooth activation from its Hermite coefficients, by Mehler's formula [Mehler1866].

    ``rows`` has the shape (tiles, rows, terms), ``columns`` (tiles, terms, columns); ``first`` and ``second`` are the
    deviations. The first term is that of n = 1 - start, the others are those of n = start, start + step, …, where start
    is 0 or 1 and step is 1 or 2; their number is one more than a multiple of four. With r = cos θ and p_n the products
    of the coefficients a_n and b_n of a row and a column

        G = ½ Σ (a_n - b_n)² + Σ p_n (1 - rⁿ),    k′ = Σ n p_n r^(n-1) / (c₁c₂),

    and 1 - rⁿ is 1 - r times a sum of powers of r, so that no digits are lost as r → 1.
    """
    top = rows.shape[2] - 2
    work = np.empty((6, machine.CHUNK))
    g, x, total, sums, apart, rate = work[0], work[1], work[2], work[3], work[4], work[5]
    with_tangent = tangent.shape[0] > 0
    for tile in range(gap.shape[0]):
        for i in range(gap.shape[1]):
            c = first[tile, i]
            other, lowest = rows[tile, i, 0], rows[tile, i, 1]
            for begin in range(0, gap.shape[2], machine.CHUNK):
                size = min(machine.CHUNK, gap.shape[2] - begin)
                line, d = gap[tile, i, begin : begin + size], second[tile, begin : begin + size]
                b0, b = columns[tile, 0, begin : begin + size], columns[tile, 1, begin : begin + size]
                for j in range(size):
                    here = min(max(_gap(line[j], c, d[j]), 0.0), 2.0)
                    g[j] = here
                    x[j] = 1.0 - here if step == 1 else (1.0 - here) * (1.0 - here)
                    total[j] = 0.0
                    sums[j] = 0.0
                    rate[j] = 0.0
                    apart[j] = (other - b0[j]) * (other - b0[j]) + (lowest - b[j]) * (lowest - b[j])
                for m in range(top, 0, -4):
                    a1, a2, a3, a4 = (
                        rows[tile, i, m + 1],
                        rows[tile, i, m],
                        rows[tile, i, m - 1],
                        rows[tile, i, m - 2],
                    )
                    b1, b2 = columns[tile, m + 1, begin : begin + size], columns[tile, m, begin : begin + size]
                    b3, b4 = columns[tile, m - 1, begin : begin + size], columns[tile, m - 2, begin : begin + size]
                    n = float(start + step * m)
                    n2, n3, n4 = n - step, n - 2.0 * step, n - 3.0 * step
                    for j in range(size):
                        p1, p2, p3, p4 = a1 * b1[j], a2 * b2[j], a3 * b3[j], a4 * b4[j]
                        y, s, q, t = x[j], sums[j] + p1, total[j], rate[j]
                        q = q * y + s
                        s += p2
                        q = q * y + s
                        s += p3
                        q = q * y + s
                        s += p4
                        total[j] = q * y + s
                        sums[j] = s
                        t = (t * y + n * p1) * y + n2 * p2
                        rate[j] = (t * y + n3 * p3) * y + n4 * p4
                        e1, e2, e3, e4 = a1 - b1[j], a2 - b2[j], a3 - b3[j], a4 - b4[j]
                        apart[j] += (e1 * e1 + e2 * e2) + (e3 * e3 + e4 * e4)
                for j in range(size):
                    here, r = g[j], 1.0 - g[j]
                    square = here * (2.0 - here)
                    p, own = other * b0[j] if start == 0 else 0.0, lowest * b[j]
                    # 1 - rⁿ is g·Σ, or for even n (1 - r²)·Σ, or for odd n g + r(1 - r²)·Σ
                    moved = here * total[j] if step == 1 else square * total[j]
                    slope = rate[j] if step == 1 else r * rate[j]
                    if start == 1:
                        moved = here * (sums[j] + own) + r * square * total[j]
                        slope = own + r * r * rate[j]
                    line[j] = 0.5 * apart[j] + moved + here * p
                    rate[j] = (slope + p) / (c * d[j])
                if with_tangent:
                    tan = tangent[tile, i, begin : begin + size]
                    for j in range(size):
                        tan[j] *= rate[j]


@machine.entry
def activate(
    fold: Any, cores: Any, room: Any, wanted: Any, rows: Any, columns: Any, order: Any, gap: Any, tangent: Any
) -> None:
    """G and Θ after an activation, in place, from a table that serves all angles.

    ``gap`` has shape (tiles, rows, columns). The columns of each tile are given in the order of their cells; ``order``
    says where they stand in ``gap``.
    """
    angles, found, lost = np.empty(machine.CHUNK), np.empty((2, machine.CHUNK)), np.empty(machine.CHUNK)
    flat = np.empty(cores.flats.shape[3])
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
                    size = min(machine.CHUNK, stop - start)
                    for j in range(size):
                        angle = machine.angle_from_gap(_gap(line[places[start + j]], deviation, deviations[start + j]))
                        angles[j] = angle
                    if fold.fold != 0:
                        for j in range(size):
                            angles[j] = min(angles[j], math.pi - angles[j])
                    machine.look_up(cores, own, row, cell, vectors, start, angles[:size], wanted, room, found)
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
