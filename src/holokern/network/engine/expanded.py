"""Rows of kernel matrices by the table of the whole network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holokern.network.engine.expansion import Expansion
from holokern.network.points import Points, Strip
from holokern.numeric import Array, machine


@dataclass(frozen=True, eq=False)
class ExpandedRows:
    """Two sets of points in the cells of an expansion, and the kernels that are wanted (NNGP 0, NTK 1)."""

    rows: Points
    columns: Points
    kernels: tuple[int, ...]
    expansion: Expansion
    cells: machine.Cells
    sides: tuple[machine.CellSide, machine.CellSide]
    scales: tuple[Array, Array]

    @classmethod
    def of(
        cls, rows: Points, columns: Points, kernels: tuple[int, ...], expansion: Expansion, single: bool = False
    ) -> ExpandedRows:
        """Place the points."""
        cells = expansion.single if single else expansion.cells()
        sides, scales = [], []
        for points in dict.fromkeys((rows, columns)):
            with np.errstate(divide="ignore"):
                logs = np.log(points.length)
            sides.append(cells.side(np.where(points.length > 0, logs, cells.part.low)))
            scales.append(np.asarray(expansion.scales(points.length), dtype=cells.arrays.cores.dtype))
        cells.cores_for(sides[0].cells, sides[-1].cells)
        return cls(rows, columns, kernels, expansion, cells, (sides[0], sides[-1]), (scales[0], scales[-1]))

    def fill(self, strip: Strip, starts: NDArray[np.int64], panels: Array) -> int:
        """The kernels of a strip that are NaN, of row i in its columns from the one with the number ``starts[i]`` on.

        Returns how many entries have no expansion; they stay NaN.
        """
        from holokern.numeric import machine

        (own, other), (scale, scales), cores = self.sides, self.scales, self.cells.arrays
        some, others, dtype = strip.some, strip.others, cores.cores.dtype
        rows = machine.TileSide(own.cells[some], own.by_point[some], np.ascontiguousarray(scale[:, some]))
        columns = machine.TileSide(
            other.cells[others], *(np.ascontiguousarray(one[:, others]) for one in (other.vectors, scales))
        )
        task = machine.Task(self.kernels[0], self.kernels[-1] + 1, float(self.expansion.fold))
        angles, flat = machine.TileAngles(strip.theta, strip.first - others.start), np.empty((0, 0, 0), dtype)
        room = machine.room_for(cores, columns.cells)
        return int(machine.look_up_tile(cores, room, task, rows, columns, starts, angles, flat, panels))

    def fill_diagonal(self, some: slice, starts: NDArray[np.int64], panels: Array) -> None:
        """The kernels of each of these rows with itself, in the columns ``starts``."""
        panels[: len(self.scales[0]), np.arange(len(starts)), starts] = self.scales[0][:, some] ** 2
