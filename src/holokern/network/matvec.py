"""Products of a kernel matrix with vectors, tile by tile: the matrix is never stored."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from holokern.errors import BadInput
from holokern.numeric.blas import one_thread
from holokern.numeric.panels import Array
from holokern.numeric.unit_vectors import unit_vectors
from holokern.progress import report

if TYPE_CHECKING:
    from holokern.network.network import Network

__all__ = ["TILE", "matvec"]

TILE = 2048
"""Rows and columns of a tile: 32 MB, so that planning a tile costs little beside it."""


def matvec(
    network: Network,
    X: Array,
    v: Any,
    kernel: Literal["ntk", "nngp"] = "ntk",
    threads: int | None = None,
    tile: int = TILE,
) -> Array:
    """K(X, X) v for a vector or a matrix v; a tile above the diagonal serves its mirror image too.

    The points are sorted by length first, so that those of a tile have similar deviations, which makes it cheaper.
    """
    if kernel not in ("ntk", "nngp"):
        raise BadInput(f"kernel = {kernel!r}; choose 'ntk' or 'nngp'")
    vectors = np.asarray(v, dtype=float)
    if vectors.ndim not in (1, 2) or len(vectors) != len(X):
        raise BadInput(f"v has shape {vectors.shape} and X has {len(X)} rows; pass one entry or one row for each point")
    order = np.argsort(unit_vectors(X)[1], kind="stable") if network.hidden_layers else np.arange(len(X))
    points, columns = X[order], (vectors if vectors.ndim == 2 else vectors[:, None])[order]
    data = network.data_range(points)
    wanted = (kernel == "nngp", kernel == "ntk")
    room = np.empty(min(tile, len(X)) ** 2)
    result = np.zeros_like(columns)
    starts = range(0, len(X), tile)
    pairs = list(combinations_with_replacement(starts, 2))
    # Threads of BLAS wait by spinning, and would take the processors from those that fill the next tile.
    with one_thread():
        for done, (i, j) in enumerate(pairs, start=1):
            rows, others = points[i : i + tile], points[j : j + tile]
            out = room[: len(rows) * len(others)].reshape(len(rows), len(others))
            network.part(rows, None if i == j else others, data, wanted, out=(out, out), threads=threads)
            result[i : i + tile] += out @ columns[j : j + tile]
            if i != j:
                result[j : j + tile] += out.T @ columns[i : i + tile]
            report("kernel tiles", done, len(pairs))
    back = np.empty_like(result)
    back[order] = result
    return back.reshape(vectors.shape)
