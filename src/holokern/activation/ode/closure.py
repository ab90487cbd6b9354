"""Closure properties: operators for sums, products, derivatives and affine substitutions of solutions.

Each function takes operators P (and Q) of ``weyl_algebra("u", "D")`` and returns an operator that annihilates f + g,
f·g, f' or f(au + b) for *all* solutions f of P and g of Q, of least order with that property.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from holokern.activation.ring.quotient import Quotient
from holokern.activation.ring.relation import D1, first_relation, operator_from
from holokern.errors import BadOperator
from holokern.weyl import Operator

__all__ = ["affine_operator", "derivative_operator", "product_operator", "sum_operator"]

Vector = dict[Any, Quotient]


def sum_operator(left: Operator, right: Operator) -> Operator:
    """The operator of the sums f + g: the least common left multiple.

    Examples
    --------
    >>> sum_operator(D1("D - 1"), D1("D + 1"))
    D^2 - 1
    """
    one, two = _Solutions(left), _Solutions(right)

    def rows() -> Iterator[Vector]:
        f, g = one.generic(), two.generic()
        while True:
            yield {**{("f", i): c for i, c in f.items()}, **{("g", i): c for i, c in g.items()}}
            f, g = one.derivative(f), two.derivative(g)

    return first_relation(rows())


def product_operator(left: Operator, right: Operator) -> Operator:
    """The operator of the products f·g: the symmetric product.

    Examples
    --------
    >>> product_operator(D1("D^2 + 1"), D1("D^2 + 1"))
    D^3 + 4*D
    """
    one, two = _Solutions(left), _Solutions(right)

    def rows() -> Iterator[Vector]:
        row: Vector = {(0, 0): Quotient.constant(1)} if one.order and two.order else {}
        while True:
            yield row
            following: Vector = {}
            for (i, j), c in row.items():
                _add(following, (i, j), c.derivative())
                for k, d in one.derivative_of_basis(i).items():
                    _add(following, (k, j), c * d)
                for k, d in two.derivative_of_basis(j).items():
                    _add(following, (i, k), c * d)
            row = following

    return first_relation(rows())


def derivative_operator(operator: Operator) -> Operator:
    """The operator of the derivatives f'.

    Examples
    --------
    >>> derivative_operator(D1("u*D - 1"))
    D
    """
    solutions = _Solutions(operator)

    def rows() -> Iterator[Vector]:
        f = solutions.derivative(solutions.generic())
        while True:
            yield f
            f = solutions.derivative(f)

    return first_relation(rows())


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


class _Solutions:
    """The module Q(u)⟨D⟩/P with its basis f, f', …, f^(r-1)."""

    def __init__(self, operator: Operator) -> None:
        if not operator:
            raise BadOperator("the operator 0 annihilates every function; give one that is not zero")
        rows = D1(operator_from(D1(operator).polynomials())).polynomials()
        self.order = len(rows) - 1
        lead = Quotient(rows[-1])
        self.top = {i: -Quotient(a) / lead for i, a in enumerate(rows[:-1]) if a}

    def generic(self) -> Vector:
        """The solution f itself."""
        return {0: Quotient.constant(1)} if self.order else {}

    def derivative_of_basis(self, i: int) -> Vector:
        """The derivative of f^(i) in the basis."""
        return {i + 1: Quotient.constant(1)} if i + 1 < self.order else self.top

    def derivative(self, vector: Vector) -> Vector:
        """The derivative of Σ c_i f^(i)."""
        result: Vector = {}
        for i, c in vector.items():
            _add(result, i, c.derivative())
            for k, d in self.derivative_of_basis(i).items():
                _add(result, k, c * d)
        return result


def _add(vector: Vector, key: Any, value: Quotient) -> None:
    if value:
        vector[key] = vector[key] + value if key in vector else value
