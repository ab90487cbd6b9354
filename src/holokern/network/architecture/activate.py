"""The machine code of an activation on many tiles at once, one tile for each position."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from holokern.numeric import machine

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""

WIDTH = 64
"""Columns whose polynomials are computed at a time, so that they stay in the nearest cache."""


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
def activate_series(
    start: Any, step: Any, rows: Any, columns: Any, first: Any, second: Any, gap: Any, tangent: Any
) -> None:
    """G and Θ after a smooth activation from its Hermite coefficients, by Mehler's formula [Mehler1866].

    ``rows`` has the shape (tiles, rows, terms), ``columns`` (tiles, terms, columns); ``first`` and ``second`` are the
    deviations. The first term is that of n = 1 - start, the others are those of n = start, start + step, …, where start
    is 0 or 1 and step is 1 or 2; their number is one more than a multiple of four. With r = cos θ and p_n the products
    of the coefficients a_n and b_n of a row and a column

        G = ½ Σ (a_n - b_n)² + Σ p_n (1 - rⁿ),    k′ = Σ n p_n r^(n-1) / (c₁c₂),

    and 1 - rⁿ is 1 - r times a sum of powers of r, so that no digits are lost as r → 1.
    """
    top = rows.shape[2] - 2
    work = np.empty((6, machine.CHUNK))
    g, x, total, sums, apart, rate = work[0], work[1], work[2], work[3], work[4], work[5]
    with_tangent = tangent.shape[0] > 0
    for tile in range(gap.shape[0]):
        for i in range(gap.shape[1]):
            c = first[tile, i]
            other, lowest = rows[tile, i, 0], rows[tile, i, 1]
            for begin in range(0, gap.shape[2], machine.CHUNK):
                size = min(machine.CHUNK, gap.shape[2] - begin)
                line, d = gap[tile, i, begin : begin + size], second[tile, begin : begin + size]
                b0, b = columns[tile, 0, begin : begin + size], columns[tile, 1, begin : begin + size]
                for j in range(size):
                    here = min(max(_gap(line[j], c, d[j]), 0.0), 2.0)
                    g[j] = here
                    x[j] = 1.0 - here if step == 1 else (1.0 - here) * (1.0 - here)
                    total[j] = 0.0
                    sums[j] = 0.0
                    rate[j] = 0.0
                    apart[j] = (other - b0[j]) * (other - b0[j]) + (lowest - b[j]) * (lowest - b[j])
                for m in range(top, 0, -4):
                    a1, a2, a3, a4 = (
                        rows[tile, i, m + 1],
                        rows[tile, i, m],
                        rows[tile, i, m - 1],
                        rows[tile, i, m - 2],
                    )
                    b1, b2 = columns[tile, m + 1, begin : begin + size], columns[tile, m, begin : begin + size]
                    b3, b4 = columns[tile, m - 1, begin : begin + size], columns[tile, m - 2, begin : begin + size]
                    n = float(start + step * m)
                    n2, n3, n4 = n - step, n - 2.0 * step, n - 3.0 * step
                    for j in range(size):
                        p1, p2, p3, p4 = a1 * b1[j], a2 * b2[j], a3 * b3[j], a4 * b4[j]
                        y, s, q, t = x[j], sums[j] + p1, total[j], rate[j]
                        q = q * y + s
                        s += p2
                        q = q * y + s
                        s += p3
                        q = q * y + s
                        s += p4
                        total[j] = q * y + s
                        sums[j] = s
                        t = (t * y + n * p1) * y + n2 * p2
                        rate[j] = (t * y + n3 * p3) * y + n4 * p4
                        e1, e2, e3, e4 = a1 - b1[j], a2 - b2[j], a3 - b3[j], a4 - b4[j]
                        apart[j] += (e1 * e1 + e2 * e2) + (e3 * e3 + e4 * e4)
                for j in range(size):
                    here, r = g[j], 1.0 - g[j]
                    square = here * (2.0 - here)
                    p, own = other * b0[j] if start == 0 else 0.0, lowest * b[j]
                    # 1 - rⁿ is g·Σ, or for even n (1 - r²)·Σ, or for odd n g + r(1 - r²)·Σ
                    moved = here * total[j] if step == 1 else square * total[j]
                    slope = rate[j] if step == 1 else r * rate[j]
                    if start == 1:
                        moved = here * (sums[j] + own) + r * square * total[j]
                        slope = own + r * r * rate[j]
                    line[j] = 0.5 * apart[j] + moved + here * p
                    rate[j] = (slope + p) / (c * d[j])
                if with_tangent:
                    tan = tangent[tile, i, begin : begin + size]
                    for j in range(size):
                        tan[j] *= rate[j]


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


@machine.called
def _polynomials(x: Any, count: Any, size: Any, out: Any) -> None:
    """Chebyshev polynomials of ``size`` numbers, one row of `WIDTH` numbers each."""
    width = _U(WIDTH)
    for j in range(size):
        out[j] = 1.0
        out[width + j] = x[j]
    for m in range(2, count):
        at = _U(m) * width
        last, before = at - width, at - width - width
        for j in range(size):
            out[at + j] = 2.0 * x[j] * out[last + j] - out[before + j]


@machine.called
def _sums(
    lines: Any, others: Any, lengths: Any, chords: Any, deviations: Any, size: Any, value: Any, rate: Any
) -> None:
    """Σ lines[q, m] φ_q T_m for two functions, four terms at a time, to load and store the sums less often."""
    w, at = _U(WIDTH), 0
    for j in range(size):
        value[j] = 0.0
        rate[j] = 0.0
    for q in range(lengths.shape[0]):
        own = _U(q) * w
        for m in range(0, lengths[q], 4):
            k = _U(m) * w
            k2, k3, k4 = k + w, k + _U(2) * w, k + _U(3) * w
            a, b, c, d = lines[at], lines[at + 1], lines[at + 2], lines[at + 3]
            e, f, g, h = others[at], others[at + 1], others[at + 2], others[at + 3]
            for j in range(size):
                t, t2, t3, t4 = chords[k + j], chords[k2 + j], chords[k3 + j], chords[k4 + j]
                value[j] += deviations[own + j] * ((a * t + b * t2) + (c * t3 + d * t4))
                rate[j] += deviations[own + j] * ((e * t + f * t2) + (g * t3 + h * t4))
            at += 4


@machine.called
def _by_cells(cells: Any, order: Any, ends: Any) -> None:
    """The order of points by their cells, and where each cell ends in it."""
    ends[:] = 0
    for j in range(cells.shape[0]):
        ends[cells[j]] += 1
    total = 0
    for cell in range(ends.shape[0]):
        total += ends[cell]
        ends[cell] = total - ends[cell]
    for j in range(cells.shape[0]):
        order[ends[cells[j]]] = j
        ends[cells[j]] += 1


@machine.called
def _contracted(values: Any, start: Any, own: Any, sizes: Any, lines: Any) -> Any:
    """Σ_p own[p] values[p], where four p at a time have ``sizes`` terms; where they end."""
    for m in range(_U(lines.shape[0])):
        lines[m] = 0.0
    for p in range(sizes.shape[0]):
        size, k = _U(sizes[p]), _U(start)
        k2, k3, k4 = k + size, k + _U(2) * size, k + _U(3) * size
        a, b, c, d = own[4 * p], own[4 * p + 1], own[4 * p + 2], own[4 * p + 3]
        for m in range(size):
            lines[m] += (a * values[k + m] + b * values[k2 + m]) + (c * values[k3 + m] + d * values[k4 + m])
        start += 4 * sizes[p]
    return start


@machine.entry
def activate(  # noqa: PLR0915 (helpers would be optimised again inside)
    chords: Any, rows: Any, columns: Any, first: Any, second: Any, with_slope: Any, gap: Any, tangent: Any
) -> None:
    """G and Θ after an activation, in place, from polynomials of chords and deviations.

    ``gap`` has shape (tiles, rows, columns), ``rows`` and ``columns`` (4, tiles, points): log c, n, d and c. ``first``
    and ``second`` are the cells. The columns of a tile are taken cell by cell, those of one row and cell panel by
    panel, and `WIDTH` of them at a time.
    """
    count, rank, width = chords.flats.shape[0], chords.flats.shape[2], _U(gap.shape[2])
    half, panels = chords.edges.shape[0] - 1, chords.lengths.shape[0]
    order, ends = np.empty(width, np.uint64), np.empty(count, np.int64)
    place, norms, slopes, deviations = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    logs, inverses, own = np.empty(width), np.empty(width), np.zeros(rank + 4)
    chord, loss, which, some = np.empty(width), np.empty(width), np.empty(width, np.int64), np.empty(width, np.uint64)
    bent, rate, level, given = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    folded, far_panels = (1.0, 0) if chords.fold != 0 else (0.0, half)
    odd, even = 1.0 if chords.fold < 0 else 0.0, 2.0 if chords.fold > 0 else 0.0
    flat, counts, lines = np.empty(rank), np.empty(panels, np.int64), np.zeros((2, rank * chords.degree))
    powers, basis = np.empty(chords.degree * WIDTH), np.empty(max(2, rank) * WIDTH)
    x, value = np.empty(WIDTH), np.empty(WIDTH)
    flats, values, edges = chords.flats.reshape(-1), chords.values, chords.edges
    for tile in range(gap.shape[0]):
        _by_cells(second[tile], order, ends)
        for k in range(width):
            j = order[k]
            logs[k] = columns[0, tile, j]
            place[k] = 2.0 * ((logs[k] - chords.low) * chords.inverse - second[tile, j]) - 1.0
            norms[k], slopes[k], deviations[k] = columns[1, tile, j], columns[2, tile, j], columns[3, tile, j]
            inverses[k] = 1.0 / deviations[k]
        for i in range(gap.shape[1]):
            line, cell = gap[tile, i], first[tile, i]
            log_c, n, slope, c = rows[0, tile, i], rows[1, tile, i], rows[2, tile, i], rows[3, tile, i]
            inverse = 1.0 / c
            own[0] = 1.0
            own[1] = 2.0 * ((log_c - chords.low) * chords.inverse - cell) - 1.0
            for p in range(2, rank):
                own[p] = 2.0 * own[1] * own[p - 1] - own[p - 2]
            for j in range(width):
                given[j] = line[order[j]]
            for j in range(width):
                d = deviations[j]
                here = (given[j] - 0.5 * (c - d) * (c - d)) * (inverse * inverses[j])
                here = min(max(here, 0.0), 2.0)
                near = 0.5 * min(here, 2.0 - here)
                chord[j] = math.sqrt(near)
                # What H̃ is multiplied with: 1 - cos θ, of the supplement if folded, or the chord when σ jumps.
                loss[j] = here + folded * (2.0 * near - here)
                which[j] = far_panels if here > 1.0 else 0
            if chords.power == 1:
                for j in range(width):
                    loss[j] = math.sqrt(0.5 * loss[j])
            for t in range(1, half):
                edge = edges[t]
                for j in range(width):
                    which[j] += 1 if chord[j] >= edge else 0
            stop = 0
            for other in range(count):
                start, stop = stop, ends[other]
                if start == stop:
                    continue
                for q in range(_U(rank)):
                    flat[q] = 0.0
                for p in range(rank):
                    begin, factor = _U(((cell * count + other) * rank + p) * rank), own[p]
                    for q in range(_U(rank)):
                        flat[q] += flats[begin + q] * factor
                counts[:] = 0
                for j in range(start, stop):
                    counts[which[j]] += 1
                for panel in range(panels):
                    if counts[panel] == 0:
                        continue
                    lengths, end, longest = chords.lengths[panel, cell, other], chords.starts[panel, cell, other], 1
                    terms, sizes = 0, chords.sizes[panel, cell, other]
                    for q in range(rank):
                        terms += lengths[q]
                        longest = max(longest, lengths[q])
                    for f in range(2 if with_slope else 1):
                        end = _contracted(values, end, own, sizes, lines[f, :terms])
                    size = 0
                    for j in range(start, stop):
                        some[size] = j
                        size += 1 if which[j] == panel else 0
                    low, high = edges[panel % half], edges[panel % half + 1]
                    scale, shift = 2.0 / (high - low), (high + low) / (high - low)
                    for chunk_start in range(0, size, WIDTH):
                        chunk = min(WIDTH, size - chunk_start)
                        padded, at = _U((chunk + 3) // 4 * 4), some[chunk_start : chunk_start + chunk]
                        for j in range(_U(chunk)):
                            x[j] = place[at[j]]
                        for j in range(_U(chunk), padded):
                            x[j] = 0.0
                        _polynomials(x, rank, padded, basis)
                        for j in range(padded):
                            value[j] = 0.0
                        for q in range(rank):
                            factor, row = flat[q], _U(q) * _U(WIDTH)
                            for j in range(padded):
                                value[j] += factor * basis[row + j]
                        for j in range(_U(chunk)):
                            level[at[j]] = value[j]
                            x[j] = scale * chord[at[j]] - shift
                        _polynomials(x, longest, padded, powers)
                        _sums(lines[0], lines[1], lengths, powers, basis, padded, value, x)
                        for j in range(_U(chunk)):
                            bent[at[j]] = value[j]
                            rate[at[j]] = x[j]
            for j in range(width):
                apart, m, d = log_c - logs[j], norms[j], deviations[j]
                lost = apart * apart * level[j] + loss[j] * bent[j]
                # cos θ < 0 means that the distance is larger than that of independent variables
                far = folded if 2.0 * given[j] > c * c + d * d else 0.0
                lost += odd * far * (2.0 - 2.0 * lost)
                given[j] = 0.5 * (n - m) * (n - m) + n * m * lost
                rate[j] *= slope * slopes[j] * (1.0 - even * far)
            for j in range(width):
                line[order[j]] = given[j]
            if with_slope:
                for j in range(width):
                    tangent[tile, i, order[j]] *= rate[j]
