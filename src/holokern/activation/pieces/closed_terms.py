"""Which activations have a closed form: sums of u^m exp(au + qu²), cos, sin and erf, on the line or on half-lines."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from sys import float_info

from holokern.activation.function import Activation
from holokern.activation.ring.element import Element, FunctionMonomial
from holokern.activation.ring.pieces import jumps, pieces_of
from holokern.activation.ring.quotient import Quotient
from holokern.activation.tree.nodes import Node
from holokern.activation.values.constants import ExactReal, exact
from holokern.errors import HolokernError, Unsupported
from holokern.numeric import to_fraction

_MOST_DEGREE = 60  # moments of two powers n need (2n + 1)!, which is no float from n = 85 on
_INSTEAD = "use method='quadrature'"  # what serves every activation
_TINY = float_info.min  # the smallest float with all digits
_ZERO = exact(0)  # a constant does not change, so one serves all


@dataclass(frozen=True)
class ClosedTerm:
    """coefficient · u^power · exp(rate·u + bend·u²) · wave(frequency·u) · erf(erf·u + offset), on one or both sides."""

    side: int  # 1 for u > 0, -1 for u < 0, 0 for the whole line
    coefficient: ExactReal
    power: int
    rate: Fraction = Fraction(0)
    bend: Fraction = Fraction(0)
    wave: str = ""  # "cos", "sin" or ""
    frequency: Fraction = Fraction(0)
    erf: ExactReal | None = None  # the factor in the argument of the error function, None if there is none
    offset: ExactReal = _ZERO

    def times(self, other: ClosedTerm) -> float:
        """The product of both coefficients, NaN where it leaves the range of floats with all digits.

        >>> ClosedTerm(0, exact(2), 1).times(ClosedTerm(0, exact(3), 0))
        6.0
        >>> ClosedTerm(0, exact(Fraction(1, 10**400)), 1).times(ClosedTerm(0, exact(3), 0))
        nan
        """
        value = float(self.coefficient * other.coefficient)
        return value if _TINY <= abs(value) < float("inf") else float("nan")


@dataclass(frozen=True)
class ClosedTerms:
    """σ(u) = τ(scale · u): the terms of τ and of its classical derivative, the family, and the jump of τ at zero.

    The family is "smooth" (no break, no erf), "erf" (no break) or "halves" (a break at zero).
    """

    value: tuple[ClosedTerm, ...]
    slope: tuple[ClosedTerm, ...]
    family: str
    scale: ExactReal
    jump: ExactReal


class _NoClosedForm(Exception):
    """Carries the reason."""


def closed_terms(activation: Activation) -> ClosedTerms | str:
    """The terms of an activation, or the reason why it has no closed form here.

    >>> from holokern.activation import activation
    >>> closed_terms(activation("3*Max(u, 0)")).family
    'halves'
    >>> closed_terms(activation("tanh"))[:22]
    'it is not holonomic or'
    """
    try:
        tree = activation.tree
    except Unsupported:
        return f"it is given by its ODE, and closed forms start from an expression; {_INSTEAD}"
    return _closed_terms(tree)


@lru_cache(maxsize=256)
def _closed_terms(tree: Node) -> ClosedTerms | str:
    try:
        pieces = pieces_of(tree)
    except HolokernError:
        return f"it is not holonomic or not exact, and closed forms start from exact pieces; {_INSTEAD}"
    elsewhere = [b for b in pieces.breaks if b]
    if elsewhere:
        return f"it breaks at u = {elsewhere[0]}, and closed forms allow a break at 0 only; {_INSTEAD}"
    sides = (-1, 1) if pieces.breaks else (0,)
    try:
        value, slope = (
            tuple(t for side, e in zip(sides, pieces.elements, strict=True) for t in _terms(side, turn(e)))
            for turn in (lambda e: e, Element.derivative)
        )
        family = _family(value + slope)
        jump = jumps(pieces, 0)[0] if pieces.breaks else exact(0)
    except (_NoClosedForm, HolokernError) as reason:
        return f"{reason}; {_INSTEAD}"
    return ClosedTerms(value, slope, family, pieces.scale, jump)


def _terms(side: int, element: Element) -> list[ClosedTerm]:
    result = []
    for (constant, monomial), polynomial in element.terms.items():
        if not polynomial.is_polynomial:
            raise _NoClosedForm("it has a denominator in u")
        if polynomial.num.degree() > _MOST_DEGREE:
            raise _NoClosedForm(f"its degree is above {_MOST_DEGREE}")
        rate, bend = _coefficients(monomial.exponent, 2, "exponent")
        frequency, _ = _coefficients(monomial.angle, 1, "angle")
        factor, erf, offset = _erf_factor(monomial)
        if bend > 0:
            raise _NoClosedForm("it grows like exp(u²)")
        for power in range(int(polynomial.num.degree()) + 1):
            number = polynomial.num[power]
            if number != 0:
                size = ExactReal({constant: to_fraction(number)}) * factor
                result.append(ClosedTerm(side, size, power, rate, bend, monomial.wave, frequency, erf, offset))
    return result


def _coefficients(function: Quotient, degree: int, what: str) -> tuple[Fraction, Fraction]:
    """The coefficients of u and u² of a polynomial without constant term."""
    if not function.is_polynomial or function.num.degree() > degree:
        raise _NoClosedForm(f"it has the {what} {function}")
    first, second = (function.num[i] for i in (1, 2))
    return to_fraction(first), to_fraction(second)


def _erf_factor(monomial: FunctionMonomial) -> tuple[ExactReal, ExactReal | None, ExactReal]:
    """The atom ∫₀^q exp(-ct²) dt is √π/(2√c) erf(√c q): that factor, and the linear function √c q."""
    if not monomial.atoms:
        return exact(1), None, _ZERO
    atom, power = monomial.atoms[0]
    if len(monomial.atoms) > 1 or atom.kind != "erf" or power != 1:
        raise _NoClosedForm(f"it has the function {atom.kind}" + ("" if power == 1 else f" to the power {power}"))
    constant = atom.argument.at(Fraction(0)) or Fraction(0)
    slope, _ = _coefficients(atom.argument - Quotient.constant(constant), 1, "argument of erf")
    root = exact(atom.parameter).to_power(Fraction(1, 2))
    pi = ExactReal({(("pi", Fraction(1, 2)),): Fraction(1, 2)})
    return pi / root, root * slope, root * constant


def _family(terms: tuple[ClosedTerm, ...]) -> str:
    if any(t.side for t in terms):
        if any(t.erf is not None for t in terms):
            raise _NoClosedForm("an error function on a half-line has no elementary expectation")
        if any(t.wave for t in terms) and any(t.power for t in terms):
            raise _NoClosedForm("moments of powers and of a sine or cosine on a half-line lose their digits")
        return "halves"
    if any(t.erf is not None for t in terms):
        if any(t.wave for t in terms):
            raise _NoClosedForm("it mixes error functions with sines or cosines")
        return "erf"
    return "smooth"
