"""The machine code of activations that have tables: G and Θ of many pairs from polynomials of their chords.

It has the interface of `dual.forms.pair_lines`. A line of pairs shares its first variable, so polynomials of two
deviations and a chord become such of the second deviation and the chord. Up to `WIDTH` pairs go through all steps
together: nothing depends on where they are, and loops become vector instructions. For each panel of chords, on both
sides of π/2, the pairs in it are put together if they are few; else all pairs take its polynomials, and keep their own.
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

_STEP = 8
"""Lines are filled up to a multiple of this: what vector instructions take in one turn."""

_ROW = WIDTH + 8
"""Numbers between two rows: a line of the cache more, so that rows do not push each other out of it."""

_BASIS = (HEAD + RANK) * _ROW
"""Numbers of all second variables of a line."""


@machine.entry
def chord_lines(  # noqa: PLR0915 (helpers would be compiled again inside)
    chords: Any, places: Any, index: Any, first: Any, second: Any, gap: Any, tangent: Any
) -> None:
    """G and Θ of blocks of pairs after an activation, in place; the arguments are those of `pair_lines`."""
    rank, half, width, w, power = chords.rank, chords.edges.shape[0] - 1, places.width, _U(_ROW), chords.power
    with_slope, count, panels = tangent.shape[0] > 0 and power == 2, HEAD + rank, chords.starts.shape[0]
    edges, ends, flats, groups, fours = chords.edges, chords.ends, chords.flats.reshape(-1), chords.groups, chords.fours
    sizes, starts, values, levels = chords.sizes, chords.starts, chords.values, chords.flats.shape[0]
    folded, opposite = 1.0 if chords.fold != 0 else 0.0, levels > 1
    odd, even = 1.0 if chords.fold < 0 else 0.0, 2.0 if chords.fold > 0 else 0.0
    own, flat, lines = np.zeros(HEAD + RANK), np.zeros(RANK), np.zeros(np.max(sizes))
    basis, given, chord = machine.on_stack(_BASIS), machine.on_stack(_ROW), machine.on_stack(_ROW)
    side, level, bent = machine.on_stack(_ROW), machine.on_stack(_ROW), machine.on_stack(_ROW)
    rate, x, sum1, sum2 = machine.on_stack(_ROW), machine.on_stack(_ROW), machine.on_stack(_ROW), machine.on_stack(_ROW)
    change1, change2, t0 = machine.on_stack(_ROW), machine.on_stack(_ROW), machine.on_stack(_ROW)
    t1, t2, t3, packed = (
        machine.on_stack(_ROW),
        machine.on_stack(_ROW),
        machine.on_stack(_ROW),
        machine.on_stack(_BASIS),
    )
    place = np.empty(_ROW, np.int64)
    for block in range(index.shape[0]):
        r, c, at = index[block, 0] + places.begin[0], index[block, 1] + places.begin[1], index[block, 2]
        for start in range(0, width, WIDTH):
            chunk = min(WIDTH, width - start)
            padded = _U((chunk + _STEP - 1) // _STEP * _STEP)
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
                cell = min(max(int((log_c - chords.low) * chords.inverse), 0), groups.shape[1] - 1)
                begin, beyond = _U(at + line * width + start), 0
                for j in range(_U(chunk)):
                    given[j] = gap[begin + j]
                for j in range(_U(chunk), padded):
                    given[j] = given[chunk - 1]
                for j in range(padded):
                    e = basis[j]
                    here = machine.loss_of(given[j], 0.5 * (d - e) * (d - e), inverse * basis[w + j])
                    chord[j] = math.sqrt(0.5 * min(here, 2.0 - here))
                    is_beyond = here > 1.0 and folded == 0.0
                    side[j] = 1.0 if is_beyond else 0.0
                    beyond += 1 if is_beyond else 0
                # δ²W, or what there is at π
                for f in range(2 if opposite and beyond > 0 else 1):
                    for q in range(rank):
                        flat[q] = 0.0
                    for p in range(rank):
                        row, factor = _U((f * rank + p) * rank), own[HEAD + p]
                        for q in range(_U(rank)):
                            flat[q] += flats[row + q] * factor
                    for j in range(padded):
                        x[j] = 0.0
                    for q in range(rank):
                        row, factor = _U(HEAD + q) * w, flat[q]
                        for j in range(padded):
                            x[j] += factor * basis[row + j]
                    for j in range(padded):
                        apart = log_c - basis[_U(2) * w + j]
                        if f == 0:
                            level[j] = apart * apart * x[j]
                        else:
                            level[j] = x[j] if side[j] == 1.0 else level[j]
                for panel in range(panels):
                    low, high, mark = edges[panel % half], edges[panel % half + 1], float(panel // half)
                    high, inside = high if panel % half < half - 1 else 1.0, 0
                    for j in range(padded):
                        inside += 1 if side[j] == mark and chord[j] >= low and chord[j] < high else 0
                    if inside == 0:
                        continue
                    # Coefficients for the first variable, from four ψ at a time
                    source, end = _U(starts[panel]), 0
                    for g in range(groups[panel, cell]):
                        end += 16 * fours[panel, g]
                    for m in range(_U(end)):
                        lines[m] = 0.0
                    for p in range(sizes.shape[1]):
                        size, length, k = _U(sizes[panel, p]), min(_U(sizes[panel, p]), _U(end)), HEAD + 4 * p
                        k2, k3, k4 = source + size, source + _U(2) * size, source + _U(3) * size
                        f1, f2, f3, f4 = own[k], own[k + 1], own[k + 2], own[k + 3]
                        for m in range(length):
                            two = f1 * values[source + m] + f2 * values[k2 + m]
                            lines[m] += two + (f3 * values[k3 + m] + f4 * values[k4 + m])
                        source = k4 + size
                    left, right = ends[panel, 0], ends[panel, 1]
                    scale, shift, some = 2.0 / (right - left), (right + left) / (right - left), padded
                    for j in range(padded):
                        x[j] = min(max(scale * chord[j] - shift, -1.0), 1.0)
                    functions, from_here = basis, HEAD
                    are_few = 2 * inside < padded
                    if are_few:
                        # Few pairs are put together.
                        functions, from_here, number = packed, 0, 0
                        for j in range(int(padded)):
                            own_pair = side[j] == mark and chord[j] >= low and chord[j] < high
                            place[number] = j
                            number += 1 if own_pair else 0
                        some = _U((inside + _STEP - 1) // _STEP * _STEP)
                        for j in range(inside, int(some)):
                            place[j] = place[0]
                        for j in range(int(some)):
                            x[j] = x[place[j]]
                        for q in range(4 * fours[panel, 0]):
                            known, begins = (HEAD + q) * _ROW, q * _ROW
                            for j in range(int(some)):
                                packed[begins + j] = basis[known + place[j]]
                    for j in range(some):
                        sum1[j] = 0.0
                        sum2[j] = 0.0
                        change1[j] = 0.0
                        change2[j] = 0.0
                        t0[j] = 0.0
                        t1[j] = 0.0
                        t2[j] = 0.0
                        t3[j] = 0.0
                    for g in range(groups[panel, cell] - 1, -1, -1):
                        number = fours[panel, g]
                        end -= 16 * number
                        for k in range(number):
                            v, z = _U(from_here + 4 * k) * w, end + 16 * k
                            v2, v3, v4 = v + w, v + w + w, v + w + w + w
                            a0, a1, a2, a3 = lines[z], lines[z + 1], lines[z + 2], lines[z + 3]
                            b0, b1, b2, b3 = lines[z + 4], lines[z + 5], lines[z + 6], lines[z + 7]
                            c0, c1, c2, c3 = lines[z + 8], lines[z + 9], lines[z + 10], lines[z + 11]
                            d0, d1, d2, d3 = lines[z + 12], lines[z + 13], lines[z + 14], lines[z + 15]
                            for j in range(some):
                                e1, e2 = functions[v + j], functions[v2 + j]
                                e3, e4 = functions[v3 + j], functions[v4 + j]
                                t0[j] = (((t0[j] + a0 * e1) + a1 * e2) + a2 * e3) + a3 * e4
                                t1[j] = (((t1[j] + b0 * e1) + b1 * e2) + b2 * e3) + b3 * e4
                                t2[j] = (((t2[j] + c0 * e1) + c1 * e2) + c2 * e3) + c3 * e4
                                t3[j] = (((t3[j] + d0 * e1) + d1 * e2) + d2 * e3) + d3 * e4
                        # Clenshaw's recurrence for sums and their derivatives, four terms at a time; T_0 is left
                        for j in range(some):
                            y, s1, s2, c1, c2 = 2.0 * x[j], sum1[j], sum2[j], change1[j], change2[j]
                            c2 = y * c1 + (2.0 * s1 - c2)
                            s2 = y * s1 + (t3[j] - s2)
                            c1 = y * c2 + (2.0 * s2 - c1)
                            s1 = y * s2 + (t2[j] - s1)
                            c2 = y * c1 + (2.0 * s1 - c2)
                            s2 = y * s1 + (t1[j] - s2)
                            y = y if g else x[j]
                            change1[j] = y * c2 + ((2.0 if g else 1.0) * s2 - c1)
                            sum1[j] = y * s2 + (t0[j] - s1)
                            change2[j] = c2
                            sum2[j] = s2
                            t0[j] = 0.0
                            t1[j] = 0.0
                            t2[j] = 0.0
                            t3[j] = 0.0
                    if not are_few:
                        for j in range(padded):
                            mine = side[j] == mark and chord[j] >= low and chord[j] < high
                            bent[j] = sum1[j] if mine else bent[j]
                            rate[j] = sum1[j] + 0.5 * scale * chord[j] * change1[j] if mine else rate[j]
                    else:
                        for j in range(inside):
                            to = place[j]
                            bent[to] = sum1[j]
                            rate[to] = sum1[j] + 0.5 * scale * chord[to] * change1[j]
                for j in range(padded):
                    e, m, both = basis[j], basis[_U(3) * w + j], small * basis[_U(4) * w + j]
                    # What H̃ is multiplied with: 1 - cos θ, of the supplement if folded, or the chord when σ jumps
                    square = chord[j] * chord[j]
                    factor = 2.0 * square
                    factor = -factor if side[j] == 1.0 else factor
                    if power == 1:
                        factor = math.sqrt(1.0 - square) if side[j] == 1.0 else chord[j]
                    lost = n * m * level[j] + both * factor * bent[j]
                    # cos θ < 0 means that the distance is larger than that of independent variables
                    is_far = 2.0 * given[j] > d * d + e * e
                    far = folded if is_far else 0.0
                    lost += odd * far * (2.0 * n * m - 2.0 * lost)
                    level[j] = 0.5 * (n - m) * (n - m) + lost
                    rate[j] *= both * (inverse * basis[w + j]) * (1.0 - even * far)
                for j in range(_U(chunk)):
                    gap[begin + j] = level[j]
                if with_slope:
                    for j in range(_U(chunk)):
                        tangent[begin + j] *= rate[j]
