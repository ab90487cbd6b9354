"""Rows of kernel matrices by the expansion of the whole network."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holokern.network.layer_spec import LayerSpec
from holokern.network.layered_rows import LayeredRows
from holokern.network.plan import Points
from holokern.network.whole_cells import Cells, CellSide
from holokern.numeric.panels import Array

__all__ = ["WholeRows"]

_MULTIPLE = 8


@dataclass(frozen=True)
class WholeRows:
    """Two sets of points in the cells of an expansion, and the kernels that are wanted (NNGP 0, NTK 1)."""

    specs: tuple[LayerSpec, ...]
    rows: Points
    columns: Points
    kernels: tuple[int, ...]
    cells: Cells
    sides: tuple[CellSide, CellSide]
    _layered: list[LayeredRows] = field(default_factory=list)
    _lock: Any = field(default_factory=threading.Lock)

    @classmethod
    def of(
        cls, specs: tuple[LayerSpec, ...], rows: Points, columns: Points, kernels: tuple[int, ...], cells: Cells
    ) -> WholeRows:
        """Place the points."""
        first = CellSide.of(cells, rows.length)
        second = first if columns is rows else CellSide.of(cells, columns.length)
        return cls(specs, rows, columns, kernels, cells, (first, second))

    def fill(self, some: slice, starts: NDArray[np.int64], with_diagonal: bool, panels: Array) -> None:
        """The kernels of the rows ``some``; those of row i in the columns from ``starts[i]`` on.

        With ``with_diagonal`` the first of these is the entry of the point with itself.
        """
        from holokern.network.whole_tiles import strip

        cells, (own, other) = self.cells, self.sides
        scale = np.ascontiguousarray(own.scale[:, some])
        if with_diagonal:
            panels[:, np.arange(len(starts)), starts] = own.diagonal[:, some]
            starts = starts + 1
        first = int(starts.min()) // _MULTIPLE * _MULTIPLE
        arguments: list[Any] = [
            *(self._cosines(some, first), first, self.rows.unit[some], self.columns.unit),
            *(cells.boxes.fold, cells.boxes.edges, cells.index, own.cells[some], starts, own.by_point[some]),
            *(
                other.bounds,
                other.vectors,
                cells.cores,
                cells.lengths,
                scale,
                other.scale,
                np.array(self.kernels),
                panels,
            ),
        ]
        if strip(*arguments):
            missing = np.isnan(panels[self.kernels[0]]) & (np.arange(panels.shape[2]) >= starts[:, None])
            self._by_layers().complete(some, missing, panels)

    def _cosines(self, some: slice, first: int) -> Array:
        """Cosines of the angles with the columns from ``first`` on, whose bits depend on the two points alone."""
        height = -(-(some.stop - some.start) // _MULTIPLE) * _MULTIPLE
        return np.asarray(self.rows.padded[some.start : some.start + height] @ self.columns.padded[first:].T)

    def _by_layers(self) -> LayeredRows:
        """For the entries without expansion; made when first needed."""
        with self._lock:
            if not self._layered:
                self._layered.append(LayeredRows.of(self.specs, self.rows, self.columns, self.kernels))
        return self._layered[0]
