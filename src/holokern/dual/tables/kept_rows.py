"""`KeptRows`: an activation on meshes at single deviations, with its moments there, for calls with the same points."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from holokern.activation import Activation
from holokern.dual.roughness import has_infinite_slope, is_rough_at_ends
from holokern.dual.tables.point_row import PointRow
from holokern.errors import PrecisionLost
from holokern.numeric import Array, how_many_fit

_ROWS_KEPT = 64
"""Deviations whose values on a mesh are kept: those of a few points in a few layers."""

_MOMENTS_KEPT = 1 << 14
"""Deviations whose norms and means are kept: a megabyte."""

_ARRAYS_OF_A_ROW = 6
"""Nodes, weights and masses of a mesh, values of σ and σ′ and what comes from them."""


class KeptRows:
    """The rows of one activation: its values on a mesh for each deviation that was asked for.

    There is none where σ has a break other than zero or is too rough for a mesh. Both take time to find out, and are
    kept.
    """

    def __init__(self, sigma: Activation) -> None:
        self._sigma = sigma
        self._away = is_rough_at_ends(sigma)
        self._rows: OrderedDict[float, PointRow | None] = OrderedDict()
        self._moments: dict[float, tuple[float, float, float]] = {}
        self._lock = threading.Lock()

    def at(self, c: Array) -> list[PointRow | None]:
        """The row of each deviation, or None."""
        different, back = np.unique(c, return_inverse=True)
        found, size = [], 0
        for one in different.tolist():
            row = self._row(one)
            size += 0 if row is None else 8 * _ARRAYS_OF_A_ROW * len(row.mesh.nodes)
            # those that do not fit in memory with the others are as good as missing
            found.append(row if how_many_fit(1.0, size, "a byte") == size else None)
        return [found[index] for index in back]

    def moments(self, c: Array, which: int, otherwise: Callable[[Array], Array]) -> Array:
        """The norm of σ (0), that of σ′ (1) or the mean (2) for each deviation, from its row where there is one."""
        different, back = np.unique(c, return_inverse=True)
        found = np.array([self._moments_at(one)[which] for one in different.tolist()])
        missing = np.isnan(found)
        if np.any(missing):
            found[missing] = otherwise(different[missing])
        return found[back]

    def _moments_at(self, c: float) -> tuple[float, float, float]:
        """The three moments from a row, NaN without one; they are kept longer than rows."""
        found = self._moments.get(c)
        if found is None:
            row = self._row(c)
            slope = 1.0 if row is None or has_infinite_slope(self._sigma) else row.norm(1)
            found = (np.nan, np.nan, np.nan) if row is None else (row.norm(), slope, row.mean)
            if len(self._moments) >= _MOMENTS_KEPT:
                self._moments.clear()
            self._moments[c] = found
        return found

    def _row(self, c: float) -> PointRow | None:
        if self._away:
            return None
        with self._lock:
            if c not in self._rows:
                while len(self._rows) >= _ROWS_KEPT:
                    self._rows.popitem(last=False)
                self._rows[c] = None
                with suppress(PrecisionLost):
                    self._rows[c] = PointRow.of(self._sigma, c)
            self._rows.move_to_end(c)
            return self._rows[c]
