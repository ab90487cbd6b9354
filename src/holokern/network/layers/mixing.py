"""Layers that combine positions by fixed linear maps: pooling, `Flatten`, `LinearMap`, `Index` and `Aggregate`.

A map A on positions turns C into A C Aᵀ. With s = A·1, m = A V and Q = A G Aᵀ this is, in terms of the gap,

    G ← ½(s_p - s_q)(m_p - m_q) + Q - ½(Q₁ + Q₂),

where Q₁ and Q₂ are those of the two inputs with themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holokern.errors import BadInput
from holokern.network.layers.layer import Branches, Context, Layer, Output, Shape, Walk, per_dimension
from holokern.network.layers.state import Layout, State
from holokern.network.layers.weights import check_windows, require_positions
from holokern.network.layers.windows import Padding, Window, taken, window_sums

__all__ = [
    "Aggregate",
    "AvgPool",
    "Flatten",
    "GlobalAvgPool",
    "GlobalSumPool",
    "Index",
    "LinearMap",
    "SumPool",
]


class _Mixing(Layer):
    """A linear map of positions."""

    def needs_pairs(self, after: bool) -> bool:
        """Outputs at one position mix all positions."""
        return True

    def _mix(self, walk: Walk, array: Any, layout: Layout, side: int) -> Any:
        """The map of the positions of the first or the second side of an array; the axes stay."""
        raise NotImplementedError

    @property
    def _removes_positions(self) -> bool:
        return False

    def _of_side(self, walk: Walk, array: Any, side: int) -> Any:
        """The map of an array (positions, inputs)."""
        return self._mix(walk, array, Layout(array.ndim - 1, True, True), side)

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """C ← A C Aᵀ."""
        assert isinstance(state, State) and not state.layout.is_tied
        xp, layout = walk.xp, state.layout

        def both(array: Any) -> Any:
            return self._mix(walk, self._mix(walk, array, layout, 0), layout, 1)

        crossed = both(state.gap)
        ends = (state.first, state.second)
        sums = [self._of_side(walk, xp.ones_like(end), side) for side, end in enumerate(ends)]
        means = [self._of_side(walk, end, side) for side, end in enumerate(ends)]
        own = walk.sides(lambda: _diagonal(xp, crossed, tuple(means[0].shape)))
        sides = walk.sides(lambda: sums[0] * means[0] - own[0])
        rows, columns = layout.rows, layout.columns
        gap = crossed - 0.5 * (rows(own[0]) + columns(own[1]))
        gap = gap + 0.5 * (rows(sums[0]) - columns(sums[1])) * (rows(means[0]) - columns(means[1]))
        tangent = None if state.tangent is None else both(state.tangent)
        after = State(layout, sides[0], sides[1], gap, tangent)
        return _without_positions(after) if self._removes_positions else after


def _diagonal(xp: Any, array: Any, shape: tuple[int, ...]) -> Any:
    """Entries of the same position of a paired array (P, P, inputs)."""
    count = math.prod(shape[:-1])
    places = xp.arange(count)
    return array.reshape(count, count, -1)[places, places].reshape(shape)


def _without_positions(state: State) -> State:
    """A state with one position only, as one without positions."""
    sides = [side.reshape(-1) for side in (state.first, state.second)]
    shape = (-1,) if state.layout.is_paired else (sides[0].shape[0], sides[1].shape[0])
    pairs = [None if array is None else array.reshape(shape) for array in (state.gap, state.tangent)]
    return State(Layout(0, True, state.layout.is_paired), sides[0], sides[1], pairs[0], pairs[1])


def _axes(layout: Layout, side: int) -> list[int]:
    return [layout.axes(dimension)[-1 if side else 0] for dimension in range(layout.dimensions)]


def _by_input(walk: Walk, matrices: Any, array: Any, layout: Layout, side: int) -> Any:
    """A matrix for each input, of shape (inputs, out, in), along the only axis of positions."""
    xp, place = walk.xp, _axes(layout, side)[0]
    inputs = array.ndim - 1 if layout.is_paired or side else layout.dimensions
    front = xp.moveaxis(array, (inputs, place), (0, 1))
    mixed = matrices @ front.reshape(front.shape[0], front.shape[1], -1)
    return xp.moveaxis(mixed.reshape(front.shape[0], mixed.shape[1], *front.shape[2:]), (0, 1), (inputs, place))


@dataclass(frozen=True, repr=False)
class _Pool(_Mixing):
    window: int | tuple[int, ...]
    stride: int | tuple[int, ...] | None = None
    padding: Padding = "valid"

    def __post_init__(self) -> None:
        check_windows(self, ("window",) if self.stride is None else ("window", "stride"), self.padding)

    def windows(self, positions: tuple[int, ...]) -> tuple[Window, ...]:
        """The window along each axis."""
        sizes = per_dimension(self, "window", self.window, len(positions))
        strides = per_dimension(self, "stride", self.window if self.stride is None else self.stride, len(positions))
        return tuple(
            Window.convolution(count, size, stride, 1, self.padding)
            for count, size, stride in zip(positions, sizes, strides, strict=True)
        )

    def shape(self, shape: Output) -> Output:
        """One position for every window."""
        require_positions(self, shape)
        before = self.one(shape)
        if before.positions is None:
            return before
        positions = tuple(window.count for window in self.windows(before.positions))
        if any(count < 1 for count in positions):
            self.refuse(f"its window is larger than its input of shape {before}")
        return replace(before, positions=positions)

    def _share(self, window: Window, count: int) -> Any:
        """What the sum over each window is multiplied by."""
        return 1.0

    def _mix(self, walk: Walk, array: Any, layout: Layout, side: int) -> Any:
        axes = _axes(layout, side)
        counts = tuple(array.shape[axis] for axis in axes)
        for axis, count, window in zip(axes, counts, self.windows(counts), strict=True):
            array = window_sums(walk.xp, taken(walk.xp, array, axis, window.places, 0.0), (axis,), window)
            share = self._share(window, count)
            if not isinstance(share, float):
                shape = [1] * array.ndim
                shape[axis] = window.count
                share = walk.xp.asarray(share.reshape(shape), dtype=array.dtype)
            array = array * share
        return array


@dataclass(frozen=True, repr=False)
class SumPool(_Pool):
    """Sums over windows of positions.

    Parameters
    ----------
    window
        The size of the window: one number for all axes, or one for each.
    stride
        Steps between windows; the size of the window by default, as in PyTorch and Keras (1 in neural-tangents).
    padding
        ``"valid"``, ``"same"`` (zeros outside) or ``"circular"``.
    """


@dataclass(frozen=True, repr=False)
class AvgPool(_Pool):
    """Means over windows of positions.

    Parameters
    ----------
    window, stride, padding
        As in `SumPool`.
    normalize_edges
        Whether a window that reaches outside divides by the number of positions that it sees instead of by its size.
    """

    normalize_edges: bool = False

    def _share(self, window: Window, count: int) -> Any:
        if self.normalize_edges and self.padding == "same":
            return 1.0 / window.matrix(count).sum(axis=1)
        return 1.0 / window.size


@dataclass(frozen=True, repr=False)
class GlobalSumPool(_Mixing):
    """The sum over all positions; over the nodes of each graph."""

    def shape(self, shape: Output) -> Output:
        """No positions."""
        require_positions(self, shape)
        before = self.one(shape)
        return replace(before, positions=())

    @property
    def _removes_positions(self) -> bool:
        return True

    def _mix(self, walk: Walk, array: Any, layout: Layout, side: int) -> Any:
        nodes = walk.nodes()
        if nodes is not None:
            return _by_input(walk, self._shares(walk.xp, nodes[side]).T[:, None, :], array, layout, side)
        axes = _axes(layout, side)
        count = math.prod(array.shape[axis] for axis in axes)
        for axis in axes:
            array = _ordered_sum(array, axis)
        return array * self._share(count)

    def _share(self, count: int) -> float:
        return 1.0

    def _shares(self, xp: Any, nodes: Any) -> Any:
        return nodes


@dataclass(frozen=True, repr=False)
class GlobalAvgPool(GlobalSumPool):
    """The mean over all positions; over the nodes of each graph."""

    def _share(self, count: int) -> float:
        return 1.0 / count

    def _shares(self, xp: Any, nodes: Any) -> Any:
        return nodes / xp.sum(nodes, axis=0)


def _ordered_sum(array: Any, axis: int) -> Any:
    """The sum along an axis, in the same order whatever the other axes are; the axis stays."""
    index = [slice(None)] * array.ndim
    total = None
    for place in range(array.shape[axis]):
        index[axis] = slice(place, place + 1)
        part = array[tuple(index)]
        total = part if total is None else total + part
    return total


@dataclass(frozen=True, repr=False)
class Flatten(Layer):
    """All positions and channels in one vector: the mean of the covariances of the same position."""

    def shape(self, shape: Output) -> Output:
        """No positions."""
        before = self.one(shape)
        width = before.width
        if width is not None and before.positions is not None:
            width *= math.prod(before.positions)
        return Shape((), width if before.positions is not None else None, False, before.sources)

    def needs_pairs(self, after: bool) -> bool:
        """Only pairs of the same position count."""
        return False

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """C ← mean of C(p, p)."""
        assert isinstance(state, State) and state.layout.is_tied
        if walk.nodes() is not None:
            self.refuse("graphs have different numbers of nodes; use GlobalSumPool or GlobalAvgPool")
        share = 1.0 / math.prod(state.positions)

        def mean(array: Any) -> Any:
            for axis in range(state.layout.dimensions):
                array = _ordered_sum(array, axis)
            return share * array

        sides = walk.sides(lambda: mean(state.first).reshape(-1))
        tangent = None if state.tangent is None else mean(state.tangent)
        flat = State(state.layout, mean(state.first), mean(state.second), mean(state.gap), tangent)
        after = _without_positions(flat)
        return State(after.layout, *sides, after.gap, after.tangent)


@dataclass(frozen=True, eq=False, repr=False)
class LinearMap(_Mixing):
    """A fixed matrix on positions: a resize, a blur, a Fourier transform.

    Parameters
    ----------
    matrix
        One row for each position after the layer, one column for each position before it.
    axis
        The axis of positions along which it acts.
    """

    matrix: Any
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
        require_positions(self, shape)
        before = self.one(shape)
        if before.positions is None:
            return before
        if self.axis >= len(before.positions) or before.positions[self.axis] != self.matrix.shape[1]:
            self.refuse(f"its input has shape {before}, and axis {self.axis} needs {self.matrix.shape[1]} positions")
        positions = [*before.positions]
        positions[self.axis] = self.matrix.shape[0]
        return replace(before, positions=tuple(positions))

    def _mix(self, walk: Walk, array: Any, layout: Layout, side: int) -> Any:
        axis = _axes(layout, side)[self.axis]
        matrix = walk.xp.asarray(self.matrix, dtype=array.dtype)
        moved = walk.xp.moveaxis(array, axis, 0)
        mixed = (matrix @ moved.reshape(moved.shape[0], -1)).reshape(-1, *moved.shape[1:])
        return walk.xp.moveaxis(mixed, 0, axis)


@dataclass(frozen=True, repr=False)
class Index(Layer):
    """Some positions only: whole numbers pick one position and remove its axis, slices pick several.

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
        require_positions(self, shape)
        before = self.one(shape)
        if before.positions is None:
            return before
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

        def picked(array: Any, own: Layout) -> Any:
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
class Aggregate(_Mixing):
    """What graph networks do between layers: every node takes the sum or the mean over its neighbours.

    The inputs must be `Graphs`, which know who is whose neighbour.

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
        require_positions(self, shape)
        before = self.one(shape)
        if before.positions is not None and len(before.positions) != 1:
            self.refuse(f"its input has shape {before}; graphs have one axis of positions, the nodes")
        return before

    def _mix(self, walk: Walk, array: Any, layout: Layout, side: int) -> Any:
        xp, pattern = walk.xp, walk.patterns()[side]
        if self.with_itself:
            pattern = pattern + xp.eye(pattern.shape[1], dtype=pattern.dtype)
        if self.how == "mean":
            total = xp.sum(pattern, axis=2, keepdims=True)
            pattern = pattern / xp.where(total == 0, xp.ones_like(total), total)
        return _by_input(walk, pattern, array, layout, side)
