"""Which input positions a window sees.

Positions are numbered along all axes together. An array of taps has one row for each output position and one column for
each tap, and -1 where a tap lies outside of the input.
"""

from __future__ import annotations

from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from holokern.numeric import Array

Taps = NDArray[np.int64]


def convolution(
    positions: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    padding: str,
) -> tuple[Taps, tuple[int, ...]]:
    """The taps of a convolution, and the numbers of output positions."""
    axes = [_convolution(*axis, padding) for axis in zip(positions, sizes, strides, dilations, strict=True)]
    return _all_axes(axes, positions), tuple(len(axis) for axis in axes)


def _convolution(count: int, size: int, stride: int, dilation: int, padding: str) -> Taps:
    reach = (size - 1) * dilation
    if padding == "valid":
        outputs, start = (count - reach - 1) // stride + 1, 0
    else:
        outputs = (count + stride - 1) // stride
        start = -(max(0, (outputs - 1) * stride + reach + 1 - count) // 2)
    seen = start + stride * np.arange(outputs)[:, None] + dilation * np.arange(size)
    return seen % count if padding == "circular" else np.where((seen < 0) | (seen >= count), -1, seen)


def transposed(
    positions: tuple[int, ...], sizes: tuple[int, ...], strides: tuple[int, ...], padding: str
) -> tuple[Taps, tuple[int, ...]]:
    """The taps of a transposed convolution, and the numbers of output positions."""
    axes = [_transposed(*axis, padding) for axis in zip(positions, sizes, strides, strict=True)]
    return _all_axes(axes, positions), tuple(len(axis) for axis in axes)


def _transposed(count: int, size: int, stride: int, padding: str) -> Taps:
    """Position i spreads over the outputs i·stride, …, i·stride + size - 1, which are cut or wrapped round."""
    overlap = max(size - stride, 0)
    length = count * stride + (overlap if padding == "valid" else 0)
    cut = {"valid": 0, "circular": overlap // 2, "same": overlap // 2}[padding]
    taps = np.full((length, size), -1)
    for i in range(count):
        for tap in range(size):
            output = i * stride + size - 1 - tap - cut
            if padding == "circular":
                output %= length
            if 0 <= output < length:
                taps[output, tap] = i
    return taps


def _all_axes(axes: list[Taps], positions: tuple[int, ...]) -> Taps:
    """The taps of several axes together."""

    def joined(before: Taps, after: tuple[Taps, int]) -> Taps:
        axis, count = after
        inside = (before[:, None, :, None] >= 0) & (axis[None, :, None, :] >= 0)
        places = np.where(inside, before[:, None, :, None] * count + axis[None, :, None, :], -1)
        return places.reshape(len(before) * len(axis), -1)

    return reduce(joined, zip(axes, positions, strict=True), np.zeros((1, 1), dtype=np.int64))


def gathered(x: Array, taps: Taps) -> Array:
    """What the windows see: (inputs, outputs, taps, channels) from (inputs, positions, channels), zeros outside."""
    flat = x.reshape(len(x), -1, x.shape[-1])
    return np.concatenate([flat, np.zeros((len(x), 1, x.shape[-1]))], axis=1)[:, taps]


def scattered(change: Array, taps: Taps, positions: tuple[int, ...]) -> Array:
    """The transposed map of `gathered`."""
    # The last place collects what lies outside. No tap sees a position twice, so += adds everything.
    total = np.zeros((len(change), prod(positions) + 1, change.shape[-1]))
    for tap in range(taps.shape[1]):
        total[:, taps[:, tap]] += change[:, :, tap]
    return total[:, :-1].reshape(len(change), *positions, change.shape[-1])
