"""Which input positions a window sees.

Positions are numbered along all axes together. An array of taps has one row for each output position and one column for
each tap, and -1 where a tap lies outside of the input.
"""

from __future__ import annotations

from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from holokern.network.layers.windows import Window
from holokern.numeric import Array

Taps = NDArray[np.int64]


def taps_of(windows: tuple[Window, ...], positions: tuple[int, ...]) -> Taps:
    """The taps of a window along each axis of positions."""

    def joined(before: Taps, after: tuple[Taps, int]) -> Taps:
        axis, count = after
        inside = (before[:, None, :, None] >= 0) & (axis[None, :, None, :] >= 0)
        places = np.where(inside, before[:, None, :, None] * count + axis[None, :, None, :], -1)
        return places.reshape(len(before) * len(axis), -1)

    axes = zip((window.taps() for window in windows), positions, strict=True)
    return reduce(joined, axes, np.zeros((1, 1), dtype=np.int64))


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
