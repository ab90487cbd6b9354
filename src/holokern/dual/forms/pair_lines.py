"""The machine code of closed forms on half squared distances: k and k′ of many pairs, without tables.

For centred normal u and v with deviations c₁, c₂ the distance is G = E[(u - v)²]/2. All formulas take and give
distances, in differences that do not cancel, so that nearly equal u and v keep their digits.

The code of each form works on up to `WIDTH` pairs: from the numbers of the first variables in ``rows``, those of the
second ones in ``columns`` and G before the activation it finds G after it, and what Θ is multiplied by. These first go
to the stack: the compiler then knows that they overlap nothing and uses vector instructions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from holokern.numeric import machine

WIDTH = 256
"""Pairs at a time: results of one line of most images, in 4 kB."""

_NEAR = 1 / 16
"""Differences of w²c² below which four terms of sinh and of tanh are exact to rounding."""

NUMBERS = 6
"""The most numbers that a form needs of a variable."""

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""


class Formula(NamedTuple):
    """A closed form as its machine code reads it."""

    needed: int  # how many numbers of a variable
    constants: tuple[float, ...]


class _Pairs(NamedTuple):
    """Some pairs of a line, by where their numbers are."""

    # r, rs: where the first numbers of the first variables begin, and how far the next ones are behind
    r: np.uint64
    rs: np.uint64
    c: np.uint64  # c, cs: the same of the second variables
    cs: np.uint64
    at: np.uint64  # where their G and Θ begin
    size: np.uint64  # how many pairs there are


@numba.njit(inline="always")
def _kinks(form: Any, rows: Any, columns: Any, gap: Any, pairs: Any, after: Any, rate: Any) -> None:
    """σ(u) = a u + b |u| [ChoSaul2009]; the numbers are c and 1/c.

    k is the mean square times cos θ - f (θ cos θ - sin θ), and k′ times 1 - fθ, where f = 2b²/π(a² + b²).
    """
    (a, b), (r, rs, c, cs, at, size) = form, pairs
    square = a * a + b * b
    factor, r1, c1 = 2.0 * b * b / (math.pi * square), r + rs, c + cs
    for j in range(size):
        one, two = rows[r + j], columns[c + j]
        apart = 0.5 * (one - two) * (one - two)
        here = machine.loss_of(gap[at + j], apart, rows[r1 + j] * columns[c1 + j])
        theta = machine.angle_from_gap(here)
        lost = here + factor * (theta * (1.0 - here) - math.sqrt(here * (2.0 - here)))
        after[j] = square * (apart + one * two * lost)
        rate[j] = square * (1.0 - factor * theta)


@numba.njit(inline="always")
def _erfs(form: Any, rows: Any, columns: Any, gap: Any, pairs: Any, after: Any, rate: Any) -> None:
    """σ(u) = a + b erf(γu) [RasmussenWilliams2006]; the numbers are c, 1/s and √(1 - S⁴).

    Here T = √2 γc, s² = 1 + T² and S = T/s. k is a² + 2b²/π asin(Y/s₁s₂) with Y = 2γ² Cov(u, v). The change from equal
    to given variables is an arctangent, and so is the distance for cos θ = 1.
    """
    (b, gamma), (r, rs, c, cs, at, size) = form, pairs
    root2, value, slope = math.sqrt(2.0) * gamma, 2.0 / math.pi * b * b, 4.0 / math.pi * b * b * gamma * gamma
    r1, r2, c1, c2 = r + rs, r + rs + rs, c + cs, c + cs + cs
    for j in range(size):
        one, two, i1, i2 = rows[r + j], columns[c + j], rows[r1 + j], columns[c1 + j]
        t, t2, both = root2 * one, root2 * two, i1 * i2
        most, apart = t * t2, t - t2
        less = min(max(2.0 * gamma * gamma * gap[at + j] - 0.5 * apart * apart, 0.0), 2.0 * most)
        square = 1.0 + t * t + t2 * t2
        root = math.sqrt(square)
        other = math.sqrt(square + less * (2.0 * most - less))
        # The angle of a product of complex numbers is the sum of their angles.
        up, along = _spread((t, t * i1, rows[r2 + j]), (t2, t2 * i2, columns[c2 + j]), both, root * both)
        x, y = (root + other) * (root + other) - less * less, 2.0 * (root + other) * less
        high, flat = up * x + along * y, along * x - up * y
        above, below = machine.slope_quotient(high, abs(flat))
        # One division for two quotients.
        inverse = 1.0 / (below * other)
        angle = machine.angle_of_quotient(above * other * inverse, high, abs(flat))
        after[j] = value * (angle if flat >= 0.0 else math.pi - angle)
        rate[j] = slope * (below * inverse)


@numba.njit(inline="always")
def _linear_erfs(form: Any, rows: Any, columns: Any, gap: Any, pairs: Any, after: Any, rate: Any) -> None:
    """σ(u) = a u + b u erf(γu), such as GELU; the numbers are those of `_erfs` and M = √(1 + 2T²), 1/M, asin S².

    With N² = s₁²s₂² - Y² the second part of k is b²/πγ² times Y asin(Y/s₁s₂) + (T₁²T₂²N² + Y²)/(s₁²s₂²N): Stein's
    identity takes the powers of u and v away. Distances are differences of this, term by term. Quotients share
    divisions, two by two.
    """
    (a, b, gamma), (r, rs, c, cs, at, size) = form, pairs
    root2, value, slope = math.sqrt(2.0) * gamma, b * b / (math.pi * gamma * gamma), 2.0 / math.pi * b * b
    r1, r2, r3, r4, r5 = r + rs, r + _U(2) * rs, r + _U(3) * rs, r + _U(4) * rs, r + _U(5) * rs
    c1, c2, c3, c4, c5 = c + cs, c + _U(2) * cs, c + _U(3) * cs, c + _U(4) * cs, c + _U(5) * cs
    for j in range(size):
        i1, i2 = rows[r1 + j], columns[c1 + j]
        m, m2, inverses = rows[r3 + j], columns[c3 + j], rows[r4 + j] * columns[c4 + j]
        angle, angle2 = rows[r5 + j], columns[c5 + j]
        t, t2, both = root2 * rows[r + j], root2 * columns[c + j], i1 * i2
        s, s2, given, most = t * i1, t2 * i2, gap[at + j], t * t2
        apart, rise, middle = t - t2, m - m2, 0.5 * (m + m2)
        less = min(max(2.0 * gamma * gamma * given - 0.5 * apart * apart, 0.0), 2.0 * most)
        square = 1.0 + t * t + t2 * t2
        root = math.sqrt(square)
        other = math.sqrt(square + less * (2.0 * most - less))
        total, product = root + other, root * other
        up, along = _spread((t, s, rows[r2 + j]), (t2, s2, columns[c2 + j]), both, root * both)
        above, below = machine.slope_quotient(up, along)
        above2, below2 = machine.slope_quotient(less, total)
        inverse = 1.0 / (below * below2)
        spread = machine.angle_of_quotient(above * below2 * inverse, up, along)
        turned = 2.0 * machine.angle_of_quotient(above2 * below * inverse, less, total)
        full = 0.5 * (angle + angle2) - spread
        # Equal correlation one: the second differences of Y asin, of N, of 1/N and of N (1/s₁² + 1/s₂²).
        first = 0.5 * apart * (apart * full + t * (angle - full) - t2 * (angle2 - full)) + most * spread
        near, far = (middle + root) * root, (m + root) * (m2 + root)
        inverse = 1.0 / (near * far)
        first += 0.25 * rise * rise * ((2.0 * middle + root) * inverses - root) * (far * inverse)
        first += 0.5 * apart * (t + t2) * rise * both * both * (1.0 + (square + 1.0) * (near * inverse))
        # From there to the given correlation.
        rest, inverse = most - less, 1.0 / (total * product)
        changed = ((both * both - s * s * s2 * s2) * product + 1.0) * (most + rest) * inverse
        second = less * (full + changed) + rest * turned
        after[j] = a * a * given + value * (first + second)
        last = root * total * inverse
        flat = rest * last * ((square + 1.0) * both * both + last * last)
        rate[j] = a * a + slope * (full - turned + flat)


@numba.njit(inline="always")
def _waves(form: Any, rows: Any, columns: Any, gap: Any, pairs: Any, after: Any, rate: Any) -> None:
    """σ(u) = a u + b cos(wu) + e sin(wu); the numbers are c, 1/c, 1 - exp(-w²c²) and exp(-w²c²/2).

    With S = w²G and T = w²(c₁² + c₂²), cos(wu - wv) and cos(wu + wv) have the means exp(-S) and exp(S - T).
    """
    (line, even, odd, w), (r, rs, c, cs, at, size) = form, pairs
    square, cross, r1, r2, r3 = w * w, line * odd * w, r + rs, r + rs + rs, r + rs + rs + rs
    c1, c2, c3 = c + cs, c + cs + cs, c + cs + cs + cs
    for j in range(size):
        one, two, gone, gone2 = rows[r + j], columns[c + j], rows[r2 + j], columns[c2 + j]
        given, faded, away = gap[at + j], rows[r3 + j] + columns[c3 + j], 0.5 * (one - two) * (one - two)
        here = machine.loss_of(given, away, rows[r1 + j] * columns[c1 + j])
        lost = gone + gone2 - gone * gone2
        less = machine.exponential_less_one(-square * given)
        far = machine.exponential_less_one(-square * (away + one * two * (2.0 - here)))
        # exp(-T) (exp(S) - 1), and what is left of cosines of small deviations: their terms of order c² cancel
        ratio = -less / (1.0 + less) if less > -0.5 else 0.0
        rise = (1.0 - lost) * ratio if less > -0.5 else far + lost
        # sinh and tanh of differences of variances, by their first terms where numbers of nearly equal ones cancel
        half, is_near = 0.5 * square * (one - two) * (one + two), abs(one - two) * (one + two) * square < _NEAR
        q = half * half
        rest = half * (1.0 + q / 6.0 * (1.0 + q / 20.0 * (1.0 + q / 42.0)))
        tilt = 0.5 * half * (1.0 - q / 12.0 * (1.0 - q / 10.0 * (1.0 - 17.0 * q / 168.0)))
        apart = gone - gone2
        shift = 2.0 * (1.0 - lost) * rest * rest if is_near else 0.5 * apart * apart
        slip = faded * tilt if is_near else columns[c3 + j] - rows[r3 + j]
        cosines = (lost + less) * ratio + shift if less > -0.5 else shift - less - rise
        sines = rise - less - shift
        mixed = given * faded - 0.5 * (one - two) * (one + two) * slip
        after[j] = line * line * given + cross * mixed + 0.5 * (odd * odd * sines + even * even * cosines)
        waves = odd * odd * (2.0 + less + far) + even * even * (less - far)
        rate[j] = line * line + cross * faded + 0.5 * square * waves


@numba.njit(inline="always")
def _gaussians(form: Any, rows: Any, columns: Any, gap: Any, pairs: Any, after: Any, rate: Any) -> None:
    """σ(u) = b exp(-au²); the numbers are c, 1/c and √A with A = 1 + 4ac².

    With x = 2ac₁², y = 2ac₂², g = 2aG and M = 1 + x + y, k is b²/√D where D = M + g (x + y - g) - (x - y)²/4. The
    distance is the mean of 1/√A and 1/√B less 1/√M, and 1/√M less 1/√D; both are written without differences of roots.
    """
    (b, a), (r, rs, c, cs, at, size) = form, pairs
    r1, r2, c1, c2 = r + rs, r + rs + rs, c + cs, c + cs + cs
    for j in range(size):
        one, two, s, t, given = rows[r + j], columns[c + j], rows[r2 + j], columns[c2 + j], gap[at + j]
        away, apart = 0.5 * (one - two) * (one - two), 2.0 * a * (one - two) * (one + two)
        here = machine.loss_of(given, away, rows[r1 + j] * columns[c1 + j])
        near, far = 2.0 * a * given, 2.0 * a * (away + one * two * (2.0 - here))
        middle = 1.0 + 2.0 * a * (one * one + two * two)
        # Quotients by M: squares of squares of long vectors are no floats
        change = near / middle * far - 0.25 * apart / middle * apart
        root, other = math.sqrt(middle), math.sqrt(1.0 + change)
        bent = apart / (s * (s + root)) * (apart / (t * (t + root))) * (1.0 + root / (s + t))
        after[j] = b * b * (bent + change / (other * (1.0 + other))) / root
        rate[j] = b * b * a * ((far - near) / middle) / ((1.0 + change) * other * root)


@numba.njit(inline="always")
def _spread(one: Any, two: Any, both: Any, root: Any) -> Any:
    """A slope up/along with the angle (asin S₁² + asin S₂²)/2 - asin S₁S₂; root = √(1 - S₁²S₂²) and both = 1/s₁s₂.

    Of each variable it takes T, S and √(1 - S⁴).
    """
    (t, s, w), (t2, s2, w2) = one, two
    apart, total, product, mixed = (t - t2) * (t + t2) * both * both, s + s2, s * s2, s * w2 + s2 * w
    up = apart * apart * (total * (1.0 + product * product) + root * mixed)
    return up, mixed * (total * total * (w + root) * (w2 + root) + product * apart * apart)


@numba.njit(inline="always")
def _for_lines(code: Any, form: Any, places: Any, index: Any, arrays: Any) -> None:
    """G and Θ of blocks of pairs after an activation, in place, by the code of its form.

    ``form`` is a `Formula`. ``places`` are the `Places` of the numbers, and ``index`` tells for each block where the
    numbers of its first and its second variables begin, and its G and Θ. The arrays, of the numbers of first and of
    second variables, of G and of Θ, are flat. Without Θ its array has no elements.
    """
    (first, second, gap, tangent), is_tied, (apart, cs) = arrays, places.is_tied, places.apart
    width, own, needed = places.width, np.empty(NUMBERS * WIDTH), form.needed
    rows, rs, wide = first if is_tied else own, _U(apart if is_tied else WIDTH), _U(min(WIDTH, width))
    after, rate = machine.on_stack(WIDTH), machine.on_stack(WIDTH)
    for block in range(index.shape[0]):
        r, c, at = index[block, 0] + places.begin[0], index[block, 1] + places.begin[1], index[block, 2]
        for line in range(places.lines):
            for k in range(0 if is_tied else needed):
                number = first[r + line + k * apart]
                for j in range(wide):
                    own[_U(k * WIDTH) + j] = number
            for start in range(0, width, WIDTH):
                here, size = _U(at + line * width + start), _U(min(WIDTH, width - start))
                pairs = _Pairs(_U(r + start if is_tied else 0), rs, _U(c + start), _U(cs), here, size)
                code(form.constants, rows, second, gap, pairs, after, rate)
                for j in range(size):
                    gap[here + j] = after[j]
                if tangent.shape[0] > 0:
                    for j in range(size):
                        tangent[here + j] *= rate[j]


@machine.entry
def kink_lines(form: Any, places: Any, index: Any, first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """`_for_lines` with `_kinks`."""
    _for_lines(_kinks, form, places, index, (first, second, gap, tangent))


@machine.entry
def erf_lines(form: Any, places: Any, index: Any, first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """`_for_lines` with `_erfs`."""
    _for_lines(_erfs, form, places, index, (first, second, gap, tangent))


@machine.entry
def linear_erf_lines(form: Any, places: Any, index: Any, first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """`_for_lines` with `_linear_erfs`."""
    _for_lines(_linear_erfs, form, places, index, (first, second, gap, tangent))


@machine.entry
def wave_lines(form: Any, places: Any, index: Any, first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """`_for_lines` with `_waves`."""
    _for_lines(_waves, form, places, index, (first, second, gap, tangent))


@machine.entry
def gaussian_lines(form: Any, places: Any, index: Any, first: Any, second: Any, gap: Any, tangent: Any) -> None:
    """`_for_lines` with `_gaussians`."""
    _for_lines(_gaussians, form, places, index, (first, second, gap, tangent))
