"""The expansion of a network cut into small cells, where few functions of each deviation do, for the machine code."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from holokern.dual.compiled_factors import narrowing
from holokern.network.layer_spec import LayerSpec
from holokern.network.whole import Boxes, Scope, boxes_of
from holokern.numeric.panels import Array

__all__ = ["CellSide", "Cells", "cells_of"]

_POINTS_A_CELL = 128
_MOST_CELLS = 16
_DROPPED = 2e-15
_UNROLLED = 4

Counts = NDArray[np.int64]

_lock = threading.Lock()


@dataclass(frozen=True)
class Cells:
    """Small cells of equal width in log c, and one core of coefficients for two cells and an interval of angles.

    Attributes
    ----------
    boxes
        The expansion on panels.
    each
        Cells in a panel.
    index
        The number of the core for two cells and an interval, -1 where the expansion does not serve.
    cores, lengths
        For both kernels: cores[kernel, n, p, q, m], zero where it is negligible, and how many m each q of a core needs.
    """

    boxes: Boxes
    each: int
    index: Counts
    cores: Array
    lengths: Counts

    @property
    def functions(self) -> int:
        """How many Chebyshev polynomials of the place in a cell are used."""
        return int(self.cores.shape[2])


@dataclass(frozen=True)
class CellSide:
    """The points of one side of the matrix, sorted by length, in their cells.

    Attributes
    ----------
    bounds
        ``bounds[k]`` is the first point in cell k or later.
    cells
        The cell of every point.
    vectors, by_point
        Chebyshev polynomials of the place in the cell, one row a function, and one row a point.
    scale
        What the entries are multiplied by, one row a kernel.
    diagonal
        The entries of the points with themselves, one row a kernel.
    """

    bounds: Counts
    cells: Counts
    vectors: Array
    by_point: Array
    scale: Array
    diagonal: Array

    @classmethod
    def of(cls, cells: Cells, length: Array) -> CellSide:
        """Place sorted lengths; zeros are in no cell. A scale-free network has one cell, for any order."""
        boxes, count = cells.boxes, cells.boxes.panels * cells.each
        zero = np.zeros(len(length), dtype=bool) if boxes.scale_free else length == 0
        safe = np.where(zero, np.exp(boxes.ends[0]), length)
        panel, place = boxes.place(safe)
        part = np.minimum(((place + 1) / 2 * cells.each).astype(np.int64), cells.each - 1)
        local = np.clip((place + 1) * cells.each - 2 * part - 1, -1.0, 1.0)
        number = np.where(zero, -1, panel * cells.each + part)
        by_point = np.ascontiguousarray(np.polynomial.chebyshev.chebvander(local, cells.functions - 1))
        bounds = np.searchsorted(number, np.arange(count + 1)).astype(np.int64)
        scale = np.ascontiguousarray(np.where(zero, 0.0, boxes.scale(safe, panel)))
        diagonal = scale**2 * boxes.diagonal(panel, place)
        return cls(bounds, number, np.ascontiguousarray(by_point.T), by_point, scale, diagonal)


def cells_of(specs: tuple[LayerSpec, ...], scope: Scope, size: int) -> Cells | None:
    """The cells for about ``size`` points, or None if the network has no expansion."""
    # One at a time: threads that need the same expansion wait for it.
    with _lock:
        boxes = boxes_of(specs, scope)
        if boxes is None:
            return None
        # A power of two of cells in all, so that data of similar size share them.
        wanted = 2 ** round(np.log2(min(max(size / _POINTS_A_CELL, 1), _MOST_CELLS)))
        return _cells(_Same(boxes), 1 if len(boxes.ends) == 1 else max(1, -(-wanted // boxes.panels)))


@dataclass(frozen=True)
class _Same:
    """Boxes that are equal to themselves only."""

    boxes: Boxes

    def __hash__(self) -> int:
        return id(self.boxes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.boxes is self.boxes


@lru_cache(maxsize=8)
def _cells(same: _Same, each: int) -> Cells:
    boxes = same.boxes
    count = boxes.panels * each
    index = np.full((count, count, len(boxes.edges) - 1), -1, dtype=np.int64)
    parts = [(2 * i / each - 1, 2 * (i + 1) / each - 1) for i in range(each)]
    found: list[list[Array]] = [[], []]
    for (p, q, t), tensors in boxes.tensors.items():
        to_cells = np.stack([narrowing(len(tensors[0]), part) for part in parts])
        for first, second in dict.fromkeys([(p, q), (q, p)]):
            numbers = len(found[0]) + np.arange(each * each).reshape(each, each)
            index[first * each : (first + 1) * each, second * each : (second + 1) * each, t] = numbers
            for cores, tensor in zip(found, tensors, strict=True):
                turned = tensor if (first, second) == (p, q) else tensor.transpose(1, 0, 2)
                moved = np.einsum("ipa,pqm,jqb->ijabm", to_cells, turned, to_cells, optimize=True)
                cores.extend(_without_tails(moved.reshape(-1, *moved.shape[2:])))
    return Cells(boxes, each, index, *_packed(found))


def _without_tails(cores: Array) -> Array:
    """Cores with as many functions of either deviation as one of them needs."""
    heavy = np.abs(cores) >= _DROPPED
    used = 1 + max(int(np.max(np.nonzero(np.any(heavy, axis=axes))[0], initial=0)) for axes in ((0, 2, 3), (0, 1, 3)))
    return cores[:, :used, :used].copy()


def _packed(found: list[list[Array]]) -> tuple[Array, Counts]:
    """All cores in one array without what is negligible, and the lengths of their rows in fours."""
    everything = [core for cores in found for core in cores]
    rank, degree = (max(core.shape[axis] for core in everything) for axis in (0, 2))
    whole = np.zeros((len(everything), rank, rank, -(-degree // _UNROLLED) * _UNROLLED))
    for place, core in zip(whole, everything, strict=True):
        place[: core.shape[0], : core.shape[1], : core.shape[2]] = np.where(np.abs(core) < _DROPPED, 0.0, core)
    terms = whole != 0
    needed = np.max(np.where(np.any(terms, axis=1), np.arange(1, whole.shape[3] + 1), 0), axis=2)
    lengths = -(-needed // _UNROLLED) * _UNROLLED
    kept = whole[..., : int(np.max(lengths, initial=_UNROLLED))]
    kept, lengths = (array.reshape(2, -1, *array.shape[1:]) for array in (kept, lengths))
    return np.ascontiguousarray(kept), np.ascontiguousarray(lengths, dtype=np.int64)
