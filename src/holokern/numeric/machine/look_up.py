"""The machine code that evaluates tables: functions of the rows and columns of a tile from their angles.

Every value is a function of its two points and of the table alone, whatever the other points of a tile are, so parts of
a matrix have the same bits as the whole. Inner loops run along a chunk of a row without branches, and index slices from
their beginning (an index that may be negative is tested for every entry), so that they become vector instructions.
Helpers would be optimised again inside of what calls them, so there are only two functions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.numeric.machine.cells import Cores
from holokern.numeric.machine.compiled import called, entry
from holokern.numeric.panels import Array

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
    """The angles of a tile; columns before the column ``before`` have none."""

    theta: Array
    before: int


class Task(NamedTuple):
    """What is wanted of a tile.

    Attributes
    ----------
    functions
        The functions.
    signs
        If they are not 0, angles beyond π/2 count from π, and values there have these signs.
    only_missing
        Whether only values that are NaN are computed.
    """

    functions: NDArray[np.int64]
    signs: Array
    only_missing: bool


class Room(NamedTuple):
    """Memory that one thread works in.

    Attributes
    ----------
    lines
        Coefficients of one row and one cell of columns, for each function and panel.
    known
        For each panel how long its lines are, 0 if they are not made; and how many angles it has.
    work
        Polynomials of angles, then room for sums, values and the polynomials of gathered columns.
    places
        The panel of each angle, the places of those that are not in the fullest panel, and of those in one panel.
    chunk
        The angles of a chunk of columns, and the values of both functions.
    ends
        For each column where those in its cell end.
    """

    lines: Array
    known: NDArray[np.int64]
    work: Array
    places: NDArray[np.int64]
    chunk: Array
    ends: NDArray[np.int64]


# Rows of `Room.work` after the polynomials, the sums being the first of them.
_VALUE, _GATHERED = 1, 2


def room_for(cores: Cores, columns: NDArray[np.int64]) -> Room:
    """Room for evaluating these cores at columns in these cells."""
    functions, _, _, rank, degree = cores.cores.shape
    panels, count, dtype = len(cores.edges) - 1, len(columns), cores.cores.dtype
    stops = np.append(np.flatnonzero(columns[1:] != columns[:-1]) + 1, count)
    return Room(
        np.empty((functions, panels, rank, degree), dtype),
        np.zeros((2, panels), dtype=np.int64),
        # the first row stays: it is T_0
        np.ones((max(2, degree) + _GATHERED + rank, _SHORT), dtype),
        np.empty((3, CHUNK), dtype=np.int64),
        np.empty((3, CHUNK), dtype),
        np.repeat(stops, np.diff(stops, prepend=0)),
    )


@called
def look_up(  # noqa: PLR0915 (a helper would be optimised twice)
    cores: Any, cell: Any, row: Any, other: Any, columns: Any, start: Any, theta: Any, wanted: Any, room: Any, out: Any
) -> int:
    """Functions ``wanted`` of one point and the columns from ``start`` on, all in one cell; returns how many have none.

    There are at most `CHUNK` angles. ``out`` has one row for each function of the table; values without a panel are
    NaN. Set ``room.known`` to 0 before another row or another cell.
    """
    lines, work = room.lines, room.work
    edges, numbers, coefficients, lengths = cores.edges, cores.numbers, cores.cores, cores.lengths
    rank = coefficients.shape[2]
    base = work.shape[0] - _GATHERED - rank
    part, value, x, gathered = work[base], work[base + _VALUE], work[1], work[base + _GATHERED :]
    which, elsewhere, places = room.places[0], room.places[1], room.places[2]
    known, counts = room.known[0], room.known[1]
    size, left_out, number_type = theta.shape[0], 0, theta.dtype.type
    # How many angles there are in each panel, the fullest, and the panel of every angle if there are others.
    counts[0], fullest = size, 0
    for t in range(1, counts.shape[0]):
        edge, above = edges[t], 0
        for j in range(size):
            above += 1 if theta[j] >= edge else 0
        counts[t] = above
        counts[t - 1] -= above
    for t in range(1, counts.shape[0]):
        fullest = t if counts[t] > counts[fullest] else fullest
    others = 0
    if counts[fullest] < size:
        for j in range(size):
            which[j] = 0
        for t in range(1, counts.shape[0]):
            edge = cores.edges[t]
            for j in range(size):
                which[j] += 1 if theta[j] >= edge else 0
        for j in range(size):
            if which[j] != fullest:
                elsewhere[others] = j
                others += 1
    for step in range(counts.shape[0]):
        # All angles as if they were in the fullest panel, then those that are not.
        t = (step - 1 if step <= fullest else step) if step > 0 else fullest
        if counts[t] == 0:
            continue
        number = numbers[cell, other, t]
        if number < 0:
            left_out += counts[t]
            for f in wanted:
                for j in range(size):
                    out[f, j] = np.nan if others == 0 or which[j] == t else out[f, j]
            continue
        if known[t] == 0:
            # lines[q, m] = Σ core[p, q, m] row[p]
            known[t] = 1
            for f in wanted:
                for q in range(rank):
                    length = lengths[f, number, q]
                    known[t] = max(known[t], length)
                    for m in range(length):
                        lines[f, t, q, m] = 0.0
                    for p in range(rank):
                        for m in range(length):
                            lines[f, t, q, m] += row[p] * coefficients[f, number, p, q, m]
        total = size
        if step > 0:
            total = 0
            for j in range(others):
                places[total] = elsewhere[j]
                total += 1 if which[elsewhere[j]] == t else 0
        # T_m of the angles mapped from the panel to [-1, 1]
        low, high = edges[t], edges[t + 1]
        scale, shift = number_type(2.0 / (high - low)), number_type((high + low) / (high - low))
        for first in range(0, total, _SHORT):
            some, at, source = min(_SHORT, total - first), start + first, columns
            if step > 0:
                at, source = 0, gathered
                for j in range(some):
                    x[j] = scale * theta[places[first + j]] - shift
                for q in range(rank):
                    for j in range(some):
                        gathered[q, j] = columns[q, start + places[first + j]]
            else:
                near = theta[first : first + some]
                for j in range(some):
                    x[j] = scale * near[j] - shift
            for m in range(2, known[t]):
                for j in range(some):
                    work[m, j] = (x[j] + x[j]) * work[m - 1, j] - work[m - 2, j]
            for f in wanted:
                # Σ lines[q, m] columns[q, j] T_m, four terms at a time, to load and store the sums less often
                for j in range(some):
                    value[j] = 0.0
                for q in range(rank):
                    if lengths[f, number, q] > 0:
                        line = lines[f, t, q]
                        a, b, c, d = line[0], line[1], line[2], line[3]
                        for j in range(some):
                            part[j] = a + b * x[j] + c * work[2, j] + d * work[3, j]
                        for m in range(4, lengths[f, number, q], 4):
                            a, b, c, d = line[m], line[m + 1], line[m + 2], line[m + 3]
                            for j in range(some):
                                part[j] += a * work[m, j] + b * work[m + 1, j] + c * work[m + 2, j] + d * work[m + 3, j]
                        column = source[q, at : at + some]
                        for j in range(some):
                            value[j] += part[j] * column[j]
                if step > 0:
                    for j in range(some):
                        out[f, places[first + j]] = value[j]
                else:
                    done = out[f, first : first + some]
                    for j in range(some):
                        done[j] = value[j]
    return left_out


@entry
def look_up_tile(
    cores: Any, room: Any, task: Any, rows: Any, columns: Any, starts: Any, tile: Any, flat: Any, out: Any
) -> int:
    """Functions of the pairs of a tile, in row i for columns from ``starts[i]`` on.

    ``out`` has one tile a function that depends on the angle, ``flat`` one for each that does not; values without a
    panel are NaN, and their number is returned.
    """
    left_out, width = 0, out.shape[2]
    wanted, signs, theta, before = task.functions, task.signs, tile.theta, tile.before
    own, others, own_scales, other_scales = rows.polynomials, columns.polynomials, rows.scales, columns.scales
    own_cells, cells, flats, known, only_missing = rows.cells, columns.cells, cores.flats, room.known, task.only_missing
    angles, found, ends = room.chunk[0], room.chunk[1:], room.ends
    number_type = theta.dtype.type
    half_turn, quarter, one, nothing = number_type(math.pi), number_type(0.5 * math.pi), number_type(1), number_type(0)
    for i in range(out.shape[1]):
        cell, row = own_cells[i], own[i]
        stop = starts[i]
        while stop < width:
            start, other, stop = stop, cells[stop], ends[stop]
            for t in range(known.shape[1]):
                known[0, t] = 0
            for f in range(flat.shape[0]):
                for j in range(start, stop):
                    flat[f, i, j] = 0.0
                for q in range(flats.shape[3]):
                    factor = 0.0
                    for p in range(flats.shape[3]):
                        factor += flats[f, cell, other, p, q] * row[p]
                    for j in range(start, stop):
                        flat[f, i, j] += factor * others[q, j]
            for first in range(start, stop, CHUNK):
                size = min(CHUNK, stop - first)
                if only_missing:
                    missing, line = 0, out[wanted[0], i, first : first + size]
                    for j in range(size):
                        missing += 1 if np.isnan(line[j]) else 0
                    if missing == 0:
                        continue
                here = theta[i, first - before : first - before + size]
                for j in range(size):
                    angles[j] = half_turn - here[j] if signs[0] != nothing and here[j] > quarter else here[j]
                chunk = angles[:size]
                left = look_up(cores, cell, row, other, others, first, chunk, wanted, room, found)
                for f in wanted:
                    mine, scales = own_scales[f, i], other_scales[f, first : first + size]
                    beyond = signs[f] if signs[f] != nothing else one
                    for j in range(size):
                        found[f, j] *= mine * scales[j] * (beyond if here[j] > quarter else one)
                if only_missing:
                    left = 0
                    for j in range(size):
                        if np.isnan(out[wanted[0], i, first + j]):
                            left += 1 if np.isnan(found[wanted[0], j]) else 0
                            for f in wanted:
                                out[f, i, first + j] = found[f, j]
                else:
                    for f in wanted:
                        line = out[f, i, first : first + size]
                        for j in range(size):
                            line[j] = found[f, j]
                left_out += left
    return left_out
