"""The machine code of sums over windows: one axis of positions at a time, without copies that are padded."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import array_api_compat.numpy as xp
import numba
import numpy as np

from holokern.network.layers.state import State
from holokern.network.layers.windows import Window, averaged, summed
from holokern.numeric import Array

__all__ = ["sums_over", "weighted"]

_LONG = 8
"""Windows from this length on are summed by halves, which takes fewer additions."""


def sums_over(state: State, dimension: int, window: Window) -> State:
    """Sums of G and Θ over a window that moves along one axis of positions, and of the variances of both sides."""
    if window.size >= _LONG or state.layout.is_paired:
        return summed(xp, state, dimension, window)
    sides = [_line_sums(side, dimension, window, 1.0) for side in (state.first, state.second)]
    gap, tangent = _pair_sums(state, dimension, window, 1.0)
    return State(state.layout, sides[0], sides[1], gap, tangent)


def weighted(
    state: State, sides: tuple[Array, Array], windows: tuple[Window, ...], scale: float, is_trained: bool
) -> tuple[Array, Array | None]:
    """G and Θ after a layer with weights, in the parametrisation "ntk"; ``sides`` are the variances after it."""
    moving = [(d, w) for d, w in enumerate(windows) if w.moves]
    if state.layout.is_paired or any(w.size >= _LONG for _, w in moving):
        return averaged(xp, state, sides, windows, scale, is_trained)
    gap, tangent = state.gap, state.tangent
    first, second = state.first, state.second
    for place, (dimension, window) in enumerate(moving):
        is_last = place == len(moving) - 1
        given = State(state.layout, first, second, gap, tangent)
        gap, tangent = _pair_sums(given, dimension, window, scale if is_last else 1.0)
        if not is_last:
            # Variances are needed where outputs lie outside, at pairs of positions.
            first, second = (_line_sums(side, dimension, window, 1.0) for side in (first, second))
    if not moving:
        # In the order of C: Θ is changed in place below, through another shape.
        gap = np.multiply(scale, gap, order="C")
        tangent = None if tangent is None else np.multiply(scale, tangent, order="C")
    if tangent is not None and is_trained:
        if state.layout.is_tied:
            rows, columns = sides[0].shape[-1], sides[1].shape[-1]
            cut = (-1, rows, columns)
            ends = [np.ascontiguousarray(side).reshape(-1, side.shape[-1]) for side in sides]
        else:
            cut = (1, sides[0].size, sides[1].size)
            ends = [np.ascontiguousarray(side).reshape(1, -1) for side in sides]
        _add_covariance(ends[0], ends[1], gap.reshape(cut), tangent.reshape(cut))
    return gap, tangent


def _pair_sums(state: State, dimension: int, window: Window, scale: float) -> tuple[Array, Array | None]:
    layout, size = state.layout, state.positions[dimension]
    before, after = (math.prod(state.positions[:dimension]), math.prod(state.positions[dimension + 1 :]))
    rows, columns = state.first.shape[-1], state.second.shape[-1]
    shape = list(state.gap.shape)
    for axis in layout.axes(dimension):
        shape[axis] = window.count
    places, found = np.array(window.places), list[Array | None]()
    for array, outside in ((state.gap, 0.5), (state.tangent, 0.0)):
        if array is None:
            found.append(None)
        elif layout.is_tied:
            found.append(_line_sums(array, dimension, window, scale))
        else:
            width = after * columns
            out = np.empty((before, window.count, after * rows, before, window.count * width))
            cut = np.ascontiguousarray(array).reshape(before, size, after * rows, before, size * width)
            first = outside * np.ascontiguousarray(state.first).reshape(before, size, after * rows)
            second = outside * np.ascontiguousarray(state.second).reshape(before, size * width)
            _untied(cut, first, second, places, window.stride, window.dilation, _runs(window), width, scale, out)
            found.append(out.reshape(shape))
    gap = found[0]
    assert gap is not None
    return gap, found[1]


def _line_sums(array: Array, dimension: int, window: Window, scale: float) -> Array:
    """Sums along one axis."""
    shape = list(array.shape)
    out = np.empty((math.prod(shape[:dimension]), window.count, math.prod(shape[dimension + 1 :])))
    cut = np.ascontiguousarray(array).reshape(len(out), shape[dimension], -1)
    _tied(cut, np.array(window.places), window.size, window.stride, window.dilation, scale, out)
    shape[dimension] = window.count
    return out.reshape(shape)


@lru_cache(maxsize=256)
def _runs(window: Window) -> Array:
    """Rows (tap, first output, its input, length): stretches of outputs that see inputs one after the other.

    The input is -1 where a stretch lies outside.
    """
    found = []
    for tap in range(window.size):
        seen = [window.places[out * window.stride + tap * window.dilation] for out in range(window.count)]
        start = 0
        for stop in range(1, len(seen) + 1):
            step = 0 if seen[stop - 1] < 0 else 1
            if stop == len(seen) or seen[stop] != seen[stop - 1] + step:
                found.append((tap, start, seen[start], stop - start))
                start = stop
    return np.array(found, dtype=np.int64)


@numba.njit(cache=True, nogil=True)
def _add_covariance(first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """Θ + C, where C = (V₁ + V₂)/2 - G."""
    for tile in range(gap.shape[0]):
        columns = second[tile]
        for i in range(gap.shape[1]):
            here, line, own = gap[tile, i], tangent[tile, i], first[tile, i]
            for j in range(line.shape[0]):
                line[j] += 0.5 * (own + columns[j]) - here[j]


@numba.njit(cache=True, nogil=True)
def _tied(array: Any, places: Any, size: Any, stride: Any, dilation: Any, scale: Any, out: Any) -> None:
    """out[a, o, b] = scale·Σ_t array[a, place of tap t, b]."""
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
            if scale != 1.0:
                for b in range(line.shape[0]):
                    line[b] *= scale


@numba.njit(cache=True, nogil=True)
def _untied(
    array: Any, first: Any, second: Any, places: Any, stride: Any, dilation: Any, runs: Any, width: Any, scale: Any,
    out: Any,
) -> None:  # fmt: skip
    """The same along the diagonals of pairs of positions; an output outside is zero, at a distance of V/2.

    ``first`` and ``second`` are these distances. Stretches of ``runs`` are added at a time, ``width`` numbers each.
    """
    for a in range(out.shape[0]):
        for o in range(out.shape[1]):
            for b in range(out.shape[2]):
                for c in range(out.shape[3]):
                    line = out[a, o, b, c]
                    line[:] = 0.0
                    for run in range(runs.shape[0]):
                        here, there = places[o * stride + runs[run, 0] * dilation], runs[run, 2]
                        part = line[runs[run, 1] * width : (runs[run, 1] + runs[run, 3]) * width]
                        if here >= 0 and there >= 0:
                            source = array[a, here, b, c, there * width : there * width + part.shape[0]]
                            for d in range(part.shape[0]):
                                part[d] += source[d]
                        elif here >= 0:
                            half = first[a, here, b]
                            for d in range(part.shape[0]):
                                part[d] += half
                        elif there >= 0:
                            source = second[c, there * width : there * width + part.shape[0]]
                            for d in range(part.shape[0]):
                                part[d] += source[d]
                    if scale != 1.0:
                        for d in range(line.shape[0]):
                            line[d] *= scale
