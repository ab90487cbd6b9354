"""The machine code of an activation on many tiles at once, one tile for each position."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from holokern.numeric import machine

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""

RANK = 24
"""The most polynomials of a deviation."""

WIDTH = 64
"""Columns whose polynomials are computed at a time, so that they stay in the nearest cache."""

_BASIS = RANK * WIDTH
"""Values of all polynomials."""


@numba.njit(inline="always")
def _gap(distance: Any, c: Any, d: Any) -> Any:
    """1 - cos θ from the half squared distance of two Gaussian variables with deviations c and d."""
    apart = c - d
    return (distance - 0.5 * apart * apart) / (c * d)


@machine.entry
def angles_of(gap: Any, rows: Any, columns: Any, theta: Any) -> None:
    """The angles of one tile from its half squared distances, and the deviations of its rows and columns."""
    for i in range(gap.shape[0]):
        for j in range(gap.shape[1]):
            theta[i, j] = machine.angle_from_gap(_gap(gap[i, j], rows[i], columns[j]))


@machine.entry
def chebyshev_sums(coefficients: Any, places: Any, values: Any) -> None:
    """Σ coefficients[m] T_m at flat ``places``, by Clenshaw's recurrence."""
    now, before = np.empty(WIDTH), np.empty(WIDTH)
    for start in range(0, places.shape[0], WIDTH):
        x, out = places[start : start + WIDTH], values[start : start + WIDTH]
        size = _U(x.shape[0])
        for j in range(size):
            now[j] = 0.0
            before[j] = 0.0
        for m in range(coefficients.shape[0] - 1, 0, -1):
            own = coefficients[m]
            for j in range(size):
                new = 2.0 * x[j] * now[j] - before[j] + own
                before[j] = now[j]
                now[j] = new
        for j in range(size):
            out[j] = x[j] * now[j] - before[j] + coefficients[0]


@machine.entry
def activate(  # noqa: PLR0915 (helpers would be optimised again inside)
    chords: Any, rows: Any, columns: Any, first: Any, second: Any, with_slope: Any, gap: Any, tangent: Any
) -> None:
    """G and Θ after an activation, in place, from polynomials of chords and deviations.

    ``gap`` has shape (tiles, rows, columns), ``rows`` and ``columns`` (4, tiles, points): log c, n, d and c. ``first``
    and ``second`` are the cells. The columns of a row are taken cell by cell and panel by panel, and `WIDTH` of them at
    a time. Arrays on the stack overlap nothing, and the compiler knows.
    """
    count, rank, w = chords.flats.shape[0], chords.flats.shape[2], _U(WIDTH)
    half, panels, length = chords.edges.shape[0] - 1, chords.blocks.shape[2], gap.shape[2]
    groups, fours, width = chords.blocks.shape[4], chords.sizes.shape[4], _U(length)
    blocks, sizes, starts = chords.blocks.reshape(-1), chords.sizes.reshape(-1), chords.starts.reshape(-1)
    flats, values, edges, others = chords.flats.reshape(-1), chords.values, chords.edges, columns.reshape(-1)
    cells, pairs, moved = second.reshape(-1), gap.reshape(-1), tangent.reshape(-1)
    folded = 1.0 if chords.fold != 0 else 0.0
    odd, even = 1.0 if chords.fold < 0 else 0.0, 2.0 if chords.fold > 0 else 0.0
    some, ends, which = np.empty(length, np.int64), np.empty(count * panels + 1, np.int64), np.empty(length, np.int64)
    work, own, flat, lines = np.empty((6, length)), np.zeros(4 * fours), np.zeros(rank), np.zeros(chords.most)
    chord, loss, bent, rate, level, unit = work[0], work[1], work[2], work[3], work[4], work[5]
    basis, x, place = machine.on_stack(_BASIS), machine.on_stack(WIDTH), machine.on_stack(WIDTH)
    low_term, high_term = machine.on_stack(WIDTH), machine.on_stack(WIDTH)
    sum1, sum2 = machine.on_stack(WIDTH), machine.on_stack(WIDTH)
    change1, change2 = machine.on_stack(WIDTH), machine.on_stack(WIDTH)
    for line in range(gap.shape[0] * gap.shape[1]):
        tile, i = line // gap.shape[1], line % gap.shape[1]
        begin, logs, cell = _U(line * length), _U(tile * length), first[tile, i]
        norms = logs + _U(gap.shape[0]) * width
        slopes = norms + _U(gap.shape[0]) * width
        deviations = slopes + _U(gap.shape[0]) * width
        log_c, n, slope, c = rows[0, tile, i], rows[1, tile, i], rows[2, tile, i], rows[3, tile, i]
        own[0] = 1.0
        own[1] = 2.0 * ((log_c - chords.low) * chords.inverse - cell) - 1.0
        for p in range(2, 4 * fours):
            own[p] = 2.0 * own[1] * own[p - 1] - own[p - 2]
        for j in range(width):
            d = others[deviations + j]
            inverse = 1.0 / (c * d)
            here = machine.loss_of(pairs[begin + j], 0.5 * (c - d) * (c - d), inverse)
            near = 0.5 * min(here, 2.0 - here)
            chord[j] = math.sqrt(near)
            # What H̃ is multiplied with: 1 - cos θ, of the supplement if folded, or the chord when σ jumps.
            loss[j] = here + folded * (2.0 * near - here)
            loss[j] = math.sqrt(0.5 * loss[j]) if chords.power == 1 else loss[j]
            is_apart = here > 1.0 and folded == 0.0
            which[j] = half if is_apart else 0
            unit[j] = slope * others[slopes + j] if is_apart else n * others[norms + j] * inverse
        for t in range(1, half):
            edge = edges[t]
            for j in range(width):
                which[j] += 1 if chord[j] >= edge else 0
        # The columns in the order of their cells and panels, and where each of these ends
        for key in range(ends.shape[0]):
            ends[key] = 0
        for j in range(length):
            which[j] += cells[tile * length + j] * panels
            ends[which[j] + 1] += 1
        for key in range(1, ends.shape[0]):
            ends[key] += ends[key - 1]
        for j in range(length):
            some[ends[which[j]]] = j
            ends[which[j]] += 1
        stop, last = 0, -1
        for key in range(ends.shape[0] - 1):
            start, stop, other, panel = stop, ends[key], key // panels, key % panels
            if start == stop:
                continue
            if other != last:
                last = other
                for q in range(rank):
                    flat[q] = 0.0
                for p in range(rank):
                    row, factor = _U(((cell * count + other) * rank + p) * rank), own[p]
                    for q in range(_U(rank)):
                        flat[q] += flats[row + q] * factor
            pair = ((cell * count + other) * panels + panel) * 2
            low, high = edges[panel % half], edges[panel % half + 1]
            scale, shift = 2.0 / (high - low), (high + low) / (high - low)
            # Next to θ = 0 the slope is a derivative; beyond π/2 it has polynomials of its own.
            for f in range(2 if with_slope and panel >= half else 1):
                block = (pair + f) * groups
                terms, longest = 4 * blocks[block], blocks[block]
                for g in range(1, groups):
                    terms += 8 * blocks[block + g]
                    longest = max(longest, blocks[block + g])
                # Σ_p own[p] values[p], where four p at a time have the same number of terms
                source = _U(starts[pair + f])
                for m in range(terms):
                    lines[m] = 0.0
                for p in range(fours):
                    size = _U(sizes[(pair + f) * fours + p])
                    k2, k3, k4 = source + size, source + _U(2) * size, source + _U(3) * size
                    a1, a2, a3, a4 = own[4 * p], own[4 * p + 1], own[4 * p + 2], own[4 * p + 3]
                    for m in range(size):
                        two = a1 * values[source + m] + a2 * values[k2 + m]
                        lines[m] += two + (a3 * values[k3 + m] + a4 * values[k4 + m])
                    source = k4 + size
                for at in range(start, stop, WIDTH):
                    chunk = min(WIDTH, stop - at)
                    padded = _U((chunk + 7) // 8 * 8)
                    for j in range(chunk):
                        to = some[at + j]
                        place[j] = 2.0 * ((others[tile * length + to] - chords.low) * chords.inverse - other) - 1.0
                        x[j] = scale * chord[to] - shift
                    for j in range(_U(chunk), padded):
                        place[j] = 0.0
                        x[j] = 0.0
                    for j in range(padded):
                        basis[j] = 1.0
                        basis[w + j] = place[j]
                        low_term[j] = flat[0] + flat[1] * place[j]
                        sum1[j] = 0.0
                        sum2[j] = 0.0
                        change1[j] = 0.0
                        change2[j] = 0.0
                    for q in range(2, max(rank, 4 * longest)):
                        row, factor = _U(q) * w, flat[q] if q < rank else 0.0
                        for j in range(padded):
                            new = 2.0 * place[j] * basis[row - w + j] - basis[row - w - w + j]
                            basis[row + j] = new
                            low_term[j] += factor * new
                    for j in range(chunk if f == 0 else 0):
                        level[some[at + j]] = low_term[j]
                    end = terms
                    for g in range(groups - 1, -1, -1):
                        # Coefficients of T_2g and T_2g-1 at these deviations
                        number, both = blocks[block + g], 8 if g else 4
                        end -= both * number
                        for k in range(number):
                            t, v = end + both * k, _U(4 * k) * w
                            v2, v3, v4 = v + w, v + w + w, v + w + w + w
                            a1, a2, a3, a4 = lines[t], lines[t + 1], lines[t + 2], lines[t + 3]
                            b1, b2, b3, b4 = lines[t + 4], lines[t + 5], lines[t + 6], lines[t + 7]
                            for j in range(padded):
                                e1, e2, e3, e4 = basis[v + j], basis[v2 + j], basis[v3 + j], basis[v4 + j]
                                one, two = (a1 * e1 + a2 * e2) + (a3 * e3 + a4 * e4), b1 * e1 + b2 * e2
                                high_term[j] = (high_term[j] if k else 0.0) + one
                                low_term[j] = (low_term[j] if k else 0.0) + (two + (b3 * e3 + b4 * e4))
                        # Clenshaw's recurrence for sums and their derivatives, two terms at a time
                        if g and number:
                            for j in range(padded):
                                y, s1, c1 = 2.0 * x[j], sum1[j], change1[j]
                                c2 = (y * c1 + 2.0 * s1) - change2[j]
                                s2 = (y * s1 + high_term[j]) - sum2[j]
                                change2[j] = c2
                                sum2[j] = s2
                                change1[j] = (y * c2 + 2.0 * s2) - c1
                                sum1[j] = (y * s2 + low_term[j]) - s1
                    for j in range(chunk):
                        to, here = some[at + j], (x[j] * sum1[j] + high_term[j]) - sum2[j]
                        change = (x[j] * change1[j] + sum1[j]) - change2[j]
                        bent[to] = here if f == 0 else bent[to]
                        rate[to] = here + (0.5 * scale * chord[to] * change if f == 0 else 0.0)
        for j in range(width):
            apart, m, d, here = log_c - others[logs + j], others[norms + j], others[deviations + j], pairs[begin + j]
            lost = apart * apart * level[j] + loss[j] * bent[j]
            # cos θ < 0 means that the distance is larger than that of independent variables
            is_far = 2.0 * here > c * c + d * d
            far = folded if is_far else 0.0
            lost += odd * far * (2.0 - 2.0 * lost)
            pairs[begin + j] = 0.5 * (n - m) * (n - m) + n * m * lost
            rate[j] *= unit[j] * (1.0 - even * far)
        if with_slope:
            for j in range(width):
                moved[begin + j] *= rate[j]
