"""The whole annihilator in D₁ = Q⟨u, D⟩ of an activation as a distribution, δ-terms at its breaks included.

Operators for sums, products, derivatives and affine substitutions of solutions follow: each takes operators P (and Q)
and gives one that annihilates f + g, f·g, f' or f(au + b) for *all* solutions f of P and g of Q, of least order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial
from math import factorial, prod
from typing import TypeAlias

from flint import fmpq_poly, fmpz_poly

from holokern.activation.ring.element import Element
from holokern.activation.ring.pieces import ONE, Pieces, Piecewise, jump_orders, pieces_of
from holokern.activation.ring.relation import D1, Vector, first_relation, operator_from
from holokern.activation.tree.nodes import Node
from holokern.activation.values.constants import ExactReal, exact
from holokern.errors import BadOperator, TooLarge
from holokern.numeric import nullspace, to_fmpq, to_fraction
from holokern.weyl import Operator, UnivariateIdeal, bernstein_basis, lclm, symmetric_product

ExactSeries: TypeAlias = Mapping[tuple[Fraction, int], ExactReal]
"""An exact expansion at one side of a break."""


@dataclass(frozen=True, slots=True)
class Annihilator:
    """The left ideal of all P in D₁ with Pτ = 0, where σ(u) = τ(``scale`` · u).

    ``operators`` is its reduced Gröbner basis for the Bernstein degree (ties in favour of D), ``by_order`` the one for
    the order that compares powers of D first.
    """

    operators: tuple[Operator, ...]
    by_order: tuple[Operator, ...]
    scale: ExactReal = ONE


def annihilator_of(source: Node | Pieces) -> Annihilator:
    """The whole annihilator with its scale, see :class:`Annihilator`.

    The operator P₀ of least order over Q(u) that annihilates every piece is found by linear algebra.  With r its order
    and n the order of the first discontinuous derivative at a break b, P₀σ has δ-derivatives of order below r - n only,
    so (u - b)^(r-n) P₀ annihilates σ near b.  Every other operator of the annihilator is a torsion element modulo this
    ideal.  Hence that ideal is enlarged, at each irreducible factor q of its leading coefficient, by the torsion
    elements Q with Qσ = 0; here Qσ = c δ_b, and c is the jump at b of Σ_{i>0} D^(i-1) (a_i σ) for Q = Σ D^i a_i.
    When nothing is left to add, the ideal is the whole annihilator; without breaks it is the Weyl closure of P₀
    [Tsai2000].

    >>> from holokern.activation.tree.grammar import read_expression
    >>> annihilator_of(read_expression("u*(1 + erf(u))")).by_order
    (u^2*D^2 + 2*u^3*D - 2*u*D - 2*u^2 + 2, D^3 + 4*u*D^2 + 4*u^2*D - 4*u)
    """
    return _annihilator(pieces_of(source) if not isinstance(source, Pieces) else source)


@lru_cache(maxsize=256)
def _annihilator(pieces: Pieces) -> Annihilator:
    return saturated_annihilator(minimal_operator(pieces.elements), pieces, pieces.scale)


def saturated_annihilator(
    minimal: Operator, function: Piecewise[Fraction, ExactReal], scale: ExactReal = ONE
) -> Annihilator:
    """The whole annihilator from the operator of least order over Q(u) that annihilates all pieces.

    ``minimal``: that operator.
    ``function``: the breaks, and the exact expansions there.
    ``scale``: recorded in the result.
    """
    start = D1.one
    u = D1.gen("u")
    for point, n in zip(function.breaks, jump_orders(function), strict=True):
        if n is not None:
            start = start * (u - D1(point)) ** max(minimal.order - n, 0)
    harmless = partial(_harmless, function.breaks, cache(function.expansions))
    ideal = UnivariateIdeal(D1, [start * minimal]).saturated(harmless)
    return Annihilator(bernstein_basis(ideal), ideal.basis, scale)


def minimal_operator(elements: tuple[Element, ...]) -> Operator:
    """The primitive operator of least order over Q(u) that annihilates all elements, each constant component by itself.

    >>> from holokern.activation.ring.quotient import Quotient
    >>> minimal_operator((Element.rational(Quotient.variable()),))
    u*D - 1
    """
    return first_relation(_derivatives(elements))


def _derivatives(elements: tuple[Element, ...]) -> Iterator[Vector]:
    current = list(elements)
    while True:
        yield {
            (i, constant, monomial): c
            for i, element in enumerate(current)
            for (constant, monomial), c in element.terms.items()
        }
        current = [element.derivative() for element in current]


def _harmless(
    breaks: tuple[Fraction, ...],
    expansions: Callable[[int, int], tuple[ExactSeries, ExactSeries]],
    q: fmpq_poly,
    candidates: list[Operator],
) -> list[Operator]:
    """Independent combinations of the candidates (whose qQσ is 0, so that Qσ is a multiple of δ) with Qσ = 0."""
    point = None if q.degree() > 1 else -to_fraction(q[0]) / to_fraction(q[1])
    if point is None or point not in breaks:
        return candidates
    left, right = expansions(breaks.index(point), max(operator.order for operator in candidates))
    values = [_delta(operator, point, left, right) for operator in candidates]
    keys = list({key: None for value in values for key in value.terms})
    if not keys:
        return candidates
    rows = [[to_fmpq(value.terms.get(key, Fraction(0))) for key in keys] for value in values]
    result = []
    for vector in nullspace(rows):
        total = D1.zero
        for c, operator in zip(vector, candidates, strict=True):
            if c != 0:
                total = total + operator * D1(c)
        result.append(total)
    return result


def _delta(operator: Operator, point: Fraction, left: ExactSeries, right: ExactSeries) -> ExactReal:
    """The coefficient c in Qσ = c δ: the jump of Σ_{i>0} D^(i-1) (a_i σ) with Q = Σ D^i a_i."""
    total = exact(0)
    for i, a in enumerate(right_coefficients(operator)):
        if i == 0 or not a:
            continue
        shifted = a(fmpq_poly([to_fmpq(point), 1]))
        total = total + _constant_term(shifted, right, 1, i - 1) - _constant_term(shifted, left, -1, i - 1)
    return total


def right_coefficients(operator: Operator) -> list[fmpq_poly]:
    """The a_i of Σ a_i'(u) D^i = Σ D^i a_i(u), by a D^i = Σ_k (-1)^k C(i,k) D^(i-k) a^(k)."""
    rows = operator.polynomials()
    result = [fmpq_poly()] * len(rows)
    for i, a in enumerate(rows):
        binomial, derivative = 1, a
        for k in range(i + 1):
            result[i - k] = result[i - k] + (-1) ** k * binomial * derivative
            binomial = binomial * (i - k) // (k + 1)
            derivative = derivative.derivative()
    return result


def _constant_term(a: fmpq_poly, series: ExactSeries, side: int, n: int) -> ExactReal:
    """The constant term in s of D^n (a(t) · series), t = side · s; the other singular terms cancel in the limit."""
    total = exact(0)
    for i, c in enumerate(a.coeffs()):
        if c == 0 or i > n:
            continue
        for (e, k), value in series.items():
            if e == n - i:
                total = total + value * (to_fraction(c) * side ** (i + n) * _log_derivative(n, k))
    return total


def _log_derivative(n: int, k: int) -> int:
    """The constant term of (d/ds)^n of s^n log(s)^k."""
    # s^n log^k is the k-th derivative in x of s^(n+x) at x = 0, and (d/ds)^n s^(n+x) = (n+x)…(1+x) s^x
    product = prod([fmpz_poly([m, 1]) for m in range(1, n + 1)], start=fmpz_poly([1]))
    return factorial(k) * int(product[k])


_MOST_ORDER = 36  # operators of orders 5 and 4, whose product has order 20, take a second


def sum_operator(left: Operator, right: Operator) -> Operator:
    """The operator of the sums f + g: the least common left multiple.

    >>> sum_operator(D1("D - 1"), D1("D + 1"))
    D^2 - 1
    """
    return lclm(*_within_reach(left, right, left.order + right.order))


def product_operator(left: Operator, right: Operator) -> Operator:
    """The operator of the products f·g: the symmetric product.

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
