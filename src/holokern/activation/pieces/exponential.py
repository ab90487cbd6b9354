"""Pieces that are sums of u^k exp(pu + qu²): polynomials, exponentials, sines and cosines, Gaussians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import acb, arb

from holokern.activation.pieces.tail_bounds import polynomial_in_u
from holokern.activation.tree.nodes import Call, Node, Number, Power, Product, Sum

_MOST_TERMS = 400  # terms of an expanded product; beyond, a numerical integral is cheaper


@dataclass(frozen=True, slots=True)
class ExponentialTerm:
    """The function coefficient · u^degree · exp(rate·u + curvature·u²)."""

    coefficient: acb
    degree: int
    rate: acb
    curvature: arb

    def __mul__(self, other: ExponentialTerm) -> ExponentialTerm:
        return ExponentialTerm(
            self.coefficient * other.coefficient,
            self.degree + other.degree,
            self.rate + other.rate,
            self.curvature + other.curvature,
        )

    def scaled(self, c: arb) -> ExponentialTerm:
        """The function of z that f(cz) is."""
        return ExponentialTerm(self.coefficient * c**self.degree, self.degree, self.rate * c, self.curvature * c * c)


@dataclass(frozen=True, slots=True)
class ErfTerm:
    """A term times erf(κu + β)."""

    term: ExponentialTerm
    kappa: arb
    beta: arb


def exponential_terms(piece: Node) -> list[ExponentialTerm] | None:
    """Write a smooth piece as a sum of terms at the current precision; None when it is not of this kind.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> [(t.degree, t.rate) for t in exponential_terms(read_expression("u^2*exp(-3*u)"))]
    [(2, -3.00000000000000)]
    >>> exponential_terms(read_expression("erf(u)")) is None
    True
    """
    polynomial = polynomial_in_u(piece)
    if polynomial is not None:
        return [ExponentialTerm(acb(a), k, acb(0), arb(0)) for k, a in enumerate(polynomial) if not a.is_zero()]
    match piece:
        case Sum(parts):
            total: list[ExponentialTerm] = []
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


_I = acb(0, 1)  # the imaginary unit
#: f(x) = Σ a exp(bx) + constant
_AS_EXPONENTIALS: dict[str, tuple[tuple[acb, acb], ...]] = {
    "exp": ((acb(1), acb(1)),),
    "expm1": ((acb(1), acb(1)), (acb(-1), acb(0))),
    "sinh": ((acb(1) / 2, acb(1)), (acb(-1) / 2, acb(-1))),
    "cosh": ((acb(1) / 2, acb(1)), (acb(1) / 2, acb(-1))),
    "sin": ((-_I / 2, _I), (_I / 2, -_I)),
    "cos": ((acb(1) / 2, _I), (acb(1) / 2, -_I)),
}


def _call(name: str, argument: Node) -> list[ExponentialTerm] | None:
    coefficients = polynomial_in_u(argument)
    if coefficients is None or len(coefficients) > 3:
        return None
    start, rate, curvature = [*coefficients, *[arb(0)] * (3 - len(coefficients))]
    terms = []
    for a, b in _AS_EXPONENTIALS[name]:
        if not (b.imag.is_zero() or curvature.is_zero()):
            return None
        terms.append(ExponentialTerm(a * (b * start).exp(), 0, b * rate, b.real * curvature))
    return terms


def _product(parts: Sequence[list[ExponentialTerm] | None]) -> list[ExponentialTerm] | None:
    product = [ExponentialTerm(acb(1), 0, acb(0), arb(0))]
    for part in parts:
        if part is None or len(part) * len(product) > _MOST_TERMS:
            return None
        product = [s * t for s in product for t in part]
    return product


def erf_terms(piece: Node) -> list[ExponentialTerm | ErfTerm] | None:
    """Write a smooth piece as terms, some of them times erf of a linear argument; None when it is not of this kind."""
    found: list[ExponentialTerm | ErfTerm] = []
    for part in piece.terms if isinstance(piece, Sum) else (piece,):
        plain = exponential_terms(part)
        if plain is not None:
            found += plain
            continue
        factors = part.factors if isinstance(part, Product) else (part,)
        special = [f for f in factors if isinstance(f, Call) and f.name in {"erf", "erfc"}]
        terms = _product([exponential_terms(f) for f in factors if f not in special])
        if len(special) != 1 or factors.count(special[0]) != 1 or terms is None:
            return None
        line = polynomial_in_u(special[0].args[0])
        if line is None or len(line) > 2:
            return None
        beta, kappa = [*line, arb(0)][:2]
        complement = special[0].name == "erfc"
        if complement:
            found += terms
        sign = ExponentialTerm(acb(-1 if complement else 1), 0, acb(0), arb(0))
        found += [ErfTerm(sign * t, kappa, beta) for t in terms]
    return found
