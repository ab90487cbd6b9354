"""The elimination of :mod:`holokern.weyl.groebner.modular` in machine code, for large matrices."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["eliminate_rows"]


@numba.njit(cache=True, nogil=True)
def eliminate_rows(columns: Any, heads: Any, bounds: Any, places: Any, values: Any, p: int) -> None:
    """Clear the pivot columns of a dense matrix, stored transposed, with sparse rows.

    Pivot i has the value 1 in column ``heads[i]``, and ``values`` in the columns ``places`` between ``bounds[i]`` and
    ``bounds[i + 1]``.  Entries stay below 2^63, as in ``add_multiple``.
    """
    modulus = np.uint64(p)
    large = np.uint64(p) << np.uint64(32)
    width = columns.shape[1]
    factors = np.empty(width, dtype=np.uint64)
    for i in range(len(heads)):
        some = False
        for j in range(width):
            rest = columns[heads[i], j] % modulus
            columns[heads[i], j] = 0
            factors[j] = modulus - rest if rest else np.uint64(0)
            some = some or rest != 0
        if some:
            for e in range(bounds[i], bounds[i + 1]):
                row = columns[places[e]]
                value = values[e]
                for j in range(width):
                    total = row[j] + value * factors[j]
                    row[j] = total - large if total >= large else total
