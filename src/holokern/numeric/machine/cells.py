"""A table cut into small cells of deviations, where few polynomials do: the form that the machine code reads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.numeric.chebyshev import chebyshev_basis, chebyshev_matrix
from holokern.numeric.panels import Array, Index, Some
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

NONE, _UNMADE = -1, -2
"""In `Cores.numbers`: the table has no panel there, and nobody has met this panel in these cells yet."""

Counts = NDArray[np.int64]


class Cores(NamedTuple):
    """The arrays of `Cells` as the machine code takes them.

    Attributes
    ----------
    edges
        Ends of the panels in θ.
    numbers
        The number of the core for two cells and a panel, negative where there is none.
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


@dataclass(eq=False)
class CellSide:
    """Points in their cells.

    Attributes
    ----------
    cells
        The cell of every point.
    places
        The place in the cell, from -1 to 1.
    functions
        As in `Cells`.
    dtype
        The type of the polynomials.
    """

    cells: Counts
    places: Array
    functions: Array | None = None
    dtype: type[np.floating[Any]] = np.float64
    _known: Array = field(default_factory=lambda: np.empty((0, 0)))

    def polynomials(self, count: int, some: Some) -> Array:
        """The first Chebyshev polynomials of the places of some points, or the functions instead; one row each."""
        known = self._known
        if len(known) < count:
            terms = count if self.functions is None else len(self.functions)
            basis = chebyshev_basis(self.places, terms)
            values = basis if self.functions is None else basis @ self.functions[:, :count]
            self._known = known = np.ascontiguousarray(values.T, dtype=self.dtype)
        return np.ascontiguousarray(known[:count, some])


@dataclass(eq=False)
class Cells:
    """Cells of equal width in log c over a part of the range of a table, cut when they are met.

    Attributes
    ----------
    table
        The table.
    part
        The part of its range.
    count
        The number of cells.
    dropped
        Coefficients that are left out of the sums.
    dtype
        The type of the arrays.
    functions
        None if points are known by polynomials of their places in a cell; else the functions of ℓ that stand for them.
    arrays
        The arrays of the machine code, with what was made so far.
    """

    table: Table
    part: Range
    count: int
    dropped: float = _DROPPED
    dtype: type[np.floating[Any]] = np.float64
    functions: Array | None = None
    arrays: Cores = field(init=False)
    _made: int = 0
    _cuts: dict[int, list[_Cut]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        panels = self.table.panels
        numbers = np.empty((self.count, self.count, len(panels)), dtype=np.int64)
        numbers[:] = [NONE if tensors is None else _UNMADE for tensors in panels]
        shape = self.table.count - self.table.flat, 0, 1
        self.arrays = Cores(
            np.ascontiguousarray(self.table.edges, dtype=self.dtype),
            numbers,
            np.zeros((*shape, 1, _UNROLLED), self.dtype),
            np.zeros(shape, dtype=np.int64),
            np.zeros((self.table.flat, self.count, self.count, 1, 1), self.dtype),
        )

    @classmethod
    def of(cls, table: Table, part: Range, count: int, single: bool = False) -> Cells:
        """Cut a table; a part that is a single deviation has one cell. ``single`` asks for arrays of float32."""
        numbers = (_SINGLE, np.float32) if single else (_DROPPED, np.float64)
        return cls(table, part, 1 if part.is_point else count, *numbers)

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
        return cls(table, table.range, 1, _DROPPED / max(1.0, float(largest)) ** 2, functions=functions)

    def make(self, asked: NDArray[np.bool_]) -> None:
        """Make the cores that are asked for, two cells and a panel each, but for those that there are.

        Their numbers do not depend on what else is asked for.
        """
        with self._lock:
            wanted = asked & (self.arrays.numbers == _UNMADE)
            panels = np.flatnonzero(np.any(wanted, axis=(0, 1))).tolist()
            for t in panels:
                if t not in self._cuts:
                    self._cuts[t] = [self._cut(tensor) for tensor in self.table.panels[t] or ()]
            if panels:
                self._grow(self._made + int(np.sum(wanted)))
            for t in panels:
                for row in np.flatnonzero(np.any(wanted[:, :, t], axis=1)).tolist():
                    self._make(row, np.flatnonzero(wanted[row, :, t]), t)

    @property
    def cores(self) -> Cores:
        """The arrays for all panels of all pairs of cells."""
        self.make(np.ones(self.arrays.numbers.shape, dtype=bool))
        return self.arrays

    def _cut(self, tensor: Tensor) -> _Cut:
        if self.functions is not None:
            return _Cut.undivided(tensor.core, self.dropped)
        return _Cut.of(tensor, self.table.range, self.part, self.count, self.dropped)

    def _grow(self, needed: int) -> None:
        """Arrays that have room for so many cores of all panels that are cut, with what there is.

        Other threads may read the old ones, so their numbers stay as they are.
        """
        flat, old = self.table.flat, self.arrays
        cuts = [one for panel in self._cuts.values() for one in panel[flat:]]
        rank, degree = max(one.rank for one in cuts), max(one.degree for one in cuts)
        degree = -(-degree // _UNROLLED) * _UNROLLED
        functions, capacity, least, _, terms = old.cores.shape
        if rank <= least and degree <= terms and needed <= capacity:
            return
        # Memory that is not written to costs nothing.
        shape = functions, max(needed, old.numbers.size), max(rank, least)
        cores, lengths = np.zeros((*shape, shape[2], max(degree, terms)), self.dtype), np.zeros(shape, dtype=np.int64)
        cores[:, : self._made, :least, :least, :terms] = old.cores[:, : self._made]
        lengths[:, : self._made, :least] = old.lengths[:, : self._made]
        places = max((one.rank for panel in self._cuts.values() for one in panel[:flat]), default=1)
        flats = np.zeros((*old.flats.shape[:3], places, places), self.dtype)
        flats[..., : old.flats.shape[3], : old.flats.shape[4]] = old.flats
        self.arrays = Cores(old.edges, old.numbers.copy(), cores, lengths, flats)

    def _make(self, row: int, columns: Index, t: int) -> None:
        """The cores of a cell of rows and some cells of columns in a panel, and the lengths of their sums, in fours."""
        _, numbers, cores, lengths, flats = self.arrays
        new, flat = slice(self._made, self._made + len(columns)), self.table.flat
        for f, one in enumerate(self._cuts[t][flat:]):
            block, some = one.cores(row, columns), slice(0, one.rank)
            cores[f, new, some, some, : one.degree] = block
            sizes = np.max(np.abs(block), axis=1)
            used = sizes >= self.dropped * np.maximum(1.0, np.max(sizes, axis=(1, 2), keepdims=True))
            # Up to the last term that counts.
            needed = np.max(used * np.arange(1, one.degree + 1), axis=2)
            lengths[f, new, some] = -(-needed // _UNROLLED) * _UNROLLED
        for one, target in zip(self._cuts[t][:flat], flats, strict=True):
            target[row, columns, : one.rank, : one.rank] = one.cores(row, columns)[..., 0]
        self._made = new.stop
        # Last of all, as machine code may look for them at the same time.
        numbers[row, columns, t] = np.arange(new.start, new.stop)

    @property
    def bytes(self) -> int:
        """The memory that the arrays take."""
        _, numbers, cores, lengths, flats = self.arrays
        each = (cores.nbytes + lengths.nbytes) // max(1, cores.shape[1])
        return int(self._made * each + numbers.nbytes + flats.nbytes)

    def side(self, logs: Array) -> CellSide:
        """Place points by the logarithms of their deviations."""
        place = self.part.place(logs)
        cell = np.clip(((place + 1) / 2 * self.count).astype(np.int64), 0, self.count - 1)
        local = place if self.count == 1 else np.clip((place + 1) * self.count - 2 * cell - 1, -1.0, 1.0)
        return CellSide(cell, local, self.functions, self.dtype)


_kept: OrderedDict[tuple[Table, Range, int, bool], Cells] = OrderedDict()
_lock = threading.Lock()


def cells_of(table: Table, part: Range, width: float, single: bool = False) -> Cells:
    """A table cut into cells of about this width over a part of its range; the last ones are kept.

    ``single`` asks for float32.
    """
    most = _MOST_SINGLE if single else _MOST
    key = table, part, min(most, max(1, int(np.ceil(part.width / width)))), single
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
    core
        As in `Tensor`, but of shape (functions of columns, functions of rows, terms in the angle).
    bases
        Coefficients of the functions of ℓ in each cell, of shape (cells, p, functions); only those that count. None if
        there is one cell and the functions themselves stand for points.
    """

    core: Array
    bases: Array | None = None

    @classmethod
    def of(cls, tensor: Tensor, span: Range, part: Range, cells: int, dropped: float) -> _Cut:
        """Cut a tensor on a range into cells of equal width in a part of it."""
        largest = np.max(np.abs(tensor.core), axis=0)
        for count in (1,) if part.is_point else _NODES:
            moved = _to_cells(span, part, cells, count, len(tensor.functions)) @ tensor.functions
            # A cell is narrow, so few polynomials of its place count. Terms of their coefficients have random signs.
            rank, degree = _that_count(np.sqrt(moved**2 @ largest**2), dropped)
            if rank <= count - 2:
                break
        return cls(np.swapaxes(tensor.core[..., :degree], 0, 1), np.ascontiguousarray(moved[:, :rank]))

    @classmethod
    def undivided(cls, core: Array, dropped: float) -> _Cut:
        """A core for one cell, whose functions stand for points."""
        rank, degree = _that_count(core, dropped)
        return cls(np.swapaxes(core[:rank, :rank, :degree], 0, 1))

    @property
    def rank(self) -> int:
        """How many polynomials of a place count."""
        return len(self.core) if self.bases is None else int(self.bases.shape[1])

    @property
    def degree(self) -> int:
        """How many terms in the angle there are."""
        return int(self.core.shape[2])

    def cores(self, row: int, columns: Index) -> Array:
        """Coefficients of shape (columns, p, q, m) for a cell of rows; products of one shape, whatever their number."""
        if self.bases is None:
            return np.swapaxes(self.core, 0, 1)[None]
        # Half of it for one cell of rows at a time: data may meet few cells of a panel.
        half = np.matmul(self.bases[row], self.core)
        found = np.matmul(self.bases[columns], half.reshape(len(half), -1))
        return np.swapaxes(found.reshape(*found.shape[:2], *half.shape[1:]), 1, 2)


def _that_count(coefficients: Array, dropped: float) -> tuple[int, int]:
    """How many q and how many m there are up to the last with a coefficient that counts, of shape (…, q, m)."""
    sizes = np.max(np.abs(coefficients), axis=0)
    used = sizes >= dropped * max(1.0, float(np.max(sizes)))
    rank, degree = (1 + int(np.max(np.flatnonzero(np.any(used, axis=axis)), initial=0)) for axis in (1, 0))
    return rank, degree


@lru_cache(maxsize=16)
def _to_cells(span: Range, part: Range, cells: int, count: int, terms: int) -> Array:
    """From Chebyshev coefficients on a range to those in the cells of a part, of shape (cells, count, terms)."""
    edges = np.linspace(part.low, part.high, cells + 1)
    at = np.stack([Range(float(a), float(b)).nodes(count) for a, b in pairwise(edges)])
    return np.asarray(chebyshev_matrix(count) @ chebyshev_basis(span.place(at), terms))


def cells_at_points(table: Table, logs: Array) -> Cells:
    """Every point a cell of its own."""
    count, cells = len(logs), Cells(table, table.range, len(logs))
    place = table.range.place(logs)
    made = [t for t, tensors in enumerate(table.panels) if tensors is not None]
    pairs = np.arange(count**2).reshape(count, count)
    numbers = cells.arrays.numbers
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
    cells.arrays = cells.arrays._replace(
        cores=cores.reshape(*joined, 1, degree),
        lengths=lengths.reshape(joined),
        flats=np.ascontiguousarray(flats[..., None, None]),
    )
    return cells


def _lines(tensor: Tensor, place: Array) -> Array:
    """Coefficients in the angle for all pairs of points."""
    basis = chebyshev_basis(place, len(tensor.functions)) @ tensor.functions
    half = np.tensordot(basis, tensor.core, axes=1)
    return np.asarray(np.matmul(basis, half))
