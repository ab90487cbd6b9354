"""The machine code of layers with weights for planes of pairs: one plane for each position, in strips.

The pairs of a plane have nothing to do with each other. So sums over windows take some columns of one line through all
positions, few enough that they stay in the second cache, and planes are read and written once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from holokern.network.architecture.mix_code import TAPS, Mixing, Part, sum_lines
from holokern.numeric import machine

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""


class PlaneMixing(NamedTuple):
    """A layer with weights for planes of pairs.

    Attributes
    ----------
    layer
        The layer for one strip: its sums have a strip behind each position, and lines are those of a plane.
    given, made
        Planes before and after the layer.
    strip
        Columns of a strip.
    unwanted
        How many pairs at the beginning of the first line are not wanted, and one more in each next line.
    is_each
        Whether the first variances run along the lines; else each line has one.
    apart
        How far the numbers of the next plane are behind, for the first and for the second input.
    """

    layer: Mixing
    given: int
    made: int
    strip: int
    unwanted: int
    is_each: bool
    apart: tuple[int, int]


@machine.entry
def mix_planes(planes: Any, first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """G and Θ of the pairs of planes after a layer with weights, in place; without Θ ``tangent`` has no elements."""
    layer, strip, plane = planes.layer, planes.strip, planes.layer.lines * planes.layer.width
    rows, nothing, with_tangent = np.empty(TAPS, np.int64), np.zeros(1), tangent.shape[0] > 0
    gaps, slopes, spare = machine.aligned(layer.size), machine.aligned(layer.size), machine.aligned(layer.size)
    scale, share, more = layer.scale, layer.share, layer.more
    for line in range(layer.lines):
        # Machine code of activations leaves out as many vectors of a line.
        least = max(0, planes.unwanted + line) // machine.LANES * machine.LANES
        for column in range(least, layer.width, strip):
            size, at = min(strip, layer.width - column), line * layer.width + column
            for part in range(2 if with_tangent else 1):
                array, source, target = tangent if part else gap, slopes if part else gaps, spare
                for p in range(planes.given):
                    to, place = _U(p * strip), _U(at + p * plane)
                    for q in range(_U(size)):
                        source[to + q] = array[place + q]
                for s in range(layer.sums.shape[0]):
                    sum_lines(layer, s, rows, nothing, Part(source, 0), Part(target, 0))
                    source, target = target, source
                spare = target
                if part:
                    slopes = source
                else:
                    gaps = source
            for p in range(planes.made):
                here, place = _U(p * strip), _U(at + p * plane)
                one = _U((layer.after + p) * planes.apart[0] + (column if planes.is_each else line))
                two = _U((layer.after + p) * planes.apart[1] + column)
                for q in range(_U(size)):
                    gap[place + q] = scale * gaps[here + q]
                if with_tangent and planes.is_each:
                    for q in range(_U(size)):
                        known = 0.5 * share * (first[one + q] + second[two + q]) - share * scale * gaps[here + q]
                        tangent[place + q] = scale * slopes[here + q] + (known + more)
                elif with_tangent:
                    own = first[one]
                    for q in range(_U(size)):
                        known = 0.5 * share * (own + second[two + q]) - share * scale * gaps[here + q]
                        tangent[place + q] = scale * slopes[here + q] + (known + more)
