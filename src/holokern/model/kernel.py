"""`NetworkKernel`: one of the two kernels of a network as a function of data, with the checks that learning needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from holokern.errors import BadInput
from holokern.network import Network
from holokern.numeric import Array

Kind = Literal["ntk", "nngp"]

_LARGEST = 1e150  # Squares of sums of a few such lengths stay below the largest float.
# 32 MB: a block of features or of a kernel stays small beside the data, and large enough for BLAS.
_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True)
class NetworkKernel:
    """The NTK or the NNGP kernel of a network.

    >>> from holokern.network import Network
    >>> kernel = NetworkKernel(Network("relu", depth=1), "nngp")
    >>> kernel(np.array([[3.0, 4.0]])).round(12).tolist(), kernel.diagonal(np.array([[3.0, 4.0]])).round(12).tolist()
    ([[25.0]], [25.0])
    """

    network: Network  # the infinitely wide network
    kind: Kind  # ``"ntk"`` or ``"nngp"``

    def __call__(self, x: Array, y: Array | None = None) -> Array:
        """The matrix between the rows of ``x`` and of ``y``."""
        left, right = self.checked(x), None if y is None else self.checked(y)
        return _finite(np.asarray(getattr(self.network, self.kind)(left, right), dtype=float))

    def diagonal(self, x: Array) -> Array:
        """The kernel of each row of ``x`` with itself."""
        return _finite(np.asarray(getattr(self.network.diagonals(self.checked(x)), self.kind), dtype=float))

    def checked(self, x: Array) -> Array:
        """The rows, refused when their squares overflow, and zero when their squares underflow."""
        flat = x.reshape(len(x), -1)
        lengths = np.max(np.abs(flat), axis=1, initial=0.0) * np.sqrt(flat.shape[1])
        largest = float(np.max(lengths, initial=0.0))
        if largest > _LARGEST:
            raise BadInput(
                f"the features reach {largest:.1g}, so inner products overflow float64; "
                "scale them first, for example with sklearn.preprocessing.StandardScaler"
            )
        vanishing = lengths < 1 / _LARGEST
        return np.where(vanishing.reshape(-1, *[1] * (x.ndim - 1)), 0.0, x) if np.any(vanishing) else x


def alike(array: Array, like: Any) -> Any:
    """Numbers as an array of the kind, type and place of ``like``, which numpy, JAX or torch made."""
    if isinstance(like, np.ndarray):
        return array
    from array_api_compat import array_namespace, device

    return array_namespace(like).asarray(array, dtype=like.dtype, device=device(like))


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of ``rows`` whose blocks with ``columns`` columns stay near 32 MB.

    >>> [(part.start, part.stop) for part in row_blocks(5, 1 << 21)]
    [(0, 2), (2, 4), (4, 5)]
    """
    height = max(1, _BLOCK_ENTRIES // max(columns, 1))
    for start in range(0, rows, height):
        yield slice(start, min(start + height, rows))


def _finite(values: Array) -> Array:
    if not np.all(np.isfinite(values)):
        raise BadInput(
            "the kernel of this activation overflows float64 on these features; "
            "scale them first, for example with sklearn.preprocessing.StandardScaler"
        )
    return values
