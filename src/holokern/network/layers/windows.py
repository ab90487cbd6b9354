"""Moving windows over positions: which inputs a window sees, and sums over windows.

A window is a list of taps, and for every output position and tap the input position, or none outside of the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holokern.network.layers.state import State
from holokern.numeric import AnyArray

Padding = Literal["same", "valid", "circular"]

_DOUBLED = 4
"""From this length on a sum is made of two sums of half the length."""


@dataclass(frozen=True)
class Window:
    """A window that moves along one axis of positions."""

    # the positions to take before the sum, which may be several times the same; -1 stands for a zero outside
    places: tuple[int, ...]
    # size, stride, dilation: the sum over ``size`` places, each ``dilation`` after the one before, at every
    # ``stride``-th place
    size: int
    stride: int
    dilation: int

    @classmethod
    @lru_cache(maxsize=256)
    def convolution(cls, count: int, size: int, stride: int, dilation: int, padding: Padding) -> Window:
        """The window of a convolution over ``count`` positions; with ``same`` the end gets the odd zero."""
        reach = dilation * (size - 1) + 1
        before = after = 0
        if padding != "valid":
            missing = max((-(-count // stride) - 1) * stride + reach - count, 0)
            before, after = missing // 2, missing - missing // 2
        places = np.arange(-before, count + after)
        places = places % count if padding == "circular" else np.where((places < 0) | (places >= count), -1, places)
        return cls(tuple(places.tolist()), size, stride, dilation)

    @classmethod
    @lru_cache(maxsize=256)
    def transposed(cls, count: int, size: int, stride: int, padding: Padding) -> Window:
        """The window of a transposed convolution: ``stride`` - 1 zeros between positions, then a convolution."""
        length = count * stride + (max(size - stride, 0) if padding == "valid" else 0)
        shift = size - 1 - (0 if padding == "valid" else max(size - stride, 0) // 2)
        places = np.arange(-shift, length + size - 1 - shift)
        if padding == "circular":
            places = places % length
        inside = (places >= 0) & (places % stride == 0) & (places // stride < count)
        return cls(tuple(np.where(inside, places // stride, -1).tolist()), size, 1, 1)

    @property
    def moves(self) -> bool:
        """Whether it does anything but leave every position as it is."""
        return self.size > 1 or self.places != tuple(range(self.count))

    @property
    def count(self) -> int:
        """The number of output positions."""
        return max(0, (len(self.places) - self.dilation * (self.size - 1) - 1) // self.stride + 1)

    def taps(self) -> NDArray[np.int64]:
        """The input position that each output position sees at each tap, or -1."""
        taps = self.stride * np.arange(self.count)[:, None] + self.dilation * np.arange(self.size)
        return np.take(np.array(self.places, dtype=np.int64), taps)


def window_sums(xp: ModuleType, array: AnyArray, axes: tuple[int, ...], window: Window) -> AnyArray:
    """Sums over a window that moves along several axes at once; the places have been taken before."""
    if window.size == 1:
        return _shifted(array, axes, 0, window.count, window.stride)
    if window.stride == 1 and window.size >= _DOUBLED:
        # Sums of two, four, … by adding a sum to its neighbour: log₂(size) additions, and never a subtraction.
        half = window.size // 2
        length = len(window.places)
        partial = window_sums(xp, array, axes, Window(window.places, half, 1, window.dilation))
        total = _shifted(partial, axes, 0, window.count, 1) + _shifted(
            partial, axes, half * window.dilation, window.count, 1
        )
        if window.size % 2:
            total = total + _shifted(array, axes, length - window.count, window.count, 1)
        return total
    total = _shifted(array, axes, 0, window.count, window.stride)
    for tap in range(1, window.size):
        total = total + _shifted(array, axes, tap * window.dilation, window.count, window.stride)
    return total


def _shifted(array: AnyArray, axes: tuple[int, ...], start: int, count: int, stride: int) -> AnyArray:
    index = [slice(None)] * array.ndim
    for axis in axes:
        index[axis] = slice(start, start + (count - 1) * stride + 1, stride)
    return array[tuple(index)]


def extended(xp: ModuleType, state: State, dimension: int, places: tuple[int, ...]) -> State:
    """The state at these places along one axis of positions; -1 stands for an output that is zero.

    An output that is zero has variance 0, and distance V/2 from another one of variance V.
    """
    sides = [taken(xp, side, dimension, places, 0.0) for side in (state.first, state.second)]
    layout, gap, tangent = state.layout, state.gap, state.tangent
    axes = layout.axes(dimension)
    if layout.is_tied:
        gap = taken(xp, gap, axes[0], places, 0.0)
    elif layout.is_paired or -1 in places:
        gap = taken(xp, gap, axes[0], places, 0.5 * layout.columns(state.second))
        gap = taken(xp, gap, axes[1], places, 0.5 * layout.rows(sides[0]))
    else:
        gap = taken(xp, taken(xp, gap, axes[0], places, 0.0), axes[1], places, 0.0)
    if tangent is not None:
        for axis in axes:
            tangent = taken(xp, tangent, axis, places, 0.0)
    return State(layout, sides[0], sides[1], gap, tangent)


def summed(xp: ModuleType, state: State, dimension: int, window: Window) -> State:
    """The sums of a state over a window that moves along one axis of positions."""
    wide = extended(xp, state, dimension, window.places)
    axes = state.layout.axes(dimension)
    sides = [window_sums(xp, side, (dimension,), window) for side in (wide.first, wide.second)]
    pairs = [None if a is None else window_sums(xp, a, axes, window) for a in (wide.gap, wide.tangent)]
    return State(state.layout, sides[0], sides[1], pairs[0], pairs[1])


@dataclass(frozen=True)
class Weights:
    """What a layer with weights does to variances, G and Θ."""

    windows: tuple[Window, ...]  # the window along each axis of positions
    # scale, bias: covariances after the layer are sums over the windows times ``scale``, plus ``bias``
    scale: float
    bias: float
    # share, more: Θ is its sum times ``scale``, plus the sum of covariances times ``share``, plus ``more``
    share: float
    more: float


def weighted(xp: ModuleType, state: State, sides: tuple[Any, Any], weights: Weights) -> State:
    """The state after a layer with weights; ``sides`` are the variances after it."""
    total = state
    for dimension, window in enumerate(weights.windows):
        if window.moves:
            total = summed(xp, total, dimension, window)
    tangent = None
    if state.tangent is not None:
        tangent = weights.scale * total.tangent
        if weights.share:
            tangent = tangent + weights.share * total.covariance() + weights.more
    return state.changed(sides, weights.scale * total.gap, tangent)


def side_sums(xp: ModuleType, side: AnyArray, windows: tuple[Window, ...]) -> AnyArray:
    """Sums of variances over windows."""
    for dimension, window in enumerate(windows):
        side = window_sums(xp, taken(xp, side, dimension, window.places, 0.0), (dimension,), window)
    return side


def taken(xp: ModuleType, array: AnyArray, axis: int, places: tuple[int, ...], outside: AnyArray) -> AnyArray:
    """Slices of an array along an axis, and ``outside`` for the place -1."""
    parts = []
    start = 0
    while start < len(places):
        stop = start + 1
        step = 0 if places[start] < 0 else 1
        while stop < len(places) and places[stop] == places[stop - 1] + step:
            stop += 1
        index = [slice(None)] * array.ndim
        if places[start] >= 0:
            index[axis] = slice(places[start], places[start] + stop - start)
            parts.append(array[tuple(index)])
        else:
            shape = [*array.shape]
            shape[axis] = stop - start
            index[axis] = slice(0, 1)
            empty = xp.zeros_like(array[tuple(index)])
            # The axis has length one in ``outside``, or it does not vary there.
            parts.append(xp.broadcast_to(empty + _narrow(outside, axis, array.ndim), tuple(shape)))
        start = stop
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=axis)


def _narrow(outside: AnyArray, axis: int, dimensions: int) -> AnyArray:
    if isinstance(outside, float):
        return outside
    # Arrays of fewer axes stand at the end, as in broadcasting.
    own = axis - (dimensions - outside.ndim)
    if own < 0 or outside.shape[own] == 1:
        return outside
    index = [slice(None)] * outside.ndim
    index[own] = slice(0, 1)
    return outside[tuple(index)]
