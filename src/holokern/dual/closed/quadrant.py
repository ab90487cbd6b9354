"""Moments over a quadrant: E[u^m v^n exp(au + bv); u > 0, v > 0], accurate relative to themselves at every angle.

All functions take δ = π - θ, the opening of the quadrant as the isotropic law sees it: nothing is lost as δ → 0.
"""

from __future__ import annotations

from math import comb, gamma, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from holokern.numeric import Array, between, legendre_rule

Numbers = NDArray[np.floating | np.complexfloating]
"""Real or complex."""

# on panels graded by the exponents; 12 agree with 48 to eight digits and more
_NODES = 32
# for z ≤ 1/2 the series ends by itself after at most 45 terms up to degree 60
_TERMS = 80


def half_moment(i: int) -> float:
    """E[x^i; x > 0] for a standard normal x."""
    return float(2 ** (i / 2) * gamma((i + 1) / 2) / (2 * sqrt(pi)))


def power_moment(m: int, n: int, delta: Array) -> Array:
    """E[x^m w^n; x > 0, w > 0] for standard normal x, w with correlation cos θ = -cos δ.

    In polar coordinates it is a multiple of ∫₀^δ sin^m t sin^n(δ-t) dt, and that is
    B(m+1, n+1) (2 sin δ/2)^(m+n+1) ₂F₁((1+m-n)/2, (1+n-m)/2; (m+n+3)/2; sin² δ/2), a form of
    [SakodaTakayama2024, Thm th:holonomic-umvn] in which every factor is stable for δ ≤ π/2. Beyond, the moment
    over the half-plane x > 0 is a polynomial in cos θ and sin θ, and the opposite quadrant is subtracted. For m = n it
    is the arc-cosine kernel of [ChoSaul2009].

    Examples
    --------
    >>> round(float(power_moment(1, 1, np.array([np.pi]))[0]), 14)
    0.5
    """
    small = np.minimum(delta, np.pi - delta)
    chord = 2 * np.sin(small / 2)
    radial = 2 ** ((m + n) / 2) * gamma((m + n) / 2 + 1) / (2 * pi)
    beta = gamma(m + 1) * gamma(n + 1) / gamma(m + n + 2)
    narrow = radial * beta * chord ** (m + n + 1) * _hypergeometric(m, n, (chord / 2) ** 2)
    wide = delta > np.pi / 2
    if not np.any(wide):
        return np.asarray(narrow)
    cos, sin = np.cos(small), np.sin(small)
    half_plane = sum(
        comb(n, j) * cos ** (n - j) * sin**j * 2 * half_moment(j) * half_moment(m + n - j) for j in range(0, n + 1, 2)
    )
    return np.where(wide, half_plane - (-1) ** n * narrow, narrow)


def _hypergeometric(m: int, n: int, z: Array) -> Array:
    """₂F₁((1+m-n)/2, (1+n-m)/2; (m+n+3)/2; z) for 0 ≤ z ≤ 1/2."""
    a, b, c = (1 + m - n) / 2, (1 + n - m) / 2, (m + n + 3) / 2
    total, term = np.ones_like(z), np.ones_like(z)
    for i in range(_TERMS):
        term = term * ((a + i) * (b + i) / ((c + i) * (1 + i))) * z
        total = total + term
        if np.all(np.abs(term) <= 1e-18 * np.abs(total)):
            break
    return total


def exponential_moment(powers: tuple[int, int], a: Numbers, b: Numbers, delta: Array, opposite: Array) -> Numbers:
    """E[x^m w^n exp(ax + bw); x > 0, w > 0], correlation -cos δ, by the angular integral of a radial moment.

    ``opposite`` is π - δ, with all its digits. The rates a and b may be complex if m = n = 0.

    ∫₀^δ sin^m t sin^n(δ-t) V(a sin t + b sin(δ-t)) dt / 2π, V(g) = ∫₀^∞ ρ^(m+n+1) exp(gρ - ρ²/2) dρ. For m = n = 0
    it is exp(q/2) times a bivariate normal probability, but without a difference of large numbers.
    """
    m, n = powers
    # From either end to the middle, so that small angles keep their digits.
    angles = delta, opposite
    return (_half_moment((m, n), a, b, angles) + _half_moment((n, m), b, a, angles)) / (2 * pi)


def _half_moment(powers: tuple[int, int], a: Numbers, b: Numbers, angles: tuple[Array, Array]) -> Numbers:
    """The angular integral from 0 to δ/2."""
    (m, n), (delta, opposite) = powers, angles
    size, middle = np.abs(a) + np.abs(b), delta[:, None] / 2
    levels = int(np.ceil(np.log(np.pi * (1 + np.max(size))) / np.log(3))) + 1
    graded = 3.0 ** np.arange(levels) / (1 + size)[:, None]
    # Where the exponent is positive the radial moment grows like a Gaussian, which wants panels of a fixed size.
    steps = int(np.ceil(max(float(np.max(a.real)), float(np.max(b.real)), 0.0) * np.pi / 8)) + 1
    ends = [middle * np.linspace(0, 1, steps + 1), graded]
    waves = np.iscomplexobj(a) or np.iscomplexobj(b)
    if waves:
        # Where the phases of x and w cancel the radial moment has a peak as narrow as next to the ends.
        peak = np.arctan2(-b.imag * np.sin(delta), a.imag - b.imag * np.cos(delta))[:, None] % np.pi
        ends += [peak - graded, peak, peak + graded]
    panels = between(np.clip(np.concatenate(ends, axis=1), 0.0, middle))
    t, w = legendre_rule(_NODES)
    at = panels.start[:, None] + panels.width[:, None] * t
    a, b, beyond = (part[panels.owner][:, None] for part in (a, b, opposite))
    inner, outer = delta[panels.owner][:, None] - at, beyond + at
    first, second = np.sin(at), np.sin(np.where(inner < outer, inner, outer))
    exponent = a * first + b * second
    if waves:
        # Phases that nearly cancel keep their digits through sin(δ - t) - sin t.
        apart = 2 * np.sin(beyond / 2) * np.cos(at + beyond / 2)
        exponent = np.where(np.real(a * b) > 0, (a + b) * first + b * apart, exponent)
    values = first**m * second**n * radial_moment(m + n + 1, exponent)
    sums = (values @ w) * panels.width
    parts = [panels.total(part, len(delta)) for part in (sums.real, sums.imag)]
    return parts[0] + 1j * parts[1] if waves else parts[0]


def radial_moment(i: int, g: Numbers) -> Numbers:
    """∫₀^∞ ρ^i exp(gρ - ρ²/2) dρ; complex g for i ≤ 1 only.

    V₀ is Mills' ratio; V_{i+1} = g V_i + i V_{i-1} is stable forwards for g ≥ 0, and backwards (Miller) for g < 0,
    where V is the minimal solution.

    Examples
    --------
    >>> float(radial_moment(3, np.array([0.0]))[0])
    2.0
    """
    from scipy.special import erfcx

    with np.errstate(over="ignore"):
        zeroth = sqrt(pi / 2) * erfcx(-g / sqrt(2))
    if i == 0:
        return np.asarray(zeroth)
    result: Numbers = np.empty_like(zeroth)
    # Forwards each step loses some of |g|; backwards the way is long when |g| is small.
    least = 1.5 if i <= 2 else 0.5
    back = g.real < -least
    if np.any(~back):
        x = g[~back]
        before, now = zeroth[~back], 1 + x * zeroth[~back]
        for j in range(1, i):
            before, now = now, x * now + j * before
        result[~back] = now
    if np.any(back):
        result[back] = zeroth[back] * _minimal_ratio(i, g[back], least)
    return result


def _minimal_ratio(i: int, g: Numbers, least: float) -> Numbers:
    """V_i/V₀ for g < -least from the continued fraction V_j/V_{j-1} = j/(V_{j+1}/V_j - g)."""
    # The minimal solution falls like exp(-|g|√j) and the other one grows so: the start is forgotten after this many.
    depth = int((sqrt(i) + 18.5 / least) ** 2) + 20
    product, ratio = np.ones_like(g), np.zeros_like(g)
    for j in range(depth, 0, -1):
        ratio = j / (ratio - g)
        if j <= i:
            product = product * ratio
    return product
