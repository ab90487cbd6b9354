"""Rows of kernel matrices layer by layer: Θ ← Θ·Σ′ʰ + Σʰ from Θ = Σ⁰ [SakodaTakayama2024, Sec. 2], [Jacot2018].

A tile is small enough for the cache and goes through all layers. Each layer has 1 - |k|/(n₁n₂) and k′ of its pairs from
a table, in closed form for piecewise polynomials, or pair by pair.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from holokern.dual import DualTable, HingeSide
from holokern.errors import PrecisionLost
from holokern.network.engine.layer_tables import functions_of, layer_table
from holokern.network.engine.spans import NOWHERE, LayerSpan, spans_of
from holokern.network.hidden_layer import HiddenLayer, LayerSide
from holokern.network.plan import paying_angles
from holokern.network.points import Points, Strip, angles_of_tile
from holokern.numeric import Array, Index, Range, Some, machine

_WIDTH = 128
"""Columns of a tile: with 64 rows its arrays stay in the second cache."""

_CELL = 0.2
"""Width of a cell in log c: narrower cells have shorter sums but take time to make."""

_FEW = 160_000
"""Entries that count as few: those of 400 points."""

_WIDE_CELL = 0.8
"""The width if there are few points: the sums of a row and a cell are prepared once for all points in the cell."""

Tile = tuple[Array, Array, Array]
"""θ, Σ and Θ of some rows and some columns."""


def first_tile(rows: Points, columns: Points, some: slice, others: slice) -> Tile:
    """θ, Σ⁰ and again Σ⁰ of a tile."""
    lengths = rows.length[some], columns.length[others]
    cosines, theta = (a[: len(lengths[0]), : len(lengths[1])] for a in angles_of_tile(rows, columns, some, others))
    return _entering(*lengths, cosines, np.ascontiguousarray(theta))


def _entering(c: Array, d: Array, cosines: Array, theta: Array) -> Tile:
    """The tile that enters the first layer, for rows and columns with the deviations c and d."""
    theta, sigma = np.asarray(theta, dtype=float), cosines * np.multiply.outer(c, d)
    # A zero vector counts as orthogonal to all others and as parallel to zero vectors.
    theta[np.ix_(c == 0, d == 0)] = 0.0
    return theta, sigma, sigma.copy()


Group = tuple[float, float, float]
"""The smallest angle of a table, and the angles of some of its panels, as seen from 0 or π."""

_SELDOM = 0.05
"""Few pairs of most data have smaller angles, and a table that resolves a large deviation has many panels for them."""


@dataclass(frozen=True, eq=False)
class TableCells:
    """A table, cut into cells unless it is too rough for them."""

    table: DualTable
    cells: machine.Cells | None
    sides: tuple[machine.CellSide | None, machine.CellSide | None]


@dataclass(eq=False)
class LayerStep:
    """One layer and the points of both sides when they enter it."""

    layer: HiddenLayer
    sides: tuple[LayerSide, LayerSide]  # rows and columns
    span: LayerSpan  # the ranges of deviations that its tables serve
    by_pairs: bool  # whether every pair is computed by itself, because there are very few
    few: bool  # whether there are few entries in all
    angles: tuple[float, ...]  # the smallest angles of the tables that pay
    _tables: dict[Group, TableCells | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def losses(self, tile: Tile, some: Some, others: Some, with_tangent: bool) -> tuple[Array, Array]:
        """1 - |k|/(n₁n₂) and k′ of a tile."""
        theta, dual = tile[0], self.layer.dual
        lost, slope = np.full_like(theta, np.nan), np.zeros_like(theta)
        if dual.hinges is not None:
            first, second = (side.part(part) for side, part in zip(self._hinges, (some, others), strict=True))
            lost, slope = dual.hinge_tile(theta, first, second)
            if not np.any(np.isnan(lost)):
                return lost, slope
        form = dual.smooth_form
        if form is not None and not self.by_pairs:
            c, d = self.sides[0].safe[some], self.sides[1].safe[others]
            return form.losses(theta, c, d, dual.fold != 0, with_tangent)
        nearest = np.minimum(theta, np.pi - theta)
        for group in () if self.by_pairs else self.groups:
            smallest, low, _ = group
            # A table that serves none of the missing angles is not made.
            if group != self.groups[0] and not np.any(nearest[np.isnan(lost)] >= low):
                continue
            made = self._table(group)
            if made is None:
                continue
            # Only what is missing is written, so that a value does not depend on the other pairs of its tile.
            is_first = group == self.groups[0] and dual.hinges is None
            found = (lost, slope) if is_first else (np.empty_like(theta), slope.copy())
            left = self._by_table(made, theta, some, others, *found, with_tangent)
            if found[0] is not lost:
                where = np.isnan(lost)
                np.copyto(slope, found[1], where=where)
                np.copyto(lost, found[0], where=where)
            if not left or not np.any(np.isnan(lost)):
                return lost, slope
            if smallest:
                # Points that coincide, as on the diagonal, need no table for small angles.
                self._coinciding(theta, some, others, lost, slope)
                if not np.any(np.isnan(lost)):
                    return lost, slope
        self._by_pairs(theta, some, others, lost, slope)
        return lost, slope

    def _coinciding(self, theta: Array, some: Some, others: Some, lost: Array, slope: Array) -> None:
        first, second = (side.numbers[:, part] for side, part in zip(self.sides, (some, others), strict=True))
        same = np.isnan(lost) & (theta == 0) & (first[3][:, None] == second[3])
        lost[same] = 0.0
        slope[same] = (first[2][:, None] * second[2] / self.layer.weight)[same]

    def _by_pairs(self, theta: Array, some: Some, others: Some, lost: Array, slope: Array) -> None:
        """What is missing of 1 - |k|/(n₁n₂) and k′, every pair by itself; one half of a symmetric tile."""
        missing = np.isnan(lost)
        both = isinstance(some, slice) and isinstance(others, slice) and some == others
        symmetric = self.sides[0] is self.sides[1] and both
        wanted = np.triu(missing) if symmetric else missing
        rows, columns = np.nonzero(wanted)
        first, second = self.sides[0].safe[some][rows], self.sides[1].safe[others][columns]
        found = self.layer.dual.losses(first, second, theta[wanted])
        for target, values in zip((lost, slope), found, strict=True):
            target[wanted] = values
            if symmetric:
                target.T[wanted] = values

    @cached_property
    def groups(self) -> list[Group]:
        """Tables in the order in which they are tried; of one for all angles first the panels that most data meet."""
        found: list[Group] = []
        for smallest in self.angles:
            inner = [] if smallest or not found else [(0.0, _SELDOM, found[-1][0]), (0.0, 0.0, _SELDOM)]
            found += [*inner, (smallest, found[0][0] if inner else smallest, np.inf)]
        return found

    def _table(self, group: Group) -> TableCells | None:
        """The panels of a table, cut into cells, made when first needed; None if the activation is too rough.

        Where breaks lie away from zero, sums become longer as angles become smaller. If they are long from the first
        table on, small angles of few entries are not worth another one, which takes minutes to make.
        """
        smallest, low, high = group
        short = self.few and smallest > 0 and group != self.groups[0]
        if short:
            first = self._table(self.groups[0])
            if first is None or first.table.table.is_rough:
                return None
        with self._lock:
            if group not in self._tables:
                try:
                    whole, span = layer_table(self.layer, self.span, smallest, short)
                except PrecisionLost:
                    self._tables[group] = None
                    return None
                some = whole.table.between(low, high)
                if some is None:
                    self._tables[group] = None
                else:
                    table = replace(whole, table=some)
                    part = table.table.range if table.homogeneity is not None else span
                    width = _WIDE_CELL if self.few else _CELL
                    cells = (
                        machine.Cells.undivided(table.table)
                        if table.table.is_rough
                        else machine.cells_of(table.table, part, width)
                    )
                    sides = [cells.side(side.numbers[0]) if cells else None for side in dict.fromkeys(self.sides)]
                    self._tables[group] = TableCells(table, cells, (sides[0], sides[-1]))
            return self._tables[group]

    def _by_table(
        self, made: TableCells, theta: Array, some: Some, others: Some, lost: Array, slope: Array, with_tangent: bool
    ) -> int:
        """1 - |k|/(n₁n₂) and k′ from a table; how many pairs it does not serve, which are NaN."""
        if made.cells is None:
            return self._by_products(made.table, theta, some, others, lost, slope)
        rows, columns = made.sides
        assert rows is not None and columns is not None
        table, numbers = made.table, (self.sides[0].numbers[:, some], self.sides[1].numbers[:, others])
        functions = 2 if with_tangent and table.has_slope else 1
        flat, found = np.empty((1, *theta.shape)), np.full((2, *theta.shape), np.nan)
        found[functions:] = 0.0
        first, second = (np.stack([np.ones(side.shape[1]), side[2]]) for side in numbers)
        starts = np.zeros(len(theta), dtype=np.int64)
        task, angles = machine.Task(0, functions, float(table.fold != 0)), machine.TileAngles(theta, 0, starts)
        values = machine.TileValues(flat, found)
        left = machine.look_up(made.cells, (rows, columns), (some, others), (first, second), task, angles, values)
        angle = np.minimum(theta, np.pi - theta) if table.fold else theta
        np.multiply(flat[0], (numbers[0][0][:, None] - numbers[1][0]) ** 2, out=lost)
        found[0] *= angle * angle if table.power == 2 else angle
        lost += found[0]
        # k′ of norms with √w each
        np.divide(found[1], self.layer.weight, out=slope)
        return left

    def _by_products(self, made: DualTable, theta: Array, some: Some, others: Some, lost: Array, slope: Array) -> int:
        """The same from a table that is not cut into cells."""
        angle = np.minimum(theta, np.pi - theta) if made.fold else theta
        (rows, columns), parts = self.sides, (some, others)
        logs = [side.numbers[0][part] for side, part in zip((rows, columns), parts, strict=True)]
        found = made.table.on_tile(logs[0], logs[1], angle)
        lost[:] = (logs[0][:, None] - logs[1]) ** 2 * found[0] + angle**made.power * found[1]
        if made.has_slope:
            slope[:] = found[2] * (rows.numbers[2][some][:, None] * columns.numbers[2][others] / self.layer.weight)
        return int(np.sum(np.isnan(lost)))

    @cached_property
    def _hinges(self) -> tuple[HingeSide, HingeSide]:
        (first, second), dual = self.sides, self.layer.dual
        return dual.hinge_sides(first.safe, second.safe, (first.rounding, second.rounding))

    def apply(self, tile: Tile, some: Some, others: Some, with_tangent: bool) -> None:
        """The layer of a tile, in place: the rows ``some`` and the columns ``others``."""
        from holokern.network.engine.advance import Step, advance

        layer = self.layer
        lost, slope = self.losses(tile, some, others, with_tangent and not layer.dual.jumps)
        rows, columns = (np.ascontiguousarray(s.numbers[:, p]) for s, p in zip(self.sides, (some, others), strict=True))
        step = Step(layer.residual, layer.bias, layer.weight, layer.dual.fold)
        advance(step, rows, columns, lost, slope, tile)
        if self.sides[0].zero[some].any() or self.sides[1].zero[others].any():
            self._zero_vectors(tile, some, others)

    def _zero_vectors(self, tile: Tile, some: Some, others: Some) -> None:
        """Entries with a point of deviation zero: the limit c → 0 at the angle π/2, or 0 between two such points.

        There is no bias then, and Θ was zero before the layer.
        """
        rows, columns = self.sides
        zero_rows, zero_columns = rows.zero[some][:, None], columns.zero[others]
        norms = rows.numbers[1][some][:, None] * columns.numbers[1][others]
        value = np.where(zero_rows & zero_columns, norms, rows.means[some][:, None] * columns.means[others])
        root = np.sqrt(rows.after(self.layer)[some][:, None] * columns.after(self.layer)[others])
        with np.errstate(invalid="ignore", divide="ignore"):
            angle = np.where(root > 0, np.arccos(np.clip(value / root, -1.0, 1.0)), np.pi / 2)
        angle = np.where(zero_rows & zero_columns, 0.0, angle)
        for old, new in zip(tile, (angle, value, value), strict=True):
            np.copyto(old, new, where=zero_rows | zero_columns)


@dataclass(frozen=True, eq=False)
class Matrix:
    """The points of a matrix, and the kernels that are wanted (NNGP 0, NTK 1)."""

    rows: Points
    columns: Points
    kernels: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LayeredRows:
    """The layers with the points of both sides of a matrix."""

    steps: list[LayerStep]

    @classmethod
    def of(
        cls,
        layers: tuple[HiddenLayer, ...],
        c: Array,
        d: Array,
        scope: Range,
        by_pairs: bool,
        pairs: int,
        zeros: bool = False,
        rounding: tuple[Array, Array] | None = None,
    ) -> LayeredRows:
        """The layers for points with deviations c and d, parts of data in a scope with so many entries.

        ``rounding`` are those of c and d, as in `LayerSide`.
        """
        steps: list[LayerStep] = []
        # Pairs by themselves need no tables, and no ranges.
        spans = (NOWHERE,) * len(layers) if by_pairs else spans_of(layers, scope, zeros)
        sides = (c, c if d is c else d)
        for layer, span in zip(layers, spans, strict=True):
            functions = functions_of(layer, span, by_pairs)
            known = (None, None) if rounding is None or steps else rounding
            first = LayerSide.of(layer, sides[0], *functions, known[0])
            second = first if sides[1] is sides[0] else LayerSide.of(layer, sides[1], *functions, known[1])
            angles = paying_angles(layer, scope, span.near, pairs)
            steps.append(LayerStep(layer, (first, second), span, by_pairs, pairs <= _FEW, angles))
            after = np.sqrt(first.after(layer))
            sides = (after, after if second is first else np.sqrt(second.after(layer)))
        return cls(steps)

    def diagonals(self, c: Array) -> Array:
        """Σ and Θ of every row with itself, whose deviations are c, one row each; Θ is infinite where σ jumps."""
        square = c**2
        tangent = square
        for step in self.steps:
            layer, numbers = step.layer, step.sides[0].numbers
            new = numbers[1] ** 2 + layer.bias**2
            moved = tangent * numbers[2] ** 2 + new
            square, tangent = (square + new, tangent + moved) if layer.residual else (new, moved)
        jumps = any(step.layer.dual.jumps for step in self.steps)
        return np.stack([square, np.full_like(square, np.inf) if jumps else tangent])

    def through(self, tile: Tile, some: Some, others: Some, with_tangent: bool) -> None:
        """All layers of a tile, in place."""
        for step in self.steps:
            step.apply(tile, some, others, with_tangent)

    def fill(self, matrix: Matrix, some: slice, others: slice, start: int, panels: Array) -> None:
        """The kernels of the rows ``some`` and the columns ``others``, at least those from ``start`` on."""
        for first in range(start // _WIDTH * _WIDTH, others.stop, _WIDTH):
            part = slice(max(first, others.start), min(first + _WIDTH, others.stop))
            tile = first_tile(matrix.rows, matrix.columns, some, part)
            self.through(tile, some, part, 1 in matrix.kernels)
            for kernel in matrix.kernels:
                panels[kernel][:, part.start - others.start : part.stop - others.start] = tile[1 + kernel]

    def complete(self, matrix: Matrix, strip: Strip, rows: Index, columns: Index, panels: Array) -> None:
        """The entries of a strip in these places: often few rows meet few columns."""
        found = np.unique(columns)
        for start in range(0, len(found), _WIDTH):
            part = found[start : start + _WIDTH]
            here = (columns >= part[0]) & (columns <= part[-1])
            own = np.unique(rows[here])
            some, others = strip.some.start + own, strip.others.start + part
            places = np.ix_(own, others - strip.first)
            lengths = matrix.rows.length[some], matrix.columns.length[others]
            tile = _entering(*lengths, strip.cosines[places], strip.theta[places])
            self.through(tile, some, others, 1 in matrix.kernels)
            inside = np.searchsorted(own, rows[here]), np.searchsorted(part, columns[here])
            for kernel in matrix.kernels:
                panels[kernel, rows[here], columns[here]] = tile[1 + kernel][inside]
