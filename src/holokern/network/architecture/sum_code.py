"""The machine code of sums over windows, for one pair of inputs, line by line as `run_code` keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np

from holokern.numeric import machine

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""


@machine.inlined
def _two(source: Any, i: Any, j: Any, more: Any, sizes: Any, target: Any, at: Any) -> None:
    """Sums of two inputs and a number, for all outputs at one place of an axis."""
    count, given, made, width = sizes
    if width == 1:
        for a in range(count):
            target[at + a * made] = (more + source[i + a * given]) + source[j + a * given]
    else:
        for a in range(count):
            for b in range(width):
                target[at + a * made + b] = (more + source[i + a * given + b]) + source[j + a * given + b]


@machine.inlined
def sum_line(
    step: Any,
    places: Any,
    p: Any,
    is_tied: Any,
    source: Any,
    slope: Any,
    borders: Any,
    target: Any,
    other: Any,
    rows: Any,
) -> None:
    """One line of sums of G and Θ over a window that moves along one axis of positions, for both inputs alike."""
    before, after, given, made, width, taps = step[1], step[2], step[3], step[4], step[5], step[6]
    own, low, high, line = step[8], step[9], step[10], 0 if is_tied else p * after
    count, with_tangent = before // (given * width), slope.shape[0] > 0
    for t in range(taps):
        mine = -1 if is_tied or p == after else places[step[7] + p * taps + t]
        rows[t] = mine if mine >= 0 else 0 if is_tied else before
    # All outputs of the stretch are summed at once; where they cross from one row to the next they are put right below.
    at, size, begin = _U(line + low * width), _U((count - 1) * made * width + (high - low) * width), own + low * taps
    if taps == 3 and high > low:
        i, j = _U(rows[0] * before + places[begin] * width), _U(rows[1] * before + places[begin + 1] * width)
        k = _U(rows[2] * before + places[begin + 2] * width)
        for d in range(size):
            target[at + d] = (source[i + d] + source[j + d]) + source[k + d]
        if with_tangent:
            for d in range(size):
                other[at + d] = (slope[i + d] + slope[j + d]) + slope[k + d]
    else:
        for t in range(taps if high > low else 0):
            i = _U(rows[t] * before + places[begin + t] * width)
            for d in range(size):
                target[at + d] = source[i + d] + (target[at + d] if t else 0.0)
            if with_tangent:
                for d in range(size):
                    other[at + d] = slope[i + d] + (other[at + d] if t else 0.0)
    sizes = _U(count), _U(given * width), _U(made * width), _U(width)
    for edge in range(made - (high - low)):
        o = edge if edge < low else edge + high - low
        more, inside, one, two, at = 0.0, 0, -1, -1, _U(line + o * width)
        for t in range(taps):
            place, row = places[own + o * taps + t], rows[t]
            if place >= 0:
                one, two, inside = two, row * before + place * width, inside + 1
            else:
                more += borders[row]
        if inside == 2:
            _two(source, _U(one), _U(two), more, sizes, target, at)
            if with_tangent:
                _two(slope, _U(one), _U(two), 0.0, sizes, other, at)
            continue
        for a in range(count):
            for b in range(width):
                total, moved, here = more, 0.0, a * given * width + b
                for t in range(taps):
                    place = places[own + o * taps + t]
                    if place >= 0:
                        total += source[rows[t] * before + place * width + here]
                        if with_tangent:
                            moved += slope[rows[t] * before + place * width + here]
                target[at + _U(a * made * width + b)] = total
                if with_tangent:
                    other[at + _U(a * made * width + b)] = moved


@machine.called
def border_sums(step: Any, places: Any, borders: Any, target: Any) -> None:
    """What positions outside of the second input add, after a sum."""
    before, after, taps = step[1], step[2], step[6]
    for p in range(after):
        target[p] = 0.0
        for t in range(taps):
            place = places[step[7] + p * taps + t]
            target[p] += borders[place if place >= 0 else before]
    target[after] = 0.0
