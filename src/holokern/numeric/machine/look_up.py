"""The machine code that evaluates tables: functions of a point and a chunk of others from their angles.

Every value is a function of its two points and of the table alone, whatever the other points of a chunk are, so parts
of a matrix have the same bits as the whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from holokern.numeric.machine.cells import Cores
from holokern.numeric.machine.sums import contract, expand, polynomials_of
from holokern.numeric.panels import Array

__all__ = ["CHUNK", "Room", "look_up", "room_for"]

CHUNK = 128
"""Columns that are evaluated at a time: their polynomials stay in the nearest cache."""

_FAST = {"contract", "nsz"}


class Room(NamedTuple):
    """Memory that one thread works in.

    Attributes
    ----------
    lines, known
        Coefficients of one row and one cell of columns, for each panel; ``known`` is how long they are, 0 if not made.
    polynomials, gathered, part, target, angles
        Room for one chunk.
    which, places, counts
        The panel of each angle, the places of those in one panel, and how many are in each panel.
    """

    lines: Array
    known: NDArray[np.int64]
    polynomials: Array
    gathered: Array
    part: Array
    target: Array
    angles: Array
    which: NDArray[np.int64]
    places: NDArray[np.int64]
    counts: NDArray[np.int64]


def room_for(cores: Cores) -> Room:
    """Room for evaluating these cores."""
    functions, _, _, rank, degree = cores.cores.shape
    panels = len(cores.edges) - 1
    return Room(
        np.empty((functions, panels, rank, degree)),
        np.zeros(panels, dtype=np.int64),
        np.empty((max(2, degree), CHUNK)),
        np.empty((rank, CHUNK)),
        np.empty(CHUNK),
        np.empty(CHUNK),
        np.empty(CHUNK),
        np.empty(CHUNK, dtype=np.int64),
        np.empty(CHUNK, dtype=np.int64),
        np.empty(panels, dtype=np.int64),
    )


@numba.njit(nogil=True, fastmath=_FAST)
def _panels(theta: Any, edges: Any, which: Any, counts: Any) -> Any:
    """The panel of every angle, and how many there are in each; returns the fullest."""
    for j in range(theta.shape[0]):
        which[j] = 0
    counts[:] = 0
    counts[0] = theta.shape[0]
    for t in range(1, edges.shape[0] - 1):
        edge = edges[t]
        for j in range(theta.shape[0]):
            here = 1 if theta[j] >= edge else 0
            which[j] += here
            counts[t] += here
        counts[t - 1] -= counts[t]
    fullest = 0
    for t in range(1, counts.shape[0]):
        fullest = t if counts[t] > counts[fullest] else fullest
    return fullest


@numba.njit(nogil=True, fastmath=_FAST)
def _selected(which: Any, t: Any, places: Any) -> int:
    """The places of the angles in one panel, and how many there are."""
    some = 0
    for j in range(which.shape[0]):
        places[some] = j
        some += 1 if which[j] == t else 0
    return some


@numba.njit(nogil=True, fastmath=_FAST)
def look_up(
    cores: Any, cell: Any, row: Any, other: Any, columns: Any, start: Any, theta: Any, wanted: Any, room: Any, out: Any
) -> int:
    """Functions ``wanted`` of one point and the columns from ``start`` on, all in one cell; returns how many have none.

    ``out`` has one row a function of the table; values without a panel are NaN. Set ``room.known`` to 0 before another
    row or another cell.
    """
    size, left_out = theta.shape[0], 0
    fullest = _panels(theta, cores.edges, room.which[:size], room.counts)
    for step in range(cores.edges.shape[0] - 1):
        # All angles as if they were in the fullest panel, then those that are not.
        apart = step > 0
        t = (step - 1 if step <= fullest else step) if apart else fullest
        if room.counts[t] == 0:
            continue
        some = _selected(room.which[:size], t, room.places) if apart else size
        number = cores.numbers[cell, other, t]
        here, source, at = theta, columns, start
        if number < 0:
            left_out += room.counts[t]
        else:
            if room.known[t] == 0:
                for f in wanted:
                    longest = contract(cores.cores[f, number], cores.lengths[f, number], row, room.lines[f, t])
                    room.known[t] = max(room.known[t], longest, 1)
            if apart:
                here, source, at = room.angles[:some], room.gathered, 0
                for j in range(some):
                    here[j] = theta[room.places[j]]
                for q in range(columns.shape[0]):
                    for j in range(some):
                        source[q, j] = columns[q, start + room.places[j]]
            polynomials_of(here, cores.edges[t], cores.edges[t + 1], room.known[t], room.polynomials)
        for f in wanted:
            target = room.target[:some] if apart else out[f, :size]
            if number < 0:
                target[:] = np.nan
            else:
                expand(room.lines[f, t], cores.lengths[f, number], source, at, room.polynomials, room.part, target)
            if apart:
                for j in range(some):
                    out[f, room.places[j]] = target[j]
    return left_out
