"""E[s(u) t(v)] for two terms of a closed form, with the sum of the sizes of what was added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import pi, sqrt

import numpy as np

from holokern.dual.closed_terms import Term
from holokern.dual.panels import Array
from holokern.dual.quadrant import exponential_moment, power_moment, radial_moment
from holokern.dual.tilt import Law

__all__ = ["half_line_means", "pair_erf", "pair_halves", "pair_smooth"]

Sized = tuple[Array, Array]


def pair_halves(s: Term, t: Term, law: Law) -> Sized:
    """Polynomials times exponentials on half-lines: moments over a quadrant."""
    law = law.tilted(float(s.bend), float(t.bend))
    # A change of sign of u or v brings the quadrant to u, v > 0 and may replace θ by π - θ.
    delta = np.pi - law.angle if s.side * t.side > 0 else law.angle
    a, b = s.side * float(s.rate) * law.c1, t.side * float(t.rate) * law.c2
    if s.rate or t.rate:
        moment = exponential_moment((s.power, t.power), a, b, delta)
        condition = 1 + np.maximum(np.maximum(a, b), 0.0) ** 2
    else:
        moment, condition = power_moment(s.power, t.power, delta), np.ones(len(delta))
    # The moment is of order δ^(m+n+1), so a narrow quadrant feels the rounding of θ.
    condition = condition + (s.power + t.power + 1) / 2 * law.angle / np.maximum(delta, 1e-300)
    sign = s.side**s.power * t.side**t.power
    value = sign * float(s.coefficient * t.coefficient) * law.weight * law.c1**s.power * law.c2**t.power * moment
    return value, np.abs(value) * condition


def pair_smooth(s: Term, t: Term, law: Law) -> Sized:
    """Polynomials times exponentials, Gaussians, sines and cosines on the line: moments of a shifted normal law."""
    law = law.tilted(float(s.bend), float(t.bend))
    total, size = np.zeros(len(law.cos)), np.zeros(len(law.cos))
    scale = float(s.coefficient * t.coefficient) * law.weight
    for factor_s, a in _waves(s):
        for factor_t, b in _waves(t):
            form, form_size = law.quadratic_form(a, b)
            moment, moment_size = _shifted_moment(s.power, t.power, law, (a, b))
            with np.errstate(over="ignore", invalid="ignore"):
                whole = scale * np.exp(form / 2)
                total += np.real(factor_s * factor_t * whole * moment)
                size += np.abs(factor_s * factor_t * whole) * moment_size * (1 + form_size / 2)
    return total, size


def _waves(term: Term) -> list[tuple[complex, complex]]:
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


def pair_erf(s: Term, t: Term, law: Law) -> Sized:
    """Polynomials, Gaussians and error functions of multiples of u: by [Stein1981] down to an arcsine."""
    alpha, beta = (float(x.erf) if x.erf is not None else 0.0 for x in (s, t))
    start = float(s.bend), float(t.bend)
    value, size = _ErfMoments(law).moment(s.power, t.power, (alpha, beta), start)
    scale = float(s.coefficient * t.coefficient)
    return scale * value, abs(scale) * size


@dataclass
class _ErfMoments:
    """E[u^m v^n erf(αu) erf(βv) exp(q₁u² + q₂v²)]; a factor 0 stands for no error function."""

    law: Law
    known: dict[tuple[object, ...], Sized] = field(default_factory=dict)

    def moment(self, m: int, n: int, factors: tuple[float, float], bends: tuple[float, float]) -> Sized:
        key = (m, n, factors, bends)
        if key not in self.known:
            self.known[key] = self._moment(m, n, factors, bends)
        return self.known[key]

    def _moment(self, m: int, n: int, factors: tuple[float, float], bends: tuple[float, float]) -> Sized:
        law = self.law.tilted(*bends)
        if m == n == 0:
            return _erf_pair(law, factors)
        alpha, beta = factors
        # E[u h] = Σ₁₁ E[∂h/∂u] + Σ₁₂ E[∂h/∂v]; the derivative of erf(αu) is a Gaussian, which tilts the law.
        lower = (m - 1, n) if m else (m, n - 1)
        along_u: list[tuple[float, Sized]] = []
        along_v: list[tuple[float, Sized]] = []
        if lower[0]:
            along_u.append((lower[0], self.moment(lower[0] - 1, lower[1], factors, bends)))
        if lower[1]:
            along_v.append((lower[1], self.moment(lower[0], lower[1] - 1, factors, bends)))
        if alpha:
            less = self.moment(*lower, (0.0, beta), (bends[0] - alpha**2, bends[1]))
            along_u.append((2 * alpha / sqrt(pi), less))
        if beta:
            less = self.moment(*lower, (alpha, 0.0), (bends[0], bends[1] - beta**2))
            along_v.append((2 * beta / sqrt(pi), less))
        own, parts, others = (law.c1**2, along_u, along_v) if m else (law.c2**2, along_v, along_u)
        zero = np.zeros(len(law.cos))
        value, size = zero, zero
        for factor, part in parts:
            value, size = value + factor * own * part[0], size + abs(factor) * own * part[1]
        for factor, part in others:
            value, size = value + factor * law.covariance * part[0], size + abs(factor) * law.covariance_size * part[1]
        return value, size


def _erf_pair(law: Law, factors: tuple[float, float]) -> Sized:
    """E[erf(αu) erf(βv)] = (2/π) arcsin(2αβΣ₁₂/√((1+2α²Σ₁₁)(1+2β²Σ₂₂))), the arcsine as an arctangent."""
    alpha, beta = factors
    if not alpha and not beta:
        return law.weight, law.weight
    if not (alpha and beta):
        zero = np.zeros(len(law.cos))
        return zero, zero
    first, second = 2 * (alpha * law.c1) ** 2, 2 * (beta * law.c2) ** 2
    adjacent = np.sqrt(1 + first + second + first * second * law.sin**2)
    opposite, size = (2 * alpha * beta * x for x in (law.covariance, law.covariance_size))
    arcs = (2 / pi * law.weight * np.arctan2(x, adjacent) for x in (opposite, np.abs(size)))
    return next(arcs), next(arcs)


def half_line_means(terms: Sequence[Term], deviation: Array) -> Sized:
    """E[τ(v)] for v normal with mean zero: what a δ of the other variable meets."""
    total, size = np.zeros(len(deviation)), np.zeros(len(deviation))
    for term in terms:
        mass = 1 - 2 * float(term.bend) * deviation**2
        s = deviation / np.sqrt(mass)
        moment = radial_moment(term.power, term.side * float(term.rate) * s) / sqrt(2 * pi)
        value = float(term.coefficient) * (term.side * s) ** term.power * moment / np.sqrt(mass)
        total += value
        size += np.abs(value)
    return total, size
