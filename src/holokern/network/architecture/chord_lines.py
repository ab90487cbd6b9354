"""The machine code of activations that have tables: G and Θ of many pairs from polynomials of their chords.

It has the interface of `holokern.dual.pair_lines`. A line of pairs shares its first variable, so polynomials of two
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
"""Pairs at a time, so that their numbers and functions stay in the nearest cache."""

_STEP = machine.LANES
"""Lines are filled up to a multiple of this: what vector instructions take in one turn."""

_ROW = WIDTH + 8
"""Numbers between two rows: a line of the cache more, so that rows do not push each other out of it."""

_BASIS = (HEAD + RANK) * _ROW
"""Numbers of all second variables of a line."""


@machine.entry
def chord_lines(chords: Any, places: Any, index: Any, first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """G and Θ of blocks of pairs after an activation, in place; the arguments are those of `pair_lines`."""
    rank, half, width, w, power = chords.rank, chords.edges.shape[0] - 1, places.width, _U(_ROW), chords.power
    with_slope, count, panels = tangent.shape[0] > 0 and power == 2, HEAD + rank, chords.starts.shape[0]
    edges, flats, groups, fours = chords.edges, chords.flats.reshape(-1), chords.groups, chords.fours.reshape(-1)
    levels, most, starts, values = chords.flats.shape[0], chords.fours.shape[1], chords.starts, chords.values
    folded, opposite = 1.0 if chords.fold != 0 else 0.0, levels > 1
    odd, even = 1.0 if chords.fold < 0 else 0.0, 2.0 if chords.fold > 0 else 0.0
    own, flat, lines = np.zeros(HEAD + RANK), np.zeros(RANK), np.zeros(chords.longest)
    basis, given, chord = machine.on_stack(_BASIS), machine.on_stack(_ROW), machine.on_stack(_ROW)
    owner, level, bent = machine.on_stack(_ROW), machine.on_stack(_ROW), machine.on_stack(_ROW)
    rate, x = machine.on_stack(_ROW), machine.on_stack(_ROW)
    far_owner = float(half)
    for block in range(index.shape[0]):
        r, c, at = index[block, 0] + places.begin[0], index[block, 1] + places.begin[1], index[block, 2]
        for start in range(0, width, WIDTH):
            chunk = min(WIDTH, width - start)
            times = (chunk + _STEP - 1) // _STEP
            padded = _U(times * _STEP)
            for k in range(count):
                source, to = _U(c + start + k * places.apart[1]), _U(k) * w
                for j in range(_U(chunk)):
                    basis[to + j] = second[source + j]
                for j in range(_U(chunk), padded):
                    basis[to + j] = basis[to + _U(chunk - 1)]
            for line in range(places.lines):
                for k in range(count):
                    own[k] = first[r + line + k * places.apart[0]]
                d, inverse, log_c, n, small = own[0], own[1], own[2], own[3], own[4]
                begin, beyond = _U(at + line * width + start), 0.0
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
                # δ²W, or what there is at π
                for j in range(padded):
                    beyond = max(beyond, owner[j])
                for f in range(2 if opposite and beyond >= far_owner else 1):
                    for q in range(rank):
                        flat[q] = 0.0
                    for p in range(rank):
                        row, factor = _U((f * rank + p) * rank), own[HEAD + p]
                        for q in range(_U(rank)):
                            flat[q] += flats[row + q] * factor
                    for j in range(padded):
                        x[j] = 0.0
                    for q in range(0, rank, 4):
                        v, f1, f2, f3, f4 = _U(HEAD + q) * w, flat[q], flat[q + 1], flat[q + 2], flat[q + 3]
                        v2, v3, v4 = v + w, v + w + w, v + w + w + w
                        for j in range(padded):
                            two = f1 * basis[v + j] + f2 * basis[v2 + j]
                            x[j] += two + (f3 * basis[v3 + j] + f4 * basis[v4 + j])
                    for j in range(padded):
                        apart = log_c - basis[_U(2) * w + j]
                        if f == 0:
                            level[j] = apart * apart * x[j]
                        else:
                            level[j] = x[j] if owner[j] >= far_owner else level[j]
                for panel in range(panels):
                    inside = 0.0
                    for j in range(padded):
                        inside = max(inside, 1.0 if owner[j] == float(panel) else 0.0)
                    if inside > 0.0:
                        row, number = panel * most, groups[panel]
                        machine.put_in(values, starts[panel], fours, row, number, own, HEAD, lines)
                        end = chords.ends[panel]
                        machine.polynomials(
                            lines, end, fours, row, number, basis, HEAD * _ROW, _ROW,
                            chords.middles[panel], panel, owner, chord, bent, rate, times,
                        )  # fmt: skip
                for j in range(padded):
                    e, m, both = basis[j], basis[_U(3) * w + j], small * basis[_U(4) * w + j]
                    # What H̃ is multiplied with: 1 - cos θ, of the supplement if folded, or the chord when σ jumps
                    square, is_beyond = chord[j] * chord[j], owner[j] >= far_owner
                    factor = -2.0 * square if is_beyond else 2.0 * square
                    if power == 1:
                        factor = math.sqrt(1.0 - square) if is_beyond else chord[j]
                    lost = n * m * level[j] + both * factor * bent[j]
                    # cos θ < 0 means that the distance is larger than that of independent variables
                    is_far = 2.0 * given[j] > d * d + e * e
                    far = folded if is_far else 0.0
                    lost += odd * far * (2.0 * n * m - 2.0 * lost)
                    level[j] = 0.5 * (n - m) * (n - m) + lost
                    rate[j] = (bent[j] + 0.5 * chord[j] * rate[j]) * (both * (inverse * basis[w + j]))
                    rate[j] *= 1.0 - even * far
                for j in range(_U(chunk)):
                    gap[begin + j] = level[j]
                if with_slope:
                    for j in range(_U(chunk)):
                        tangent[begin + j] *= rate[j]
