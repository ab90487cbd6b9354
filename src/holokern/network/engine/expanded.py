"""Rows of kernel matrices by the table of the whole network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holokern.network.engine.expansion import Expansion
from holokern.network.points import Points
from holokern.numeric.machine.cells import Cells, CellSide
from holokern.numeric.panels import Array

__all__ = ["ExpandedRows"]

_MULTIPLE = 8
"""Products of matrices with such numbers of rows have entries whose bits do not depend on their places."""


@dataclass(frozen=True, eq=False)
class ExpandedRows:
    """Two sets of points in the cells of an expansion, and the kernels that are wanted (NNGP 0, NTK 1)."""

    rows: Points
    columns: Points
    kernels: tuple[int, ...]
    expansion: Expansion
    cells: Cells
    sides: tuple[CellSide, CellSide]
    scales: tuple[Array, Array]
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Points, columns: Points, kernels: tuple[int, ...], expansion: Expansion) -> ExpandedRows:
        """Place the points."""
        cells = expansion.cells()
        sides, scales = [], []
        for points in dict.fromkeys((rows, columns)):
            with np.errstate(divide="ignore"):
                logs = np.log(points.length)
            sides.append(cells.side(np.where(points.length > 0, logs, cells.part.low)))
            scales.append(expansion.scales(points.length))
        bounds = np.array([0, len(columns.length)], dtype=np.int64)
        if cells.count > 1:
            # Zero vectors come first, and are in no cell.
            number = np.where(columns.length > 0, sides[-1].cells, -1)
            bounds = np.searchsorted(number, np.arange(cells.count + 1)).astype(np.int64)
        return cls(rows, columns, kernels, expansion, cells, (sides[0], sides[-1]), (scales[0], scales[-1]), bounds)

    def fill(self, some: slice, starts: NDArray[np.int64], with_diagonal: bool, panels: Array) -> int:
        """The kernels of the rows ``some``, those of row i in the columns from ``starts[i]`` on.

        With ``with_diagonal`` the first of these is the entry of the point with itself. Returns how many entries have
        no expansion; they are NaN.
        """
        from holokern.network.engine.expanded_tiles import expanded_rows
        from holokern.numeric.machine.look_up import room_for

        (own, other), (scale, scales) = self.sides, self.scales
        if with_diagonal:
            panels[: len(scale), np.arange(len(starts)), starts] = scale[:, some] ** 2
            starts = starts + 1
        first = int(starts.min()) // _MULTIPLE * _MULTIPLE
        return int(
            expanded_rows(
                self.cells.cores,
                room_for(self.cells.cores),
                np.array(self.kernels),
                self.expansion.fold,
                self._cosines(some, first),
                first,
                starts,
                self.rows.unit[some],
                self.columns.unit,
                own.cells[some],
                own.by_point[some],
                np.ascontiguousarray(scale[:, some]),
                self.bounds,
                other.vectors,
                scales,
                panels,
            )
        )

    def _cosines(self, some: slice, first: int) -> Array:
        """Cosines of the angles with the columns from ``first`` on, whose bits depend on the two points alone."""
        height = -(-(some.stop - some.start) // _MULTIPLE) * _MULTIPLE
        return np.asarray(self.rows.padded[some.start : some.start + height] @ self.columns.padded[first:].T)
