"""Products of a kernel matrix with vectors, tile by tile: the matrix is never stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from holokern.errors import BadInput
from holokern.numeric import Array, one_thread, unit_vectors
from holokern.progress import report

if TYPE_CHECKING:
    from holokern.network.network import Network

TILE = 1024
"""Rows of a tile."""

_WIDTH = 8
"""Columns for each row of a tile, which has 64 MB then: the few pairs of a strip of rows that no table of the network
serves are computed together, which costs little beside a long strip."""


def by_length(network: Network, X: Array) -> NDArray[np.intp]:
    """The order of the points in which tiles are cheap: those of a tile have similar deviations."""
    return np.argsort(unit_vectors(X)[1], kind="stable") if network.hidden_layers else np.arange(len(X))


def matvec(
    network: Network,
    X: Array,
    v: Any,
    kernel: Literal["ntk", "nngp"] = "ntk",
    threads: int | None = None,
    tile: int = TILE,
) -> Array:
    """K(X, X) v for a vector or a matrix v; a tile beside the diagonal serves its mirror image too."""
    if kernel not in ("ntk", "nngp"):
        raise BadInput(f"kernel = {kernel!r}; choose 'ntk' or 'nngp'")
    vectors = np.asarray(v, dtype=float)
    if vectors.ndim not in (1, 2) or len(vectors) != len(X):
        raise BadInput(f"v has shape {vectors.shape} and X has {len(X)} rows; pass one entry or one row for each point")
    order = by_length(network, X)
    points, columns = X[order], (vectors if vectors.ndim == 2 else vectors[:, None])[order]
    data = network.data_range(points)
    wanted = (kernel == "nngp", kernel == "ntk")
    height, width = min(tile, len(X)), min(_WIDTH * tile, len(X))
    room = np.empty(height * width)
    result = np.zeros_like(columns)
    tiles = [
        (slice(i, i + height), slice(*ends))
        for i in range(0, len(X), height or 1)
        for ends in ((i, i + height), *((j, j + width) for j in range(i + height, len(X), width)))
    ]
    # Threads of BLAS wait by spinning, and would take the processors from those that fill the next tile.
    with one_thread():
        for done, (some, others) in enumerate(tiles, start=1):
            rows, second = points[some], None if some == others else points[others]
            out = room[: len(rows) * len(rows if second is None else second)].reshape(len(rows), -1)
            network.part(rows, second, data, wanted, out=(out, out), threads=threads)
            result[some] += out @ columns[others]
            if second is not None:
                result[others] += out.T @ columns[some]
            report("kernel tiles", done, len(tiles))
    back = np.empty_like(result)
    back[order] = result
    return back.reshape(vectors.shape)
