"""E[s(u) t(v)] for polynomials times exponentials, Gaussians and error functions of linear arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, pi, sqrt
from typing import TypeAlias

import numpy as np

from holokern.activation import ClosedTerm
from holokern.dual.closed.normal_law import Law
from holokern.numeric import Array, between, legendre_rule

Sized: TypeAlias = "tuple[Array, Array]"
# on panels that halve; 12 nodes are off by 6e-14, 24 by 3e-15
_NODES = 24
# panels down to 2^-33 from π/2; with 20 levels layers of width 1e-9 make errors of 6e-10
_LEVELS = 34


@dataclass(frozen=True)
class _Factor:
    """u^power · exp(rate·u + bend·u²) · erf(slope·u + offset); no error function if the slope is 0."""

    power: int
    rate: float = 0.0
    bend: float = 0.0
    slope: float = 0.0
    offset: float = 0.0

    @classmethod
    def of(cls, term: ClosedTerm) -> _Factor:
        slope = 0.0 if term.erf is None else float(term.erf)
        return cls(term.power, float(term.rate), float(term.bend), slope, float(term.offset))

    def lowered(self) -> _Factor:
        """One power less."""
        return replace(self, power=self.power - 1)

    def derivatives(self) -> list[tuple[float, _Factor]]:
        """The derivative without that of the exponential, which belongs to the law."""
        result = []
        if self.power:
            result.append((float(self.power), self.lowered()))
        if self.slope:
            rate, bend = self.rate - 2 * self.slope * self.offset, self.bend - self.slope**2
            height = 2 * self.slope / sqrt(pi) * exp(-(self.offset**2))
            result.append((height, _Factor(self.power, rate, bend)))
        return result


def pair_erf(s: ClosedTerm, t: ClosedTerm, law: Law) -> Sized:
    """E[s(u) t(v)] and the size of its parts, by [Stein1981] down to arcsines and bivariate normal probabilities."""
    scale = s.times(t)
    value, size = _moment(law, _Factor.of(s), _Factor.of(t), {})
    return scale * value, abs(scale) * size


def _moment(centred: Law, f: _Factor, g: _Factor, known: dict[tuple[_Factor, _Factor], Sized]) -> Sized:
    """E[u h] = μ E[h] + Σ₁₁ E[∂h/∂u] + Σ₁₂ E[∂h/∂v] under the law that the exponentials make; each computed once."""
    if (f, g) in known:
        return known[f, g]
    if not (f.power or g.power):
        return known.setdefault((f, g), _mean(centred, f, g))
    law = centred.times_gaussian(f.bend, g.bend)
    of_u = bool(f.power)
    lower = (f.lowered(), g) if of_u else (f, g.lowered())
    rates = (f.rate, g.rate) if of_u else (g.rate, f.rate)
    own = law.c1**2 if of_u else law.c2**2
    mean_size = own * abs(rates[0]) + law.covariance_size * abs(rates[1])
    parts = [(own * rates[0] + law.covariance * rates[1], mean_size, lower)]
    same, other = (own, own), (law.covariance, law.covariance_size)
    along_u, along_v = (same, other) if of_u else (other, same)
    parts += [(c * along_u[0], abs(c) * along_u[1], (d, lower[1])) for c, d in lower[0].derivatives()]
    parts += [(c * along_v[0], abs(c) * along_v[1], (lower[0], d)) for c, d in lower[1].derivatives()]
    value = size = np.zeros(len(law.cos))
    for factor, factor_size, both in parts:
        if np.any(factor_size):
            found = _moment(centred, *both, known)
            value, size = value + factor * found[0], size + factor_size * found[1]
    return known.setdefault((f, g), (value, size))


def _mean(law: Law, f: _Factor, g: _Factor) -> Sized:
    """E[exp(au + bv + q₁u² + q₂v²) erf(αu + β) erf(γv + δ)]."""
    from scipy.special import erf

    law = law.times_gaussian(f.bend, g.bend)
    form, form_size = law.quadratic_form(f.rate, g.rate)
    mass = law.weight * np.exp(form / 2)
    mass_size = mass * (1 + form_size / 2)
    means = law.c1**2 * f.rate + law.covariance * g.rate, law.covariance * f.rate + law.c2**2 * g.rate
    first, second = 2 * (f.slope * law.c1) ** 2, 2 * (g.slope * law.c2) ** 2
    h, k = (f.offset + f.slope * means[0]) / np.sqrt(1 + first), (g.offset + g.slope * means[1]) / np.sqrt(1 + second)
    # An absent error function is 1, and erf of a mean of zero is 0.
    product = (erf(h) if f.slope else 1.0) * (erf(k) if g.slope else 1.0) * mass
    if not (f.slope and g.slope):
        return product, np.abs(product) * (1 + form_size / 2) + 1e-2 * mass_size * (np.abs(h) + np.abs(k) > 0)
    adjacent = np.sqrt(1 + first + second + first * second * law.sin**2)
    opposite, opposite_size = (2 * f.slope * g.slope * x for x in (law.covariance, law.covariance_size))
    arc, arc_size = np.arctan2(opposite, adjacent), np.arctan2(np.abs(opposite_size), adjacent)
    value = product + 2 / pi * mass * arc_integral(sqrt(2) * h, sqrt(2) * k, arc)
    return value, (np.abs(product) / mass + 2 / pi * arc_size) * mass_size


def arc_integral(h: Array, k: Array, arc: Array) -> Array:
    """∫₀^arc exp(-(h² - 2hk sin t + k²)/(2 cos² t)) dt, |arc| ≤ π/2.

    Divided by 2π it is what a correlation sin(arc) adds to the product Φ(h)Φ(k), by [Price1958]. The panels shrink
    towards π/2, where the integrand has a layer of width |h - k|.

    Examples
    --------
    >>> float(arc_integral(np.zeros(1), np.zeros(1), np.ones(1))[0])
    1.0
    """
    if not (np.any(h) or np.any(k)):
        return arc
    sign = np.where(arc < 0, -1.0, 1.0)
    length, mirrored = np.abs(arc), sign * k
    ends = np.clip(np.pi / 2 - 2.0 ** -np.arange(_LEVELS), 0.0, length[:, None])
    panels = between(np.concatenate([np.zeros((len(arc), 1)), ends, length[:, None]], axis=1))
    t, w = legendre_rule(_NODES)
    at = panels.start[:, None] + panels.width[:, None] * t
    x, y = h[panels.owner][:, None], mirrored[panels.owner][:, None]
    with np.errstate(over="ignore"):
        values = np.exp(-(((x - y) / np.cos(at)) ** 2) / 2 - x * y / (1 + np.sin(at)))
    return sign * panels.total((values @ w) * panels.width, len(arc))
