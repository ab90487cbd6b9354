"""Closure properties: operators for sums, products, derivatives and affine substitutions of solutions.

Each function takes operators P (and Q) of ``weyl_algebra("u", "D")`` and returns an operator that annihilates f + g,
f·g, f' or f(au + b) for *all* solutions f of P and g of Q, of least order with that property.
"""

from __future__ import annotations

from fractions import Fraction

from holokern.activation.ring.relation import D1, operator_from
from holokern.errors import BadOperator, TooLarge
from holokern.weyl import Operator, lclm, symmetric_product

_MOST_ORDER = 36  # operators of orders 5 and 4, whose product has order 20, take a second


def sum_operator(left: Operator, right: Operator) -> Operator:
    """The operator of the sums f + g: the least common left multiple.

    Examples
    --------
    >>> sum_operator(D1("D - 1"), D1("D + 1"))
    D^2 - 1
    """
    return lclm(*_within_reach(left, right, left.order + right.order))


def product_operator(left: Operator, right: Operator) -> Operator:
    """The operator of the products f·g: the symmetric product.

    Examples
    --------
    >>> product_operator(D1("D^2 + 1"), D1("D^2 + 1"))
    D^3 + 4*D
    """
    return symmetric_product(*_within_reach(left, right, left.order * right.order))


def _within_reach(left: Operator, right: Operator, order: int) -> tuple[Operator, Operator]:
    if order > _MOST_ORDER:
        raise TooLarge(
            f"operators of the orders {left.order} and {right.order} may give one of order {order}, and exact algebra "
            f"stops at {_MOST_ORDER}; give the function by a simpler ODE or as an expression"
        )
    return D1(left), D1(right)


def derivative_operator(operator: Operator) -> Operator:
    """The operator of the derivatives f'.

    With P = QD + p₀ the derivative g solves Qg = -p₀f, so D(Qg/p₀) + g = 0; and Qg = 0 if p₀ vanishes.

    Examples
    --------
    >>> derivative_operator(D1("u*D - 1"))
    D
    """
    if not operator:
        raise BadOperator("the operator 0 annihilates every function; give one that is not zero")
    last, *rest = D1(operator).polynomials()
    if not last:
        return operator_from(rest)
    rows = [last * last, *[last * 0] * len(rest)]
    for k, a in enumerate(rest):
        rows[k] += a.derivative() * last - a * last.derivative()
        rows[k + 1] += a * last
    return operator_from(rows)


def affine_operator(operator: Operator, scale: Fraction, shift: Fraction) -> Operator:
    """The operator of f(scale·u + shift); an isomorphism of D₁, so generators go to generators.

    Examples
    --------
    >>> affine_operator(D1("D + u"), Fraction(2), Fraction(1))
    D + 4*u + 2
    """
    if not scale:
        raise BadOperator("the substitution u -> 0·u + b is not invertible; the scale must not be zero")
    u, d = D1.gens
    inner, outer = u * D1(scale) + D1(shift), d / scale
    total = D1.zero
    for (i, j), c in D1(operator):
        total = total + inner**i * outer**j * D1(c)
    return total.primitive()
