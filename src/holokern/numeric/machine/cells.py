"""A table cut into small cells of deviations, where few polynomials do: the form that the machine code reads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

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

_MOST = 16
"""The most cells: narrower cells have shorter sums but take time to make."""

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
    def of(cls, table: Table, part: Range, count: int) -> Cells:
        """Cut a table; a part that is a single deviation has one cell."""
        count = 1 if part.is_point else count
        edges = np.linspace(part.low, part.high, count + 1)
        cells = [Range(float(a), float(b)) for a, b in pairwise(edges)]
        moved: dict[int, Array] = {}
        index = np.full((count, count, len(table.panels)), -1, dtype=np.int64)
        bent: list[list[Array]] = []
        flat: list[Array] = []
        for t, tensors in enumerate(table.panels):
            if tensors is None:
                continue
            cut = [_cut(tensor, table.range, cells, moved) for tensor in tensors]
            index[:, :, t] = len(bent) * count**2 + np.arange(count**2).reshape(count, count)
            bent.append(cut[table.flat :])
            flat = [core[..., 0] for core in cut[: table.flat]]
        return cls(part, count, _packed(table.edges, index, bent, flat, count))

    @classmethod
    def undivided(cls, table: Table) -> Cells | None:
        """The whole range as one cell, with the functions of ℓ that all panels share; None if they do not share them.

        For functions that oscillate in ℓ, where polynomials would need many terms in every cell.
        """
        made = [tensors for tensors in table.panels if tensors is not None]
        functions = made[0][table.flat].functions
        bent = [[one.core[None, :, None] for one in tensors[table.flat :]] for tensors in made]
        shared = all(one.functions is functions for tensors in made for one in tensors[table.flat :])
        if not shared or any(np.any(one.core) for one in made[0][: table.flat]):
            return None
        numbers = np.full((1, 1, len(table.panels)), -1, dtype=np.int64)
        numbers[0, 0, [t for t, tensors in enumerate(table.panels) if tensors is not None]] = np.arange(len(made))
        flat = [np.zeros((1, 1, 1, 1))] * table.flat
        # These functions may be larger than polynomials, which are at most one.
        places = np.cos(np.linspace(0, np.pi, 2 * len(functions)))
        largest = np.max(np.abs(chebyshev_basis(places, len(functions)) @ functions))
        cores = _packed(table.edges, numbers, bent, flat, 1, _DROPPED / max(1.0, float(largest)) ** 2)
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
        by_point = np.ascontiguousarray(chebyshev_basis(local, self.cores.polynomials))
        return CellSide(cell, by_point, np.ascontiguousarray(by_point.T))


_kept: OrderedDict[tuple[Table, Range, int], Cells] = OrderedDict()
_lock = threading.Lock()


def cells_of(table: Table, part: Range, width: float) -> Cells:
    """A table cut into cells of about this width over a part of its range; the last ones are kept."""
    key = table, part, min(_MOST, max(1, int(np.ceil(part.width / width))))
    with _lock:
        if key not in _kept:
            _kept[key] = Cells.of(*key)
            while len(_kept) > 1 and sum(one.bytes for one in _kept.values()) > _KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(key)
        return _kept[key]


def _cut(tensor: Tensor, span: Range, cells: list[Range], known: dict[int, Array]) -> Array:
    """Coefficients for all pairs of cells, of shape (cells, p, cells, q, m)."""
    moved = known.get(id(tensor.functions))
    if moved is None:
        moved = known.setdefault(id(tensor.functions), _moved(tensor.functions, span, cells))
    count, terms, functions = moved.shape
    half = (moved.reshape(-1, functions) @ tensor.core.reshape(functions, -1)).reshape(count, terms, functions, -1)
    # A cell is narrow, so few polynomials of its place count.
    sizes = np.max(np.abs(half), axis=(0, 2, 3))
    kept = 1 + int(np.max(np.nonzero(sizes > _DROPPED * max(1.0, float(np.max(sizes))))[0], initial=0))
    other = np.ascontiguousarray(moved[:, :kept]).reshape(-1, functions)
    return np.asarray(np.matmul(other, half[:, :kept]).reshape(count, kept, count, kept, -1))


def _moved(functions: Array, span: Range, cells: list[Range]) -> Array:
    """Chebyshev coefficients of the functions in each cell, of shape (cells, terms, functions)."""
    size = np.max(np.abs(functions))
    for count in (1,) if cells[0].is_point else _NODES:
        at = np.stack([cell.nodes(count) for cell in cells])
        values = chebyshev_basis(span.place(at), len(functions)) @ functions
        moved = chebyshev_matrix(count) @ values
        if count == 1 or np.max(np.abs(moved[:, -2:])) <= _DROPPED * size:
            break
    return np.asarray(moved)


def _packed(
    edges: Array, index: Counts, bent: list[list[Array]], flat: list[Array], count: int, dropped: float = _DROPPED
) -> Cores:
    """All cores in one array without coefficients below ``dropped``, and the lengths of their rows in fours.

    Functions of two deviations are symmetric, so what counts of q counts of p.
    """
    rank = degree = flat_rank = 1
    counts = [[_that_count(core, dropped) for core in cores] for cores in bent]
    for used in [used for cores in counts for used in cores]:
        _, _, q, m = np.nonzero(used)
        rank, degree = max(rank, 1 + int(np.max(q, initial=0))), max(degree, 1 + int(np.max(m, initial=0)))
    for core in flat:
        flat_rank = max(flat_rank, 1 + int(np.max(np.nonzero(_that_count(core[..., None], dropped))[2], initial=0)))
    degree = -(-degree // _UNROLLED) * _UNROLLED
    functions = max((len(cores) for cores in bent), default=0)
    cores = np.zeros((functions, len(bent), count, count, rank, rank, degree))
    lengths = np.zeros((functions, len(bent), count, count, rank), dtype=np.int64)
    for number, panel in enumerate(bent):
        for f, core in enumerate(panel):
            some = core[:, :rank, :, :rank, :degree]
            _, p, _, q, m = some.shape
            cores[f, number, :, :, :p, :q, :m] = some.swapaxes(1, 2)
            used = counts[number][f][:, :, :q, :m]
            # The last term that counts, found from the end.
            needed = np.where(np.any(used, axis=3), m - np.argmax(used[..., ::-1], axis=3), 0)
            lengths[f, number, :, :, :q] = -(-needed // _UNROLLED) * _UNROLLED
    flats = np.zeros((len(flat), count, count, flat_rank, flat_rank))
    for f, core in enumerate(flat):
        some = core[:, :flat_rank, :, :flat_rank]
        flats[f, :, :, : some.shape[1], : some.shape[3]] = some.swapaxes(1, 2)
    shape = (functions, len(bent) * count**2, rank, rank, degree)
    return Cores(np.ascontiguousarray(edges), index, cores.reshape(shape), lengths.reshape(shape[:3]), flats)


def _that_count(core: Array, dropped: float) -> NDArray[np.bool_]:
    """For each pair of cells and each q and m, whether a coefficient counts."""
    sizes = np.max(np.abs(core), axis=1)
    return np.asarray(sizes >= dropped * max(1.0, float(np.max(sizes))))


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
        numbers[:, 0, t] = np.arange(count) * len(made) + index
        bent.append(lines[table.flat :])
        flat = [line[..., 0] for line in lines[: table.flat]]
    degree = -(-max(line.shape[2] for lines in bent for line in lines) // _UNROLLED) * _UNROLLED
    cores = np.zeros((count, len(bent[0]), count * len(made), 1, 1, degree))
    lengths = np.zeros((count, len(bent[0]), count * len(made), 1), dtype=np.int64)
    for index, lines in enumerate(bent):
        for f, line in enumerate(lines):
            cores[:, f, index :: len(made), 0, 0, : line.shape[2]] = line
            lengths[:, f, index :: len(made)] = -(-line.shape[2] // _UNROLLED) * _UNROLLED
    flats = np.stack(flat, axis=1)[..., None, None, None] if flat else np.zeros((count, 0, count, 1, 1, 1))
    return Cores(np.ascontiguousarray(table.edges), numbers, cores, lengths, np.ascontiguousarray(flats))


def _lines(tensor: Tensor, place: Array) -> Array:
    """Coefficients in the angle for all pairs of points."""
    basis = chebyshev_basis(place, len(tensor.functions)) @ tensor.functions
    half = np.tensordot(basis, tensor.core, axes=1)
    return np.asarray(np.matmul(basis, half))
