"""The machine code of layers with weights for planes of pairs: one plane for each position, in strips.

The pairs of a plane have nothing to do with each other. So sums over windows take some pairs that follow each other
through all positions, row by row, and planes are read and written once. What comes next in a strip is far away in
memory: it is read ahead of time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from holokern.network.architecture.mix_code import TAPS, Mixing, Part, sum_lines
from holokern.numeric import machine

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""


class PlaneMixing(NamedTuple):
    """A layer with weights for planes of pairs.

    Attributes
    ----------
    layer
        The layer for one row of positions and one strip: its sums have a strip behind each position, and lines are
        those of a plane.
    taps
        The rows that each row of the results is the sum of, -1 outside.
    kept
        How many rows of the results are kept until their planes are written, as the next rows need what is there.
    given, made
        Planes of a row before and after the layer.
    strip
        Pairs of a strip.
    unwanted
        How many pairs at the beginning of the first line are not wanted, and one more in each next line.
    is_each
        Whether the first variances run along the lines; else each line has one.
    apart
        How far the numbers of the next plane are behind, for the first and for the second input.
    """

    layer: Mixing
    taps: NDArray[np.int64]
    kept: int
    given: int
    made: int
    strip: int
    unwanted: int
    is_each: bool
    apart: tuple[int, int]


@numba.njit(inline="always")
def _sum_rows(planes: Any, row: Any, array: Any, at: Any, size: Any, out: Any) -> None:
    """The sum over the rows that a row of the results sees, for one strip that begins at ``at`` in the first plane."""
    given, taps, plane, count = planes.given, planes.taps, planes.layer.lines * planes.layer.width, 0
    one, two, three = 0, 0, 0
    for t in range(taps.shape[1]):
        if taps[row, t] >= 0:
            one, two, three, count = two, three, taps[row, t] * given, count + 1
    for p in range(given):
        to, last = _U(out.begin + p * planes.strip), at + (three + p) * plane
        # The row behind is the next one that is wanted.
        for q in range(0, size + machine.LANES if count > 0 else 0, machine.LANES):
            machine.prefetch(array, last + given * plane + q)
        if count == 3:
            i, j, k = _U(at + (one + p) * plane), _U(at + (two + p) * plane), _U(last)
            for q in range(_U(size)):
                out.array[to + q] = (array[i + q] + array[j + q]) + array[k + q]
            continue
        for q in range(_U(size)):
            out.array[to + q] = 0.0
        for t in range(taps.shape[1]):
            place = _U(at + (taps[row, t] * given + p) * plane)
            for q in range(_U(size) if taps[row, t] >= 0 else _U(0)):
                out.array[to + q] += array[place + q]


@numba.njit(inline="always")
def _least(planes: Any, line: Any) -> Any:
    """The first pair of a line that counts: machine code of activations leaves out as many vectors."""
    return min(planes.layer.width, machine.left_out(planes.unwanted, line) * machine.LANES)


@numba.njit(inline="always")
def _keep_row(planes: Any, row: Any, begin: Any, size: Any, sums: Any, sides: Any, gap: Any, tangent: Any) -> None:
    """Write a row of the results into its planes, from the sums over windows of G and Θ."""
    layer, width, made, (gaps, slopes), (first, second) = planes.layer, planes.layer.width, planes.made, sums, sides
    scale, share, more, plane = layer.scale, layer.share, layer.more, layer.lines * width
    for p in range(made):
        number = row * made + p
        for line in range(begin // width, (begin + size - 1) // width + 1):
            start = max(begin, line * width + _least(planes, line))
            count, column = max(0, min(begin + size, line * width + width) - start), start - line * width
            here = _U((row % planes.kept * made + p) * planes.strip + start - begin)
            place = _U(number * plane + start)
            one = _U((layer.after + number) * planes.apart[0] + (column if planes.is_each else line))
            two = _U((layer.after + number) * planes.apart[1] + column)
            for q in range(_U(count)):
                gap[place + q] = scale * gaps[here + q]
            if tangent.shape[0] > 0 and planes.is_each:
                for q in range(_U(count)):
                    known = 0.5 * share * (first[one + q] + second[two + q]) - share * scale * gaps[here + q]
                    tangent[place + q] = scale * slopes[here + q] + (known + more)
            elif tangent.shape[0] > 0 and count > 0:
                own = first[one]
                for q in range(_U(count)):
                    known = 0.5 * share * (own + second[two + q]) - share * scale * gaps[here + q]
                    tangent[place + q] = scale * slopes[here + q] + (known + more)


@machine.entry
def mix_planes(planes: Any, first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """G and Θ of the pairs of planes after a layer with weights, in place; without Θ ``tangent`` has no elements."""
    layer, strip, width, length = planes.layer, planes.strip, planes.layer.width, planes.taps.shape[0]
    plane, last = layer.lines * width, layer.sums.shape[0] - 1
    rows, nothing, sides = np.empty(TAPS, np.int64), np.zeros(1), (first, second)
    made, kept = planes.made * strip, planes.kept
    sums = machine.aligned(kept * made), machine.aligned(kept * made)
    # A row is in one of two arrays; the last sum writes it where it is kept.
    one_row, other_row = machine.aligned(layer.size), machine.aligned(layer.size)
    begin = 0
    while begin < plane:
        line = begin // width
        least = line * width + _least(planes, line)
        if begin < least:
            begin = least
            continue
        size = min(strip, plane - begin)
        for row in range(length + kept - 1):
            # Planes are written when no other row needs them any more.
            for part in range(0 if row >= length else 2 if tangent.shape[0] > 0 else 1):
                array, target = tangent if part else gap, sums[1] if part else sums[0]
                place, old, new = row % kept * made, Part(one_row, 0), Part(other_row, 0)
                _sum_rows(planes, row, array, begin, size, Part(target, place) if last < 0 else old)
                for s in range(last + 1):
                    sum_lines(layer, s, rows, nothing, old, Part(target, place) if s == last else new)
                    old, new = new, old
            if row >= kept - 1:
                _keep_row(planes, row - kept + 1, begin, size, sums, sides, gap, tangent)
        begin += size
