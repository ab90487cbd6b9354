"""Kernel matrices strip by strip.

Rows of the sorted matrix are finished in strips, and threads take strips. When X = Y only one half is computed, and
mirrored.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from holokern.network.engine.expanded import ExpandedRows
from holokern.network.engine.expansion import Expansion, expansion_of
from holokern.network.engine.layered import LayeredRows, Matrix, first_tile
from holokern.network.hidden_layer import HiddenLayer, scale_free, scope_of
from holokern.network.plan import Engine, plan_for
from holokern.network.points import MULTIPLE, DataRange, Points, Strip
from holokern.numeric import Array, Index, one_thread
from holokern.progress import report

_HEIGHT = 64
"""Rows of a strip."""

_STRIPS_A_REPORT = 8
"""Strips between two reports of progress."""

_RARE = 512
"""Of so many entries one may be kept for the next product: 120 MB for 100 000 points."""

_GROUP = 4
"""Octaves of deviations whose diagonals share tables."""

_MIRRORED, _BLOCK = 512, 128
"""Rows that are mirrored at a time, and in blocks of so many rows and columns: a few stay in the second cache."""

Outs = tuple[Array | None, Array | None]

Kept = dict[tuple[int, int], tuple[NDArray[np.int32], NDArray[np.int32], Array]]
"""For the first row and column of a strip the places of some entries, and their values."""

Item = TypeVar("Item")

Result = TypeVar("Result")


@dataclass(frozen=True)
class Diagonals:
    """Σ and Θ of every point with itself."""

    nngp: Array
    ntk: Array


def fill(
    layers: tuple[HiddenLayer, ...],
    rows: Points,
    columns: Points | None,
    outs: Outs,
    threads: int | None,
    data: DataRange | None = None,
    engine: Engine = "auto",
    single: bool = False,
) -> None:
    """Write the matrices; ``columns`` None means that they are the rows, ``data`` what these are a part of.

    With ``single`` entries of single precision will do.
    """
    data = data or DataRange.of(rows.length, *(() if columns is None else (columns.length,)))
    other = rows if columns is None else columns
    way = Way(layers, data, plan_for(layers, data, engine).engine, single)
    if way.single:
        rows = rows.to_single()
        other = rows if columns is None else other.to_single()
    if columns is None:
        _fill_part(Part(way, rows, other, AFTER), outs, threads)
        _mirror(outs, rows, threads)
    elif scale_free(layers):
        _fill_part(Part(way, rows, other, _ALL), outs, threads)
    else:
        # Every pair is computed with the shorter point as its row, so that its bits do not depend on the side.
        # The first part may write anything where the second will.
        _fill_part(Part(way, rows, other, _NOT_SHORTER), outs, threads)
        turned = tuple(None if out is None else out.T for out in outs)
        _fill_part(Part(way, other, rows, _LONGER), (turned[0], turned[1]), threads)


@dataclass(eq=False)
class Way:
    """How the entries of a matrix are computed."""

    layers: tuple[HiddenLayer, ...]
    data: DataRange
    engine: Engine
    wants_single: bool = False

    @property
    def single(self) -> bool:
        """Whether to compute in single precision: if that will do, and if there is a table of the network."""
        return self.wants_single and self.far is not None

    @cached_property
    def far(self) -> Expansion | None:
        """The table of the network for angles away from 0 and π, if it pays and serves."""
        return self._expansion(False)

    @cached_property
    def near(self) -> Expansion | None:
        """The table for the other angles."""
        return self._expansion(True)

    def _expansion(self, near: bool) -> Expansion | None:
        if self.engine != "network" or self.data.high == 0:
            return None
        if self.data.zeros and scale_free(self.layers) and any(layer.dual.homogeneity == 0 for layer in self.layers):
            # The limit of small vectors is not zero if σ(0) is not.
            return None
        return expansion_of(self.layers, scope_of(self.layers, self.data.low, self.data.high), near, self.data.pairs)


_ALL, AFTER, _NOT_SHORTER, _LONGER = range(4)


@dataclass(eq=False)
class Part:
    """A part of a matrix: for each row the columns that a rule names, which are the last ones of the sorted columns."""

    way: Way
    rows: Points
    columns: Points
    rule: int

    def starts(self) -> NDArray[np.int64]:
        """The first column of each row."""
        count = len(self.rows.length)
        if self.rule == _ALL:
            return np.zeros(count, dtype=np.int64)
        if self.rule == AFTER:
            return np.arange(count)
        side: Literal["left", "right"] = "left" if self.rule == _NOT_SHORTER else "right"
        return np.searchsorted(self.columns.length, self.rows.length, side=side)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()

    def expanded(self, kernels: tuple[int, ...], near: bool) -> ExpandedRows | None:
        """Rows by the table of the network; made when first needed."""
        with self._lock:
            known = self.__dict__.setdefault("_expanded", {})
            if near not in known:
                expansion = self.way.near if near else self.way.far
                known[near] = expansion and ExpandedRows.of(
                    self.rows, self.columns, kernels, expansion, self.way.single
                )
            return known[near]  # type: ignore[no-any-return]

    @property
    def layered(self) -> LayeredRows:
        """Rows layer by layer; made when first needed."""
        with self._lock:
            if not hasattr(self, "_layered"):
                layers, data, first = self.way.layers, self.way.data, self.way.layers[0].dual
                is_exact = first.jumps and first.hinges is not None
                rounding = (self.rows.rounding, self.columns.rounding) if is_exact else None
                deviations, by_pairs = (self.rows.length, self.columns.length), self.way.engine == "pairs"
                scope = scope_of(layers, data.low, data.high)
                self._layered = LayeredRows.of(layers, *deviations, scope, by_pairs, data.pairs, data.zeros, rounding)
            return self._layered


def _fill_part(part: Part, outs: Outs, threads: int | None) -> None:
    """Write rows in strips; threads take strips."""
    rank = part.columns.rank if part.columns.is_sorted else part.columns.rank[:0]

    def write(some: slice, others: slice, starts: NDArray[np.int64], panels: Array) -> None:
        for panel, out in zip(panels, outs, strict=True):
            if out is not None:
                _write(panel, starts, part.rule == _LONGER, part.rows.order[some], rank, out)

    kernels = tuple(kernel for kernel, out in enumerate(outs) if out is not None)
    for _ in each_strip(part, kernels, write, threads):
        pass


def _write(panel: Array, starts: NDArray[np.int64], only: bool, order: Index, rank: Index, out: Array) -> None:
    """Write rows of the sorted matrix to their places in ``out``.

    With ``only``, row i from the column ``starts[i]`` on; else also what stands before, without a test of every entry.
    An empty ``rank`` means that the points kept their order.
    """
    found = panel.take(rank, axis=1) if len(rank) else panel
    if len(rank) and not only:
        out[order] = found
        return
    for row, first, place in zip(found, starts, order, strict=True):
        if len(rank):
            np.copyto(out[place], row, where=rank >= first)
        else:
            out[place, first:] = row[first:]


def each_strip(
    part: Part,
    kernels: tuple[int, ...],
    use: Callable[[slice, slice, NDArray[np.int64], Array], Result],
    threads: int | None,
    width: int | None = None,
    kept: Kept | None = None,
) -> Iterator[list[Result]]:
    """Compute rows in strips, in threads, and give each to ``use``: rows, columns, numbers of first columns, entries.

    What it returns for the columns of some rows is a list, and the lists come in the order of the rows.
    A strip has all columns, or ``width`` at a time, at least as many as a strip has rows. ``kept`` are entries that no
    table of the network serves, from an earlier call for the same part.
    """
    starts, count, total = part.starts(), len(part.rows.length), len(part.columns.length)
    if starts.min() >= total:
        return
    matrix = Matrix(part.rows, part.columns, kernels)
    far = part.expanded(kernels, False)
    # Rows that go layer by layer: all of them, or the zero vectors, which come first.
    by_layers = count
    if far is not None:
        by_layers = 0 if scale_free(part.way.layers) else int(np.sum(part.rows.length == 0))
    room = threading.local()

    def strip(start: int) -> list[Result]:
        found = []
        some = slice(start, min(start + _HEIGHT, by_layers if start < by_layers else count))
        lowest = int(starts[some].min())
        for at in (0,) if width is None else range(lowest // MULTIPLE * MULTIPLE, total, width):
            others = slice(at, total if width is None else min(at + width, total))
            if lowest >= others.stop:
                continue
            if not hasattr(room, "panels"):
                room.panels = np.empty(2 * _HEIGHT * (width or total), part.rows.padded.dtype)
            size = some.stop - start, others.stop - at
            panels = room.panels[: 2 * size[0] * size[1]].reshape(2, *size)
            own = np.maximum(starts[some] - at, 0)
            if start < by_layers or far is None:
                part.layered.fill(matrix, some, others, at + int(own.min()), panels)
            else:
                after = own
                panels[..., int(own.min()) :] = np.nan
                if part.rule == AFTER and at <= lowest:
                    far.fill_diagonal(some, own, panels)
                    after = own + 1
                angles = Strip.of(part.rows, part.columns, some, others, at + int(after.min()))
                if far.fill(angles, after, panels):
                    _complete(part, matrix, angles, after, panels, kept)
            found.append(use(some, others, own, panels))
        return found

    todo = [*range(0, by_layers, _HEIGHT), *range(by_layers, count, _HEIGHT)]
    for done, found in enumerate(spread(strip, todo, threads), start=1):
        yield found
        if done % _STRIPS_A_REPORT == 0:
            report("kernel rows", done * _HEIGHT, count)


def _complete(
    part: Part, matrix: Matrix, strip: Strip, starts: NDArray[np.int64], panels: Array, kept: Kept | None
) -> None:
    """The entries of a strip that the first table does not serve: from the table near 0 and π, then layer by layer."""
    key, kernels = (strip.some.start, strip.others.start), np.array(matrix.kernels)[:, None]
    if kept is not None and key in kept:
        panels[kernels, kept[key][0], kept[key][1]] = kept[key][2]
        return
    first = panels[matrix.kernels[0]]
    rows, columns = np.divmod(np.flatnonzero(np.isnan(first)), panels.shape[2])
    wanted = columns >= starts[rows]
    rows, columns = rows[wanted], columns[wanted]
    near = part.expanded(matrix.kernels, True)
    if near is None or near.fill(strip, starts, panels):
        left = np.isnan(first[rows, columns])
        part.layered.complete(matrix, strip, rows[left], columns[left], panels)
    if kept is not None and len(rows) * _RARE <= first.size:
        kept[key] = rows.astype(np.int32), columns.astype(np.int32), panels[kernels, rows, columns]


def _mirror(outs: Outs, points: Points, threads: int | None) -> None:
    """The other half; strips of the lower triangle write different pairs, so threads do not meet."""
    for out in outs:
        if out is not None:
            for _ in spread(partial(_mirror_rows, out, points.rank), range(0, len(out), _MIRRORED), threads):
                pass


def _mirror_rows(out: Array, rank: Index, start: int) -> None:
    """Copy each entry that was computed, the one whose row comes first in the sorted order, to its mirror image.

    For some rows from ``start`` on and the columns up to the diagonal, block by block.
    """
    for low in range(start, min(start + _MIRRORED, len(out)), _BLOCK):
        rows = slice(low, min(low + _BLOCK, len(out)))
        for left in range(0, rows.stop, _BLOCK):
            columns = slice(left, left + _BLOCK)
            lower, upper = out[rows, columns], out[columns, rows]
            found = np.where(rank[rows, None] < rank[columns], lower, upper.T)
            lower[...] = found
            upper[...] = found.T


def diagonals(layers: tuple[HiddenLayer, ...], points: Points) -> Diagonals:
    """The diagonals without the matrices, in the original order; Θ is infinite where an activation jumps.

    Points are taken in groups by their deviations alone, so that parts of the data have the bits of the whole.
    """
    found = np.empty((2, len(points.length)))
    with np.errstate(divide="ignore"):
        groups = np.floor(np.log2(points.length) / _GROUP)
    for group in np.unique(groups):
        some = np.nonzero(groups == group)[0]
        ends = (2.0 ** (_GROUP * group), 2.0 ** (_GROUP * (group + 1))) if np.isfinite(group) else (1.0, 1.0)
        c = points.length[some]
        scope, zeros = scope_of(layers, *ends), not np.isfinite(group)
        found[:, some] = LayeredRows.of(layers, c, c, scope, False, 0, zeros).diagonals(c)
    return Diagonals(found[0][points.rank], found[1][points.rank])


def layer_matrices(layers: tuple[HiddenLayer, ...], points: Points) -> list[tuple[Array, Array]]:
    """(Σʰ, Σ′ʰ) for h = 1, 2, …; the second matrix is empty where σ jumps."""
    data = DataRange.of(points.length)
    by_pairs = plan_for(layers, data).engine == "pairs"
    scope = scope_of(layers, data.low, data.high)
    rows = LayeredRows.of(layers, points.length, points.length, scope, by_pairs, data.pairs, data.zeros)
    everything = slice(0, len(points.length))
    theta, sigma, _ = first_tile(points, points, everything, everything)
    result = []
    back = np.ix_(points.rank, points.rank)
    for step in rows.steps:
        before, tangent = sigma.copy(), np.ones_like(sigma)
        has_slope = not step.layer.dual.jumps
        step.apply((theta, sigma, tangent), everything, everything, has_slope)
        # With Θ = 1 before it, a layer leaves Σ′ + Σ (and 1 more when residual).
        dot = tangent - sigma - (1.0 - before if step.layer.residual else 0.0)
        slopes = _symmetric(dot)[back] if has_slope else np.empty((0, 0))
        result.append((_symmetric(sigma)[back], slopes))
    return result


def _symmetric(matrix: Array) -> Array:
    upper = np.triu(matrix)
    return np.asarray(upper + np.triu(matrix, 1).T)


def spread(task: Callable[[Item], Result], items: Sequence[Item], threads: int | None) -> Iterator[Result]:
    """Run the task on the items, in threads if there are several; the results come in the order of the items."""
    workers = min(threads or os.cpu_count() or 1, len(items))
    if workers <= 1:
        yield from map(task, items)
        return
    with one_thread(), ThreadPoolExecutor(workers) as pool:
        yield from pool.map(task, items)
