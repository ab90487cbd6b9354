"""The machine code of activations that have tables: G and Θ of many pairs from polynomials of their chords.

It has the interface of `dual.forms.pair_lines`. A line of pairs shares its first variable, so polynomials of two
deviations and a chord become such of the second deviation and the chord. Up to `WIDTH` pairs go through all steps
together: nothing depends on where they are, and loops become vector instructions. For each panel of chords, on both
sides of π/2, the vectors with pairs in it take its polynomials, and the pairs in it keep their values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from holokern.numeric import machine

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""

HEAD = 5
"""Numbers of a deviation before its functions: c, 1/c, log c, n and gn."""

RANK = 48
"""The most functions of a deviation."""

WIDTH = 128
"""Pairs of a line at a time, so that their numbers and functions stay in the nearest cache."""

_STEP = 32
"""Loops have a multiple of this as length: four vectors are what the compiler takes in one turn."""

_ROW = WIDTH + 8
"""Numbers between two rows: a line of the cache more, so that rows do not push each other out of it."""

_BASIS = (HEAD + RANK) * _ROW
"""Numbers of all second variables of a line."""

_OWN = HEAD + RANK
"""Numbers of one first variable."""

_LEVELS = 4 * _ROW
"""Numbers of four sums for each pair, of which W and A are two."""


@machine.entry
def chord_lines(  # noqa: PLR0915 (helpers would be compiled again inside)
    chords: Any, places: Any, index: Any, first: Any, second: Any, gap: Any, tangent: Any
) -> None:
    """G and Θ of blocks of pairs after an activation, in place; the arguments are those of `pair_lines`."""
    rank, half, width, w, power = chords.rank, chords.edges.shape[0] - 1, places.width, _U(_ROW), chords.power
    with_slope, count, panels = tangent.shape[0] > 0 and power == 2, HEAD + rank, chords.middles.shape[0]
    edges, groups, fours, most = chords.edges, chords.groups, chords.fours.reshape(-1), chords.fours.shape[1]
    starts, values, folded, far_owner = chords.starts, chords.values, 1.0 if chords.fold != 0 else 0.0, float(half)
    odd, even = 1.0 if chords.fold < 0 else 0.0, 2.0 if chords.fold > 0 else 0.0
    own, longest, lengths = np.zeros(machine.LINES * _OWN), chords.longest, chords.ends
    lines, is_put_in = np.zeros((panels + 1) * machine.LINES * longest), np.zeros(panels, np.bool_)
    basis, given, chord = machine.on_stack(_BASIS), machine.on_stack(_ROW), machine.on_stack(_ROW)
    owner, level, bent = machine.on_stack(_ROW), machine.on_stack(_LEVELS), machine.on_stack(_ROW)
    rate = machine.on_stack(_ROW)
    # Nothing belongs to the places behind a line, and what is there should not slow down arithmetic.
    for j in range(_U(_ROW)):
        level[j], level[w + j], bent[j], rate[j] = 0.0, 0.0, 0.0, 0.0
    for block in range(index.shape[0]):
        r, c, at = index[block, 0] + places.begin[0], index[block, 1] + places.begin[1], index[block, 2]
        for start in range(0, width, WIDTH):
            chunk = min(WIDTH, width - start)
            padded, vectors = _U((chunk + _STEP - 1) // _STEP * _STEP), (chunk + machine.LANES - 1) // machine.LANES
            for k in range(count):
                source, to = _U(c + start + k * places.apart[1]), _U(k) * w
                for j in range(_U(chunk)):
                    basis[to + j] = second[source + j]
                for j in range(_U(chunk), padded):
                    basis[to + j] = basis[to + _U(chunk - 1)]
            for line in range(places.lines):
                i = line % machine.LINES
                if i == 0:
                    # Some lines are prepared together.
                    for i in range(machine.LINES):
                        for k in range(count):
                            own[i * _OWN + k] = first[r + min(line + i, places.lines - 1) + k * places.apart[0]]
                    i, to = 0, panels * machine.LINES * longest
                    machine.put_in(values, starts[panels], fours, panels * most, 1, own, HEAD, _OWN, lines, to, longest)
                    is_put_in[:] = False
                o = i * _OWN
                d, inverse, log_c, n, small = own[o], own[o + 1], own[o + 2], own[o + 3], own[o + 4]
                begin = _U(at + line * width + start)
                for j in range(_U(chunk)):
                    given[j] = gap[begin + j]
                for j in range(_U(chunk), padded):
                    given[j] = given[chunk - 1]
                for j in range(padded):
                    e = basis[j]
                    here = machine.loss_of(given[j], 0.5 * (d - e) * (d - e), inverse * basis[w + j])
                    chord[j] = math.sqrt(0.5 * min(here, 2.0 - here))
                    owner[j] = far_owner if here > 1.0 and folded == 0.0 else 0.0
                for panel in range(1, half):
                    low = edges[panel]
                    for j in range(padded):
                        owner[j] += 1.0 if chord[j] >= low else 0.0
                # W and A come first, like two powers.
                to = (panels * machine.LINES + i) * longest
                machine.weighted_rows(lines, to, rank // 4, basis, HEAD * _ROW, _ROW, level, _ROW, 1, vectors)
                for panel in range(panels):
                    inside = 0.0
                    for j in range(padded):
                        inside += 1.0 if owner[j] == float(panel) else 0.0
                    if inside > 0.0:
                        row, number, to = panel * most, groups[panel], panel * machine.LINES * longest
                        if not is_put_in[panel]:
                            machine.put_in(
                                values, starts[panel], fours, row, number, own, HEAD, _OWN, lines, to, longest
                            )
                            is_put_in[panel] = True
                        machine.polynomials(
                            lines, to + i * longest + lengths[panel], fours, row, number, basis, HEAD * _ROW, _ROW,
                            chords.middles[panel], panel, owner, chord, bent, rate, vectors,
                        )  # fmt: skip
                for j in range(padded):
                    e, m, both = basis[j], basis[_U(3) * w + j], small * basis[_U(4) * w + j]
                    apart, is_beyond = log_c - basis[_U(2) * w + j], owner[j] >= far_owner
                    # δ²W, or what there is at π, and what H̃ is multiplied with: 1 - cos θ, of the supplement if folded,
                    # or the chord when σ jumps
                    known = apart * apart * level[j]
                    known = level[w + j] if is_beyond and power == 2 else known
                    square = chord[j] * chord[j]
                    factor = -2.0 * square if is_beyond else 2.0 * square
                    if power == 1:
                        factor = math.sqrt(1.0 - square) if is_beyond else chord[j]
                    lost = n * m * known + both * factor * bent[j]
                    # cos θ < 0 means that the distance is larger than that of independent variables
                    is_far = 2.0 * given[j] > d * d + e * e
                    far = folded if is_far else 0.0
                    lost += odd * far * (2.0 * n * m - 2.0 * lost)
                    given[j] = 0.5 * (n - m) * (n - m) + lost
                    slope = (bent[j] + 0.5 * chord[j] * rate[j]) * (both * (inverse * basis[w + j]))
                    owner[j] = slope * (1.0 - even * far)
                for j in range(_U(chunk)):
                    gap[begin + j] = given[j]
                if with_slope:
                    for j in range(_U(chunk)):
                        tangent[begin + j] *= owner[j]
