"""An activation as polynomials of deviations and chords, cut into cells: what pairs of positions are looked up in.

The chord of an angle θ is s = sin(θ/2), or cos(θ/2) beyond π/2. It comes from 1 - cos θ by a square root, and k is as
smooth in it as in the angle. With the names of `DualTable`, for p = 2, or p = 1 when σ jumps,

    θ^p H = (1 - cos θ) H̃,    or s H̃ when σ jumps,

so that no angle has to be computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.dual import DualTable
from holokern.numeric import Array, Range, Table, Tensor, chebyshev_basis, chebyshev_matrix, chebyshev_nodes, machine

_CELL, _MOST_CELLS = 0.4, 12
"""Width of a cell in log c: narrow ones need fewer terms, and wide ones have more columns. And the most cells, as all
pairs of them are kept."""

_TERMS, _NEGLIGIBLE = (12, 16, 24, 32), 1e-14
"""Terms in the chord that are tried, and the size of those that may be left out."""

_CHECKED = 24
"""Deviations at which the last terms are measured."""

_HALVINGS = 10
"""How often a panel that needs more terms is halved."""

_DROPPED = 2e-15
"""Coefficients of functions of order one below this are left out of the sums."""


class Chords(NamedTuple):
    """The arrays that the machine code reads.

    Attributes
    ----------
    fold, power
        Those of the `DualTable`.
    low, inverse
        The least log c, and cells per unit of log c; 0 if nothing depends on deviations.
    edges
        Ends of the panels of chords. Unless folded there are as many panels again for the chords beyond π/2.
    degree
        The most terms in the chord.
    flats
        Coefficients of W: flats[cell, cell, p, q].
    lengths
        How many terms in the chord each q needs, in fours: lengths[panel, cell, cell, q].
    sizes
        How many terms (q, m) four p need: sizes[panel, cell, cell, four].
    starts, values
        For a panel and two cells where their coefficients begin in ``values``: for each function and each p the terms
        (q, m) that count.
    """

    fold: int
    power: int
    low: float
    inverse: float
    edges: Array
    degree: int
    flats: Array
    lengths: NDArray[np.int64]
    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    values: Array

    def cells(self, logs: Array) -> NDArray[np.int64]:
        """The cells of deviations."""
        return np.clip(((logs - self.low) * self.inverse).astype(np.int64), 0, len(self.flats) - 1)


def chords_of(table: DualTable, span: Range) -> Chords | None:
    """The functions of a table for all angles, for deviations in a part of its range; None if they are too rough."""
    made = [tensors for tensors in table.table.panels if tensors is not None]
    shared = all(a.functions is b.functions for tensors in made for a, b in zip(tensors, made[0], strict=True))
    if len(made) < len(table.table.panels) or not shared or table.table.is_rough:
        return None
    edges = [0.0]
    sides: list[list[tuple[Tensor, ...]]] = [[] for _ in range(1 if table.fold else 2)]
    waiting = [(0.0, 0.5**0.5, 0)]
    while waiting:
        low, high, halvings = waiting.pop()
        fitted = [_panel(table, low, high, bool(side)) for side in range(len(sides))] if halvings else []
        found = [one for one in fitted if one is not None]
        if len(found) == len(sides):
            edges.append(high)
            for side, tensors in zip(sides, found, strict=True):
                side.append(tensors)
        elif halvings > _HALVINGS:
            return None
        else:
            middle = (low + high) / 2
            waiting += [(middle, high, halvings + 1), (low, middle, halvings + 1)]
    part = table.table.range if table.homogeneity is not None else span
    count = 1 if part.is_point else min(_MOST_CELLS, max(1, int(np.ceil(part.width / _CELL))))
    return _packed(table, part, count, np.array(edges), [tensors for side in sides for tensors in side])


def _panel(table: DualTable, low: float, high: float, is_far: bool) -> tuple[Tensor, ...] | None:
    """W, H̃ and K between two chords, if few terms are enough."""
    given = table.table
    for count in _TERMS:
        chord = (low + high + (high - low) * chebyshev_nodes(count)) / 2
        theta = 2 * np.arcsin(chord)
        factor = (theta / chord) ** table.power / (2.0 if table.power == 2 else 1.0)
        if is_far:
            theta = np.pi - theta
            factor = theta**table.power / (2 * (1 - chord**2) if table.power == 2 else np.sqrt(1 - chord**2))
        owner = given.panel_of(theta)
        found: list[Tensor] = []
        for number, first in enumerate(given.panels[0] or ()):
            if number < given.flat:
                found.append(first)
                continue
            values = np.empty((*first.core.shape[:2], count))
            for index in np.unique(owner):
                here = owner == index
                core = (given.panels[index] or ())[number].core
                values[:, :, here] = core @ chebyshev_basis(given.unit(theta[here], index), core.shape[2]).T
            if number == given.flat:
                values *= factor
            found.append(Tensor(first.functions, values @ chebyshev_matrix(count).T))
        if all(_tail(tensor) <= _NEGLIGIBLE for tensor in found[given.flat :]):
            return tuple(found)
    return None


def _tail(tensor: Tensor) -> float:
    """The largest of the last terms in the chord, at some pairs of deviations."""
    at = chebyshev_basis(chebyshev_nodes(_CHECKED), len(tensor.functions)) @ tensor.functions
    return float(np.max(np.abs(np.einsum("ap,pqm,bq->abm", at, tensor.core[:, :, -2:], at, optimize=True))))


def _packed(table: DualTable, part: Range, count: int, edges: Array, panels: list[tuple[Tensor, ...]]) -> Chords:
    """Cells without the terms that do not count."""
    parts, starts, total = list[Array](), list[int](), 0
    counted: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = [], []
    for tensors in panels:
        # One panel at a time: before terms are left out its cells may take much memory.
        alone = Table(table.table.range, np.array([0.0, 1.0]), (tensors,), table.table.flat)
        cores = machine.Cells.of(alone, part, count).cores
        for place in np.ndindex(count, count):
            core = cores.cores[:, cores.numbers[place][0]]
            fours = -(-core.shape[1] // 4)
            core = np.pad(core, ((0, 0), (0, 4 * fours - core.shape[1]), (0, 0), (0, 0)))
            counts = np.any(np.abs(core) >= _DROPPED, axis=0)
            lengths = _last(np.any(counts, axis=0), 4)
            needed = _last(np.any(counts, axis=2).reshape(fours, 4, -1).any(axis=1), 1)
            sizes = np.concatenate([[0], np.cumsum(lengths)])[needed]
            kept = core[:, :, np.arange(core.shape[3]) < lengths[:, None]]
            parts += [one[p, : sizes[p // 4]] for one in kept for p in range(4 * fours)]
            counted[0].append(lengths)
            counted[1].append(sizes)
            starts.append(total)
            total += 4 * len(core) * int(np.sum(sizes))
    flats, shape = cores.flats[0], (len(panels), count, count)
    rank = max(flats.shape[2], *(len(lengths) for lengths in counted[0]))
    flats = np.pad(flats, ((0, 0), (0, 0), (0, rank - flats.shape[2]), (0, rank - flats.shape[3])))
    lengths, sizes = (
        np.stack([np.pad(block, (0, size - len(block))) for block in blocks]).reshape(*shape, size)
        for blocks, size in zip(counted, (rank, -(-rank // 4)), strict=True)
    )
    first = np.array(starts).reshape(shape)
    inverse = 0.0 if part.is_point else count / part.width
    degree = int(np.max(lengths))
    return Chords(
        table.fold, table.power, part.low, inverse, edges, degree, flats, lengths, sizes, first, np.concatenate(parts)
    )


def _last(counts: NDArray[np.bool_], step: int) -> NDArray[np.int64]:
    """How many terms along the last axis reach to the last one that counts, rounded up to a multiple of ``step``."""
    size = counts.shape[-1]
    found = np.where(np.any(counts, axis=-1), size - np.argmax(counts[..., ::-1], axis=-1), 0)
    return np.asarray(-(-found // step) * step)
