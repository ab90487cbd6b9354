"""Rows of kernel matrices layer by layer, in tiles that stay in the cache; right also where points nearly meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holokern.network.layer_spec import LayerSpec
from holokern.network.plan import Points, plan_layers
from holokern.network.tile_layer import TileLayer
from holokern.numeric.panels import Array

__all__ = ["LayeredRows", "first_tile"]

_WIDTH = 128


def first_tile(rows: Points, columns: Points, some: slice, others: slice) -> tuple[Array, Array, Array]:
    """θ, Σ⁰ and again Σ⁰ of a tile."""
    from holokern.network.tile_angles import first_angles

    units = rows.unit[some], columns.unit[others]
    theta = units[0] @ units[1].T
    sigma, tangent = np.empty_like(theta), np.empty_like(theta)
    first_angles(theta, sigma, tangent, *units, rows.length[some], columns.length[others])
    return theta, sigma, tangent


@dataclass(frozen=True)
class LayeredRows:
    """Two sets of points, the layers, and the kernels that are wanted (NNGP 0, NTK 1)."""

    rows: Points
    columns: Points
    kernels: tuple[int, ...]
    layers: list[TileLayer]

    @classmethod
    def of(cls, specs: tuple[LayerSpec, ...], rows: Points, columns: Points, kernels: tuple[int, ...]) -> LayeredRows:
        """Compile the layers for these points."""
        plans = plan_layers(specs, (rows.length, columns.length))
        return cls(rows, columns, kernels, [TileLayer.of(plan, _WIDTH) for plan in plans])

    def fill(self, some: slice, first: int, panels: Array) -> None:
        """The kernels of the rows ``some``, in the columns from ``first`` on."""
        width = len(self.columns.length)
        for index in range(first // _WIDTH, -(-width // _WIDTH)):
            self._tile(some, index, panels, None)

    def complete(self, some: slice, missing: NDArray[np.bool_], panels: Array) -> None:
        """The entries of the rows ``some`` that are missing."""
        for index in np.unique(np.nonzero(missing.any(axis=0))[0] // _WIDTH):
            self._tile(some, int(index), panels, missing)

    def _tile(self, some: slice, index: int, panels: Array, wanted: NDArray[np.bool_] | None) -> None:
        others = slice(index * _WIDTH, min((index + 1) * _WIDTH, len(self.columns.length)))
        tile = first_tile(self.rows, self.columns, some, others)
        for layer in self.layers:
            layer.apply(index, some, tile, 1 in self.kernels)
        for kernel in self.kernels:
            where = True if wanted is None else wanted[:, others]
            np.copyto(panels[kernel][:, others], tile[1 + kernel], where=where)
