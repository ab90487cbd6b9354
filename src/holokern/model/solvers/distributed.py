"""The product of a kernel matrix with vectors on the workers of `dask.distributed`.

Each tile on or above the diagonal is one task that returns two small products. The points are on every worker, the
vectors are sent with each product. A worker that dies costs the tiles it was working on: dask gives them to the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from holokern.model.kernel import Array, NetworkKernel
from holokern.numeric.blas import one_thread
from holokern.progress import report

__all__ = ["DistributedKernel"]

# Tiles of 4096 × 4096 take seconds and 130 MB: few tasks, and little lost with a worker.
_TILE = 4096
# A task may lose so many workers before it counts as their murderer.
_LIVES = 10


@dataclass(frozen=True)
class DistributedKernel:
    """K(x, x) times vectors, tile by tile on workers.

    Attributes
    ----------
    client
        A ``distributed.Client``.
    kernel, points
        The kernel and the points.
    tile
        Rows and columns of a tile.
    """

    client: Any
    kernel: NetworkKernel
    points: Array
    tile: int = _TILE
    sent: Any = field(init=False)

    def __post_init__(self) -> None:
        self.kernel.diagonal(self.points)  # refuses points whose kernel overflows
        object.__setattr__(self, "sent", self._send())

    def _send(self) -> Any:
        return self.client.scatter((self.kernel, self.points), broadcast=True, hash=False)

    def __matmul__(self, vectors: Array) -> Array:
        """The product; what a lost worker held is sent and computed again."""
        from distributed import as_completed

        starts = range(0, len(self.points), self.tile)
        left = set(combinations_with_replacement(starts, 2))
        total = len(left)
        result = np.zeros_like(vectors)
        while left:
            data = self.client.scatter(vectors, broadcast=True, hash=False)
            futures = {
                self.client.submit(_tile, self.sent, data, i, j, self.tile, pure=False, retries=_LIVES): (i, j)
                for i, j in sorted(left)
            }
            for future in as_completed(list(futures), raise_errors=False):  # type: ignore[no-untyped-call]
                if future.status != "finished":
                    if future.status == "error":
                        future.result()  # what a worker raised is raised here
                    continue  # the data went with the worker: it is sent again in the next round
                i, j = futures[future]
                upper, lower = future.result()
                result[i : i + self.tile] += upper
                if lower is not None:
                    result[j : j + self.tile] += lower
                left.discard((i, j))
                report("kernel tiles on workers", total - len(left), total)
            if left:
                object.__setattr__(self, "sent", self._send())
        return result


def _tile(sent: tuple[NetworkKernel, Array], vectors: Array, i: int, j: int, tile: int) -> tuple[Array, Array | None]:
    """K(xᵢ, xⱼ) vⱼ, and off the diagonal K(xⱼ, xᵢ) vᵢ; runs on a worker."""
    kernel, points = sent
    data = kernel.network.data_range(points)
    rows, columns = points[i : i + tile], points[j : j + tile]
    wanted = kernel.kind == "nngp", kernel.kind == "ntk"
    with one_thread():
        found = kernel.network.part(rows, None if i == j else columns, data, wanted)
        matrix = found[0] if wanted[0] else found[1]
        return matrix @ vectors[j : j + tile], None if i == j else matrix.T @ vectors[i : i + tile]
