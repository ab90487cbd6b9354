"""The machine code of layers with weights: sums over windows, for one block of pairs after the other.

A block may be one pair of inputs, whose numbers are kept in lines: one line of pairs at the same position, or for every
position of the first input a line with all positions of the second one. Behind the last of several lines follows one
more, for positions outside of the first input, whose output is zero at the distance V/2 from one of variance V.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from holokern.numeric import Array, machine

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""

TAPS = 8
"""More than a window has here."""


class Mixing(NamedTuple):
    """A layer with weights as the machine code reads it.

    Attributes
    ----------
    sums
        One row for each sum over a window along one axis: positions before and after it, the lengths of the axis before
        and after it, and the product of those behind it; how many taps, and where in ``taps`` those of the positions
        and of the axis begin; and the stretch of outputs whose taps all see neighbours of each other.
    taps
        The input of each output and tap, -1 outside.
    size
        The most numbers of a pair.
    lines, width
        Lines after the layer, and numbers of a line.
    is_tied
        Whether there are only pairs of equal positions.
    before, after
        Where variances of the positions before and after the layer are among the numbers of an input.
    scale, share, more
        The factor of sums, that of covariances in Θ, and what is added to Θ.
    """

    sums: NDArray[np.int64]
    taps: NDArray[np.int64]
    size: int
    lines: int
    width: int
    is_tied: bool
    before: int
    after: int
    scale: float
    share: float
    more: float


class Part(NamedTuple):
    """Numbers of pairs in a flat array, from ``begin`` on."""

    array: Array
    begin: int


@numba.njit(inline="always")
def sum_lines(layer: Any, s: Any, rows: Any, borders: Any, old: Any, new: Any) -> None:
    """The sum with number s, over a window that moves along one axis of positions, for both inputs alike."""
    step, taps, is_tied, (source, i), (target, at) = layer.sums[s], layer.taps, layer.is_tied, old, new
    before, after, given, made, width, count = step[0], step[1], step[2], step[3], step[4], step[5]
    own, low, high, times, is_last = step[7], step[8], step[9], before // (given * width), s == layer.sums.shape[0] - 1
    for p in range(1 if is_tied else after if is_last else after + 1):
        line = at if is_tied else at + p * after
        for t in range(count):
            mine = -1 if is_tied or p == after else taps[step[6] + p * count + t]
            rows[t] = mine if mine >= 0 else 0 if is_tied else before
        # All outputs of the stretch are summed at once; where they cross from one row to the next they are put right
        # below.
        to, begin = _U(line + low * width), own + low * count
        size = _U((times - 1) * made * width + (high - low) * width)
        if count == 3 and high > low:
            one, two = i + rows[0] * before + taps[begin] * width, i + rows[1] * before + taps[begin + 1] * width
            a, b, c = _U(one), _U(two), _U(i + rows[2] * before + taps[begin + 2] * width)
            for d in range(size):
                target[to + d] = (source[a + d] + source[b + d]) + source[c + d]
        else:
            for t in range(count if high > low else 0):
                a = _U(i + rows[t] * before + taps[begin + t] * width)
                for d in range(size):
                    target[to + d] = source[a + d] + (target[to + d] if t else 0.0)
        for edge in range(made - (high - low)):
            o, more, inside, one, two = edge if edge < low else edge + high - low, 0.0, 0, 0, 0
            for t in range(count):
                place = taps[own + o * count + t]
                if place >= 0:
                    one, two, inside = two, i + rows[t] * before + place * width, inside + 1
                else:
                    more += borders[rows[t]]
            to, far, wide, a, b = _U(line + o * width), _U(made * width), _U(given * width), _U(one), _U(two)
            # Next to a border a window of three sees two positions.
            if inside == 2 and width == 1:
                for k in range(_U(times)):
                    target[to + k * far] = (more + source[a + k * wide]) + source[b + k * wide]
            elif inside == 2:
                for k in range(_U(times)):
                    for d in range(_U(width)):
                        target[to + k * far + d] = (more + source[a + k * wide + d]) + source[b + k * wide + d]
            else:
                for k in range(_U(times)):
                    for d in range(_U(width)):
                        total = more
                        for t in range(count):
                            place = taps[own + o * count + t]
                            if place >= 0:
                                total += source[_U(i + rows[t] * before + place * width) + k * wide + d]
                        target[to + k * far + d] = total


@machine.entry
def mix(layer: Any, index: Any, first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """G and Θ of pairs after a layer with weights, in place.

    ``index`` tells for each pair where the numbers of its first and its second input begin, and its G and Θ. Without Θ
    ``tangent`` has no elements.
    """
    sums, taps, is_tied, width = layer.sums, layer.taps, layer.is_tied, layer.width
    count, rows, spare = sums.shape[0], np.empty(TAPS, np.int64), np.empty(layer.size if sums.shape[0] else 0)
    most = 0
    for s in range(0 if is_tied else count):
        most = max(most, sums[s, 0], sums[s, 1])
    borders, moved = np.zeros(most + 1), np.zeros(most + 1)
    for block in range(index.shape[0]):
        r, c, at = index[block, 0], index[block, 1], index[block, 2]
        for part in range(0 if count == 0 else 2 if tangent.shape[0] > 0 else 1):
            array, half = (tangent, 0.0) if part else (gap, 0.5)
            old, new = (Part(array, at), Part(spare, 0)) if count % 2 == 0 else (Part(spare, 0), Part(array, at))
            size = sums[0, 0]
            if count % 2:
                for k in range(size if is_tied else size * size):
                    spare[k] = array[at + k]
            borders[0 if is_tied else size] = 0.0
            for q in range(0 if is_tied else size):
                borders[q] = half * first[r + layer.before + q]
                old.array[old.begin + size * size + q] = half * second[c + layer.before + q]
            for s in range(count):
                step, is_last = sums[s], s == count - 1
                sum_lines(layer, s, rows, borders, old, new)
                old, new = new, old
                if not (is_tied or is_last):
                    for p in range(step[1]):
                        moved[p] = 0.0
                        for t in range(step[5]):
                            place = taps[step[6] + p * step[5] + t]
                            moved[p] += borders[place if place >= 0 else step[0]]
                    borders, moved = moved, borders
                borders[0 if is_tied else step[1]] = 0.0
        scale, share, more = layer.scale, layer.share, layer.more
        for line in range(layer.lines):
            here, one, two = _U(at + line * width), _U(r + layer.after), _U(c + layer.after)
            for q in range(_U(width)):
                gap[here + q] *= scale
            if tangent.shape[0] > 0 and is_tied:
                for q in range(_U(width)):
                    known = 0.5 * share * (first[one + q] + second[two + q]) - share * gap[here + q]
                    tangent[here + q] = scale * tangent[here + q] + (known + more)
            elif tangent.shape[0] > 0:
                own = first[one + _U(line)]
                for q in range(_U(width)):
                    known = 0.5 * share * (own + second[two + q]) - share * gap[here + q]
                    tangent[here + q] = scale * tangent[here + q] + (known + more)
