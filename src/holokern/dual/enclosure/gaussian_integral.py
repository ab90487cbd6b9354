"""Gaussian integrals of sums of u^k exp(pu + qu²) over intervals, in closed form.

They are incomplete Gaussian moments: the error function, that is Mills' ratio for real p and Dawson's function for
imaginary p.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from flint import acb, arb, ctx

from holokern.activation import ExponentialTerm
from holokern.numeric import charge

Ball = TypeVar("Ball", arb, acb)
# units of `holokern.numeric.work` of one step of a recursion of moments
_STEP_WORK = 0.3


def normal_density(z: Ball) -> Ball:
    """The standard normal density."""
    return (-(z * z) / 2).exp() / (2 * arb.pi()).sqrt()


def gaussian_integral(terms: Sequence[ExponentialTerm], low: arb | None, high: arb | None) -> arb:
    """∫ f(z) φ(z) dz over [low, high], φ the standard normal density; None stands for an infinite end.

    Returns a ball that is not finite when a term grows too fast for its integral to exist.

    Examples
    --------
    >>> gaussian_integral([ExponentialTerm(acb(1), 2, acb(0), arb(0))], arb(0), None)
    0.500000000000000
    """
    total, mean, variance = acb(0), acb(0), arb(1)
    charge(_STEP_WORK * sum(1 + term.degree for term in terms), int(ctx.prec))
    for term in terms:
        total += term.coefficient * incomplete_moment(term, low, high, mean, variance)
    return total.real


def incomplete_moment(term: ExponentialTerm, low: arb | None, high: arb | None, mean: acb, variance: arb) -> acb:
    """E[u^k exp(pu + qu²)] over the interval for normal u, without the coefficient of the term."""
    if not 2 * term.curvature * variance < 1:
        return acb("nan", "nan")
    factor, centre, width = times_gaussian(term, mean, variance)
    before, now = acb(0), factor * _mass(centre, width, low, high)
    for k in range(term.degree):
        edge = _edge(term, k, high, mean, variance) - _edge(term, k, low, mean, variance)
        before, now = now, centre * now + width * (k * before - edge)
    return now


def times_gaussian(term: ExponentialTerm, mean: acb, variance: arb) -> tuple[acb, acb, arb]:
    """The product exp(pu + qu²) N(mean, variance) = factor · N(mean', variance')."""
    p, q = term.rate, term.curvature
    rest = 1 - 2 * q * variance
    factor = ((q * mean * mean + p * mean + p * p * variance / 2) / rest).exp() / rest.sqrt()
    return factor, (mean + p * variance) / rest, variance / rest


def _mass(centre: acb, variance: arb, low: arb | None, high: arb | None) -> acb:
    """The mass of the normal law on the interval, without cancellation on half-lines and far intervals."""
    root = (2 * variance).sqrt()
    if low is None:
        return acb(1) if high is None else ((centre - high) / root).erfc() / 2
    if high is None:
        return ((low - centre) / root).erfc() / 2
    a, b = (low - centre) / root, (high - centre) / root
    if a.real > 0:
        return (a.erfc() - b.erfc()) / 2
    return ((-b).erfc() - (-a).erfc()) / 2 if b.real < 0 else (b.erf() - a.erf()) / 2


def _edge(term: ExponentialTerm, k: int, end: arb | None, mean: acb, variance: arb) -> acb:
    """u^k exp(pu + qu²) times the density of u, at an end of the interval."""
    if end is None or (k and end.is_zero()):
        return acb(0)
    exponent = term.rate * end + term.curvature * end * end - (end - mean) ** 2 / (2 * variance)
    return acb(end) ** k * exponent.exp() / (2 * arb.pi() * variance).sqrt()
