"""A table cut into small cells of deviations, where few polynomials do: the form that the machine code reads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
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
        For every function that depends on the angle: cores[f, n, p, q, m], and how many m each q of a core needs.
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
        firsts = [c if ordered else 0 for c in range(count)]
        pairs = np.full((count, count), -1, dtype=np.int64)
        inside = np.arange(count) >= np.array(firsts)[:, None]
        pairs[inside] = np.arange(np.sum(inside))
        moved: dict[int, Array] = {}
        made = [t for t, tensors in enumerate(table.panels) if tensors is not None]
        index = np.full((count, count, len(table.panels)), -1, dtype=np.int64)
        for number, t in enumerate(made):
            index[inside, t] = pairs[inside] + number * np.sum(inside)
        cut = [
            [_cut(tensor, _moved(tensor.functions, table.range, part, count, moved), firsts) for tensor in tensors]
            for tensors in table.panels
            if tensors is not None
        ]
        flat = [core.reshape(count, count, *core.shape[1:3]) for core in cut[-1][: table.flat]]
        bent = [cores[table.flat :] for cores in cut]
        cores = _packed(table.edges, index, bent, flat, _SINGLE if single else _DROPPED)
        return cls(part, count, cores.to_single() if single else cores)

    @classmethod
    def undivided(cls, table: Table) -> Cells | None:
        """The whole range as one cell, with the functions of ℓ that all panels share; None if they do not share them.

        For functions that oscillate in ℓ, where polynomials would need many terms in every cell.
        """
        made = [tensors for tensors in table.panels if tensors is not None]
        functions = made[0][table.flat].functions
        bent = [[one.core[None] for one in tensors[table.flat :]] for tensors in made]
        shared = all(one.functions is functions for tensors in made for one in tensors[table.flat :])
        if not shared or any(np.any(one.core) for one in made[0][: table.flat]):
            return None
        numbers = np.full((1, 1, len(table.panels)), -1, dtype=np.int64)
        numbers[0, 0, [t for t, tensors in enumerate(table.panels) if tensors is not None]] = np.arange(len(made))
        flat = [np.zeros((1, 1, 1, 1))] * table.flat
        # These functions may be larger than polynomials, which are at most one.
        places = np.cos(np.linspace(0, np.pi, 2 * len(functions)))
        largest = np.max(np.abs(chebyshev_basis(places, len(functions)) @ functions))
        cores = _packed(table.edges, numbers, bent, flat, _DROPPED / max(1.0, float(largest)) ** 2)
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


def _cut(tensor: Tensor, moved: Array, firsts: list[int]) -> Array:
    """Coefficients of shape (pairs, p, q, m), where a cell is the first of a pair with those from ``firsts`` on."""
    count, terms, functions = moved.shape
    half = (moved.reshape(-1, functions) @ tensor.core.reshape(functions, -1)).reshape(count, terms, functions, -1)
    # A cell is narrow, so few polynomials of its place count.
    sizes = np.max(np.abs(half), axis=(0, 2, 3))
    kept = 1 + int(np.max(np.nonzero(sizes > _DROPPED * max(1.0, float(np.max(sizes))))[0], initial=0))
    other = np.ascontiguousarray(moved[:, None, :kept])
    result = np.empty((count * count - sum(firsts), kept, kept, half.shape[3]))
    stop = 0
    for one, first in zip(half[:, :kept], firsts, strict=True):
        start, stop = stop, stop + count - first
        np.matmul(other[first:], one, out=result[start:stop])
    return result


def _moved(functions: Array, span: Range, part: Range, cells: int, known: dict[int, Array]) -> Array:
    """Chebyshev coefficients of the functions in each cell, of shape (cells, terms, functions)."""
    if id(functions) not in known:
        size = np.max(np.abs(functions))
        for count in (1,) if part.is_point else _NODES:
            moved = _to_cells(span, part, cells, count, len(functions)) @ functions
            if count == 1 or np.max(np.abs(moved[:, -2:])) <= _DROPPED * size:
                break
        known[id(functions)] = moved
    return known[id(functions)]


@lru_cache(maxsize=16)
def _to_cells(span: Range, part: Range, cells: int, count: int, terms: int) -> Array:
    """From Chebyshev coefficients on a range to those in the cells of a part, of shape (cells, count, terms)."""
    edges = np.linspace(part.low, part.high, cells + 1)
    at = np.stack([Range(float(a), float(b)).nodes(count) for a, b in pairwise(edges)])
    return np.asarray(chebyshev_matrix(count) @ chebyshev_basis(span.place(at), terms))


def _packed(
    edges: Array, index: Counts, bent: list[list[Array]], flat: list[Array], dropped: float = _DROPPED
) -> Cores:
    """All cores in one array without coefficients below ``dropped``, and the lengths of their rows in fours."""
    rank = degree = flat_rank = 1
    counts = [[_that_count(core, dropped) for core in cores] for cores in bent]
    for used, places in [one for cores in counts for one in cores]:
        rank, degree = max(rank, places), max(degree, _last(np.any(used, axis=(0, 1))))
    for core in flat:
        flat_rank = max(flat_rank, _that_count(core.reshape(-1, *core.shape[2:], 1), dropped)[1])
    degree = -(-degree // _UNROLLED) * _UNROLLED
    functions, pairs = len(bent[0]), len(bent[0][0])
    cores = np.zeros((functions, len(bent), pairs, rank, rank, degree))
    lengths = np.zeros((functions, len(bent), pairs, rank), dtype=np.int64)
    for number, panel in enumerate(bent):
        for f, core in enumerate(panel):
            some = core[:, :rank, :rank, :degree]
            _, p, q, m = some.shape
            cores[f, number, :, :p, :q, :m] = some
            used = counts[number][f][0][:, :q, :m]
            # The last term that counts, found from the end.
            needed = np.where(np.any(used, axis=2), m - np.argmax(used[..., ::-1], axis=2), 0)
            lengths[f, number, :, :q] = -(-needed // _UNROLLED) * _UNROLLED
    flats = np.zeros((len(flat), *index.shape[:2], flat_rank, flat_rank))
    for f, core in enumerate(flat):
        some = core[:, :, :flat_rank, :flat_rank]
        flats[f, :, :, : some.shape[2], : some.shape[3]] = some
    shape = (functions, len(bent) * pairs, rank, rank, degree)
    return Cores(np.ascontiguousarray(edges), index, cores.reshape(shape), lengths.reshape(shape[:3]), flats)


def _that_count(core: Array, dropped: float) -> tuple[NDArray[np.bool_], int]:
    """For each pair of cells and each q and m, whether a coefficient counts; and how many p or q do."""
    sizes = np.abs(core)
    threshold = dropped * max(1.0, float(np.max(sizes)))
    used = np.max(sizes, axis=1) >= threshold
    rows = np.max(sizes, axis=(0, 2, 3)) >= threshold
    return used, max(_last(rows), _last(np.any(used, axis=(0, 2))))


def _last(counts: NDArray[np.bool_]) -> int:
    """The number of entries up to the last that is true."""
    return 1 + int(np.max(np.nonzero(counts)[0], initial=-1))


def cores_at_points(table: Table, logs: Array) -> Cores:
    """Every point a cell of its own: one more axis before all of ``cores``, ``lengths`` and ``flats`` for the columns.

    Taken at one column, the arrays are the `Cores` of all points as rows and of that point as the only cell of columns.
    """
    count = len(logs)
    place = table.range.place(logs)
    numbers = np.full((count, 1, len(table.panels)), -1, dtype=np.int64)
    made = [t for t, tensors in enumerate(table.panels) if tensors is not None]
    bent: list[list[Array]] = []
    flat: list[Array] = []
    for index, t in enumerate(made):
        lines = [_lines(tensor, place) for tensor in table.panels[t] or ()]
        numbers[:, 0, t] = index * count + np.arange(count)
        bent.append(lines[table.flat :])
        flat = [line[..., 0] for line in lines[: table.flat]]
    degree = -(-max(line.shape[2] for lines in bent for line in lines) // _UNROLLED) * _UNROLLED
    cores = np.zeros((count, len(bent[0]), count * len(made), 1, 1, degree))
    lengths = np.zeros((count, len(bent[0]), count * len(made), 1), dtype=np.int64)
    for index, lines in enumerate(bent):
        for f, line in enumerate(lines):
            here = slice(index * count, (index + 1) * count)
            cores[:, f, here, 0, 0, : line.shape[2]] = line
            lengths[:, f, here] = -(-line.shape[2] // _UNROLLED) * _UNROLLED
    flats = np.stack(flat, axis=1)[..., None, None, None] if flat else np.zeros((count, 0, count, 1, 1, 1))
    return Cores(np.ascontiguousarray(table.edges), numbers, cores, lengths, np.ascontiguousarray(flats))


def _lines(tensor: Tensor, place: Array) -> Array:
    """Coefficients in the angle for all pairs of points."""
    basis = chebyshev_basis(place, len(tensor.functions)) @ tensor.functions
    half = np.tensordot(basis, tensor.core, axes=1)
    return np.asarray(np.matmul(basis, half))
