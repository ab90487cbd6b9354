"""A table cut into small cells of deviations, where few polynomials do: the form that the machine code reads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.numeric.chebyshev import chebyshev_basis, chebyshev_matrix
from holokern.numeric.panels import Array, Index
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
        For every function that depends on the angle: cores[f, n, p, q, m], and how many m each q of a core needs.
    flats
        For every function that does not: flats[f, cell, cell, p, q], often for more p and q.
    """

    edges: Array
    numbers: Counts
    cores: Array
    lengths: Counts
    flats: Array

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
    arrays
        The arrays of the machine code, with zeros for pairs of cells that were not asked for by `cores_for`.
    cuts, flat
        What fills them: for each panel the functions that depend on the angle, and the functions that do not.
    dropped
        Coefficients that are left out of the sums.
    functions
        None if points are known by polynomials of their places in a cell; else the functions of ℓ that stand for them.
    """

    part: Range
    count: int
    arrays: Cores
    cuts: list[list[_Cut]]
    flat: list[_Cut]
    dropped: float
    functions: Array | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, table: Table, part: Range, count: int, ordered: bool = False, single: bool = False) -> Cells:
        """Cut a table; a part that is a single deviation has one cell.

        If it is ``ordered`` there are only pairs of cells whose first is not the higher one. ``single`` asks for arrays
        of float32.
        """
        count = 1 if part.is_point else count
        places = _Places(table.range, part, count, [1] if part.is_point else list(_NODES))
        dropped = _SINGLE if single else _DROPPED
        cut = [[_Cut.of(one, places, dropped) for one in tensors] for tensors in table.panels if tensors is not None]
        cuts, flat = [cores[table.flat :] for cores in cut], cut[-1][: table.flat]
        allowed = np.ones((count, count), dtype=bool)
        cores = _empty(
            table, np.triu(allowed) if ordered else allowed, cuts, flat, np.float32 if single else np.float64
        )
        return cls(part, count, cores, cuts, flat, dropped)

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
        # These functions may be larger than polynomials, which are at most one.
        places = np.cos(np.linspace(0, np.pi, 2 * len(functions)))
        largest = np.max(np.abs(chebyshev_basis(places, len(functions)) @ functions))
        dropped = _DROPPED / max(1.0, float(largest)) ** 2
        bent = [[_Cut.undivided(one.core, dropped) for one in tensors[table.flat :]] for tensors in made]
        flat = [_Cut.undivided(np.zeros((1, 1, 1)), dropped)] * table.flat
        cores = _empty(table, np.ones((1, 1), dtype=bool), bent, flat, np.float64)
        return cls(table.range, 1, cores, bent, flat, dropped, functions[:, : cores.cores.shape[2]])

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        """The pairs of cells whose cores are made; those that there are not count as made."""
        return np.asarray(np.all(self.arrays.numbers < 0, axis=2))

    def cores_for(self, rows: Counts, columns: Counts) -> Cores:
        """The arrays, made for all pairs of these cells: data seldom meet all of them, and they take long to make.

        The numbers of a pair do not depend on what else is asked for.
        """
        first, second = (np.flatnonzero(np.bincount(cells, minlength=self.count)) for cells in (rows, columns))
        if not np.all(self._known[np.ix_(first, second)]):
            with self._lock:
                for row in first.tolist():
                    others = second[~self._known[row, second]]
                    if len(others):
                        self._make(row, others)
                        self._known[row, others] = True
        return self.arrays

    @property
    def cores(self) -> Cores:
        """The arrays for all pairs of cells."""
        everything = np.arange(self.count)
        return self.cores_for(everything, everything)

    def _make(self, row: int, columns: Index) -> None:
        """The cores of one cell of rows and some cells of columns, and the lengths of their sums, in fours."""
        _, numbers, cores, lengths, flats = self.arrays
        found = numbers[row, columns]
        for number, cuts in zip(found[:, found[0] >= 0].T, self.cuts, strict=True):
            for f, one in enumerate(cuts):
                block, some = one.cores(row, columns), slice(0, one.rank)
                cores[f, number, some, some, : one.degree] = block
                sizes = np.maximum(np.max(block, axis=1), -np.min(block, axis=1))
                used = sizes >= self.dropped * np.maximum(1.0, np.max(sizes, axis=(1, 2), keepdims=True))
                # The last term that counts, found from the end.
                needed = np.where(np.any(used, axis=2), one.degree - np.argmax(used[..., ::-1], axis=2), 0)
                lengths[f, number, some] = -(-needed // _UNROLLED) * _UNROLLED
        for one, target in zip(self.flat, flats, strict=True):
            target[row, columns, : one.rank, : one.rank] = one.cores(row, columns)[..., 0]

    @property
    def bytes(self) -> int:
        """The memory that the arrays take."""
        return sum(array.nbytes for array in self.arrays)

    def side(self, logs: Array) -> CellSide:
        """Place points by the logarithms of their deviations."""
        place = self.part.place(logs)
        if self.functions is not None:
            by_point = chebyshev_basis(place, len(self.functions)) @ self.functions
            return CellSide(np.zeros(len(logs), dtype=np.int64), by_point, np.ascontiguousarray(by_point.T))
        cell = np.clip(((place + 1) / 2 * self.count).astype(np.int64), 0, self.count - 1)
        local = np.clip((place + 1) * self.count - 2 * cell - 1, -1.0, 1.0)
        by_point = np.ascontiguousarray(chebyshev_basis(local, self.arrays.polynomials), dtype=self.arrays.cores.dtype)
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
    """

    rows: Array | None
    columns: Array

    @classmethod
    def of(cls, tensor: Tensor, places: _Places, dropped: float) -> _Cut:
        """Cut a tensor."""
        while True:
            moved = places.moved(tensor.functions)
            half = np.moveaxis(np.tensordot(moved, tensor.core, axes=(2, 1)), 2, 1)
            # A cell is narrow, so few polynomials of its place count.
            rank, degree = _that_count(half, dropped)
            if rank <= places.counts[0] - 2 or len(places.counts) == 1:
                break
            places.counts.pop(0)
        return cls(np.ascontiguousarray(moved[:, :rank]), np.ascontiguousarray(half[:, :, :rank, :degree]))

    @classmethod
    def undivided(cls, core: Array, dropped: float) -> _Cut:
        """A core for one cell, whose functions stand for points."""
        rank, degree = _that_count(core[None], dropped)
        return cls(None, core[None, :rank, :rank, :degree])

    @property
    def rank(self) -> int:
        """How many polynomials of a place count."""
        return int(self.columns.shape[2])

    @property
    def degree(self) -> int:
        """How many terms in the angle there are."""
        return int(self.columns.shape[3])

    def cores(self, row: int, columns: Index) -> Array:
        """Coefficients of shape (columns, p, q, m) for a cell of rows; products of one shape, whatever their number."""
        if self.rows is None:
            return self.columns
        found = np.matmul(self.rows[row], self.columns[columns].reshape(len(columns), self.rows.shape[2], -1))
        return np.asarray(found.reshape(len(columns), self.rank, self.rank, self.degree))


def _that_count(columns: Array, dropped: float) -> tuple[int, int]:
    """How many q and how many m there are up to the last with a coefficient that counts, of shape (…, …, q, m)."""
    sizes = np.maximum(np.max(columns, axis=(0, 1)), -np.min(columns, axis=(0, 1)))
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


def _empty(
    table: Table, allowed: NDArray[np.bool_], cuts: list[list[_Cut]], flat: list[_Cut], dtype: type[np.floating[Any]]
) -> Cores:
    """Arrays of zeros for these pairs of cells; memory that is not written to costs nothing."""
    rank = max(one.rank for panel in cuts for one in panel)
    degree = -(-max(one.degree for panel in cuts for one in panel) // _UNROLLED) * _UNROLLED
    pairs, places = int(np.sum(allowed)), max((one.rank for one in flat), default=1)
    numbers = np.full((*allowed.shape, len(table.panels)), -1, dtype=np.int64)
    made = [t for t, tensors in enumerate(table.panels) if tensors is not None]
    for index, t in enumerate(made):
        numbers[allowed, t] = np.arange(index * pairs, (index + 1) * pairs)
    shape = (len(cuts[0]), len(made) * pairs, rank)
    return Cores(
        np.ascontiguousarray(table.edges, dtype=dtype),
        numbers,
        np.zeros((*shape, rank, degree), dtype),
        np.zeros(shape, dtype=np.int64),
        np.zeros((len(flat), *allowed.shape, places, places), dtype),
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
        cores.reshape(*joined, 1, degree),
        lengths.reshape(joined),
        np.ascontiguousarray(flats[..., None, None]),
    )


def _lines(tensor: Tensor, place: Array) -> Array:
    """Coefficients in the angle for all pairs of points."""
    basis = chebyshev_basis(place, len(tensor.functions)) @ tensor.functions
    half = np.tensordot(basis, tensor.core, axes=1)
    return np.asarray(np.matmul(basis, half))
