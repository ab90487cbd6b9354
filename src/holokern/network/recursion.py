"""Kernel matrices tile by tile: Θ ← Θ·Σ̇ʰ + Σʰ from Θ = Σ⁰ [SakodaTakayama2024, Sec. 2], [Jacot2018].

Rows of the sorted matrix are finished in strips; each strip goes through all layers tile by tile in the cache, and
threads take strips. When X = Y only one half is computed, and mirrored.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holokern import progress
from holokern.dual.compiled import homogeneity
from holokern.network.layer_spec import LayerSpec
from holokern.network.layered_rows import LayeredRows, first_tile
from holokern.network.plan import Points, plan_layers
from holokern.network.tile_layer import TileLayer
from holokern.network.whole import Scope
from holokern.network.whole_cells import Cells, cells_of
from holokern.network.whole_rows import WholeRows
from holokern.numeric.blas import one_thread
from holokern.numeric.panels import Array

__all__ = ["Among", "Diagonals", "diagonals", "fill", "layer_matrices"]

_HEIGHT = 64
_FEW = 20_000
_STRIPS_A_REPORT = 8

Outs = tuple[Array | None, Array | None]


@dataclass(frozen=True)
class Diagonals:
    """Σ and Θ of every point with itself."""

    nngp: Array
    ntk: Array


def fill(
    specs: tuple[LayerSpec, ...],
    rows: Points,
    columns: Points | None,
    nngp: Array | None,
    ntk: Array | None,
    threads: int | None,
    among: Among | None = None,
) -> None:
    """Write the matrices; ``columns`` None means that they are the rows, ``among`` the data that these are part of."""
    among = among or Among.of(rows.length, *(() if columns is None else (columns.length,)))
    other = rows if columns is None else columns
    cells = _expansion(specs, among, rows, other)
    outs = nngp, ntk
    if columns is None:
        _fill_part(_Part(specs, rows, other, cells, _AFTER), outs, threads)
        _mirror(outs, rows, threads)
    elif cells is None or cells.boxes.scale_free:
        _fill_part(_Part(specs, rows, other, cells, _ALL), outs, threads)
    else:
        # Every pair is computed with the shorter point as its row, so that its bits do not depend on the side.
        # The first part may write anything where the second will.
        _fill_part(_Part(specs, rows, other, cells, _NOT_SHORTER), outs, threads)
        turned = None if nngp is None else nngp.T, None if ntk is None else ntk.T
        _fill_part(_Part(specs, other, rows, cells, _LONGER), turned, threads)


@dataclass(frozen=True)
class Among:
    """The data that a matrix is a part of: the same for all parts, so that they share one expansion and its bits.

    Attributes
    ----------
    low, high
        The smallest and the largest positive deviation; infinity and 0 if there is none.
    size
        The number of points.
    pairs
        The number of entries.
    """

    low: float
    high: float
    size: int
    pairs: int

    @classmethod
    def of(cls, *lengths: Array) -> Among:
        """The data of one or two sides."""
        positive = [one[one > 0] for one in lengths]
        low = min((float(np.min(one)) for one in positive if len(one)), default=np.inf)
        high = max((float(np.max(one)) for one in positive if len(one)), default=0.0)
        return cls.union([cls(low, high, 0, 0)], (len(lengths[0]), len(lengths[-1])))

    @classmethod
    def union(cls, parts: list[Among], shape: tuple[int, int]) -> Among:
        """The data of a matrix of this shape, from parts of it."""
        low, high = min(part.low for part in parts), max(part.high for part in parts)
        return cls(low, high, max(shape), shape[0] * shape[1])


def _expansion(specs: tuple[LayerSpec, ...], among: Among, rows: Points, columns: Points) -> Cells | None:
    """The expansion of the network, if it pays and serves."""
    if among.pairs < _FEW or among.high == 0:
        return None
    cells = cells_of(specs, Scope.around(among.low, among.high), among.size)
    if cells is not None and cells.boxes.scale_free and not (rows.length.all() and columns.length.all()):
        # The limit of small vectors is not zero if σ(0) is not.
        return None if any(homogeneity(spec.activation) == 0 for spec in specs) else cells
    return cells


_ALL, _AFTER, _NOT_SHORTER, _LONGER = range(4)


@dataclass(frozen=True)
class _Part:
    """A part of a matrix: for each row the columns that a rule names, which are the last ones of the sorted columns."""

    specs: tuple[LayerSpec, ...]
    rows: Points
    columns: Points
    cells: Cells | None
    rule: int

    def starts(self) -> NDArray[np.int64]:
        """The first column of each row."""
        count = len(self.rows.length)
        if self.rule == _ALL:
            return np.zeros(count, dtype=np.int64)
        if self.rule == _AFTER:
            return np.arange(count)
        side: Literal["left", "right"] = "left" if self.rule == _NOT_SHORTER else "right"
        return np.searchsorted(self.columns.length, self.rows.length, side=side)


def _fill_part(part: _Part, outs: Outs, threads: int | None) -> None:
    """Write rows in strips; threads take strips."""
    from holokern.network.write_rows import write_rows

    starts, count, width = part.starts(), len(part.rows.length), len(part.columns.length)
    if starts.min() >= width:
        return
    kernels = tuple(kernel for kernel, out in enumerate(outs) if out is not None)
    arguments = part.specs, part.rows, part.columns, kernels
    whole = None if part.cells is None else WholeRows.of(*arguments, part.cells)
    # Rows that go layer by layer: all of them, or the zero vectors, which come first.
    by_layers = count
    if whole is not None:
        by_layers = 0 if whole.cells.boxes.scale_free else int(np.sum(part.rows.length == 0))
    layered = LayeredRows.of(*arguments) if by_layers else None
    rank = part.columns.rank if part.columns.is_sorted else part.columns.rank[:0]
    room = threading.local()

    def strip(start: int) -> None:
        some = slice(start, min(start + _HEIGHT, by_layers if start < by_layers else count))
        if starts[some].min() >= width:
            return
        if not hasattr(room, "panels"):
            room.panels = np.empty(2 * _HEIGHT * width)
        panels = room.panels[: 2 * (some.stop - start) * width].reshape(2, -1, width)
        if layered is not None and start < by_layers:
            layered.fill(some, int(starts[some].min()), panels)
        elif whole is not None:
            whole.fill(some, starts[some], part.rule == _AFTER, panels)
        for panel, out in zip(panels, outs, strict=True):
            if out is not None:
                write_rows(panel, starts[some], part.rule == _LONGER, part.rows.order[some], rank, out)

    todo = [*range(0, by_layers, _HEIGHT), *range(by_layers, count, _HEIGHT)]
    for done, _ in enumerate(_spread(strip, todo, threads), start=1):
        if done % _STRIPS_A_REPORT == 0:
            progress.report("kernel rows", done * _HEIGHT, count)


def _mirror(outs: Outs, points: Points, threads: int | None) -> None:
    """The other half; strips of the lower triangle write different pairs, so threads do not meet."""
    from holokern.network.write_rows import mirror

    for out in outs:
        if out is not None:
            for _ in _spread(
                lambda a, out=out: mirror(out, points.rank, a, min(a + 512, len(out))), range(0, len(out), 512), threads
            ):
                pass


def diagonals(specs: tuple[LayerSpec, ...], points: Points) -> Diagonals:
    """The diagonals without the matrices, in the original order."""
    square = points.length**2
    tangent = square.copy()
    for plan in plan_layers(specs, (points.length, points.length)):
        numbers, spec = plan.sides[0].numbers, plan.spec
        new = numbers[1] ** 2 + spec.bias**2
        moved = tangent * numbers[2] ** 2 + new
        square, tangent = (square + new, tangent + moved) if spec.residual else (new, moved)
    return Diagonals(square[points.rank], tangent[points.rank])


def layer_matrices(specs: tuple[LayerSpec, ...], points: Points) -> list[tuple[Array, Array]]:
    """(Σʰ, Σ̇ʰ) for h = 1, 2, …; the second matrix is empty where σ jumps."""
    plans = plan_layers(specs, (points.length, points.length))
    everything = slice(0, len(points.length))
    theta, sigma, _ = first_tile(points, points, everything, everything)
    result = []
    back = np.ix_(points.rank, points.rank)
    for plan in plans:
        before, tangent = sigma.copy(), np.ones_like(sigma)
        TileLayer.of(plan, max(1, len(sigma))).apply(0, everything, (theta, sigma, tangent), plan.has_slope)
        # With Θ = 1 before it, a layer leaves Σ̇ + Σ (and 1 more when residual).
        dot = tangent - sigma - (1.0 - before if plan.spec.residual else 0.0)
        slopes = _symmetric(dot)[back] if plan.has_slope else np.empty((0, 0))
        result.append((_symmetric(sigma)[back], slopes))
    return result


def _symmetric(matrix: Array) -> Array:
    upper = np.triu(matrix)
    return np.asarray(upper + np.triu(matrix, 1).T)


def _spread(task, items, threads: int | None) -> Iterator[None]:  # type: ignore[no-untyped-def]
    """Run the task on the items, in threads if there are several."""
    workers = min(threads or os.cpu_count() or 1, len(items))
    if workers <= 1:
        yield from map(task, items)
        return
    with one_thread(), ThreadPoolExecutor(workers) as pool:
        yield from pool.map(task, items)
