"""E[s(u) t(v)] for two terms of a closed form, with the sum of the sizes of what was added up."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np

from holokern.activation import ClosedTerm
from holokern.dual.closed.normal_law import Law
from holokern.dual.closed.quadrant import exponential_moment, power_moment, radial_moment
from holokern.numeric import Array

Sized = tuple[Array, Array]


def pair_halves(s: ClosedTerm, t: ClosedTerm, law: Law) -> Sized:
    """Polynomials times exponentials, or waves, on half-lines: moments over a quadrant."""
    law = law.times_gaussian(float(s.bend), float(t.bend))
    # A change of sign of u or v brings the quadrant to u, v > 0 and may replace θ by π - θ.
    delta, opposite = (np.pi - law.angle, law.angle) if s.side * t.side > 0 else (law.angle, np.pi - law.angle)
    a, b = s.side * float(s.rate) * law.c1, t.side * float(t.rate) * law.c2
    scale = s.times(t) * law.weight
    if s.wave or t.wave:
        value = np.zeros(len(delta))
        # conjugates have the same real part
        some = [(2 * factor, rate) for factor, rate in _waves(s)[:1]] if s.wave else _waves(s)
        others = _waves(t) if s.wave else [(2 * factor, rate) for factor, rate in _waves(t)[:1]]
        for factor_s, p in some:
            for factor_t, q in others:
                rates = s.side * p * law.c1, t.side * q * law.c2
                value += np.real(factor_s * factor_t * exponential_moment((0, 0), *rates, delta, opposite))
        return scale * value, np.abs(scale) * (2 * _mass(a, b, delta, opposite) + np.abs(value))
    if s.rate or t.rate:
        moment = exponential_moment((s.power, t.power), a, b, delta, opposite)
        condition = 1 + np.maximum(np.maximum(a, b), 0.0) ** 2
    else:
        moment, condition = power_moment(s.power, t.power, delta), np.ones(len(delta))
    # The moment is of order δ^(m+n+1), so a narrow quadrant feels the rounding of θ.
    condition = condition + (s.power + t.power + 1) / 2 * law.angle / np.maximum(delta, 1e-300)
    sign = s.side**s.power * t.side**t.power
    value = sign * scale * law.c1**s.power * law.c2**t.power * moment
    return value, np.abs(value) * condition


def _mass(a: Array, b: Array, delta: Array, opposite: Array) -> Array:
    """What waves over a quadrant, damped or not, are rounded by: E[exp(ax + bw); x > 0, w > 0] and its condition."""
    if not (np.any(a) or np.any(b)):
        return np.asarray(delta / (2 * pi))
    condition = 1 + np.maximum(np.maximum(a, b), 0.0) ** 2
    return np.asarray(np.real(exponential_moment((0, 0), a, b, delta, opposite)) * condition)


def pair_smooth(s: ClosedTerm, t: ClosedTerm, law: Law) -> Sized:
    """Polynomials times exponentials, Gaussians, sines and cosines on the line: moments of a shifted normal law."""
    law = law.times_gaussian(float(s.bend), float(t.bend))
    total, size = np.zeros(len(law.cos)), np.zeros(len(law.cos))
    scale = s.times(t) * law.weight
    for factor_s, a in _waves(s):
        for factor_t, b in _waves(t):
            form, form_size = law.quadratic_form(a, b)
            moment, moment_size = _shifted_moment(s.power, t.power, law, (a, b))
            with np.errstate(over="ignore", invalid="ignore"):
                whole = scale * np.exp(form / 2)
                total += np.real(factor_s * factor_t * whole * moment)
                size += np.abs(factor_s * factor_t * whole) * moment_size * (1 + form_size / 2)
    return total, size


def _waves(term: ClosedTerm) -> list[tuple[complex, complex]]:
    """exp(rate·u)·wave(frequency·u) as a sum of (factor, complex rate); real parts are taken of products."""
    rate, frequency = float(term.rate), float(term.frequency)
    if term.wave == "cos":
        return [(0.5, complex(rate, frequency)), (0.5, complex(rate, -frequency))]
    if term.wave == "sin":
        return [(-0.5j, complex(rate, frequency)), (0.5j, complex(rate, -frequency))]
    return [(1.0, rate)]


def _shifted_moment(m: int, n: int, law: Law, rates: tuple[complex, complex]) -> tuple[Array, Array]:
    """E[(u+μ₁)^m (v+μ₂)^n] with μ = Σ (a, b)ᵀ, by [Stein1981] in one variable after the other."""
    a, b = rates
    means = law.c1**2 * a + law.covariance * b, law.covariance * a + law.c2**2 * b
    result: dict[bool, Array] = {}
    for absolute in (False, True):
        one, two = (np.abs(x) if absolute else x for x in means)
        cross = law.covariance_size if absolute else law.covariance
        rows = [_powers(two, law.c2**2, n)]
        for i in range(1, m + 1):
            row = []
            for j in range(n + 1):
                value = one * rows[i - 1][j]
                if i > 1:
                    value = value + (i - 1) * law.c1**2 * rows[i - 2][j]
                if j:
                    value = value + j * cross * rows[i - 1][j - 1]
                row.append(value)
            rows.append(row)
        result[absolute] = rows[m][n]
    return result[False], result[True]


def _powers(mean: Array, variance: Array, n: int) -> list[Array]:
    """E[(v+μ)^j] for j = 0..n."""
    row = [np.ones_like(mean)]
    for j in range(1, n + 1):
        row.append(mean * row[j - 1] + ((j - 1) * variance * row[j - 2] if j > 1 else 0.0))
    return row


def half_line_means(terms: Sequence[ClosedTerm], deviation: Array) -> Sized:
    """E[τ(v)] for v normal with mean zero: what a δ of the other variable meets."""
    total, size = np.zeros(len(deviation)), np.zeros(len(deviation))
    for term in terms:
        mass = 1 - 2 * float(term.bend) * deviation**2
        s = deviation / np.sqrt(mass)
        moments = [np.real(factor * radial_moment(term.power, term.side * rate * s)) for factor, rate in _waves(term)]
        moment = sum(moments) / sqrt(2 * pi)
        value = float(term.coefficient) * (term.side * s) ** term.power * moment / np.sqrt(mass)
        total += value
        size += np.abs(value)
    return total, size
