"""Text to operators of the rational Weyl algebra, through the whitelisted grammar of :mod:`holokern.syntax`."""

from __future__ import annotations

from math import comb

from holokern.errors import BadOperator, TooLarge
from holokern.weyl.algebra.reading import read_with
from holokern.weyl.rational.algebra import RationalOperator, RationalWeylAlgebra

_MAX_ORDER = 100  # a product with a function has as many terms as the order
_MAX_TERMS = 100_000  # a text of one line must not take minutes to multiply out


def read_rational_operator(algebra: RationalWeylAlgebra, text: str) -> RationalOperator:
    """Read ``text`` as an operator; products keep the written order, so ``dx*(1/x)`` has two terms.

    Only functions divide, and only numbers divide an operator of positive order: what a quotient of operators means
    would depend on the side.

    Examples
    --------
    >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
    >>> read_rational_operator(rational_weyl_algebra("u", "D"), "1/u*D^2*u")
    D^2 + (2/u)*D
    """
    return read_with(algebra, text, _times, _divided, _power)


def _times(left: RationalOperator, right: RationalOperator, text: str) -> RationalOperator:
    if left.order + right.order > _MAX_ORDER or _terms(left) * _terms(right) > _MAX_TERMS:
        raise TooLarge(f"the operator {text[:60]!r} has an order above {_MAX_ORDER} or too many terms")
    return left * right


def _divided(left: RationalOperator, divisor: RationalOperator, text: str) -> RationalOperator:
    try:
        return left / divisor
    except BadOperator:
        raise BadOperator(
            f"cannot divide by {divisor} from the right in {text[:60]!r}; write 1/({divisor})*(...) for a left factor"
        ) from None


def _power(base: RationalOperator, exponent: RationalOperator, text: str) -> RationalOperator:
    function = exponent.as_function()
    value = None if function is None else function.constant_value()
    if value is None or value.q != 1 or (value < 0 and base.order != 0):
        raise BadOperator(f"expected a non-negative integer exponent in the operator {text[:60]!r}, got {exponent}")
    power = int(value.p)
    if max(base.order, 0) * power > _MAX_ORDER or _terms_of_power(base, abs(power)) > _MAX_TERMS:
        raise TooLarge(f"the power {power} in the operator {text[:60]!r} is too large")
    function = base.as_function()
    return base**power if function is None else base.algebra(function**power)


def _terms(operator: RationalOperator) -> int:
    """The number of terms of all numerators, or of all denominators if these have more."""
    return max(sum(len(c.numerator) for _, c in operator), sum(len(c.denominator) for _, c in operator))


def _terms_of_power(base: RationalOperator, power: int) -> int:
    """A bound on the number of terms of a power: a product of sums, and all monomials of its degree."""
    n = base.algebra.dimension
    degree = max((max(c.numerator.total_degree(), c.denominator.total_degree()) for _, c in base), default=0)
    return int(min(_terms(base) ** power, comb(degree * power + n, n) * comb(max(base.order, 0) * power + n, n)))
