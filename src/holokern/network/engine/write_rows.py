"""The machine code that writes finished rows to their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from holokern.numeric import machine

_BLOCK = 32


@machine.entry
def write_rows(panel: Any, starts: Any, only: Any, order: Any, rank: Any, out: Any) -> None:
    """Write rows of the sorted matrix to their places in ``out``.

    With ``only``, row i from the column ``starts[i]`` on; else also what stands before, without a test of every entry.
    An empty ``rank`` means that the points kept their order.
    """
    for i in range(panel.shape[0]):
        source, line, first = panel[i], out[order[i]], starts[i]
        if rank.shape[0] == 0:
            for column in range(first, line.shape[0]):
                line[column] = source[column]
        elif only:
            for column in range(line.shape[0]):
                if rank[column] >= first:
                    line[column] = source[rank[column]]
        else:
            for column in range(line.shape[0]):
                line[column] = source[rank[column]]


@machine.entry
def mirror(out: Any, rank: Any, start: Any, stop: Any) -> None:
    """Copy each entry that was computed, the one whose row comes first in the sorted order, to its mirror image.

    Block by block through a small copy, so that memory is read and written along rows.
    """
    size = out.shape[0]
    copy = np.empty((_BLOCK, _BLOCK), dtype=out.dtype)
    for low in range(start, stop, _BLOCK):
        high = min(low + _BLOCK, stop)
        for left in range(0, high, _BLOCK):
            right = min(left + _BLOCK, size)
            for j in range(left, right):
                for i in range(low, high):
                    copy[i - low, j - left] = out[j, i]
            for i in range(low, high):
                for j in range(left, min(right, i)):
                    if rank[i] < rank[j]:
                        copy[i - low, j - left] = out[i, j]
                    else:
                        out[i, j] = copy[i - low, j - left]
            for j in range(left, right):
                for i in range(max(low, j + 1), high):
                    out[j, i] = copy[i - low, j - left]
