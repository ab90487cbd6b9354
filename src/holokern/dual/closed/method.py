"""The method ``closed``: k and k′ from formulas."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np

from holokern.activation import Activation, ClosedTerm, ClosedTerms, closed_terms
from holokern.dual.closed.error_functions import pair_erf
from holokern.dual.closed.normal_law import Law
from holokern.dual.closed.pairs import half_line_means, pair_halves, pair_smooth
from holokern.errors import Unsupported
from holokern.numeric import Array

# E[s(u) t(v)] for the three families of terms
_PAIRS = {"halves": pair_halves, "smooth": pair_smooth, "erf": pair_erf}
# units in the last place of the sum of the sizes of all terms
_ROUNDING = 4 * np.finfo(float).eps
# relative errors of norms that are good enough: networks ask for no more
_SETTLED = 1e-13


def has_no_closed_form(activation: Activation) -> str | None:
    """Why an activation has no closed form, or None if it has one."""
    terms = closed_terms(activation)
    if not isinstance(terms, str) and has_half_waves(terms):
        return "a sine or cosine on a half-line has no elementary expectation; use method='quadrature', or 'angular'"
    return terms if isinstance(terms, str) else None


def has_half_waves(terms: ClosedTerms) -> bool:
    """Whether sines or cosines on half-lines are among the terms."""
    return terms.family == "halves" and any(term.wave for term in terms.value)


def has_no_half_waves(activation: Activation) -> str | None:
    """Why an activation is no sum of sines, cosines and exponentials on half-lines, or None if it is one."""
    terms = closed_terms(activation)
    served = not isinstance(terms, str) and has_half_waves(terms)
    return None if served else "it has no sine or cosine on a half-line; use method='closed' or 'quadrature'"


def has_quick_formulas(activation: Activation) -> bool:
    """Whether closed forms cost less than sums: those with exponentials or waves on half-lines do not.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> has_quick_formulas(activation("sin")), has_quick_formulas(activation("elu"))
    (True, False)
    """
    terms = closed_terms(activation)
    if isinstance(terms, str):
        return False
    return terms.family != "halves" or not any(term.rate or term.wave for term in terms.value)


def closed(
    activation: Activation, c1: Array, c2: Array, theta: Array, tolerance: float
) -> tuple[Array, Array, Array, Array]:
    """k, k′ and the rounding errors of their formulas, for positive deviations and 0 < θ < π.

    Polynomials on half-lines: ₂F₁ [SakodaTakayama2024, Thm th:holonomic-umvn], [ChoSaul2009]; exponentials, sines and
    cosines there: an angular integral equal to a bivariate normal probability; error functions: an arcsine and its
    Stein recursion; polynomials, exponentials, Gaussians, sines and cosines on the line: moments of a shifted normal
    law.
    """
    terms = closed_terms(activation)
    if isinstance(terms, str):
        raise Unsupported(f"method 'closed' cannot serve {activation}: {terms}")
    scale = float(terms.scale)
    law = Law.of(scale * c1, scale * c2, theta)
    k, k_size = _sum(terms.value, terms.family, law)
    kdot, kdot_size = _sum(terms.slope, terms.family, law)
    if terms.jump:
        delta, delta_size = _delta_terms(terms, law)
        kdot, kdot_size = kdot + delta, kdot_size + delta_size
    # The rounding of θ enters through ∂k/∂θ = -c1 c2 sin θ k′.
    from_angle = _ROUNDING / 2 * theta * law.c1 * law.c2 * law.sin * np.abs(kdot)
    return k, scale**2 * kdot, _ROUNDING * k_size + from_angle, scale**2 * _ROUNDING * kdot_size


def closed_moments(activation: Activation, c: Array) -> Array:
    """E[σ(cz)²]^(1/2), E[σ′(cz)²]^(1/2) and E[σ(cz)], one row each, of waves on half-lines; NaN where digits are lost.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> closed_moments(activation("resin"), np.array([1e-9, 1e3])).round(6).tolist()
    [[nan, 0.5], [nan, 0.5], [nan, 0.000399]]
    """
    terms, found = closed_terms(activation), np.full((3, len(c)), np.nan)
    if isinstance(terms, str) or terms.jump or not has_half_waves(terms):
        return found
    k, kdot, error, kdot_error = closed(activation, c, c, np.zeros(len(c)), 0.0)
    good = (error <= _SETTLED * k) & (kdot_error <= _SETTLED * kdot)
    means = half_line_means(terms.value, float(terms.scale) * c[good])[0]
    found[:, good] = np.sqrt(k[good]), np.sqrt(kdot[good]), means
    return found


def _sum(terms: Sequence[ClosedTerm], family: str, law: Law) -> tuple[Array, Array]:
    total, size = np.zeros(len(law.cos)), np.zeros(len(law.cos))
    for s in terms:
        for t in terms:
            value, parts = _PAIRS[family](s, t, law)
            total += value
            size += parts
    return total, size


def _delta_terms(terms: ClosedTerms, law: Law) -> tuple[Array, Array]:
    """The terms of k′ with a δ at zero: J φ(0)/c times the mean of σ′ given u = 0, J² times the density at (0, 0)."""
    jump = float(terms.jump)
    total = jump**2 / (2 * pi * law.c1 * law.c2 * law.sin)
    size = np.abs(total)
    for c, other in ((law.c1, law.c2), (law.c2, law.c1)):
        mean, mean_size = half_line_means(terms.slope, other * law.sin)
        total = total + jump / (sqrt(2 * pi) * c) * mean
        size = size + abs(jump) / (sqrt(2 * pi) * c) * mean_size
    return total, size
