"""A table cut into small cells of deviations, where few polynomials do: the form that the machine code reads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.numeric.chebyshev import chebyshev_basis, chebyshev_matrix
from holokern.numeric.panels import Array
from holokern.numeric.table import Range, Table, Tensor

_DROPPED = 2e-15
"""Coefficients below this are left out of the sums, relative to a function that exceeds one: its rounding errors grow
with it."""

_UNROLLED = 4
"""The sums take four terms at a time."""

_NODES = (8, 12, 18, 27, 40, 60)
"""Chebyshev nodes in a cell that are tried, until the last coefficients are negligible."""

_MOST, _MOST_SINGLE = 16, 64
"""The most cells: narrower cells have shorter sums but take time to make, less so in single precision."""

_SINGLE = 2e-8
"""Coefficients that are left out in single precision."""

_KEPT = 1 << 29
"""Bytes of cells that stay in memory beside those of the last table: ten tables of most activations, one that
oscillates."""

Counts = NDArray[np.int64]


class Cores(NamedTuple):
    """The arrays of `Cells` as the machine code takes them.

    Attributes
    ----------
    edges
        Ends of the panels in θ.
    numbers
        The number of the core for two cells and a panel, -1 where the table has none.
    cores, lengths
        For every function that depends on the angle: cores[f, n, p, (q, m)], and how many m each q of a core needs.
    flats
        For every function that does not: flats[f, cell, cell, p, q], often for more p and q.
    """

    edges: Array
    numbers: Counts
    cores: Array
    lengths: Counts
    flats: Array

    def to_single(self) -> Cores:
        """The same with numbers of single precision."""
        numbers: dict[str, Any] = {name: getattr(self, name).astype(np.float32) for name in ("edges", "cores", "flats")}
        return self._replace(**numbers)

    @property
    def polynomials(self) -> int:
        """How many polynomials of a place the arrays need."""
        return max(int(self.cores.shape[2]), int(self.flats.shape[3]))


@dataclass(frozen=True, eq=False)
class CellSide:
    """Points in their cells.

    Attributes
    ----------
    cells
        The cell of every point.
    by_point, vectors
        Chebyshev polynomials of the place in the cell, one row for each point, and one row for each polynomial.
    """

    cells: Counts
    by_point: Array
    vectors: Array

    def part(self, some: slice | NDArray[np.intp]) -> CellSide:
        """Some of the points."""
        return CellSide(self.cells[some], self.by_point[some], np.ascontiguousarray(self.vectors[:, some]))


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of equal width in log c over a part of the range of a table.

    Attributes
    ----------
    part
        The part of the range.
    count
        The number of cells.
    cores
        The arrays of the machine code.
    functions
        None if points are known by polynomials of their places in a cell; else the functions of ℓ that stand for them.
    """

    part: Range
    count: int
    cores: Cores
    functions: Array | None = None

    @classmethod
    def of(cls, table: Table, part: Range, count: int, ordered: bool = False, single: bool = False) -> Cells:
        """Cut a table; a part that is a single deviation has one cell.

        If it is ``ordered`` there are only pairs of cells whose first is not the higher one. ``single`` asks for arrays
        of float32.
        """
        count = 1 if part.is_point else count
        # For each cell of columns the cells of rows, which have consecutive numbers.
        lasts = np.arange(1, count + 1) if ordered else np.full(count, count)
        index = np.full((count, count, len(table.panels)), -1, dtype=np.int64)
        made = [t for t, tensors in enumerate(table.panels) if tensors is not None]
        pairs = int(np.sum(lasts))
        for other, (last, before) in enumerate(zip(lasts, np.cumsum(lasts) - lasts, strict=True)):
            index[:last, other, made] = np.arange(before, before + last)[:, None] + pairs * np.arange(len(made))
        places = _Places(table.range, part, count, [1] if part.is_point else list(_NODES))
        dropped = _SINGLE if single else _DROPPED
        cut = [
            [_Cut.of(one, places, lasts, dropped) for one in tensors] for tensors in table.panels if tensors is not None
        ]
        everything = np.full(count, count)
        flat = [replace(one, lasts=everything) for one in cut[-1][: table.flat]]
        cores = _packed(table.edges, index, [cores[table.flat :] for cores in cut], flat, dropped)
        return cls(part, count, cores.to_single() if single else cores)

    @classmethod
    def undivided(cls, table: Table) -> Cells | None:
        """The whole range as one cell, with the functions of ℓ that all panels share; None if they do not share them.

        For functions that oscillate in ℓ, where polynomials would need many terms in every cell.
        """
        made = [tensors for tensors in table.panels if tensors is not None]
        functions = made[0][table.flat].functions
        shared = all(one.functions is functions for tensors in made for one in tensors[table.flat :])
        if not shared or any(np.any(one.core) for one in made[0][: table.flat]):
            return None
        numbers = np.full((1, 1, len(table.panels)), -1, dtype=np.int64)
        numbers[0, 0, [t for t, tensors in enumerate(table.panels) if tensors is not None]] = np.arange(len(made))
        # These functions may be larger than polynomials, which are at most one.
        places = np.cos(np.linspace(0, np.pi, 2 * len(functions)))
        largest = np.max(np.abs(chebyshev_basis(places, len(functions)) @ functions))
        dropped = _DROPPED / max(1.0, float(largest)) ** 2
        bent = [[_Cut.undivided(one.core, dropped) for one in tensors[table.flat :]] for tensors in made]
        flat = [_Cut.undivided(np.zeros((1, 1, 1)), dropped)] * table.flat
        cores = _packed(table.edges, numbers, bent, flat, dropped)
        return cls(table.range, 1, cores, functions[:, : cores.cores.shape[2]])

    @property
    def bytes(self) -> int:
        """The memory that the arrays take."""
        return sum(array.nbytes for array in self.cores)

    def side(self, logs: Array) -> CellSide:
        """Place points by the logarithms of their deviations."""
        place = self.part.place(logs)
        if self.functions is not None:
            by_point = chebyshev_basis(place, len(self.functions)) @ self.functions
            return CellSide(np.zeros(len(logs), dtype=np.int64), by_point, np.ascontiguousarray(by_point.T))
        cell = np.clip(((place + 1) / 2 * self.count).astype(np.int64), 0, self.count - 1)
        local = np.clip((place + 1) * self.count - 2 * cell - 1, -1.0, 1.0)
        by_point = np.ascontiguousarray(chebyshev_basis(local, self.cores.polynomials), dtype=self.cores.cores.dtype)
        return CellSide(cell, by_point, np.ascontiguousarray(by_point.T))


_kept: OrderedDict[tuple[Table, Range, int, bool, bool], Cells] = OrderedDict()
_lock = threading.Lock()


def cells_of(table: Table, part: Range, width: float, ordered: bool = False, single: bool = False) -> Cells:
    """A table cut into cells of about this width over a part of its range; the last ones are kept.

    With ``ordered`` it serves pairs whose first point has the smaller deviation; ``single`` asks for float32.
    """
    most = _MOST_SINGLE if single else _MOST
    key = table, part, min(most, max(1, int(np.ceil(part.width / width)))), ordered, single
    with _lock:
        if key not in _kept:
            _kept[key] = Cells.of(*key)
            while len(_kept) > 1 and sum(one.bytes for one in _kept.values()) > _KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(key)
        return _kept[key]


@dataclass(frozen=True, eq=False)
class _Cut:
    """One function on one panel in all pairs of cells.

    Attributes
    ----------
    rows
        Coefficients of the functions of ℓ in the cells of rows, of shape (cells, p, functions); None if there is one
        cell and the functions themselves stand for points.
    columns
        The tensor in the cells of columns, of shape (cells, functions, q, m).
    lasts
        With how many of the first cells of rows each cell of columns makes a pair.
    """

    rows: Array | None
    columns: Array
    lasts: Counts

    @classmethod
    def of(cls, tensor: Tensor, places: _Places, lasts: Counts, dropped: float) -> _Cut:
        """Cut a tensor."""
        while True:
            moved = places.moved(tensor.functions)
            half = np.moveaxis(np.tensordot(moved, tensor.core, axes=(2, 1)), 2, 1)
            # A cell is narrow, so few polynomials of its place count.
            rank, degree = _that_count(half, dropped)
            if rank <= places.counts[0] - 2 or len(places.counts) == 1:
                break
            places.counts.pop(0)
        return cls(np.ascontiguousarray(moved[:, :rank]), half[:, :, :rank, :degree], lasts)

    @classmethod
    def undivided(cls, core: Array, dropped: float) -> _Cut:
        """A core for one cell, whose functions stand for points."""
        rank, degree = _that_count(core[None], dropped)
        return cls(None, core[None, :rank, :rank, :degree], np.ones(1, dtype=np.int64))

    @property
    def rank(self) -> int:
        """How many polynomials of a place count."""
        return int(self.columns.shape[2])

    @property
    def degree(self) -> int:
        """How many terms in the angle there are."""
        return int(self.columns.shape[3])

    def write(self, out: Array) -> None:
        """Coefficients of shape (pairs, p, q, m), with zeros where there are none."""
        rank, degree = out.shape[2:]
        columns = np.zeros((*self.columns.shape[:2], rank, degree))
        columns[:, :, : self.rank, : self.degree] = self.columns
        if self.rows is None:
            out[:] = 0.0
            out[:, : columns.shape[1]] = columns
            return
        rows = np.zeros((len(self.rows), rank, self.rows.shape[2]))
        rows[:, : self.rank] = self.rows
        stop = 0
        for column, last in zip(columns, self.lasts, strict=True):
            start, stop = stop, stop + last
            some = out[start:stop].reshape(last * rank, -1)
            np.matmul(rows[:last].reshape(last * rank, -1), column.reshape(len(column), -1), out=some)


def _that_count(columns: Array, dropped: float) -> tuple[int, int]:
    """How many q and how many m there are up to the last with a coefficient that counts, of shape (…, …, q, m)."""
    sizes = np.max(np.abs(columns), axis=(0, 1))
    used = sizes >= dropped * max(1.0, float(np.max(sizes)))
    rank, degree = (1 + int(np.max(np.flatnonzero(np.any(used, axis=axis)), initial=0)) for axis in (1, 0))
    return rank, degree


@dataclass(frozen=True, eq=False)
class _Places:
    """Cells of equal width in a part of a range, and the numbers of nodes that are still tried, the first one next."""

    span: Range
    part: Range
    cells: int
    counts: list[int]

    def moved(self, functions: Array) -> Array:
        """From Chebyshev coefficients on the range to those in the cells, of shape (cells, nodes, functions)."""
        return np.asarray(_to_cells(self.span, self.part, self.cells, self.counts[0], len(functions)) @ functions)


@lru_cache(maxsize=16)
def _to_cells(span: Range, part: Range, cells: int, count: int, terms: int) -> Array:
    edges = np.linspace(part.low, part.high, cells + 1)
    at = np.stack([Range(float(a), float(b)).nodes(count) for a, b in pairwise(edges)])
    return np.asarray(chebyshev_matrix(count) @ chebyshev_basis(span.place(at), terms))


def _packed(edges: Array, index: Counts, bent: list[list[_Cut]], flat: list[_Cut], dropped: float) -> Cores:
    """All cores in one array, and the lengths of their rows in fours without coefficients below ``dropped``."""
    rank = max(one.rank for cuts in bent for one in cuts)
    degree = -(-max(one.degree for cuts in bent for one in cuts) // _UNROLLED) * _UNROLLED
    shape = (len(bent[0]), len(bent), int(np.sum(bent[0][0].lasts)), rank)
    cores, lengths = np.empty((*shape, rank, degree)), np.empty(shape, dtype=np.int64)
    for number, cuts in enumerate(bent):
        for f, one in enumerate(cuts):
            core = cores[f, number]
            one.write(core)
            sizes = np.maximum(np.max(core, axis=1), -np.min(core, axis=1))
            used = sizes >= dropped * max(1.0, float(np.max(sizes)))
            # The last term that counts, found from the end.
            needed = np.where(np.any(used, axis=2), degree - np.argmax(used[..., ::-1], axis=2), 0)
            lengths[f, number] = -(-needed // _UNROLLED) * _UNROLLED
    count, places = index.shape[0], max((one.rank for one in flat), default=1)
    flats = np.empty((len(flat), count, count, places, places))
    for one, core in zip(flat, flats, strict=True):
        one.write(core.reshape(count**2, places, places, 1))
    # The numbers of pairs run through the rows of a cell of columns.
    flats = np.ascontiguousarray(np.swapaxes(flats, 1, 2))
    joined = (shape[0], shape[1] * shape[2], rank)
    return Cores(
        np.ascontiguousarray(edges), index, cores.reshape(*joined, rank * degree), lengths.reshape(joined), flats
    )


def cores_at_points(table: Table, logs: Array) -> Cores:
    """Every point a cell of its own."""
    count = len(logs)
    place = table.range.place(logs)
    made = [t for t, tensors in enumerate(table.panels) if tensors is not None]
    pairs = np.arange(count**2).reshape(count, count)
    numbers = np.full((count, count, len(table.panels)), -1, dtype=np.int64)
    bent: list[list[Array]] = []
    flat: list[Array] = []
    for index, t in enumerate(made):
        lines = [_lines(tensor, place) for tensor in table.panels[t] or ()]
        # The numbers run through the rows of a column, as in `Cells`.
        numbers[..., t] = index * count**2 + pairs.T
        bent.append(lines[table.flat :])
        flat = [line[..., 0] for line in lines[: table.flat]]
    degree = -(-max(line.shape[2] for lines in bent for line in lines) // _UNROLLED) * _UNROLLED
    cores = np.zeros((len(bent[0]), len(made), count, count, degree))
    lengths = np.zeros((len(bent[0]), len(made), count**2), dtype=np.int64)
    for index, lines in enumerate(bent):
        for f, line in enumerate(lines):
            cores[f, index, :, :, : line.shape[2]] = line
            lengths[f, index] = -(-line.shape[2] // _UNROLLED) * _UNROLLED
    flats = np.stack([line.T for line in flat]) if flat else np.zeros((0, count, count))
    joined = (len(bent[0]), len(made) * count**2, 1)
    return Cores(
        np.ascontiguousarray(table.edges),
        numbers,
        cores.reshape(*joined, degree),
        lengths.reshape(joined),
        np.ascontiguousarray(flats[..., None, None]),
    )


def _lines(tensor: Tensor, place: Array) -> Array:
    """Coefficients in the angle for all pairs of points."""
    basis = chebyshev_basis(place, len(tensor.functions)) @ tensor.functions
    half = np.tensordot(basis, tensor.core, axes=1)
    return np.asarray(np.matmul(basis, half))
