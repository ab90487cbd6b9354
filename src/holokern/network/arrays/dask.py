"""Kernels of dask arrays: lazy, block by block with the numpy engine, for matrices beyond one machine."""

from __future__ import annotations

import pickle
from operator import getitem
from typing import TYPE_CHECKING, Any

import numpy as np

from holokern.errors import BadInput
from holokern.network.architecture.kernels import SpanRange
from holokern.network.arguments import different_shapes
from holokern.network.engine.fill import Diagonals
from holokern.network.points import DataRange
from holokern.numeric import Array, one_thread

if TYPE_CHECKING:
    from holokern.network.network import Network

_TALLEST = 4096
_TILE = 128


def dask_matrices(network: Network, X: Any, Y: Any, wanted: tuple[bool, bool]) -> list[Any]:
    """[NNGP or None, NTK or None] as dask arrays; without Y every block below the diagonal mirrors one above.

    Rows keep the chunks of the points, cut to at most 4096. The smallest and the largest norm are found first, so that
    all blocks share one expansion, made once on each worker, and have the bits of the local matrix.
    """
    from dask.base import tokenize

    if wanted[1]:
        network.require_tangent()
    has_rows = bool(network.hidden_layers)
    x = _rows("X", X, has_rows)
    y = x if Y is None else _rows("Y", Y, has_rows)
    if x.shape[1:] != y.shape[1:]:
        raise BadInput(different_shapes(x.shape, y.shape))
    dtype = np.result_type(x.dtype, y.dtype)
    token = tokenize(pickle.dumps(network), x.name, y.name, wanted)
    extent, blocks = f"norms-{token}", f"kernels-{token}"
    zeros = (0,) * (x.ndim - 1)
    inputs = [(array.name, i, *zeros) for array in ([x] if y is x else [x, y]) for i in range(array.numblocks[0])]
    tasks: dict[Any, Any] = {(extent, i): (network.data_range, key) for i, key in enumerate(inputs)}
    tasks[extent] = (_union, [(extent, i) for i in range(len(inputs))], (x.shape[0], y.shape[0]))
    names = [f"{kind}-{token}" for kind in ("nngp", "ntk")]
    for i in range(x.numblocks[0]):
        for j in range(y.numblocks[0]):
            if y is x and i > j:
                tasks.update({(name, i, j): (np.transpose, (name, j, i)) for name in names})
                continue
            other = None if y is x and i == j else (y.name, j, *zeros)
            tasks[blocks, i, j] = (_block, network, wanted, extent, (x.name, i, *zeros), other)
            tasks.update({(name, i, j): (getitem, (blocks, i, j), part) for part, name in enumerate(names)})
    chunks = (x.chunks[0], y.chunks[0])
    return [
        _array(name, tasks, chunks, dtype, [x, y]) if want else None for name, want in zip(names, wanted, strict=True)
    ]


def dask_diagonals(network: Network, X: Any) -> Diagonals:
    """Σ and Θ of every point with itself, as dask arrays of one dimension."""
    x = _rows("X", X, bool(network.hidden_layers))
    axes = list(range(1, x.ndim))
    return Diagonals(
        *(
            x.map_blocks(_diagonal, network, kind, drop_axis=axes, dtype=float, meta=np.empty(0))
            for kind in ("nngp", "ntk")
        )
    )


def _union(parts: list[DataRange] | list[SpanRange], shape: tuple[int, int]) -> DataRange | SpanRange:
    return type(parts[0]).union(parts, shape)  # type: ignore[arg-type]


def _rows(name: str, points: Any, has_rows: bool) -> Any:
    """A dask array of floats whose chunks are whole rows, or whole inputs of layers."""
    import dask.array

    da: Any = dask.array
    array = points if isinstance(points, da.Array) else da.from_array(np.asarray(points))
    if has_rows and array.ndim != 2:
        raise BadInput(f"{name} has shape {array.shape}; pass one row for each point, for one feature x[:, None]")
    if array.dtype.kind not in "fiub":
        raise BadInput(f"{name} is not an array of real numbers; pass one row for each point")
    if any(np.isnan(size) for size in array.shape):
        raise BadInput(f"the chunks of {name} have unknown sizes; call its compute_chunk_sizes() first")
    heights = [part for size in array.chunks[0] for part in _cut(size)]
    array = array.rechunk((tuple(heights), *[-1] * (array.ndim - 1)))
    return array if array.dtype in (np.float32, np.float64) else array.astype(float)


def _cut(size: int) -> list[int]:
    """A chunk cut into parts that are not too tall, whole tiles of the engine all but the last."""
    parts = max(1, -(-size // _TALLEST))
    height = max(1, -(-size // (parts * _TILE)) * _TILE)
    return [min(height, size - start) for start in range(0, size, height)] or [0]


def _array(name: str, tasks: dict[Any, Any], chunks: Any, dtype: Any, inputs: list[Any]) -> Any:
    import dask.array
    from dask.highlevelgraph import HighLevelGraph

    da: Any = dask.array
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=inputs)
    return da.Array(graph, name, chunks, dtype=dtype, meta=np.empty((0, 0), dtype))


def _block(
    network: Network, wanted: tuple[bool, bool], data: DataRange | SpanRange, x: Array, y: Array | None
) -> list[Array | None]:
    """One block by one thread; dask has threads or processes of its own."""
    with one_thread():
        return network.part(x, y, data, wanted)


def _diagonal(points: Array, network: Network, kind: str) -> Array:
    return np.asarray(getattr(network.diagonals(points), kind))
