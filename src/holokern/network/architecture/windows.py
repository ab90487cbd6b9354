"""The machine code of sums over windows: one axis of positions at a time, without copies that are padded."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat.numpy as xp
import numba
import numpy as np

from holokern.network.layers.state import State
from holokern.network.layers.windows import Window, summed
from holokern.numeric import Array

__all__ = ["sums_over"]

_LONG = 8
"""Windows from this length on are summed by halves, which takes fewer additions."""


def sums_over(state: State, dimension: int, window: Window) -> State:
    """Sums of G and Θ over a window that moves along one axis of positions, and of the variances of both sides."""
    layout = state.layout
    if window.size >= _LONG or layout.is_paired:
        return summed(xp, state, dimension, window)
    places = np.array(window.places)
    sides = [_side(side, dimension, window, places) for side in (state.first, state.second)]
    before, after = (math.prod(state.positions[:dimension]), math.prod(state.positions[dimension + 1 :]))
    rows, columns = state.first.shape[-1], state.second.shape[-1]
    size, shape = state.positions[dimension], list(state.gap.shape)
    for axis in layout.axes(dimension):
        shape[axis] = window.count
    found: list[Array | None] = []
    for array, outside in ((state.gap, True), (state.tangent, False)):
        if array is None:
            found.append(None)
        elif layout.is_tied:
            out = np.empty((before, window.count, after * rows * columns))
            _tied(array.reshape(before, size, -1), places, window.size, window.stride, window.dilation, out)
            found.append(out.reshape(shape))
        else:
            cut = (before, size, after * rows, before, size, after * columns)
            out = np.empty((before, window.count, after * rows, before, window.count, after * columns))
            first = state.first.reshape(before, size, -1) if outside else np.zeros((before, size, after * rows))
            second = state.second.reshape(before, size, -1) if outside else np.zeros((before, size, after * columns))
            _untied(array.reshape(cut), first, second, places, window.size, window.stride, window.dilation, out)
            found.append(out.reshape(shape))
    return State(layout, sides[0], sides[1], found[0], found[1])


def _side(side: Array, dimension: int, window: Window, places: Any) -> Array:
    shape = list(side.shape)
    out = np.empty((math.prod(shape[:dimension]), window.count, math.prod(shape[dimension + 1 :])))
    cut = np.ascontiguousarray(side).reshape(len(out), shape[dimension], -1)
    _tied(cut, places, window.size, window.stride, window.dilation, out)
    shape[dimension] = window.count
    return out.reshape(shape)


@numba.njit(cache=True, nogil=True)
def _tied(array: Any, places: Any, size: Any, stride: Any, dilation: Any, out: Any) -> None:
    """out[a, o, b] = Σ_t array[a, place of tap t, b]."""
    for a in range(out.shape[0]):
        for o in range(out.shape[1]):
            line = out[a, o]
            line[:] = 0.0
            for t in range(size):
                place = places[o * stride + t * dilation]
                if place >= 0:
                    source = array[a, place]
                    for b in range(line.shape[0]):
                        line[b] += source[b]


@numba.njit(cache=True, nogil=True)
def _untied(array: Any, first: Any, second: Any, places: Any, size: Any, stride: Any, dilation: Any, out: Any) -> None:
    """The same along the diagonals of pairs of positions; an output outside is zero, at a distance of V/2."""
    for a in range(out.shape[0]):
        for o in range(out.shape[1]):
            for b in range(out.shape[2]):
                for c in range(out.shape[3]):
                    for q in range(out.shape[4]):
                        line = out[a, o, b, c, q]
                        line[:] = 0.0
                        for t in range(size):
                            here, there = places[o * stride + t * dilation], places[q * stride + t * dilation]
                            if here >= 0 and there >= 0:
                                source = array[a, here, b, c, there]
                                for d in range(line.shape[0]):
                                    line[d] += source[d]
                            elif here >= 0:
                                half = 0.5 * first[a, here, b]
                                for d in range(line.shape[0]):
                                    line[d] += half
                            elif there >= 0:
                                source = second[c, there]
                                for d in range(line.shape[0]):
                                    line[d] += 0.5 * source[d]
