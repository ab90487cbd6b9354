"""The machine code of layers that follow each other: one pair of inputs at a time goes through all of them.

All numbers of a pair stay in the nearest caches. They are kept in lines: one line of pairs at the same position, or for
every position of the first input a line with all positions of the second one. Behind the last of several lines follows
one more, for positions outside of the first input, whose output is zero at the distance V/2 from one of variance V.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.dual import pair_lines
from holokern.network.architecture.sum_code import border_sums, sum_line
from holokern.numeric import Array, machine

_pair_line, _WIDTH, _NUMBERS = pair_lines.pair_line, pair_lines.WIDTH, pair_lines.NUMBERS
_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""

SUM, WEIGHT, FORM = 0, 1, 2
"""A sum over a window along one axis, the end of a layer with weights, and an activation with a closed form."""

_TAPS = 8
"""More than a window has here."""

_MOST, _ROOM = 4, 2**15
"""Rows and columns of pairs at a time, if their numbers are at most so many: a quarter of a megabyte."""

_APART = 72
"""Numbers between places, so that those of neighbours do not lie at the same place of a page of memory."""

_PARTS = 16
"""Partial sums of a mean."""


class Program(NamedTuple):
    """Layers as the machine code reads them.

    Attributes
    ----------
    steps
        One row for each step. SUM: positions before and after it, the lengths of the axis before and after it, and the
        product of those behind it; how many taps, and where in ``places`` those of the positions and of the axis begin;
        the stretch of outputs whose taps all see neighbours of each other; and where variances are among the numbers of
        an input, -1 unless it is the first sum of a layer. WEIGHT: positions, and where the variances after it are.
        FORM: the same for the numbers of its form, and then how many these are.
    places
        The input of each output and tap, -1 outside.
    reals
        WEIGHT: the factor of sums, that of covariances in Θ, and what is added to Θ. FORM: its kind, a, b, γ, and the
        covariance with an output that is zero.
    size
        The most numbers of a line, times the most lines.
    channels
        How many numbers each position of an input has in front of all others, if the program starts from inputs.
    is_mean
        Whether only the means over all positions are wanted.
    """

    steps: NDArray[np.int64]
    places: NDArray[np.int64]
    reals: Array
    size: int
    channels: int
    is_mean: bool


@machine.inlined
def _weigh(
    scale: Any,
    share: Any,
    more: Any,
    first: Any,
    r: Any,
    second: Any,
    c: Any,
    gap: Any,
    tangent: Any,
    at: Any,
    size: Any,
    is_tied: Any,
) -> None:
    """G and Θ of a line after a layer with weights, from sums over its windows."""
    own, half = first[r], 0.5 * share
    if tangent.shape[0] == 0:
        for j in range(size):
            gap[at + j] *= scale
    elif is_tied:
        for j in range(size):
            here = scale * gap[at + j]
            gap[at + j] = here
            tangent[at + j] = scale * tangent[at + j] + (half * (first[r + j] + second[c + j]) - share * here + more)
    else:
        for j in range(size):
            here = scale * gap[at + j]
            gap[at + j] = here
            tangent[at + j] = scale * tangent[at + j] + (half * (own + second[c + j]) - share * here + more)


@machine.inlined
def _activate(
    form: Any,
    at_zero: Any,
    numbers: Any,
    first: Any,
    r: Any,
    rs: Any,
    second: Any,
    c: Any,
    width: Any,
    own: Any,
    is_tied: Any,
    gap: Any,
    tangent: Any,
    line: Any,
    has_zeros: Any,
) -> None:
    """G and Θ of a line after an activation. The variances after it follow its ``numbers``."""
    for k in range(0 if is_tied else numbers):
        number = first[r + k * rs]
        for j in range(_U(min(_WIDTH, width))):
            own[_U(k * _WIDTH) + j] = number
    for start in range(0, width, _WIDTH):
        size, at, begin = _U(min(_WIDTH, width - start)), _U(line + start), _U(c + start)
        mine, place, apart = (first, _U(r + start), _U(rs)) if is_tied else (own, _U(0), _U(_WIDTH))
        _pair_line(form, mine, place, apart, second, begin, _U(width), gap, tangent, at, size)
    if has_zeros:
        for q in range(width):
            row = r + q if is_tied else r
            if first[row] == 0.0 or second[c + q] == 0.0:
                gap[line + q] = 0.5 * (first[row + numbers * rs] + second[c + numbers * width + q]) - at_zero
                if tangent.shape[0] > 0:
                    tangent[line + q] = 0.0


@machine.called
def _start(
    channels: Any, first: Any, r: Any, lines: Any, second: Any, c: Any, width: Any, is_tied: Any, gap: Any
) -> None:
    """G of two inputs before the first layer: half the mean squared difference over channels."""
    share = 0.5 / channels
    for p in range(lines):
        at = _U(p * width)
        for k in range(channels):
            i, j, own = _U(r + k * width), _U(c + k * width), first[r + k * width + p]
            for q in range(_U(width)):
                apart = (first[i + q] if is_tied else own) - second[j + q]
                gap[at + q] = share * (apart * apart) + (gap[at + q] if k else 0.0)


@machine.called
def _mean(array: Any, count: Any) -> Any:
    """The mean of the first numbers, from partial sums: vector instructions with the same order for all inputs."""
    parts, whole = machine.on_stack(_PARTS), count // _PARTS * _PARTS
    for k in range(_PARTS):
        parts[k] = 0.0
    for start in range(0, whole, _PARTS):
        for k in range(_U(_PARTS)):
            parts[k] += array[_U(start) + k]
    total = 0.0
    for k in range(_PARTS):
        total += parts[k]
    for k in range(whole, count):
        total += array[k]
    return total / count


@machine.called
def _layer(
    program: Any,
    s: Any,
    first: Any,
    r: Any,
    second: Any,
    c: Any,
    units: Any,
    is_tied: Any,
    source: Any,
    slope: Any,
    target: Any,
    other: Any,
    own: Any,
    borders: Any,
    rows: Any,
) -> Any:
    """One pair through the steps from ``s`` on up to the next activation, if there is one: where it ends.

    If there is a sum, the result stands in ``target`` and ``other``. The last sum, weights and activation are done line
    by line.
    """
    steps, places, reals = program.steps, program.places, program.reals
    step, is_sum, is_last = steps[s], steps[s, 0] == SUM, True
    if is_sum:
        is_last = steps[s + 1, 0] != SUM
        if step[11] >= 0 and not is_tied:
            for q in range(step[1]):
                borders[0, q] = 0.5 * first[r + step[11] + q]
                source[step[1] * step[1] + q] = 0.5 * second[c + step[11] + q]
                if slope.shape[0] > 0:
                    slope[step[1] * step[1] + q] = 0.0
            borders[0, step[1]] = 0.0
    if not is_last:
        for p in range(1 if is_tied else step[2] + 1):
            sum_line(step, places, p, is_tied, source, slope, borders[0], target, other, rows)
        if not is_tied:
            border_sums(step, places, borders[0], borders[1])
            borders[0] = borders[1]
        return s + 1
    w = s + 1 if is_sum else s
    is_weight = steps[w, 0] == WEIGHT
    f = w + 1 if is_weight else w
    is_form = f < steps.shape[0] and steps[f, 0] == FORM
    lines, width = 1 if is_tied else steps[w, 1] * units[0], steps[w, 1] * units[1]
    has_zeros, form, v, at = False, (0, 0.0, 0.0, 0.0), 0, 0
    if is_form:
        form = int(reals[f, 0]), reals[f, 1], reals[f, 2], reals[f, 3]
        v, at = r + steps[f, 2] * units[0], c + steps[f, 2] * units[1]
        for q in range(width):
            has_zeros |= second[at + q] == 0.0
        for p in range(steps[w, 1] * units[0]):
            has_zeros |= first[v + p] == 0.0
    gap, tangent = (target, other) if is_sum else (source, slope)
    for p in range(lines):
        if is_sum:
            sum_line(step, places, p, is_tied, source, slope, borders[0], target, other, rows)
        if is_weight:
            i, j = _U(r + steps[w, 2] * units[0] + p), _U(c + steps[w, 2] * units[1])
            _weigh(
                reals[w, 0],
                reals[w, 1],
                reals[w, 2],
                first,
                i,
                second,
                j,
                gap,
                tangent,
                _U(p * width),
                _U(width),
                is_tied,
            )
        if is_form:
            _activate(
                form,
                reals[f, 4],
                steps[f, 3],
                first,
                v + p,
                steps[w, 1] * units[0],
                second,
                at,
                width,
                own,
                is_tied,
                gap,
                tangent,
                p * width,
                has_zeros,
            )
    return f + 1 if is_form else f


@machine.entry
def run(
    program: Any,
    rows: Any,
    columns: Any,
    units: Any,
    is_tied: Any,
    is_paired: Any,
    given: Any,
    before: Any,
    gap: Any,
    tangent: Any,
) -> None:
    """Pairs of inputs through layers.

    ``rows`` and ``columns`` have the numbers of one input in each row. ``given``, ``before``, ``gap`` and ``tangent``
    have the shape (inputs, inputs, lines, numbers of a line). Without Θ ``tangent`` has no elements; ``given`` and
    ``before`` have none at the start of a network. ``units`` are how many inputs without positions lie in each row.
    Some pairs at a time go from layer to layer, so that they share the numbers of inputs in the cache.
    """
    steps, with_tangent = program.steps, tangent.shape[0] > 0
    first, second, own = rows.reshape(-1), columns.reshape(-1), np.empty(_NUMBERS * _WIDTH)
    size, side = program.size * units[0] * units[1], 1
    while side < _MOST and (side + 1) * (side + 1) * size <= _ROOM:
        side += 1
    wide = 1 if is_paired else side
    # Numbers of pairs, and one place more, into which sums are written; ends of places would meet in the cache.
    gaps = np.empty((side * wide + 1, size + _APART))
    slopes = np.empty((side * wide + 1, size + 2 * _APART if with_tangent else 0))
    borders, seen = np.zeros((2, 1 + np.max(steps[:, 1:3]))), np.empty(_TAPS, np.int64)
    place = np.arange(side * wide + 1)
    for top in range(0, gap.shape[0], side):
        for left in range(0, gap.shape[1], wide):
            height, width = min(side, gap.shape[0] - top), min(wide, gap.shape[1] - left)
            for k in range(height * width):
                i, j = top + k // width, left + k % width
                source, slope = gaps[place[k]], slopes[place[k]]
                lines, length = 1 if is_tied else steps[0, 1] * units[0], steps[0, 1] * units[1]
                if given.shape[0] == 0:
                    r, c = i * rows.shape[1], (i if is_paired else j) * columns.shape[1]
                    _start(program.channels, first, r, lines, second, c, length, is_tied, source)
                    slope[:] = 0.0
                else:
                    for p in range(lines):
                        for q in range(length):
                            source[p * length + q] = given[i, j, p, q]
                            if with_tangent:
                                slope[p * length + q] = before[i, j, p, q]
            s = 0
            while s < steps.shape[0]:
                following = s
                for k in range(height * width):
                    i, j = top + k // width, left + k % width
                    r, c = i * rows.shape[1], (i if is_paired else j) * columns.shape[1]
                    now, free = s, len(place) - 1
                    while now == s or steps[now - 1, 0] == SUM:
                        is_sum = steps[now, 0] == SUM
                        now = _layer(
                            program,
                            now,
                            first,
                            r,
                            second,
                            c,
                            units,
                            is_tied,
                            gaps[place[k]],
                            slopes[place[k]],
                            gaps[place[free]],
                            slopes[place[free]],
                            own,
                            borders,
                            seen,
                        )
                        if is_sum:
                            place[k], place[free] = place[free], place[k]
                    following = now
                s = following
            for k in range(height * width):
                i, j = top + k // width, left + k % width
                source, slope, length = gaps[place[k]], slopes[place[k]], gap.shape[3]
                if program.is_mean:
                    count = steps[-1, 1] * (1 if is_tied else steps[-1, 1])
                    gap[i, j, 0, 0] = _mean(source, count)
                    if with_tangent:
                        tangent[i, j, 0, 0] = _mean(slope, count)
                    continue
                for p in range(gap.shape[2]):
                    for q in range(length):
                        gap[i, j, p, q] = source[p * length + q]
                        if with_tangent:
                            tangent[i, j, p, q] = slope[p * length + q]
