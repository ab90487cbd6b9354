"""The machine code of rows of both kernels from the cosines of unit vectors and the table of a network."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from holokern.numeric.machine.angles import angle_between, angle_from_gap
from holokern.numeric.machine.look_up import CHUNK, look_up

__all__ = ["expanded_rows"]

_NEAR = 2e-3
"""Cosines so near to ±1 have lost digits; the vectors are subtracted from each other."""

_FAST = {"contract", "nsz"}


@numba.njit(nogil=True, fastmath=_FAST)
def _angles(cosines: Any, row: Any, columns: Any, theta: Any) -> None:
    """Angles from cosines of unit vectors; nearly parallel vectors are subtracted from each other."""
    nearest = 0.0
    for j in range(theta.shape[0]):
        theta[j] = angle_from_gap(1.0 - cosines[j])
    for j in range(theta.shape[0]):
        nearest = max(nearest, abs(cosines[j]))
    if nearest > 1.0 - _NEAR:
        for j in range(theta.shape[0]):
            if abs(cosines[j]) > 1.0 - _NEAR:
                theta[j] = angle_between(row, columns[j], cosines[j] > 0.0)


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def expanded_rows(
    cores: Any,
    room: Any,
    wanted: Any,
    fold: Any,
    cosines: Any,
    offset: Any,
    starts: Any,
    units: Any,
    other_units: Any,
    own: Any,
    rows: Any,
    scales: Any,
    bounds: Any,
    columns: Any,
    other_scales: Any,
    out: Any,
) -> int:
    """Fill rows of the kernels ``wanted`` from the column ``starts[i]`` on; returns how many entries are left out.

    The first column of ``cosines`` belongs to the column ``offset``. Columns of one cell are between two ``bounds``.
    Entries that were left out hold NaN.
    """
    left_out = 0
    theta, sign, found = np.empty(CHUNK), np.empty(CHUNK), np.empty((2, CHUNK))
    for i in range(units.shape[0]):
        for other in range(bounds.shape[0] - 1):
            room.known[:] = 0
            last = bounds[other + 1]
            for start in range(max(bounds[other], starts[i]), last, CHUNK):
                stop = min(start + CHUNK, last)
                size = stop - start
                angles = theta[:size]
                _angles(cosines[i, start - offset : stop - offset], units[i], other_units[start:stop], angles)
                for j in range(size):
                    far = fold != 0 and angles[j] > 0.5 * math.pi
                    angles[j] = math.pi - angles[j] if far else angles[j]
                    sign[j] = float(fold) if far else 1.0
                left_out += look_up(cores, own[i], rows[i], other, columns, start, angles, wanted, room, found)
                for kernel in wanted:
                    line = out[kernel, i, start:stop]
                    for j in range(size):
                        line[j] = found[kernel, j] * (sign[j] * (scales[kernel, i] * other_scales[kernel, start + j]))
    return left_out
