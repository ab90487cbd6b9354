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
            scales.append(np.asarray(expansion.scales(points.length), dtype=cells.dtype))
        return cls(rows, columns, kernels, expansion, cells, (sides[0], sides[-1]), (scales[0], scales[-1]))

    def fill(self, strip: Strip, starts: NDArray[np.int64], panels: Array) -> int:
        """The kernels of a strip that are NaN, of row i in its columns from the one with the number ``starts[i]`` on.

        Returns how many entries have no expansion; they stay NaN.
        """
        parts = strip.some, strip.others
        scales = [np.ascontiguousarray(scale[:, part]) for scale, part in zip(self.scales, parts, strict=True)]
        task = machine.Task(self.kernels[0], self.kernels[-1] + 1, float(self.expansion.fold))
        angles = machine.TileAngles(strip.theta, strip.first - strip.others.start, starts)
        values = machine.TileValues(np.empty((0, 0, 0), self.cells.dtype), panels)
        return machine.look_up(self.cells, self.sides, parts, (scales[0], scales[1]), task, angles, values)

    def fill_diagonal(self, some: slice, starts: NDArray[np.int64], panels: Array) -> None:
        """The kernels of each of these rows with itself, in the columns ``starts``."""
        panels[: len(self.scales[0]), np.arange(len(starts)), starts] = self.scales[0][:, some] ** 2
