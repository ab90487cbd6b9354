"""Layers that combine positions by fixed linear maps: `LinearMap`, `Index` and `Aggregate`.

A map A on positions turns C into A C Aᵀ. With s = A·1, m = A V and Q = A G Aᵀ this is, in terms of the gap,

    G ← ½(s_p - s_q)(m_p - m_q) + Q - ½(Q₁ + Q₂),

where Q₁ and Q₂ are those of the two inputs with themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import ModuleType
from typing import ClassVar

import numpy as np

from holokern.errors import BadInput
from holokern.network.layers.layer import Branches, Context, Layer, Output, Walk
from holokern.network.layers.state import Layout, State, same_positions
from holokern.network.layers.weights import require_positions
from holokern.numeric import AnyArray


class Mixing(Layer):
    """A linear map of positions."""

    _removes_positions: ClassVar[bool] = False

    def needs_pairs(self, after: bool) -> bool:
        """Outputs at one position mix all positions."""
        return True

    def _mix(self, walk: Walk, array: AnyArray, layout: Layout, side: int) -> AnyArray:
        """The map of the positions of the first or the second side of an array; the axes stay."""
        raise NotImplementedError

    def _of_side(self, walk: Walk, array: AnyArray, side: int) -> AnyArray:
        """The map of an array (positions, inputs)."""
        return self._mix(walk, array, Layout(array.ndim - 1, True, True), side)

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """C ← A C Aᵀ."""
        assert isinstance(state, State) and not state.layout.is_tied
        xp, layout = walk.xp, state.layout

        def both(array: AnyArray) -> AnyArray:
            return self._mix(walk, self._mix(walk, array, layout, 0), layout, 1)

        crossed = both(state.gap)
        ends = (state.first, state.second)
        sums = [self._of_side(walk, xp.ones_like(end), side) for side, end in enumerate(ends)]
        means = [self._of_side(walk, end, side) for side, end in enumerate(ends)]
        shape = tuple(means[0].shape)
        own = walk.sides(lambda: same_positions(xp, crossed, math.prod(shape[:-1])).reshape(shape))
        sides = walk.sides(lambda: sums[0] * means[0] - own[0])
        rows, columns = layout.rows, layout.columns
        gap = crossed - 0.5 * (rows(own[0]) + columns(own[1]))
        gap = gap + 0.5 * (rows(sums[0]) - columns(sums[1])) * (rows(means[0]) - columns(means[1]))
        tangent = None if state.tangent is None else both(state.tangent)
        after = State(layout, sides[0], sides[1], gap, tangent)
        return without_positions(after) if self._removes_positions else after


def without_positions(state: State) -> State:
    """A state with one position only, as one without positions."""
    sides = [side.reshape(-1) for side in (state.first, state.second)]
    shape = (-1,) if state.layout.is_paired else (sides[0].shape[0], sides[1].shape[0])
    pairs = [None if array is None else array.reshape(shape) for array in (state.gap, state.tangent)]
    return State(Layout(0, True, state.layout.is_paired), sides[0], sides[1], pairs[0], pairs[1])


def axes_of(layout: Layout, side: int) -> list[int]:
    """The axes of positions of one side."""
    return [layout.axes(dimension)[-1 if side else 0] for dimension in range(layout.dimensions)]


def by_input(walk: Walk, matrices: AnyArray, array: AnyArray, layout: Layout, side: int) -> AnyArray:
    """A matrix for each input, of shape (inputs, out, in), along the only axis of positions."""
    xp, place = walk.xp, axes_of(layout, side)[0]
    inputs = array.ndim - 1 if layout.is_paired or side else layout.dimensions
    front = xp.moveaxis(array, (inputs, place), (0, 1))
    mixed = matrices @ front.reshape(front.shape[0], front.shape[1], -1)
    return xp.moveaxis(mixed.reshape(front.shape[0], mixed.shape[1], *front.shape[2:]), (0, 1), (inputs, place))


@dataclass(frozen=True, eq=False, repr=False)
class LinearMap(Mixing):
    """A fixed matrix on positions: a resize, a blur, a Fourier transform.

    Parameters
    ----------
    matrix
        One row for each position after the layer, one column for each position before it.
    axis
        The axis of positions along which it acts.
    """

    matrix: AnyArray
    axis: int = 0

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=float)
        if matrix.ndim != 2 or not matrix.size or not np.all(np.isfinite(matrix)):
            raise BadInput(f"LinearMap: the matrix has shape {matrix.shape}; pass finite numbers, rows by columns")
        if not isinstance(self.axis, int) or self.axis < 0:
            raise BadInput(f"LinearMap: axis = {self.axis!r}; pass 0 for the first axis of positions, 1 for the next …")
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearMap) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.matrix.shape, self.matrix.tobytes(), self.axis

    def __repr__(self) -> str:
        rows, columns = self.matrix.shape
        return f"LinearMap(<{rows}x{columns} matrix>{f', axis={self.axis}' if self.axis else ''})"

    def shape(self, shape: Output) -> Output:
        """As many positions along the axis as the matrix has rows."""
        before = require_positions(self, shape)
        if before.positions is None:
            return before
        if self.axis >= len(before.positions) or before.positions[self.axis] != self.matrix.shape[1]:
            self.refuse(f"its input has shape {before}, and axis {self.axis} needs {self.matrix.shape[1]} positions")
        positions = [*before.positions]
        positions[self.axis] = self.matrix.shape[0]
        return replace(before, positions=tuple(positions))

    def _mix(self, walk: Walk, array: AnyArray, layout: Layout, side: int) -> AnyArray:
        axis = axes_of(layout, side)[self.axis]
        matrix = walk.xp.asarray(self.matrix, dtype=array.dtype)
        moved = walk.xp.moveaxis(array, axis, 0)
        mixed = (matrix @ moved.reshape(moved.shape[0], -1)).reshape(-1, *moved.shape[1:])
        return walk.xp.moveaxis(mixed, 0, axis)


@dataclass(frozen=True, repr=False)
class Index(Layer):
    """Keeps only some positions: a whole number picks one position and removes its axis, a slice picks several.

    Examples
    --------
    ``Index(-1)`` keeps the last step of a sequence, ``Index(slice(None), 0)`` the first column of an image.
    """

    picks: tuple[int | slice, ...]

    def __init__(self, *picks: int | slice) -> None:
        if not picks or not all(isinstance(pick, (int, slice)) for pick in picks):
            raise BadInput(f"Index{picks!r}: pass a whole number or a slice for each axis of positions")
        object.__setattr__(self, "picks", tuple(picks))

    def __repr__(self) -> str:
        return f"Index({', '.join(map(repr, self.picks))})"

    def __hash__(self) -> int:
        return hash(repr(self))

    def shape(self, shape: Output) -> Output:
        """The positions that are kept."""
        before = require_positions(self, shape)
        if before.positions is None:
            return replace(before, has_positions=False)
        if len(self.picks) > len(before.positions):
            self.refuse(f"it has {len(self.picks)} numbers, and its input of shape {before} has fewer axes")
        kept = []
        for axis, count in enumerate(before.positions):
            pick = self.picks[axis] if axis < len(self.picks) else slice(None)
            if isinstance(pick, slice):
                kept.append(len(range(*pick.indices(count))))
                if not kept[-1]:
                    self.refuse(f"{pick} keeps nothing of an input of shape {before}")
            elif not -count <= pick < count:
                self.refuse(f"position {pick} is not in an input of shape {before}")
        return replace(before, positions=tuple(kept))

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """C at these positions."""
        assert isinstance(state, State)
        layout = state.layout

        def picked(array: AnyArray, own: Layout) -> AnyArray:
            index: list[int | slice] = [slice(None)] * array.ndim
            for dimension, pick in enumerate(self.picks):
                for axis in own.axes(dimension):
                    index[axis] = pick
            return array[tuple(index)]

        side_layout = Layout(layout.dimensions, True, True)
        sides = walk.sides(lambda: picked(state.first, side_layout))
        pairs = [None if array is None else picked(array, layout) for array in (state.gap, state.tangent)]
        after = layout.with_dimensions(sides[0].ndim - 1)
        if after.dimensions == 0:
            after = Layout(0, True, layout.is_paired)
        return State(after, *sides, *pairs)


@dataclass(frozen=True, repr=False)
class Aggregate(Mixing):
    """The step of graph networks between layers: every node takes the sum or the mean over its neighbours.

    The inputs must be `Graphs`, which hold the neighbours of every node.

    Parameters
    ----------
    how
        ``"sum"`` or ``"mean"``.
    with_itself
        Whether a node counts as a neighbour of itself.
    """

    how: str = "sum"
    with_itself: bool = False

    def __post_init__(self) -> None:
        if self.how not in ("sum", "mean"):
            raise BadInput(f"Aggregate: how = {self.how!r}; choose 'sum' or 'mean'")

    def shape(self, shape: Output) -> Output:
        """The same nodes."""
        before = require_positions(self, shape)
        if before.positions is not None and len(before.positions) != 1:
            self.refuse(f"its input has shape {before}; graphs have one axis of positions, the nodes")
        return before

    def matrices(self, xp: ModuleType, pattern: AnyArray) -> AnyArray:
        """What each node takes of each other, from the weights of its neighbours, for every graph."""
        if self.with_itself:
            pattern = pattern + xp.eye(pattern.shape[1], dtype=pattern.dtype)
        if self.how == "mean":
            total = xp.sum(pattern, axis=2, keepdims=True)
            pattern = pattern / xp.where(total == 0, xp.ones_like(total), total)
        return pattern

    def _mix(self, walk: Walk, array: AnyArray, layout: Layout, side: int) -> AnyArray:
        return by_input(walk, self.matrices(walk.xp, walk.patterns()[side]), array, layout, side)
