"""The machine code that evaluates tables: functions of the rows and columns of a tile from their angles.

Every value is a function of its two points and of the table alone, whatever the other points of a tile are, so parts of
a matrix have the same bits as the whole. Inner loops run along a chunk of a row without branches, and index slices from
their beginning (an index that may be negative is tested for every entry), so that they become vector instructions.
Helpers would be compiled by themselves and again inside of what calls them, so there are none.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.numeric.machine.cells import NONE, Cells, CellSide, Cores
from holokern.numeric.machine.compiled import bare_entry
from holokern.numeric.panels import Array, Some

CHUNK = 1024
"""Columns that are looked up at a time: enough that panels with few of their angles do not cost much."""

_SHORT = 128
"""Columns that are evaluated at a time: their polynomials stay in the nearest cache."""


class TileSide(NamedTuple):
    """The rows or the columns of a tile in a table.

    Attributes
    ----------
    cells
        The cell of each point.
    polynomials
        Chebyshev polynomials of the place in the cell: for rows one row per point, for columns one column per point.
    scales
        Factors of the functions that depend on the angle, one row each.
    """

    cells: NDArray[np.int64]
    polynomials: Array
    scales: Array


class TileAngles(NamedTuple):
    """The angles of a tile; columns before the column ``before`` have none, and row i counts from ``starts[i]`` on."""

    theta: Array
    before: int
    starts: NDArray[np.int64]


class TileValues(NamedTuple):
    """One tile of zeros a function that does not depend on the angle, and one a function that does."""

    flat: Array
    out: Array


class Task(NamedTuple):
    """What is wanted of a tile.

    Attributes
    ----------
    first, stop
        The first function, and the one after the last.
    sign
        If it is not 0, angles beyond π/2 count from π, and values there have this sign.
    """

    first: int
    stop: int
    sign: float


class Room(NamedTuple):
    """Memory that one thread works in.

    Attributes
    ----------
    lines
        Coefficients of one row and one cell of columns, for each function and panel.
    known
        For each panel how long its lines are, 0 if they are not made; and how many angles it has.
    work
        Polynomials of angles, then room for sums, and for values and polynomials of gathered columns.
    places
        The places of the angles in one panel.
    chunk
        The angles of a chunk of columns, those in one panel, and the values of all functions.
    ends
        For each column where those in its cell end, or the chunk that it is in.
    missing
        Which cores were met that there are not, by their two cells and their panel.
    """

    lines: Array
    known: NDArray[np.int64]
    work: Array
    places: NDArray[np.int64]
    chunk: Array
    ends: NDArray[np.int64]
    missing: NDArray[np.bool_]


# Rows of `Room.work` after the polynomials, the sums being the first of them.
_SPARE, _GATHERED = 1, 2


def room_for(cores: Cores, columns: NDArray[np.int64]) -> Room:
    """Room for evaluating these cores at columns in these cells."""
    functions, _, _, rank, degree = cores.cores.shape
    panels, count, dtype = len(cores.edges) - 1, len(columns), cores.cores.dtype
    begins = np.flatnonzero(columns[1:] != columns[:-1]) + 1
    stops = np.unique(np.concatenate([begins, np.arange(CHUNK, count, CHUNK), [count]]))
    return Room(
        np.empty((functions, panels, rank, degree), dtype),
        np.zeros((2, panels), dtype=np.int64),
        # the first row stays: it is T_0
        np.ones((degree + _GATHERED + rank, _SHORT), dtype),
        np.empty(CHUNK, dtype=np.int64),
        np.empty((2 + functions, CHUNK), dtype),
        np.repeat(stops, np.diff(stops, prepend=0)),
        np.zeros(cores.numbers.shape, dtype=bool),
    )


def look_up(
    cells: Cells,
    sides: tuple[CellSide, CellSide],
    parts: tuple[Some, Some],
    scales: tuple[Array, Array],
    task: Task,
    angles: TileAngles,
    values: TileValues,
) -> int:
    """`look_up_tile` for parts of the points of both sides, with their ``scales``; cores that are met are made.

    Data seldom meet all cells and panels, and to cut a table into them may take as long as to look up the data.
    """
    first, second = (side.cells[some] for side, some in zip(sides, parts, strict=True))
    while True:
        cores = cells.arrays
        room = room_for(cores, second)
        rows, columns = (side.polynomials(cores.polynomials, some) for side, some in zip(sides, parts, strict=True))
        values.flat[:] = 0.0
        row_side = TileSide(first, np.ascontiguousarray(rows.T), scales[0])
        left = look_up_tile(cores, room, task, row_side, TileSide(second, columns, scales[1]), angles, values)
        if not left or not np.any(room.missing & (cores.numbers != NONE)):
            return int(left)
        cells.make(room.missing)


@bare_entry
def look_up_tile(  # noqa: PLR0915 (a helper would be compiled twice)
    cores: Any, room: Any, task: Any, rows: Any, columns: Any, tile: Any, found: Any
) -> int:
    """Functions of the pairs of a tile that are NaN; those without a core stay so, and their number is returned."""
    edges, numbers, coefficients, lengths, flats = cores.edges, cores.numbers, cores.cores, cores.lengths, cores.flats
    lines, known, counts, work, places = room.lines, room.known[0], room.known[1], room.work, room.places
    angles, near, values, others = room.chunk[0], room.chunk[1], room.chunk[2:], columns.polynomials
    (theta, before, starts), (flat, out), wanted = tile, found, range(task.first, task.stop)
    left_out, last, rank, degree = 0, counts.shape[0] - 1, coefficients.shape[3], coefficients.shape[4]
    x, part, spare, gathered = work[1], work[degree], work[degree + _SPARE], work[degree + _GATHERED :]
    number_type = theta.dtype.type
    half_turn, quarter, one, nothing = number_type(math.pi), number_type(0.5 * math.pi), number_type(1), number_type(0)
    folded, sign = task.sign != 0.0, number_type(task.sign if task.sign != 0.0 else 1.0)
    for i in range(out.shape[1]):
        cell, row, stop, cell_before = rows.cells[i], rows.polynomials[i], starts[i], -1
        while stop < out.shape[2]:
            start, other, stop = stop, columns.cells[stop], room.ends[stop]
            size = stop - start
            for f in range(flat.shape[0]):
                line = flat[f, i, start:stop]
                for q in range(flats.shape[3]):
                    factor, column = 0.0, others[q, start:stop]
                    for p in range(flats.shape[3]):
                        factor += flats[f, cell, other, p, q] * row[p]
                    for j in range(size):
                        line[j] += factor * column[j]
            here, line = theta[i, start - before : stop - before], out[task.first, i, start:stop]
            for j in range(size):
                angle = half_turn - here[j] if folded and here[j] > quarter else here[j]
                angles[j] = angle if line[j] != line[j] else -one
            # How many angles there are in each panel, and the fullest one.
            beyond, fullest = 0, last
            for t in range(last, -1, -1):
                edge, above = edges[t], 0
                for j in range(size):
                    above += 1 if angles[j] >= edge else 0
                counts[t] = above - beyond
                beyond = above
                if numbers[cell, other, t] < 0 and counts[t] > 0:
                    left_out += counts[t]
                    room.missing[cell, other, t] = True
                    counts[t] = 0
                fullest = t if counts[t] >= counts[fullest] else fullest
                known[t] = known[t] if other == cell_before else 0
            cell_before = other
            if counts[fullest] == 0:
                continue
            for step in range(last + 1):
                # All angles as if they were in the fullest panel, with NaN for the others; then these.
                t = fullest + step if fullest + step <= last else fullest + step - last - 1
                number = numbers[cell, other, t]
                if counts[t] == 0:
                    continue
                if known[t] == 0:
                    # lines[q, m] = Σ core[p, q, m] row[p]
                    for f in wanted:
                        for q in range(rank):
                            sums, length = lines[f, t, q], lengths[f, number, q]
                            known[t] = length if length > known[t] else known[t]
                            for m in range(length):
                                sums[m] = 0.0
                            for p in range(rank):
                                core, mine = coefficients[f, number, p, q], row[p]
                                for m in range(length):
                                    sums[m] += mine * core[m]
                # T_m of the angles mapped from the panel to [-1, 1]
                low, high = edges[t], edges[t + 1] if t < last else half_turn + one
                scale = number_type(2.0 / (edges[t + 1] - low))
                shift = number_type((edges[t + 1] + low) / (edges[t + 1] - low))
                total, source = size, angles
                if step > 0:
                    total, source = 0, near
                    for j in range(size):
                        near[total] = angles[j]
                        places[total] = j
                        total += 1 if angles[j] >= low and angles[j] < high else 0
                for at in range(0, total, _SHORT):
                    some = _SHORT if total - at > _SHORT else total - at
                    points = source[at : at + some]
                    for j in range(some):
                        x[j] = scale * points[j] - shift if points[j] >= low and points[j] < high else np.nan
                    for m in range(2, known[t]):
                        for j in range(some):
                            work[m, j] = (x[j] + x[j]) * work[m - 1, j] - work[m - 2, j]
                    for q in range(rank if step > 0 else 0):
                        for j in range(some):
                            gathered[q, j] = others[q, start + places[at + j]]
                    for f in wanted:
                        # Σ lines[q, m] columns[q, j] T_m, four terms at a time, to load and store sums less often
                        value = spare if step > 0 else values[f, at : at + some]
                        for j in range(some):
                            value[j] = 0.0
                        for q in range(rank):
                            if lengths[f, number, q] > 0:
                                sums = lines[f, t, q]
                                a, b, c, d = sums[0], sums[1], sums[2], sums[3]
                                for j in range(some):
                                    part[j] = a + b * x[j] + c * work[2, j] + d * work[3, j]
                                for m in range(4, lengths[f, number, q], 4):
                                    a, b, c, d = sums[m], sums[m + 1], sums[m + 2], sums[m + 3]
                                    for j in range(some):
                                        more = a * work[m, j] + b * work[m + 1, j] + c * work[m + 2, j]
                                        part[j] += more + d * work[m + 3, j]
                                column = gathered[q] if step > 0 else others[q, start + at : start + at + some]
                                for j in range(some):
                                    value[j] += part[j] * column[j]
                        for j in range(some if step > 0 else 0):
                            values[f, places[at + j]] = value[j]
            for f in wanted:
                mine, scales, line = rows.scales[f, i], columns.scales[f, start:stop], out[f, i, start:stop]
                for j in range(size):
                    new = values[f, j] * (mine * scales[j] * (sign if here[j] > quarter else one))
                    line[j] = new if angles[j] >= nothing else line[j]
    return left_out
