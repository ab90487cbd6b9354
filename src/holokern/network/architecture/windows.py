"""The machine code of sums over windows: one axis of positions at a time, without copies that are padded."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import array_api_compat.numpy as xp
import numpy as np
from numpy.typing import NDArray

from holokern.network.layers.state import State
from holokern.network.layers.windows import Window, averaged, summed
from holokern.numeric import Array, machine

_LONG = 8
"""Windows from this length on are summed by halves, which takes fewer additions."""

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""

_ONE = Window((0,), 1, 1, 1)
"""The window along an axis with one position."""


def sums_over(state: State, dimension: int, window: Window) -> State:
    """Sums of G and Θ over a window that moves along one axis of positions, and of the variances of both sides."""
    if window.size >= _LONG or (state.layout.is_paired and state.layout.is_tied):
        return summed(xp, state, dimension, window)
    sides = [_line_sums(side, dimension, window) for side in (state.first, state.second)]
    gap, tangent = _pair_sums(state, dimension, window, 1.0)
    return State(state.layout, sides[0], sides[1], gap, tangent)


def weighted(
    state: State, sides: tuple[Array, Array], windows: tuple[Window, ...], scale: float, is_trained: bool
) -> tuple[Array, Array | None]:
    """G and Θ after a layer with weights, in the parametrisation "ntk"; ``sides`` are the variances after it."""
    moving = [(d, w) for d, w in enumerate(windows) if w.moves]
    paired = state.layout.is_paired
    if (paired and state.layout.is_tied) or any(w.size >= _LONG for _, w in moving):
        return averaged(xp, state, sides, windows, scale, is_trained)
    if state.layout.is_tied:
        return _tied_weights(state, sides, windows, scale, is_trained)
    gap, tangent = state.gap, state.tangent
    first, second = state.first, state.second
    for place, (dimension, window) in enumerate(moving):
        is_last = place == len(moving) - 1
        given = State(state.layout, first, second, gap, tangent)
        gap, tangent = _pair_sums(given, dimension, window, scale if is_last else 1.0)
        if not is_last:
            # Variances are needed where outputs lie outside, at pairs of positions.
            first, second = (_line_sums(side, dimension, window) for side in (first, second))
    if not moving:
        # In the order of C: Θ is changed in place below, through another shape.
        gap = np.multiply(scale, gap, order="C")
        tangent = None if tangent is None else np.multiply(scale, tangent, order="C")
    if tangent is not None and is_trained and paired:
        tangent += state.changed(sides, gap, None).covariance()
    elif tangent is not None and is_trained:
        cut = sides[0].size, sides[1].size
        ends = [np.ascontiguousarray(side).reshape(-1) for side in sides]
        _add_covariance(ends[0], ends[1], gap.reshape(cut), tangent.reshape(cut))
    return gap, tangent


def _tied_weights(
    state: State, sides: tuple[Array, Array], windows: tuple[Window, ...], scale: float, is_trained: bool
) -> tuple[Array, Array | None]:
    """The same for pairs at the same position: the last two axes, the scale and C in one pass."""
    given, before = state.gap, state.tangent
    for dimension, window in enumerate(windows[:-2]):
        if window.moves:
            given = _line_sums(given, dimension, window)
            before = None if before is None else _line_sums(before, dimension, window)
    planes = [_ONE, _ONE, *windows][-2:]
    shape = [*sides[0].shape, sides[1].shape[-1]]
    size = [1, 1, *state.positions][-2:]
    lead, pairs = math.prod(shape[:-4]), shape[-2] * shape[-1]
    cut, ends = (lead, *size, pairs), (lead, planes[0].count, planes[1].count)
    gap = np.empty((*ends, pairs))
    tangent = np.empty(gap.shape if before is not None else (0, 0, 0, 0))
    _planes(
        np.ascontiguousarray(given).reshape(cut),
        np.ascontiguousarray(before).reshape(cut) if before is not None else tangent,
        _taps(planes[0]),
        _taps(planes[1]),
        scale,
        is_trained,
        np.ascontiguousarray(sides[0]).reshape(*ends, shape[-2]),
        np.ascontiguousarray(sides[1]).reshape(*ends, shape[-1]),
        gap,
        tangent,
    )
    return gap.reshape(shape), None if before is None else tangent.reshape(shape)


def _pair_sums(state: State, dimension: int, window: Window, scale: float) -> tuple[Array, Array | None]:
    layout, size = state.layout, state.positions[dimension]
    before, after = (math.prod(state.positions[:dimension]), math.prod(state.positions[dimension + 1 :]))
    rows, columns = 1 if layout.is_paired else state.first.shape[-1], state.second.shape[-1]
    shape = list(state.gap.shape)
    for axis in layout.axes(dimension):
        shape[axis] = window.count
    found = list[Array | None]()
    for array, outside in ((state.gap, 0.5), (state.tangent, 0.0)):
        if array is None:
            found.append(None)
        elif layout.is_tied:
            found.append(_line_sums(array, dimension, window))
        else:
            width = after * columns
            out = np.empty((before, window.count, after * rows, before, window.count * width))
            cut = np.ascontiguousarray(array).reshape(before, size, after * rows, before, size * width)
            first = outside * np.ascontiguousarray(state.first).reshape(before, size, after * rows, -1)
            first = np.tile(first, (1, 1, 1, after)) if layout.is_paired else first
            second = outside * np.ascontiguousarray(state.second).reshape(before, size * width)
            _untied(cut, first, second, _taps(window), _stretches(window), width, scale, out)
            found.append(out.reshape(shape))
    gap = found[0]
    assert gap is not None
    return gap, found[1]


def _line_sums(array: Array, dimension: int, window: Window) -> Array:
    """Sums along one axis."""
    shape = list(array.shape)
    out = np.empty((math.prod(shape[:dimension]), window.count, math.prod(shape[dimension + 1 :])))
    _tied(np.ascontiguousarray(array).reshape(len(out), shape[dimension], -1), _taps(window), out)
    shape[dimension] = window.count
    return out.reshape(shape)


@lru_cache(maxsize=256)
def _taps(window: Window) -> NDArray[np.int64]:
    """The input that each output (row) sees through each tap (column), -1 outside."""
    places = np.array(window.places, dtype=np.int64)
    found: NDArray[np.int64] = places[
        window.stride * np.arange(window.count)[:, None] + window.dilation * np.arange(window.size)
    ]
    return found


@lru_cache(maxsize=256)
def _stretches(window: Window) -> NDArray[np.int64]:
    """Rows (first output, how many, the input of each tap): outputs whose taps see inputs one after the other.

    The input is -1 where a tap lies outside; such outputs stand alone.
    """
    taps = _taps(window)
    inside = np.all(taps >= 0, axis=1)
    follows = np.all(np.diff(taps, axis=0) == 1, axis=1) & inside[1:] & inside[:-1]
    starts = np.flatnonzero(np.append(True, ~follows))
    lengths = np.diff(np.append(starts, len(taps)))
    return np.ascontiguousarray(np.column_stack([starts, lengths, taps[starts]]))


@machine.entry
def _add_covariance(first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """Θ + C, where C = (V₁ + V₂)/2 - G."""
    for i in range(gap.shape[0]):
        here, line, own = gap[i], tangent[i], first[i]
        for j in range(line.shape[0]):
            line[j] += 0.5 * (own + second[j]) - here[j]


@machine.called
def _sum_lines(lines: Any, taps: Any, scale: Any, out: Any) -> None:
    """The sum of the lines that the taps name, three at a time, times a scale."""
    begun = False
    for start in range(0, taps.shape[0], 3):
        one = two = three = -1
        for tap in taps[start : start + 3]:
            if tap >= 0:
                one, two, three = tap, one, two
        if three >= 0:
            a, b, c = lines[three], lines[two], lines[one]
            if begun:
                for k in range(out.shape[0]):
                    out[k] = ((out[k] + a[k]) + b[k]) + c[k]
            else:
                for k in range(out.shape[0]):
                    out[k] = (a[k] + b[k]) + c[k]
        elif two >= 0:
            a, b = lines[two], lines[one]
            if begun:
                for k in range(out.shape[0]):
                    out[k] = (out[k] + a[k]) + b[k]
            else:
                for k in range(out.shape[0]):
                    out[k] = a[k] + b[k]
        elif one >= 0:
            a = lines[one]
            if begun:
                for k in range(out.shape[0]):
                    out[k] = out[k] + a[k]
            else:
                for k in range(out.shape[0]):
                    out[k] = a[k]
        begun = begun or one >= 0
    if not begun:
        out[:] = 0.0
    elif scale != 1.0:
        for k in range(out.shape[0]):
            out[k] *= scale


@machine.entry
def _tied(array: Any, taps: Any, out: Any) -> None:
    """out[a, o, b] = Σ_t array[a, place of tap t, b]."""
    for a in range(out.shape[0]):
        for o in range(out.shape[1]):
            _sum_lines(array[a], taps[o], 1.0, out[a, o])


@machine.entry
def _planes(
    given: Any, before: Any, taps: Any, others: Any, scale: Any, is_trained: Any, first: Any, second: Any, gap: Any,
    tangent: Any,
) -> None:  # fmt: skip
    """G and Θ of sums over two axes, of shape (before them, axis, axis, pairs of inputs).

    The sums over the first axis for one place of it stay in the cache while the second axis is summed.
    """
    sums = np.empty((given.shape[2], given.shape[3]))
    flat = sums.reshape(-1)
    for a in range(gap.shape[0]):
        for o in range(gap.shape[1]):
            _sum_lines(given[a].reshape(given.shape[1], -1), taps[o], 1.0, flat)
            for q in range(gap.shape[2]):
                _sum_lines(sums, others[q], scale, gap[a, o, q])
            if tangent.shape[0] > 0:
                _sum_lines(before[a].reshape(given.shape[1], -1), taps[o], 1.0, flat)
                for q in range(gap.shape[2]):
                    line, here = tangent[a, o, q], gap[a, o, q]
                    _sum_lines(sums, others[q], scale, line)
                    columns = second[a, o, q]
                    for i in range(first.shape[3] if is_trained else 0):
                        own = first[a, o, q, i]
                        part = line[i * columns.shape[0] : (i + 1) * columns.shape[0]]
                        source = here[i * columns.shape[0] : (i + 1) * columns.shape[0]]
                        for j in range(columns.shape[0]):
                            part[j] += 0.5 * (own + columns[j]) - source[j]


@machine.entry
def _untied(array: Any, first: Any, second: Any, taps: Any, stretches: Any, width: Any, scale: Any, out: Any) -> None:
    """The same along the diagonals of pairs of positions; an output outside is zero, at a distance of V/2.

    ``first`` and ``second`` are these distances; ``first`` has one for each number of an output, or one for all.
    Outputs have ``width`` numbers each, and those of one of the ``stretches`` are summed together.
    """
    source, others, halves, target = array.reshape(-1), first.reshape(-1), second.reshape(-1), out.reshape(-1)
    rows, columns, given, made = array.shape[2], array.shape[3], array.shape[4], out.shape[4]
    is_one, step = first.shape[3] == 1, rows * columns
    for a in range(out.shape[0]):
        for o in range(out.shape[1]):
            for b in range(rows):
                for c in range(columns):
                    line = (((a * out.shape[1] + o) * rows + b) * columns + c) * made
                    row = (a * array.shape[1] * rows + b) * columns + c
                    for s in range(stretches.shape[0]):
                        at, length = _U(line + stretches[s, 0] * width), _U(stretches[s, 1] * width)
                        inside = taps.shape[1] == 3 and min(taps[o, 0], taps[o, 1], taps[o, 2]) >= 0
                        if inside and stretches[s, 1] > 1:
                            i = _U((row + taps[o, 0] * step) * given + stretches[s, 2] * width)
                            j = _U((row + taps[o, 1] * step) * given + stretches[s, 3] * width)
                            k = _U((row + taps[o, 2] * step) * given + stretches[s, 4] * width)
                            for d in range(length):
                                target[at + d] = scale * ((source[i + d] + source[j + d]) + source[k + d])
                            continue
                        for d in range(length):
                            target[at + d] = 0.0
                        for t in range(taps.shape[1]):
                            here, there = taps[o, t], stretches[s, 2 + t]
                            if here >= 0 and there >= 0:
                                k = _U((row + here * step) * given + there * width)
                                for d in range(length):
                                    target[at + d] += source[k + d]
                            elif there >= 0:
                                k = _U(c * given + there * width)
                                for d in range(length):
                                    target[at + d] += halves[k + d]
                            elif here >= 0 and is_one:
                                half = first[a, here, b, 0]
                                for d in range(length):
                                    target[at + d] += half
                            elif here >= 0:
                                k = _U(((a * array.shape[1] + here) * rows + b) * width)
                                for d in range(length):
                                    target[at + d] += others[k + d]
                        for d in range(length):
                            target[at + d] *= scale
