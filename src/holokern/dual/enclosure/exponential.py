"""Pieces that are sums of u^k exp(pu + qu²): their Gaussian integrals over intervals in closed form.

Polynomials, exponentials, sines and cosines of linear arguments and Gaussians are of this kind.  The integrals are
incomplete Gaussian moments: the error function, that is Mills' ratio for real p and Dawson's function for imaginary p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import acb, arb, ctx

from holokern.activation.tree.nodes import Call, Node, Number, Power, Product, Sum
from holokern.dual.enclosure.bounds import polynomial_in_u
from holokern.numeric import charge

__all__ = ["Term", "exponential_terms", "gaussian_integral", "multiply_terms", "scale_terms"]

# terms of an expanded product; beyond, a numerical integral is cheaper
_MOST_TERMS = 400
# units of `holokern.numeric.work` of one step of a recursion of moments
_STEP_WORK = 0.3


@dataclass(frozen=True, slots=True)
class Term:
    """The function coefficient · u^degree · exp(rate·u + curvature·u²)."""

    coefficient: acb
    degree: int
    rate: acb
    curvature: arb


def exponential_terms(piece: Node) -> list[Term] | None:
    """Write a smooth piece as a sum of terms at the current precision; None when it is not of this kind.

    Examples
    --------
    >>> from holokern.activation.tree.grammar import read_expression
    >>> [(t.degree, t.rate) for t in exponential_terms(read_expression("u^2*exp(-3*u)"))]
    [(2, -3.00000000000000)]
    >>> exponential_terms(read_expression("erf(u)")) is None
    True
    """
    polynomial = polynomial_in_u(piece)
    if polynomial is not None:
        return [Term(acb(a), k, acb(0), arb(0)) for k, a in enumerate(polynomial) if not a.is_zero()]
    match piece:
        case Sum(parts):
            total: list[Term] = []
            for part in parts:
                terms = exponential_terms(part)
                if terms is None:
                    return None
                total += terms
            return total
        case Product(factors):
            return _product([exponential_terms(factor) for factor in factors])
        case Power(base, Number(q)) if q.denominator == 1 and 0 < q.numerator <= 16:
            return _product([exponential_terms(base)] * q.numerator)
        case Call(name, (argument,)) if name in _AS_EXPONENTIALS:
            return _call(name, argument)
    return None


# the imaginary unit
_I = acb(0, 1)
#: f(x) = Σ a exp(bx) + constant
_AS_EXPONENTIALS: dict[str, tuple[tuple[acb, acb], ...]] = {
    "exp": ((acb(1), acb(1)),),
    "expm1": ((acb(1), acb(1)), (acb(-1), acb(0))),
    "sinh": ((acb(1) / 2, acb(1)), (acb(-1) / 2, acb(-1))),
    "cosh": ((acb(1) / 2, acb(1)), (acb(1) / 2, acb(-1))),
    "sin": ((-_I / 2, _I), (_I / 2, -_I)),
    "cos": ((acb(1) / 2, _I), (acb(1) / 2, -_I)),
}


def _call(name: str, argument: Node) -> list[Term] | None:
    coefficients = polynomial_in_u(argument)
    if coefficients is None or len(coefficients) > 3:
        return None
    start, rate, curvature = [*coefficients, *[arb(0)] * (3 - len(coefficients))]
    terms = []
    for a, b in _AS_EXPONENTIALS[name]:
        if not (b.imag.is_zero() or curvature.is_zero()):
            return None
        terms.append(Term(a * (b * start).exp(), 0, b * rate, b.real * curvature))
    return terms


def _product(parts: Sequence[list[Term] | None]) -> list[Term] | None:
    product = [Term(acb(1), 0, acb(0), arb(0))]
    for part in parts:
        if part is None or len(part) * len(product) > _MOST_TERMS:
            return None
        product = multiply_terms(product, part)
    return product


def multiply_terms(left: Sequence[Term], right: Sequence[Term]) -> list[Term]:
    """The product of two sums of terms."""
    return [
        Term(s.coefficient * t.coefficient, s.degree + t.degree, s.rate + t.rate, s.curvature + t.curvature)
        for s in left
        for t in right
    ]


def scale_terms(terms: Sequence[Term], c: arb) -> list[Term]:
    """The function of z that f(cz) is."""
    return [Term(t.coefficient * c**t.degree, t.degree, t.rate * c, t.curvature * c * c) for t in terms]


def gaussian_integral(terms: Sequence[Term], low: arb | None, high: arb | None) -> arb:
    """∫ f(z) φ(z) dz over [low, high], φ the standard normal density; None stands for an infinite end.

    Returns a ball that is not finite when a term grows too fast for its integral to exist.

    Examples
    --------
    >>> gaussian_integral([Term(acb(1), 2, acb(0), arb(0))], arb(0), None)
    0.500000000000000
    """
    total = acb(0)
    charge(_STEP_WORK * sum(1 + term.degree for term in terms), int(ctx.prec))
    for term in terms:
        total += term.coefficient * _incomplete_moment(term, low, high)
    return total.real


def _incomplete_moment(term: Term, low: arb | None, high: arb | None) -> acb:
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


def _edge(term: Term, k: int, end: arb | None) -> acb:
    """z^k exp(rate z + curvature z²) φ(z) at one end."""
    if end is None:
        return acb(0)
    density = (-(end * end) / 2).exp() / (2 * arb.pi()).sqrt()
    power = acb(end) ** k if k else acb(1)
    return power * (term.rate * end + term.curvature * end * end).exp() * density
