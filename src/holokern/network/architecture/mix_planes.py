"""The machine code of layers with weights for planes of pairs: one plane for each position, in strips.

The pairs of a plane have nothing to do with each other. So sums over windows take some columns of one line through all
positions, few enough that they stay in the second cache, and planes are read and written once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.network.architecture.mix_code import TAPS, sum_line
from holokern.numeric import machine

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""


class PlaneMixing(NamedTuple):
    """A layer with weights as the machine code reads it.

    Attributes
    ----------
    sums, taps
        Those of `Mixing`, for positions with a strip behind each.
    size
        The most numbers of a strip.
    given, made
        Planes before and after the layer.
    lines, width, strip
        Lines of a plane, numbers of a line, and columns of a strip.
    unwanted
        How many pairs at the beginning of the first line are not wanted, and one more in each next line.
    is_each
        Whether the first variances run along the lines; else each line has one.
    after, apart
        Where variances after the layer are among the numbers of an input, and how far those of the next plane are
        behind, for the first and for the second input.
    scale, share, more
        Those of `Mixing`.
    """

    sums: NDArray[np.int64]
    taps: NDArray[np.int64]
    size: int
    given: int
    made: int
    lines: int
    width: int
    strip: int
    unwanted: int
    is_each: bool
    after: tuple[int, int]
    apart: tuple[int, int]
    scale: float
    share: float
    more: float


@machine.entry
def mix_planes(layer: Any, first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """G and Θ of the pairs of planes after a layer with weights, in place; without Θ ``tangent`` has no elements."""
    sums, count, strip, width, plane = (
        layer.sums,
        layer.sums.shape[0],
        layer.strip,
        layer.width,
        layer.lines * layer.width,
    )
    rows, nothing, with_tangent = np.empty(TAPS, np.int64), np.zeros(1), tangent.shape[0] > 0
    gaps, slopes, spare = machine.aligned(layer.size), machine.aligned(layer.size), machine.aligned(layer.size)
    scale, share, more = layer.scale, layer.share, layer.more
    for line in range(layer.lines):
        # Machine code of activations leaves out as many vectors of a line.
        least = max(0, layer.unwanted + line) // machine.LANES * machine.LANES
        for column in range(least, width, strip):
            size, at = min(strip, width - column), line * width + column
            for part in range(2 if with_tangent else 1):
                array, source, target = tangent if part else gap, slopes if part else gaps, spare
                for p in range(layer.given):
                    to, place = _U(p * strip), _U(at + p * plane)
                    for q in range(_U(size)):
                        source[to + q] = array[place + q]
                for s in range(count):
                    sum_line(sums[s], layer.taps, 0, True, rows, source, 0, nothing, target, 0)
                    source, target = target, source
                spare = target
                if part:
                    slopes = source
                else:
                    gaps = source
            for p in range(layer.made):
                mine = layer.after[0] + p * layer.apart[0] + (column if layer.is_each else line)
                here, one, two, place = (
                    _U(p * strip),
                    _U(mine),
                    _U(layer.after[1] + p * layer.apart[1] + column),
                    _U(at + p * plane),
                )
                for q in range(_U(size)):
                    gap[place + q] = scale * gaps[here + q]
                if with_tangent and layer.is_each:
                    for q in range(_U(size)):
                        known = 0.5 * share * (first[one + q] + second[two + q]) - share * scale * gaps[here + q]
                        tangent[place + q] = scale * slopes[here + q] + (known + more)
                elif with_tangent:
                    own = first[one]
                    for q in range(_U(size)):
                        known = 0.5 * share * (own + second[two + q]) - share * scale * gaps[here + q]
                        tangent[place + q] = scale * slopes[here + q] + (known + more)
