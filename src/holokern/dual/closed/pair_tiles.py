"""The machine code of closed forms on half squared distances: k and k′ of many pairs, without tables.

For centred normal u and v with deviations c₁, c₂ the distance is G = E[(u - v)²]/2. All formulas take and give
distances, in differences that do not cancel, so that nearly equal u and v keep their digits.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from holokern.dual.closed.pair_form import ERF, KINK
from holokern.numeric import machine

WIDTH = 64
"""Columns at a time. The numbers of a row of pairs lie in one small array at distances that the compiler knows, so that
it can prove that they do not overlap and use vector instructions."""

_NUMBERS = 8
"""The most numbers that a form needs of a column; the distance, the distance after it, and the factor of Θ follow."""

_GIVEN, _AFTER, _RATE = _NUMBERS * WIDTH, (_NUMBERS + 1) * WIDTH, (_NUMBERS + 2) * WIDTH
"""Where these three begin in the small array."""


@machine.called
def _kinks(a: Any, b: Any, gamma: Any, own: Any, work: Any, size: Any) -> None:
    """σ(u) = a u + b |u| [ChoSaul2009]; the numbers are c and 1/c.

    k is the mean square times cos θ - f (θ cos θ - sin θ), and k′ times 1 - fθ, where f = 2b²/π(a² + b²).
    """
    square = a * a + b * b
    factor, c, inverse = 2.0 * b * b / (math.pi * square), own[0], own[1]
    for j in range(size):
        d = work[j]
        apart = 0.5 * (c - d) * (c - d)
        here = min(max((work[_GIVEN + j] - apart) * (inverse * work[WIDTH + j]), 0.0), 2.0)
        theta = machine.angle_from_gap(here)
        lost = here + factor * (theta * (1.0 - here) - math.sqrt(here * (2.0 - here)))
        work[_AFTER + j] = square * (apart + c * d * lost)
        work[_RATE + j] = square * (1.0 - factor * theta)


@machine.called
def _erfs(a: Any, b: Any, gamma: Any, own: Any, work: Any, size: Any) -> None:
    """σ(u) = a + b erf(γu) [RasmussenWilliams2006]; numbers are c, T = √2 γc, 1/s, S = T/s, √(1 - S⁴) with s² = 1 + T².

    k is a² + 2b²/π asin(Y/s₁s₂) with Y = 2γ² Cov(u, v). The change from equal to given variables is an arctangent, and
    so is the distance for cos θ = 1.
    """
    c, t, inverse, s, w = own[0], own[1], own[2], own[3], own[4]
    for j in range(size):
        d, t2, s2, w2 = work[j], work[WIDTH + j], work[3 * WIDTH + j], work[4 * WIDTH + j]
        both = inverse * work[2 * WIDTH + j]
        most = t * t2
        less = min(max(2.0 * gamma * gamma * (work[_GIVEN + j] - 0.5 * (c - d) * (c - d)), 0.0), 2.0 * most)
        square = 1.0 + t * t + t2 * t2
        root = math.sqrt(square)
        other = math.sqrt(square + less * (2.0 * most - less))
        # The angle of a product of complex numbers is the sum of their angles.
        up, along = _spread(t, s, w, t2, s2, w2, both, root * both)
        x, y = (root + other) * (root + other) - less * less, 2.0 * (root + other) * less
        angle = machine.angle_from_slopes(up * x + along * y, along * x - up * y)
        work[_AFTER + j] = 2.0 / math.pi * b * b * angle
        work[_RATE + j] = 4.0 / math.pi * b * b * gamma * gamma / other


@machine.called
def _linear_erfs(a: Any, b: Any, gamma: Any, own: Any, work: Any, size: Any) -> None:
    """σ(u) = a u + b u erf(γu), such as GELU; the numbers are those of `_erfs` and M = √(1 + 2T²), 1/M, asin S².

    With N² = s₁²s₂² - Y² the second part of k is b²/πγ² times Y asin(Y/s₁s₂) + (T₁²T₂²N² + Y²)/(s₁²s₂²N): Stein's
    identity takes the powers of u and v away. Distances are differences of this, term by term.
    """
    c, t, inverse, s, w, m, reciprocal, angle = own[0], own[1], own[2], own[3], own[4], own[5], own[6], own[7]
    for j in range(size):
        d, t2, s2, w2 = work[j], work[WIDTH + j], work[3 * WIDTH + j], work[4 * WIDTH + j]
        m2, angle2 = work[5 * WIDTH + j], work[7 * WIDTH + j]
        both, inverses = inverse * work[2 * WIDTH + j], reciprocal * work[6 * WIDTH + j]
        given, most = work[_GIVEN + j], t * t2
        less = min(max(2.0 * gamma * gamma * (given - 0.5 * (c - d) * (c - d)), 0.0), 2.0 * most)
        square = 1.0 + t * t + t2 * t2
        root = math.sqrt(square)
        other = math.sqrt(square + less * (2.0 * most - less))
        full = machine.angle_from_slope(most, root)
        turned = 2.0 * machine.angle_from_slope(less, root + other)
        # Equal correlation one: the second differences of Y asin, of N, of 1/N and of N (1/s₁² + 1/s₂²).
        apart, rise = t - t2, m - m2
        first = 0.5 * apart * (apart * full + t * (angle - full) - t2 * (angle2 - full))
        up, along = _spread(t, s, w, t2, s2, w2, both, root * both)
        first += most * machine.angle_from_slope(up, along)
        middle = 0.5 * (m + m2)
        first += 0.25 * rise * rise * ((2.0 * middle + root) * inverses - root) / ((middle + root) * root)
        first += 0.5 * apart * (t + t2) * rise * both * both * (1.0 + (square + 1.0) / ((m + root) * (m2 + root)))
        # From there to the given correlation.
        rest, product = most - less, root * other
        changed = ((both * both - s * s * s2 * s2) * product + 1.0) * (most + rest) / ((root + other) * product)
        second = less * (full + changed) + rest * turned
        work[_AFTER + j] = a * a * given + b * b / (math.pi * gamma * gamma) * (first + second)
        last = 1.0 / other
        flat = rest * last * ((square + 1.0) * both * both + last * last)
        work[_RATE + j] = a * a + 2.0 / math.pi * b * b * (full - turned + flat)


@numba.njit(inline="always")
def _spread(t: Any, s: Any, w: Any, t2: Any, s2: Any, w2: Any, both: Any, root: Any) -> Any:
    """A slope up/along with the angle (asin S₁² + asin S₂²)/2 - asin S₁S₂; root = √(1 - S₁²S₂²) and both = 1/s₁s₂."""
    apart, total, product, mixed = (t - t2) * (t + t2) * both * both, s + s2, s * s2, s * w2 + s2 * w
    up = apart * apart * (total * (1.0 + product * product) + root * mixed)
    return up, mixed * (total * total * (w + root) * (w2 + root) + product * apart * apart)


@machine.called
def _unpack(kind: Any, gamma: Any, points: Any, tile: Any, start: Any, size: Any, step: Any, out: Any) -> None:
    """What the forms need of some points, from the numbers that are kept of them: with 1/c, or with T and S."""
    for j in range(size):
        c = points[tile, start + j, 0]
        out[j] = c
        if kind == KINK:
            out[step + j] = 1.0 / c
        else:
            t, inverse = math.sqrt(2.0) * gamma * c, points[tile, start + j, 1]
            out[step + j] = t
            out[2 * step + j] = inverse
            out[3 * step + j] = t * inverse
    for number in range(2, points.shape[2]):
        for j in range(size):
            out[(number + 2) * step + j] = points[tile, start + j, number]


@machine.entry
def pair_tiles(form: Any, rows: Any, columns: Any, given: Any, before: Any, gap: Any, tangent: Any) -> None:
    """G and Θ after an activation, from those ``given`` and ``before``, of shape (tiles, rows, columns).

    ``rows`` and ``columns`` have the shape (tiles, points, numbers). Without Θ ``tangent`` has no elements.
    """
    with_tangent = tangent.shape[0] > 0
    kind, a, b, gamma = form
    work, own = np.empty((_NUMBERS + 3) * WIDTH), np.empty(_NUMBERS)
    for tile in range(gap.shape[0]):
        for start in range(0, gap.shape[2], WIDTH):
            size = min(WIDTH, gap.shape[2] - start)
            _unpack(kind, gamma, columns, tile, start, size, WIDTH, work)
            for i in range(gap.shape[1]):
                source, line = given[tile, i, start:], gap[tile, i, start:]
                _unpack(kind, gamma, rows, tile, i, 1, 1, own)
                for j in range(size):
                    work[_GIVEN + j] = source[j]
                if kind == KINK:
                    _kinks(a, b, gamma, own, work, size)
                elif kind == ERF:
                    _erfs(a, b, gamma, own, work, size)
                else:
                    _linear_erfs(a, b, gamma, own, work, size)
                for j in range(size):
                    line[j] = work[_AFTER + j]
                if with_tangent:
                    moved, tan = before[tile, i, start:], tangent[tile, i, start:]
                    for j in range(size):
                        tan[j] = moved[j] * work[_RATE + j]
