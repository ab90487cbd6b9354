"""`KeptRows`: an activation on meshes at single deviations, with its moments there, for calls with the same points."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from holokern.activation import Activation
from holokern.dual.closed.method import closed_moments
from holokern.dual.roughness import has_infinite_slope, is_rough_at_ends
from holokern.dual.tables.point_row import PointRow
from holokern.errors import PrecisionLost
from holokern.numeric import Array, how_many_fit

_ROWS_KEPT = 64
"""Deviations whose values on a mesh are kept: those of a few points in a few layers."""

_AT_ONCE = 16
"""Deviations that are sampled together: with a few points all are, and their values fill few megabytes."""

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
        found: list[PointRow | None] = []
        size = 0
        for start in range(0, len(different), _AT_ONCE):
            for row in self._some(different[start : start + _AT_ONCE]):
                size += 0 if row is None else 8 * _ARRAYS_OF_A_ROW * len(row.mesh.nodes)
                # those that do not fit in memory with the others are as good as missing
                found.append(row if how_many_fit(1.0, size, "a byte") == size else None)
        return [found[index] for index in back]

    def moments(self, c: Array, which: int, otherwise: Callable[[Array], Array]) -> Array:
        """The norm of σ (0), that of σ′ (1) or the mean (2) for each deviation, by a formula or from its row."""
        different, back = np.unique(c, return_inverse=True)
        with self._lock:
            known = {one: self._moments[one] for one in different.tolist() if one in self._moments}
        unknown = np.array([one for one in different.tolist() if one not in known])
        # they are kept longer than rows
        for start in range(0, len(unknown), _AT_ONCE):
            some = unknown[start : start + _AT_ONCE]
            new = dict(zip(some.tolist(), self._new_moments(some), strict=True))
            known |= new
            with self._lock:
                if len(self._moments) >= _MOMENTS_KEPT:
                    self._moments.clear()
                self._moments |= new
        found = np.array([known[one][which] for one in different.tolist()])
        missing = np.isnan(found)
        if np.any(missing):
            found[missing] = otherwise(different[missing])
        return found[back]

    def _new_moments(self, c: Array) -> list[tuple[float, float, float]]:
        """The three moments of a few different deviations: a mesh is made only where formulas lose digits."""
        found = closed_moments(self._sigma, c)
        rest = np.isnan(found[0])
        if np.any(rest):
            found[:, rest] = np.transpose([self._moments_of(row) for row in self._some(c[rest])])
        return [(norm, slope, mean) for norm, slope, mean in found.T.tolist()]

    def _moments_of(self, row: PointRow | None) -> tuple[float, float, float]:
        """The three moments from a row, NaN without one."""
        if row is None:
            return np.nan, np.nan, np.nan
        return row.norm(), 1.0 if has_infinite_slope(self._sigma) else row.norm(1), row.mean

    def _some(self, c: Array) -> list[PointRow | None]:
        """The rows of a few different deviations; those that are new are made together."""
        if self._away:
            return [None] * len(c)
        with self._lock:
            found = {one: self._rows[one] for one in c.tolist() if one in self._rows}
            new = np.array([one for one in c.tolist() if one not in found])
            if len(new):
                found |= dict(zip(new.tolist(), self._made(new), strict=True))
            self._rows |= found
            for one in found:
                self._rows.move_to_end(one)
            while len(self._rows) > _ROWS_KEPT:
                self._rows.popitem(last=False)
            return [found[one] for one in c.tolist()]

    def _made(self, c: Array) -> list[PointRow | None]:
        """New rows; one whose mass overflows is missing and spoils no other."""
        try:
            return PointRow.of(self._sigma, c)
        except PrecisionLost:
            return [None] if len(c) == 1 else [self._made(one)[0] for one in np.split(c, len(c))]
