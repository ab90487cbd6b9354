"""The machine code of expansions of networks: rows of both kernels from the cosines of unit vectors.

Every entry is a function of its two points and of the expansion alone, whatever the other points of a row are, so that
parts of a matrix have the same bits as the whole.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from holokern.network.tile_angles import angle_between, angle_from_gap
from holokern.network.tile_sums import contract, expand, polynomials_of

__all__ = ["NEAR", "strip"]

NEAR = 2e-3
_CHUNK = 128
_FAST = {"contract", "nsz"}


@numba.njit(nogil=True, fastmath=_FAST)
def _angles(cosines: Any, row: Any, columns: Any, theta: Any) -> None:
    """Angles from cosines of unit vectors; nearly parallel vectors are subtracted from each other."""
    nearest = 0.0
    for j in range(theta.shape[0]):
        theta[j] = angle_from_gap(1.0 - cosines[j])
    for j in range(theta.shape[0]):
        nearest = max(nearest, abs(cosines[j]))
    if nearest > 1.0 - NEAR:
        for j in range(theta.shape[0]):
            if abs(cosines[j]) > 1.0 - NEAR:
                theta[j] = angle_between(row, columns[j], cosines[j] > 0.0)


@numba.njit(nogil=True, fastmath=_FAST)
def _intervals(theta: Any, edges: Any, which: Any, counts: Any) -> Any:
    """The interval of every angle, and how many there are in each; returns the fullest."""
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
def _folded(theta: Any, fold: Any, sign: Any) -> None:
    """Angles past π/2 turned back, and the sign that both kernels take."""
    for j in range(theta.shape[0]):
        far = fold != 0 and theta[j] > 0.5 * math.pi
        theta[j] = math.pi - theta[j] if far else theta[j]
        sign[j] = float(fold) if far else 1.0


@numba.njit(nogil=True, fastmath=_FAST)
def _selected(which: Any, t: Any, places: Any) -> int:
    """The places of the angles in one interval, and how many there are."""
    some = 0
    for j in range(which.shape[0]):
        places[some] = j
        some += 1 if which[j] == t else 0
    return some


@numba.njit(nogil=True, fastmath=_FAST)
def _gathered(source: Any, places: Any, target: Any) -> None:
    for j in range(places.shape[0]):
        target[j] = source[places[j]]


@numba.njit(nogil=True, fastmath=_FAST)
def _scattered(source: Any, places: Any, target: Any) -> None:
    for j in range(places.shape[0]):
        target[places[j]] = source[j]


@numba.njit(nogil=True, fastmath=_FAST)
def _scaled(values: Any, sign: Any, scale: Any, scales: Any) -> None:
    for j in range(values.shape[0]):
        values[j] *= sign[j] * (scale * scales[j])


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def strip(
    cosines: Any,
    offset: Any,
    units: Any,
    other_units: Any,
    fold: Any,
    edges: Any,
    index: Any,
    own_cells: Any,
    starts: Any,
    row_vectors: Any,
    bounds: Any,
    column_vectors: Any,
    cores: Any,
    lengths: Any,
    scales: Any,
    other_scales: Any,
    kernels: Any,
    out: Any,
) -> int:
    """Fill rows of ``kernels`` (NNGP 0, NTK 1) from the column ``starts[i]`` on; returns how many entries are left out.

    The first column of ``cosines`` belongs to the column ``offset``. Entries that were left out hold NaN; they are in
    intervals of angles where the network has no expansion.
    """
    left_out, count = 0, edges.shape[0] - 1
    lines = np.empty((2, count, cores.shape[3], cores.shape[4]))
    known, counts = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    polynomials = np.empty((max(2, cores.shape[4]), _CHUNK))
    scratch, gathered = np.empty((5, _CHUNK)), np.empty((column_vectors.shape[0], _CHUNK))
    which, places = np.empty(_CHUNK, dtype=np.int64), np.empty(_CHUNK, dtype=np.int64)
    part, room = scratch[3], scratch[4]
    for i in range(units.shape[0]):
        for other in range(bounds.shape[0] - 1):
            known[:] = 0
            last = bounds[other + 1]
            for start in range(max(bounds[other], starts[i]), last, _CHUNK):
                stop = min(start + _CHUNK, last)
                size = stop - start
                theta, sign, angles = scratch[0, :size], scratch[1, :size], scratch[2, :size]
                _angles(cosines[i, start - offset : stop - offset], units[i], other_units[start:stop], theta)
                _folded(theta, fold, sign)
                fullest = _intervals(theta, edges, which[:size], counts)
                for step in range(count):
                    # All angles as if they were in the fullest interval, then those that are not.
                    apart = step > 0
                    t = (step - 1 if step <= fullest else step) if apart else fullest
                    if counts[t] == 0:
                        continue
                    some = _selected(which[:size], t, places) if apart else size
                    number = index[own_cells[i], other, t]
                    if number < 0:
                        left_out += counts[t]
                    elif known[t] == 0:
                        for kernel in kernels:
                            longest = contract(
                                cores[kernel, number], lengths[kernel, number], row_vectors[i], lines[kernel, t]
                            )
                            known[t] = max(known[t], longest)
                    columns, at, here = column_vectors, start, theta
                    if apart:
                        columns, at, here = gathered, 0, angles[:some]
                        _gathered(theta, places[:some], here)
                        for q in range(gathered.shape[0]):
                            _gathered(column_vectors[q, start:stop], places[:some], gathered[q])
                    polynomials_of(here, edges[t], edges[t + 1], known[t], polynomials)
                    for kernel in kernels:
                        line = out[kernel, i, start:stop]
                        target = room[:some] if apart else line
                        if number < 0:
                            target[:] = np.nan
                        else:
                            expand(lines[kernel, t], lengths[kernel, number], columns, at, polynomials, part, target)
                        if apart:
                            _scattered(target, places[:some], line)
                for kernel in kernels:
                    _scaled(out[kernel, i, start:stop], sign, scales[kernel, i], other_scales[kernel, start:stop])
    return left_out
