"""Pooling over windows, over all positions, and `Flatten`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import ModuleType
from typing import ClassVar

import numpy as np

from holokern.network.layers.layer import Branches, Context, Layer, Output, Shape, Walk, per_dimension
from holokern.network.layers.mixing import Mixing, axes_of, by_input, without_positions
from holokern.network.layers.state import Layout, State
from holokern.network.layers.weights import check_windows, require_positions
from holokern.network.layers.windows import Padding, Window, taken, window_sums
from holokern.numeric import AnyArray


@dataclass(frozen=True, repr=False)
class _Pool(Mixing):
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
        before = require_positions(self, shape)
        if before.positions is None:
            return before
        positions = tuple(window.count for window in self.windows(before.positions))
        if any(count < 1 for count in positions):
            self.refuse(f"its window is larger than its input of shape {before}")
        return replace(before, positions=positions)

    def _share(self, window: Window) -> AnyArray:
        """What the sum over each window is multiplied by."""
        return 1.0

    def _mix(self, walk: Walk, array: AnyArray, layout: Layout, side: int) -> AnyArray:
        axes = axes_of(layout, side)
        for axis, window in zip(axes, self.windows(tuple(array.shape[axis] for axis in axes)), strict=True):
            array = window_sums(walk.xp, taken(walk.xp, array, axis, window.places, 0.0), (axis,), window)
            share = self._share(window)
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
        Whether a window that reaches outside divides by the number of positions inside instead of by its size.
    """

    normalize_edges: bool = False

    def _share(self, window: Window) -> AnyArray:
        if self.normalize_edges and self.padding == "same":
            return 1.0 / np.sum(window.taps() >= 0, axis=1)
        return 1.0 / window.size


@dataclass(frozen=True, repr=False)
class GlobalSumPool(Mixing):
    """The sum over all positions, or over the nodes of each graph."""

    _removes_positions: ClassVar[bool] = True

    def shape(self, shape: Output) -> Output:
        """No positions."""
        before = require_positions(self, shape)
        return replace(before, positions=(), has_positions=False)

    def _mix(self, walk: Walk, array: AnyArray, layout: Layout, side: int) -> AnyArray:
        nodes = walk.nodes()
        if nodes is not None:
            return by_input(walk, self._shares(walk.xp, nodes[side]).T[:, None, :], array, layout, side)
        axes = axes_of(layout, side)
        count = math.prod(array.shape[axis] for axis in axes)
        for axis in axes:
            array = _ordered_sum(array, axis)
        return array * self._share(count)

    def _share(self, count: int) -> float:
        return 1.0

    def _shares(self, xp: ModuleType, nodes: AnyArray) -> AnyArray:
        return nodes


@dataclass(frozen=True, repr=False)
class GlobalAvgPool(GlobalSumPool):
    """The mean over all positions, or over the nodes of each graph."""

    def _share(self, count: int) -> float:
        return 1.0 / count

    def _shares(self, xp: ModuleType, nodes: AnyArray) -> AnyArray:
        return nodes / xp.sum(nodes, axis=0)


def _ordered_sum(array: AnyArray, axis: int) -> AnyArray:
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
    """All positions and channels in one vector: the covariance is the mean over pairs of equal positions."""

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

        def mean(array: AnyArray) -> AnyArray:
            for axis in range(state.layout.dimensions):
                array = _ordered_sum(array, axis)
            return share * array

        sides = walk.sides(lambda: mean(state.first).reshape(-1))
        tangent = None if state.tangent is None else mean(state.tangent)
        flat = State(state.layout, mean(state.first), mean(state.second), mean(state.gap), tangent)
        after = without_positions(flat)
        return State(after.layout, *sides, after.gap, after.tangent)
