"""The product of a kernel matrix with vectors on the workers of `dask.distributed`.

Each tile on or above the diagonal is one task that brings its points and vectors along and returns two small products.
Nothing lives on a worker alone, so one that dies costs the tiles it was working on: dask gives them to the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from holokern.model.kernel import Array, NetworkKernel
from holokern.network import by_length
from holokern.numeric import one_thread
from holokern.progress import report

_TILE = 4096  # Tiles of 4096 × 4096 take seconds and 130 MB: few tasks, and little lost with a worker.
_LIVES = 10  # A task may lose so many workers before it counts as their murderer.


@dataclass(frozen=True)
class DistributedKernel:
    """K(x, x) times vectors, tile by tile on workers."""

    client: Any  # a ``distributed.Client``
    # the kernel and the points
    kernel: NetworkKernel
    points: Array
    tile: int = _TILE  # rows and columns of a tile

    def __post_init__(self) -> None:
        self.kernel.diagonal(self.points)  # refuses points whose kernel overflows

    def __matmul__(self, vectors: Array) -> Array:
        """The product."""
        return self._times(vectors, False)

    def in_single_precision(self, vectors: Array) -> Array:
        """The same with entries of single precision."""
        return self._times(vectors, True)

    def _times(self, vectors: Array, single: bool) -> Array:
        from distributed import as_completed

        kernel, data = self.kernel, self.kernel.network.data_range(self.points)
        order = by_length(kernel.network, self.points)
        parts = [order[start : start + self.tile] for start in range(0, len(order), self.tile)]
        pairs = {}
        for rows, columns in combinations_with_replacement(parts, 2):
            other = None if rows is columns else (self.points[columns], vectors[columns])
            task = self.client.submit(
                _tile, kernel, data, self.points[rows], vectors[rows], other, single, pure=False, retries=_LIVES
            )
            pairs[task] = rows, columns
        result = np.zeros_like(vectors)
        finished = as_completed(list(pairs), with_results=True)  # type: ignore[no-untyped-call]
        for done, (task, (own, mirrored)) in enumerate(finished, start=1):
            rows, columns = pairs[task]
            result[rows] += own
            if mirrored is not None:
                result[columns] += mirrored
            report("kernel tiles on workers", done, len(pairs))
        return result


def _tile(
    kernel: NetworkKernel, data: Any, rows: Array, vectors: Array, other: tuple[Array, Array] | None, single: bool
) -> tuple[Array, Array | None]:
    """K(x, y) w and K(y, x) v, or K(x, x) v for a tile on the diagonal; runs on a worker."""
    wanted, dtype = (kernel.kind == "nngp", kernel.kind == "ntk"), np.float32 if single else np.float64
    others = rows if other is None else other[0]
    with one_thread():
        out = np.empty((len(rows), len(others)), dtype)
        kernel.network.part(rows, None if other is None else others, data, wanted, out=(out, out), single=single)
        own = out @ np.asarray(vectors if other is None else other[1], dtype)
        mirrored = None if other is None else np.asarray(out.T @ np.asarray(vectors, dtype), dtype=float)
        return np.asarray(own, dtype=float), mirrored
