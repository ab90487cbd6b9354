"""Rows of kernel matrices by the table of the whole network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holokern.network.engine.expansion import Expansion
from holokern.network.points import MULTIPLE, Points, angles_of_tile
from holokern.numeric.machine.cells import Cells, CellSide
from holokern.numeric.panels import Array

__all__ = ["ExpandedRows"]


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
        from holokern.numeric.machine.look_up import TileSide, look_up_tile, room_for

        (own, other), (scale, scales), cores = self.sides, self.scales, self.cells.cores
        if with_diagonal:
            panels[: len(scale), np.arange(len(starts)), starts] = scale[:, some] ** 2
            starts = starts + 1
        first = int(starts.min()) // MULTIPLE * MULTIPLE
        rows = TileSide(own.cells[some], own.by_point[some], np.ascontiguousarray(scale[:, some]))
        columns = TileSide(other.cells, other.vectors, scales)
        _, theta = angles_of_tile(self.rows, self.columns, some, slice(first, panels.shape[2]))
        signs, flat = np.full(2, float(self.expansion.fold)), np.empty((0, 0, 0))
        room, wanted = room_for(cores), np.array(self.kernels)
        return int(look_up_tile(cores, room, wanted, signs, rows, columns, starts, theta, first, flat, panels))
