"""Text to operators, through the whitelisted grammar of :mod:`holokern.syntax`."""

from __future__ import annotations

from math import comb

from holokern.errors import BadInput, BadOperator, TooLarge
from holokern.syntax import Syntax, parse
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra, exact_rational

_MAX_DEGREE = 500  # far below the 15 bits of an exponent in Gröbner bases
_MAX_TERMS = 20_000  # pairs of terms in one product, a fraction of a second
_MAX_POWER_TERMS = 5_000  # a power is a loop of such products


def read_operator(algebra: WeylAlgebra, text: str) -> Operator:
    """Read ``text`` as an operator; products keep the written order, so ``dx*x`` is ``x*dx + 1``.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> read_operator(weyl_algebra("u", "D"), "u^2*(D^2 + 1)")
    u^2*D^2 + u^2
    """
    try:
        return _value(algebra, parse(text, "operator"), text)
    except BadOperator:
        raise
    except TooLarge:
        raise
    except BadInput as error:
        raise BadOperator(str(error)) from None


def _value(algebra: WeylAlgebra, node: Syntax, text: str) -> Operator:
    if node.kind == "number":
        return algebra(node.value)
    if node.kind == "name":
        return algebra.gen(node.head)
    if node.kind == "unary" and node.head in "+-":
        inner = _value(algebra, node.parts[0], text)
        return -inner if node.head == "-" else inner
    if node.kind == "sum":
        total = algebra.zero
        for part in node.parts:
            total = total + _value(algebra, part, text)
        return total
    if node.kind == "product":
        return _product(algebra, node, text)
    if node.kind == "power":
        base = _value(algebra, node.parts[0], text)
        return _guarded_power(base, _value(algebra, node.parts[1], text), text)
    raise BadOperator(
        f"{node.head or node.kind!r} has no place in the operator {text[:60]!r}; "
        "use + - * / ^ and the names of the algebra"
    )


def _product(algebra: WeylAlgebra, node: Syntax, text: str) -> Operator:
    result = algebra.one
    for part in node.parts:
        if part.kind == "unary" and part.head == "/":
            divisor = _value(algebra, part.parts[0], text)
            if not divisor:
                raise BadOperator(f"division by zero in the operator {text[:60]!r}")
            result = result / divisor
        else:
            factor = _value(algebra, part, text)
            if result.degree + factor.degree > _MAX_DEGREE or len(result) * len(factor) > _MAX_TERMS:
                raise TooLarge(f"the operator {text[:60]!r} has a degree above {_MAX_DEGREE} or too many terms")
            result = result * factor
    return result


def _guarded_power(base: Operator, exponent: Operator, text: str) -> Operator:
    value = exact_rational(0) if not exponent else exponent.constant_value()
    if value is None or value.q != 1 or value < 0:
        raise BadOperator(f"expected a non-negative integer exponent in the operator {text[:60]!r}, got {exponent}")
    power = int(value.p)
    n, degree = base.algebra.dimension, max(base.degree, 0) * power
    terms = min(len(base) ** min(power, 20), comb(degree + 2 * n, 2 * n)) if degree <= _MAX_DEGREE else 0
    if degree > _MAX_DEGREE or power > 10_000 or terms > _MAX_POWER_TERMS:
        raise TooLarge(f"the power {power} in the operator {text[:60]!r} is too large")
    result = base.algebra.one
    for _ in range(power):
        result = result * base
    return result
