"""Operators to text that reads back and to LaTeX, and from text, by the grammar of :mod:`holokern.syntax`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import comb
from typing import Any, TypeVar

from flint import fmpq

from holokern.errors import BadInput, BadOperator, TooLarge
from holokern.syntax import Syntax, parse
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.terms import RingElement
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra, exact_rational


def sorted_terms(operator: Operator) -> list[tuple[Monomial, fmpq]]:
    """Terms as printed: higher order first, then higher degree, then lexicographically."""
    n = operator.algebra.dimension
    return sorted(
        operator, key=lambda term: (-sum(term[0][n:]), [-e for e in term[0][n:]], -sum(term[0]), [-e for e in term[0]])
    )


def text(operator: Operator) -> str:
    """Text in the grammar that ``algebra(text)`` reads.

    >>> from holokern.weyl import weyl_algebra
    >>> text(weyl_algebra("x")("dx^2/2 - x"))
    '1/2*dx^2 - x'
    """
    names = (*operator.algebra.variables, *operator.algebra.derivations)
    return join_terms([(c, monomial_text(names, key)) for key, c in sorted_terms(operator)], "*", str)


def latex(operator: Operator) -> str:
    r"""LaTeX source, with \partial for the derivations.

    >>> from holokern.weyl import weyl_algebra
    >>> print(latex(weyl_algebra("x")("dx^2/2 - x")))
    \frac{1}{2} \partial_{x}^{2} - x
    """
    algebra = operator.algebra
    names = [latex_name(name) for name in algebra.variables]
    names += [rf"\partial_{{{latex_name(name)}}}" for name in algebra.variables]

    def number(c: fmpq) -> str:
        return str(c.p) if c.q == 1 else rf"\frac{{{c.p}}}{{{c.q}}}"

    return join_terms([(c, latex_monomial(names, key)) for key, c in sorted_terms(operator)], " ", number)


def monomial_text(names: Iterable[str], exponents: Iterable[int]) -> str:
    """A product of powers as text; the empty text for 1."""
    return "*".join(name if e == 1 else f"{name}^{e}" for name, e in zip(names, exponents, strict=True) if e)


def latex_monomial(names: Iterable[str], exponents: Iterable[int]) -> str:
    """A product of powers in LaTeX, of names in LaTeX."""
    return " ".join(name if e == 1 else f"{name}^{{{e}}}" for name, e in zip(names, exponents, strict=True) if e)


def latex_name(name: str) -> str:
    r"""A variable's name in LaTeX: trailing digits become an index, and ``xi_x`` the symbol \xi_{x}."""
    symbol = name.removeprefix("xi_")
    if symbol and symbol != name:
        return rf"\xi_{{{latex_name(symbol)}}}"
    head = name.rstrip("0123456789")
    tail = name[len(head) :]
    plain = head.replace("_", r"\_")
    return f"{plain}_{{{tail}}}" if tail and head else plain + tail


def join_terms(terms: list[tuple[Any, str]], times: str, number: Any) -> str:
    """Join coefficients and printed monomials to a signed sum."""
    pieces: list[str] = []
    for c, monomial in terms:
        size = -c if c < 0 else c
        body = number(size) if not monomial else monomial if size == 1 else f"{number(size)}{times}{monomial}"
        if pieces:
            pieces.append(f" - {body}" if c < 0 else f" + {body}")
        else:
            pieces.append(f"-{body}" if c < 0 else body)
    return "".join(pieces) or "0"


_MAX_DEGREE = 500  # far below the 15 bits of an exponent in Gröbner bases
_MAX_TERMS = 20_000  # pairs of terms in one product, a fraction of a second
_MAX_POWER_TERMS = 5_000  # a power is a loop of such products

Read = TypeVar("Read", bound=RingElement)
# of two elements and where they stand, which messages quote
Rule = Callable[[Read, Read, str], Read]


def read_operator(algebra: WeylAlgebra, text: str) -> Operator:
    """Read ``text`` as an operator; products keep the written order, so ``dx*x`` is ``x*dx + 1``.

    >>> from holokern.weyl import weyl_algebra
    >>> read_operator(weyl_algebra("u", "D"), "u^2*(D^2 + 1)")
    u^2*D^2 + u^2
    """
    return read_with(algebra, text, _times, lambda left, divisor, _: left / divisor, _power)


def read_with(algebra: Any, text: str, times: Rule[Read], divided: Rule[Read], power: Rule[Read]) -> Read:
    """Read an operator of either Weyl algebra, given how to multiply, divide and raise within limits."""
    try:
        return evaluated(algebra, parse(text, "operator"), f"the operator {text[:60]!r}", times, divided, power)
    except (BadOperator, TooLarge):
        raise
    except BadInput as error:
        raise BadOperator(str(error)) from None


def evaluated(
    algebra: Any, node: Syntax, place: str, times: Rule[Read], divided: Rule[Read], power: Rule[Read]
) -> Read:
    """The element of an algebra or a field that a syntax tree stands for; messages say that it stands at ``place``."""

    def value(node: Syntax) -> Read:
        if node.kind == "number":
            return algebra(node.value)  # type: ignore[no-any-return]
        if node.kind == "name":
            return algebra.gen(node.head)  # type: ignore[no-any-return]
        if node.kind == "unary" and node.head in "+-":
            inner = value(node.parts[0])
            return -inner if node.head == "-" else inner
        if node.kind == "sum":
            return sum(map(value, node.parts), algebra.zero)
        if node.kind == "product":
            return product(node.parts)
        if node.kind == "power":
            base, exponent = map(value, node.parts)
            return power(base, exponent, place)
        raise BadOperator(f"{node.head or node.kind!r} has no place in {place}; use numbers, names and + - * / ^")

    def product(parts: tuple[Syntax, ...]) -> Read:
        result: Read = algebra.one
        for part in parts:
            if part.kind == "unary" and part.head == "/":
                divisor = value(part.parts[0])
                if not divisor:
                    raise BadOperator(f"division by zero in {place}")
                result = divided(result, divisor, place)
            else:
                result = times(result, value(part), place)
        return result

    return value(node)


def _times(left: Operator, right: Operator, place: str) -> Operator:
    if left.degree + right.degree > _MAX_DEGREE or len(left) * len(right) > _MAX_TERMS:
        raise TooLarge(f"{place} has a degree above {_MAX_DEGREE} or too many terms")
    return left * right


def _power(base: Operator, exponent: Operator, place: str) -> Operator:
    value = exact_rational(0) if not exponent else exponent.constant_value()
    if value is None or value.q != 1 or value < 0:
        raise BadOperator(f"expected a non-negative integer exponent in {place}, got {exponent}")
    power = int(value.p)
    n, degree = base.algebra.dimension, max(base.degree, 0) * power
    terms = min(len(base) ** min(power, 20), comb(degree + 2 * n, 2 * n)) if degree <= _MAX_DEGREE else 0
    if degree > _MAX_DEGREE or power > 10_000 or terms > _MAX_POWER_TERMS:
        raise TooLarge(f"the power {power} in {place} is too large")
    result = base.algebra.one
    for _ in range(power):
        result = result * base
    return result
