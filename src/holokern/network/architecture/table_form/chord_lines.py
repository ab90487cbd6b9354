"""The machine code of activations that have tables: G and Θ of many pairs.

It has the interface of `dual.forms.pair_lines`. A line of pairs shares its first variable. Pairs that are far from
parallel take a series of their correlations, some lines at once. For the others polynomials of two deviations and a
chord become such of the second deviation and the chord, and for each panel of chords the vectors with pairs in it take
its polynomials. Functions of deviations are computed where they are needed: to read so many numbers from memory would
take longer.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from holokern.network.architecture.table_form.chord_code import (
    CHORDS,
    GIVEN,
    KNOWN,
    ROW,
    SIDE,
    WIDTH,
    LineArrays,
    LinePlace,
    by_chords,
    by_series,
)
from holokern.numeric import machine

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""

_TURNS = 3
"""A look at the correlations, the series, and chords."""

_TINY = 1e-30
"""The smallest unit of functions: products of two of them and of their inverses are far from the ends of numbers."""

_PACKED = 2
"""Pairs of a line for each one of a panel, from which on it pays to move the latter."""


@numba.njit(inline="always")
def _keep_given(numbers: Any, side: Any, given: Any, source: Any, apart: Any, size: Any) -> None:
    """What is given of the variables of one side, and half the squares of c and n."""
    for k in range(GIVEN):
        to, place = _U(side * SIDE + k * ROW), _U(source + k * apart)
        for j in range(_U(size)):
            numbers[to + j] = given[place + j]
    for k in range(2):
        to, place = _U(side * SIDE + (GIVEN + k) * ROW), _U(side * SIDE + 3 * k * ROW)
        for j in range(_U(size)):
            numbers[to + j] = 0.5 * numbers[place + j] * numbers[place + j]


@numba.njit(inline="always")
def _keep_functions(chords: Any, numbers: Any, side: Any, turn: Any, size: Any, x: Any, polynomials: Any) -> None:
    """Functions of the variables of one side: those of the series, or of chords."""
    columns, logs = chords.columns, _U(side * SIDE + 2 * ROW)
    group, groups = (columns[turn] - KNOWN) // 4, (columns[turn + 1] - columns[turn]) // 4
    vectors = (size + 2 * machine.LANES - 1) // (2 * machine.LANES)
    for j in range(_U(size)):
        x[j] = (numbers[logs + j] - chords.log) * chords.scale
    terms = machine.Fours(chords.series, chords.begins[turn - 1], chords.lengths, group, groups)
    machine.chebyshev_rows(x, machine.longest(terms), polynomials, vectors)
    machine.weighted_rows(terms, polynomials, machine.Rows(numbers, side * SIDE + columns[turn] * ROW, ROW), vectors)
    mean, row, inverse = _U(side * SIDE + KNOWN * ROW), KNOWN + 1, polynomials.numbers
    for j in range(_U(size) if turn == 1 else _U(0)):
        numbers[mean + j] *= numbers[_U(side * SIDE + 3 * ROW) + j]
    for parity in range(2 if turn == 1 else 0):
        unit = _U(side * SIDE + (KNOWN + 1 + chords.evens + chords.odds + parity) * ROW)
        for j in range(_U(size)):
            # Where it is nearly zero, high powers do not count.
            one = numbers[unit + j] if abs(numbers[unit + j]) > _TINY else _TINY
            inverse[j] = 1.0 / one
            numbers[unit + j] = one * numbers[_U(side * SIDE + 4 * ROW) + j]
        for _ in range(chords.odds if parity else chords.evens):
            to = _U(side * SIDE + row * ROW)
            for j in range(_U(size)):
                numbers[to + j] *= inverse[j]
            row += 1


@numba.njit(inline="always")
def _move(chords: Any, given: Any, place: Any, some: Any, where: Any, count: Any, panel: Any) -> None:
    """Move the pairs of a line that belong to a panel next to each other."""
    for part in range(2):
        for k in range(chords.columns[2] if part else 0, chords.columns[3] if part else KNOWN):
            row = _U(SIDE + k * ROW)
            for q in range(_U(count)):
                some.second[row + q] = given.second[row + _U(where[q])]
    for q in range(_U(count)):
        j, at = _U(place.kept + where[q]), _U(place.at + where[q])
        some.gap[q], some.chord[q], some.panel[q] = given.gap[at], given.chord[j], float(panel)
        some.tangent[q] = given.tangent[at] if place.with_slope else 0.0


@machine.entry
def chord_lines(  # noqa: PLR0915 (helpers would be compiled again inside)
    chords: Any, places: Any, index: Any, first: Any, second: Any, gap: Any, tangent: Any
) -> None:
    """G and Θ of blocks of pairs after an activation, in place; the arguments are those of `dual.forms.pair_lines`.

    The arrays ``gap`` and ``tangent`` are longer than what belongs to pairs: vectors reach beyond it.
    """
    width, with_slope = places.width, tangent.shape[0] > 0 and chords.power == 2
    panels, longest, most = chords.middles.shape[0], chords.longest, chords.fours.shape[1]
    # Behind what is given come functions of the series, and of chords.
    behind, fours = chords.columns[2], chords.fours.reshape(-1)
    lines = machine.aligned(panels * machine.LINES * longest)
    is_put_in, is_known = np.zeros(panels, np.bool_), np.zeros(2 * _TURNS, np.bool_)
    every = machine.Fours(chords.series, 0, chords.lengths, 0, chords.lengths.shape[0])
    numbers = machine.aligned(2 * SIDE)
    polynomials = machine.Rows(machine.aligned(4 * machine.longest(every) * ROW), 0, ROW)
    rows, others, is_near = -1, -1, False
    chord, owner, x = machine.on_stack(CHORDS), machine.on_stack(CHORDS), machine.on_stack(ROW)
    # Few pairs of a line are moved next to each other.
    where, some, slopes = np.zeros(ROW, np.int64), machine.aligned(ROW), machine.aligned(ROW)
    short, mine = machine.on_stack(ROW), machine.on_stack(ROW)
    all_pairs = LineArrays(numbers, numbers, lines, gap, tangent, chord, owner)
    few_pairs = LineArrays(numbers, machine.aligned(2 * SIDE), lines, some, slopes, short, mine)
    # Nothing belongs to the places behind a line, and what is there should not slow down arithmetic.
    for j in range(_U(ROW)):
        x[j], short[j] = 0.0, 0.0
    for j in range(_U(CHORDS)):
        chord[j] = 0.0
    for block in range(index.shape[0]):
        r, c, at = index[block, 0] + places.begin[0], index[block, 1] + places.begin[1], index[block, 2]
        # Lines of a tile on the diagonal begin with the first variables, so that one side has the numbers of both.
        is_same = r == c and first.ctypes.data == second.ctypes.data and places.lines <= width <= WIDTH
        for start in range(0, width, WIDTH):
            chunk = min(WIDTH, width - start)
            # What is known of the variables of the block before often serves this one too.
            for turn in range(_TURNS):
                is_known[turn] &= r == rows and places.lines <= WIDTH
                is_known[_TURNS + turn] &= c + start == others
            rows, others = r, c + start
            for line in range(0, places.lines, machine.LINES):
                begin, parts, needed, served = at + line * width + start, min(machine.LINES, places.lines - line), 0, 0
                found = 0
                own = line + SIDE if is_same else line % WIDTH
                skipped = machine.left_out(places.unwanted - start, line)
                for turn in range(_TURNS if line % WIDTH == 0 and line > 0 else 0):
                    is_known[turn] = False
                for panel in range(panels):
                    is_put_in[panel] = False
                # Functions are computed only if they are needed.
                if skipped * machine.LANES >= chunk:
                    continue
                for turn in range(_TURNS):
                    if turn != needed:
                        continue
                    for side in range(1 if is_same else 0, 2):
                        if is_known[_TURNS * side + turn]:
                            continue
                        is_known[_TURNS * side + turn] = True
                        given, apart = (second, places.apart[1]) if side else (first, places.apart[0])
                        begins = line // WIDTH * WIDTH
                        source, size = (c + start, chunk) if side else (r + begins, min(WIDTH, places.lines - begins))
                        if turn == 0:
                            _keep_given(numbers, side, given, source, apart, size)
                        else:
                            _keep_functions(chords, numbers, side, turn, size, x, polynomials)
                    if turn == 0 and not is_near:
                        needed = 1
                    elif turn < _TURNS - 1:
                        limit, more = (chords.limit, -1.0) if turn else (-1.0, chords.limit)
                        here = LinePlace(own, begin, parts, width, 0, chunk, skipped, with_slope)
                        found = by_series(chords, all_pairs, here, limit, more, is_near and turn == 1)
                        either = found | found // 8 | found // 64 | found // 512
                        needed = 1 if either & 1 else 2 if either & 2 else _TURNS
                        served |= either & 5
                # The series is tried at once unless it served no pair of the lines before.
                is_near = served == 0
                for part in range(parts if needed < _TURNS else 0):
                    kept, begin = part * ROW, at + (line + part) * width + start
                    for panel in range(panels if found >> (3 * part) & 2 else 0):
                        count = 0
                        for j in range(_U(skipped * machine.LANES), _U(chunk)):
                            where[_U(count)] = j
                            count += owner[_U(kept) + j] == float(panel)
                        if count == 0:
                            continue
                        to = panel * machine.LINES * longest
                        if not is_put_in[panel]:
                            terms = machine.Fours(
                                chords.values, chords.starts[panel], fours, panel * most, chords.groups[panel]
                            )
                            # Some lines are prepared together.
                            together = machine.Rows(numbers, behind * ROW + own, ROW)
                            machine.put_in(terms, together, machine.Rows(lines, to, longest))
                            is_put_in[panel] = True
                        is_packed, end = _PACKED * count <= chunk, to + part * longest + chords.ends[panel]
                        here = LinePlace(own + part, begin, 1, 0, kept, chunk, skipped, with_slope)
                        if is_packed:
                            _move(chords, all_pairs, here, few_pairs, where, count, panel)
                            here = LinePlace(own + part, 0, 1, 0, 0, count, 0, with_slope)
                        by_chords(chords, few_pairs if is_packed else all_pairs, here, panel, end)
                        for q in range(_U(count if is_packed else 0)):
                            gap[_U(begin + where[q])] = some[q]
                            if with_slope:
                                tangent[_U(begin + where[q])] = slopes[q]
