"""Finished rows of the sorted matrix at their places, and the other half of a symmetric one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holokern.numeric import Array, Index

_BLOCK = 128
"""Rows and columns that are mirrored at a time: a few blocks stay in the second cache."""


def write_rows(panel: Array, starts: NDArray[np.int64], only: bool, order: Index, rank: Index, out: Array) -> None:
    """Write rows of the sorted matrix to their places in ``out``.

    With ``only``, row i from the column ``starts[i]`` on; else also what stands before, without a test of every entry.
    An empty ``rank`` means that the points kept their order.
    """
    found = panel.take(rank, axis=1) if len(rank) else panel
    if len(rank) and not only:
        out[order] = found
        return
    for row, first, place in zip(found, starts, order, strict=True):
        if len(rank):
            np.copyto(out[place], row, where=rank >= first)
        else:
            out[place, first:] = row[first:]


def mirror(out: Array, rank: Index, start: int, stop: int) -> None:
    """Copy each entry that was computed, the one whose row comes first in the sorted order, to its mirror image.

    For the rows from ``start`` to ``stop`` and the columns up to the diagonal, block by block.
    """
    for low in range(start, stop, _BLOCK):
        rows = slice(low, min(low + _BLOCK, stop))
        for left in range(0, rows.stop, _BLOCK):
            columns = slice(left, left + _BLOCK)
            lower, upper = out[rows, columns], out[columns, rows]
            found = np.where(rank[rows, None] < rank[columns], lower, upper.T)
            lower[...] = found
            upper[...] = found.T
