"""Products of a kernel matrix with vectors: the matrix is never stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from holokern.errors import BadInput
from holokern.network.engine.fill import AFTER, Kept, Part, Way, each_strip
from holokern.network.plan import plan_for
from holokern.network.points import DataRange, Points
from holokern.numeric import Array, one_thread, unit_vectors
from holokern.progress import report

if TYPE_CHECKING:
    from holokern.network.network import Network

TILE = 1024
"""Rows of a tile."""

_WIDTH = 8192
"""Columns of a strip: its entries stay in the second cache, and in single precision few of them are added up before
the sums go on in double precision."""

Sums = list[tuple[slice, Array]]
"""What to add to some rows of a product."""


def by_length(network: Network, X: Array) -> NDArray[np.intp]:
    """The order of the points in which tiles are cheap: those of a tile have similar deviations."""
    return np.argsort(unit_vectors(X)[1], kind="stable") if network.hidden_layers else np.arange(len(X))


@dataclass(eq=False)
class KernelProduct:
    """The kernel matrix of points as something to multiply with; entries beside the diagonal serve twice."""

    network: Network
    points: Array
    kernel: Literal["ntk", "nngp"] = "ntk"
    tile: int = TILE  # rows of a tile of a network of layers; a fully connected one works in strips of rows
    # Entries in single precision that no table of the network serves, if they are few in their strip: there are many
    # products, and each of these entries costs a hundred times another one.
    _kept: Kept = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.kernel not in ("ntk", "nngp"):
            raise BadInput(f"kernel = {self.kernel!r}; choose 'ntk' or 'nngp'")
        if self.kernel == "ntk":
            self.network.require_tangent()

    @cached_property
    def _sorted(self) -> Points:
        return self.network._points(self.points)

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
        layers, points, kernel = self.network.hidden_layers, self._sorted, int(self.kernel == "ntk")
        data = DataRange.of(points.length)
        way = Way(layers, data, plan_for(layers, data).engine, single)
        if way.single:
            points = points.to_single()
        factors = np.asarray(vectors[points.order], dtype=points.padded.dtype)
        result = np.zeros(vectors.shape)

        def multiplied(some: slice, others: slice, starts: NDArray[np.int64], panels: Array) -> Sums:
            """A strip serves its mirror image too, but for the pairs on the diagonal."""
            panel, on_diagonal = panels[kernel], others.start <= some.start
            for row, start in enumerate(starts if on_diagonal else ()):
                panel[row, :start] = 0.0
            own = panel @ factors[others]
            if on_diagonal:
                panel[np.arange(len(starts)), starts] = 0.0
            return [(some, own), (others, panel.T @ factors[some])]

        kept = self._kept if way.single else None
        # Added up in the order of the rows, so that the bits do not depend on the threads.
        for found in each_strip(Part(way, points, points, AFTER), (kernel,), multiplied, threads, _WIDTH, kept):
            for places, values in chain.from_iterable(found):
                result[places] += values
        return result[points.rank]

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
