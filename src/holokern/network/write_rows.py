"""The machine code that writes finished rows to their places."""

from __future__ import annotations

from typing import Any

import numba

__all__ = ["mirror", "write_rows"]

_BLOCK = 64


@numba.njit(cache=True, nogil=True)
def write_rows(panel: Any, starts: Any, order: Any, rank: Any, out: Any) -> None:
    """Write rows of the sorted matrix, row i from the column ``starts[i]`` on, to their places in ``out``.

    An empty ``rank`` means that the points kept their order.
    """
    for i in range(panel.shape[0]):
        source, line, first = panel[i], out[order[i]], starts[i]
        if rank.shape[0] == 0:
            for column in range(first, line.shape[0]):
                line[column] = source[column]
            continue
        for column in range(line.shape[0]):
            place = rank[column]
            if place >= first:
                line[column] = source[place]


@numba.njit(cache=True, nogil=True)
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
