"""Products of a kernel matrix with vectors: the matrix is never stored."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from holokern.errors import BadInput
from holokern.network.engine.multiply import Multiplier
from holokern.numeric import Array, one_thread, unit_vectors
from holokern.progress import report

if TYPE_CHECKING:
    from holokern.network.network import Network

TILE = 1024
"""Rows of a tile."""


def by_length(network: Network, X: Array) -> NDArray[np.intp]:
    """The order of the points in which tiles are cheap: those of a tile have similar deviations."""
    return np.argsort(unit_vectors(X)[1], kind="stable") if network.hidden_layers else np.arange(len(X))


@dataclass(eq=False)
class KernelProduct:
    """The kernel matrix of points as something to multiply with; entries beside the diagonal serve twice.

    Attributes
    ----------
    network, points, kernel
        The network, the points, and ``"ntk"`` or ``"nngp"``.
    tile
        Rows of a tile of a network of layers; a fully connected one works in strips of rows.
    """

    network: Network
    points: Array
    kernel: Literal["ntk", "nngp"] = "ntk"
    tile: int = TILE

    def __post_init__(self) -> None:
        if self.kernel not in ("ntk", "nngp"):
            raise BadInput(f"kernel = {self.kernel!r}; choose 'ntk' or 'nngp'")
        if self.kernel == "ntk":
            self.network.require_tangent()
        self._multipliers: dict[bool, Multiplier] = {}

    def times(self, v: Any, threads: int | None = None, single: bool = False) -> Array:
        """The product with a vector or a matrix; with ``single`` entries of single precision will do."""
        vectors, x = np.asarray(v, dtype=float), self.points
        if vectors.ndim not in (1, 2) or len(vectors) != len(x):
            raise BadInput(
                f"v has shape {vectors.shape} and X has {len(x)} rows; pass one entry or one row for each point"
            )
        columns = vectors if vectors.ndim == 2 else vectors[:, None]
        # Threads of BLAS wait by spinning, and would take the processors from those that make the next entries.
        with one_thread():
            if not len(x):
                return vectors.copy()
            found = self._in_strips(columns, threads, single) if self.network.hidden_layers else self._in_tiles(columns)
        return found.reshape(vectors.shape)

    def _in_strips(self, vectors: Array, threads: int | None, single: bool) -> Array:
        if single not in self._multipliers:
            points = self.network._points(self.points)
            layers, number = self.network.hidden_layers, int(self.kernel == "ntk")
            self._multipliers[single] = Multiplier(layers, points, number, single)
        return self._multipliers[single].times(vectors, threads)

    def _in_tiles(self, vectors: Array) -> Array:
        x, data = self.points, self.network.data_range(self.points)
        wanted = (self.kernel == "nngp", self.kernel == "ntk")
        result = np.zeros_like(vectors)
        parts = [slice(i, min(i + self.tile, len(x))) for i in range(0, len(x), self.tile)]
        tiles = list(combinations_with_replacement(parts, 2))
        for done, (some, others) in enumerate(tiles, start=1):
            matrix = self.network.part(x[some], None if some == others else x[others], data, wanted)[wanted[1]]
            result[some] += matrix @ vectors[others]
            if some != others:
                result[others] += matrix.T @ vectors[some]
            report("kernel tiles", done, len(tiles))
        return result
