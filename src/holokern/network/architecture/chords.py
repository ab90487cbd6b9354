"""An activation as polynomials of deviations and chords, cut into cells: what pairs of positions are looked up in.

The chord of an angle θ is s = sin(θ/2), or cos(θ/2) beyond π/2. It comes from 1 - cos θ by a square root, and k is as
smooth in it as in the angle. With the names of `DualTable`, for p = 2, or p = 1 when σ jumps,

    θ^p H = (1 - cos θ) H̃,    or s H̃ when σ jumps,

so that no angle has to be computed. Next to θ = 0 the slope is a derivative, k′ = n₁n₂ (H̃ + s/2 dH̃/ds) / c₁c₂; beyond
π/2 that would divide by the chord, and it has polynomials of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.dual import DualTable
from holokern.numeric import Array, Range, Table, Tensor, chebyshev_basis, chebyshev_matrix, chebyshev_nodes, machine

_CELL, _MOST_CELLS = 0.5, 12
"""Width of a cell in log c: narrow ones need fewer terms, and wide ones have more columns. And the most cells, as all
pairs of them are kept."""

_TERMS, _NEGLIGIBLE = (13, 17, 21, 25, 33), 1e-13
"""Terms in the chord that are tried, and the size of those that may be left out."""

_CHECKED = 24
"""Deviations at which the last terms are measured."""

_HALVINGS = 10
"""How often a panel that needs more terms is halved."""

_DROPPED, _DROPPED_SLOPE = 1e-13, 5e-12
"""Coefficients of functions of order one below this are left out of the sums, and what they may change of slopes."""


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
    flats
        Coefficients of W: flats[cell, cell, p, q].
    blocks
        How many q count for T_0, for T_2 and T_1, for T_4 and T_3 …, in fours: blocks[cell, cell, panel, function, …].
        The functions are H̃ and, only beyond π/2, the slope.
    sizes
        How many terms four p need: sizes[cell, cell, panel, function, four].
    starts, values
        Where the coefficients begin in ``values``: for each p the terms that count, in the order of ``blocks``; four q
        of the first polynomial follow those of the second.
    most
        The most terms, and four more, which machine code may read.
    """

    fold: int
    power: int
    low: float
    inverse: float
    edges: Array
    flats: Array
    blocks: NDArray[np.int64]
    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    values: Array
    most: int

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
        if all(_tail(tensor) <= _NEGLIGIBLE for tensor in found[given.flat :][: 2 if is_far else 1]):
            return tuple(found)
    return None


def _tail(tensor: Tensor) -> float:
    """The largest of the last terms in the chord, at some pairs of deviations."""
    at = chebyshev_basis(chebyshev_nodes(_CHECKED), len(tensor.functions)) @ tensor.functions
    return float(np.max(np.abs(np.einsum("ap,pqm,bq->abm", at, tensor.core[:, :, -2:], at, optimize=True))))


def _packed(table: DualTable, part: Range, count: int, edges: Array, panels: list[tuple[Tensor, ...]]) -> Chords | None:
    """Cells without the terms that do not count; None if there are too many functions of a deviation."""
    from holokern.network.architecture.activate import RANK

    found, half = dict[tuple[int, ...], _Terms](), len(edges) - 1
    for panel, tensors in enumerate(panels):
        # One panel at a time: before terms are left out its cells may take much memory.
        alone = Table(table.table.range, np.array([0.0, 1.0]), (tensors,), table.table.flat)
        cores = machine.Cells.of(alone, part, count).cores
        for place in np.ndindex(count, count):
            core = cores.cores[:, cores.numbers[place][0]]
            for function in range(min(len(core), 1 if panel < half else 2)):
                found[*place, panel, function] = _terms(core[function])
    flats, shape = cores.flats[0], (count, count, len(panels), 2)
    rank = max(2, flats.shape[2], *(4 * terms.sizes.size for terms in found.values()))
    if rank > RANK:
        return None
    flats = np.pad(flats, ((0, 0), (0, 0), (0, rank - flats.shape[2]), (0, rank - flats.shape[3])))
    blocks = np.zeros((*shape, max(terms.blocks.size for terms in found.values())), dtype=np.int64)
    sizes, starts, total = np.zeros((*shape, -(-rank // 4)), dtype=np.int64), np.zeros(shape, dtype=np.int64), 0
    for key, terms in found.items():
        blocks[key][: terms.blocks.size], sizes[key][: terms.sizes.size] = terms.blocks, terms.sizes
        starts[key], total = total, total + terms.values.size
    inverse, values = 0.0 if part.is_point else count / part.width, np.concatenate([t.values for t in found.values()])
    most = 4 + max(4 * int(2 * np.sum(terms.blocks) - terms.blocks[0]) for terms in found.values())
    return Chords(table.fold, table.power, part.low, inverse, edges, flats, blocks, sizes, starts, values, most)


class _Terms(NamedTuple):
    """The terms of one function in two cells, as `Chords` has them."""

    blocks: NDArray[np.int64]
    sizes: NDArray[np.int64]
    values: Array


def _terms(core: Array) -> _Terms:
    """The terms core[p, q, m] that count."""
    fours, groups = -(-max(core.shape[:2]) // 4), core.shape[2] // 2 + 1
    core = np.pad(core, [(0, 4 * fours - size) for size in core.shape[:2]] + [(0, 2 * groups - 1 - core.shape[2])])
    m = np.arange(core.shape[2])
    counts = np.abs(core) >= np.minimum(_DROPPED, _DROPPED_SLOPE / np.maximum(m, 1) ** 2)
    reach = _last(np.asarray(counts.any(axis=0)).T)
    blocks = -(-np.maximum(reach[0::2], np.append(0, reach[1::2])) // 4)
    blocks = np.maximum(blocks[: max(1, int(_last(blocks > 0)))], 1)
    order = [(q, 0) for q in range(4 * blocks[0])]
    for group, number in enumerate(blocks[1:], start=1):
        order += [(4 * k + q, 2 * group - odd) for k in range(number) for odd in (0, 1) for q in range(4)]
    q, m = np.array(order).T
    sizes = -(-_last(np.asarray(counts[:, q, m].reshape(fours, 4, -1).any(axis=1))) // 4) * 4
    ends = np.repeat(sizes, 4)
    return _Terms(blocks, sizes, np.concatenate([core[p, q[:end], m[:end]] for p, end in enumerate(ends)]))


def _last(counts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many entries along the last axis reach to the last one that counts."""
    size = counts.shape[-1]
    return np.where(np.any(counts, axis=-1), size - np.argmax(counts[..., ::-1], axis=-1), 0)
