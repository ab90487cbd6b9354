"""Gaussian integrals of sums of u^k exp(pu + qu²) over intervals, in closed form.

They are incomplete Gaussian moments: the error function, that is Mills' ratio for real p and Dawson's function for
imaginary p.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import acb, arb, ctx

from holokern.activation import ExponentialTerm
from holokern.numeric import charge

# units of `holokern.numeric.work` of one step of a recursion of moments
_STEP_WORK = 0.3


def gaussian_integral(terms: Sequence[ExponentialTerm], low: arb | None, high: arb | None) -> arb:
    """∫ f(z) φ(z) dz over [low, high], φ the standard normal density; None stands for an infinite end.

    Returns a ball that is not finite when a term grows too fast for its integral to exist.

    Examples
    --------
    >>> gaussian_integral([ExponentialTerm(acb(1), 2, acb(0), arb(0))], arb(0), None)
    0.500000000000000
    """
    total = acb(0)
    charge(_STEP_WORK * sum(1 + term.degree for term in terms), int(ctx.prec))
    for term in terms:
        total += term.coefficient * _incomplete_moment(term, low, high)
    return total.real


def _incomplete_moment(term: ExponentialTerm, low: arb | None, high: arb | None) -> acb:
    precision = 1 - 2 * term.curvature
    if not precision > 0:
        return acb("nan", "nan")
    variance = 1 / precision
    shift, root = term.rate * variance, (2 * variance).sqrt()
    ends = [None if end is None else (end - shift) / root for end in (low, high)]
    mass = _half_erf(ends[0], ends[1]) * variance.sqrt() * (term.rate * shift / 2).exp()
    before, now = acb(0), mass
    for k in range(term.degree):
        edge = _edge(term, k, high) - _edge(term, k, low)
        before, now = now, variance * (term.rate * now + k * before - edge)
    return now


def _half_erf(low: acb | None, high: acb | None) -> acb:
    """(erf(high) - erf(low))/2 without cancellation on half-lines and far intervals."""
    if low is None:
        return acb(1) if high is None else (-high).erfc() / 2
    if high is None:
        return low.erfc() / 2
    if low.real > 0:
        return (low.erfc() - high.erfc()) / 2
    if high.real < 0:
        return ((-high).erfc() - (-low).erfc()) / 2
    return (high.erf() - low.erf()) / 2


def _edge(term: ExponentialTerm, k: int, end: arb | None) -> acb:
    """z^k exp(rate z + curvature z²) φ(z) at one end."""
    if end is None:
        return acb(0)
    density = (-(end * end) / 2).exp() / (2 * arb.pi()).sqrt()
    power = acb(end) ** k if k else acb(1)
    return power * (term.rate * end + term.curvature * end * end).exp() * density
