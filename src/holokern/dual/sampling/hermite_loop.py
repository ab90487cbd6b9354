"""The machine code of Hermite sums over nodes that differ from row to row."""

from __future__ import annotations

import numpy as np

from holokern.numeric import Array, Index, machine

_CHUNK = 512
"""Nodes at a time: their five arrays take 20 kB, which a first-level cache holds."""


@machine.entry
def add_up(heavy: Array, x: Array, root: Array, ends: Index, rise: Array, fall: Array, result: Array) -> None:
    """result[f, i, n] = Σ heavy[f] h_n over the nodes of row i, by h_(n+1) = rise[n] x h_n - fall[n] h_(n-1)."""
    result[:] = 0.0
    before, now = np.empty(_CHUNK), np.empty(_CHUNK)
    for row in range(len(ends) - 1):
        for start in range(ends[row], ends[row + 1], _CHUNK):
            size = min(_CHUNK, ends[row + 1] - start)
            own = x[start : start + size]
            # One by one: a slice would be compiled with its error message, which takes longer than all the rest.
            for j in range(size):
                before[j], now[j] = 0.0, root[start + j]
            for n in range(len(rise)):
                for function in range(len(heavy)):
                    result[function, row, n] += np.dot(heavy[function, start : start + size], now[:size])
                up, down = rise[n], fall[n]
                for j in range(size):
                    later = up * own[j] * now[j] - down * before[j]
                    before[j] = now[j]
                    now[j] = later
