"""The first linear relation over Q(u) among vectors that come one by one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import islice
from typing import TypeAlias

from flint import fmpq_poly, nmod, nmod_poly

from holokern.activation.ring.quotient import Quotient, common_denominator
from holokern.errors import TooLarge
from holokern.numeric import Dependence
from holokern.weyl import Operator, weyl_algebra

#: The Weyl algebra in which annihilators of activations live.
D1 = weyl_algebra("u", "D")

Vector: TypeAlias = Mapping[Hashable, Quotient]
"""Sparse, over Q(u)."""

# named activations have order 3 at most; Pfaffian systems of rank up to order² are out of reach long before 24
_MAX_ORDER = 24
# 2^61 - 1, the largest prime of this form below a word; any point will do that no input is made to fit
_PRIME, _POINT = 2**61 - 1, 1234567890123456787


def first_relation(rows: Iterable[Vector]) -> Operator:
    """The primitive operator Σ p_l D^l of least order with Σ p_l row_l = 0, if row_l is the l-th derivative.

    ``rows``: sparse vectors over Q(u); as many are read as the relation needs.
    """
    vectors = _up_to_the_relation(rows)
    search: Dependence[int, Hashable, Quotient] = Dependence(Quotient.constant(1), _simplest)
    for order, vector in enumerate(vectors):
        relation = search.add(order, vector)
        if relation is not None:
            weights = [relation.get(k, Quotient.constant(0)) for k in range(order + 1)]
            common = common_denominator(weights)
            return operator_from([w.num * (common // w.den) for w in weights])
    raise AssertionError("a relation modulo a prime at a random point is one over Q(u), except with tiny probability")


def _simplest(row: dict[Hashable, Quotient]) -> Hashable:
    """The entry of least degree, so that quotients stay small."""
    return min(row, key=lambda key: row[key].num.degree() + row[key].den.degree())


def _up_to_the_relation(rows: Iterable[Vector]) -> list[Vector]:
    """The rows up to the first that depends on those before, found cheaply modulo a prime at one point.

    Raises TooLarge when the relation would have an order that nothing downstream could use.
    """
    taken: list[Vector] = []
    search: Dependence[int, Hashable, nmod] = Dependence(nmod(1, _PRIME))
    for order, vector in enumerate(islice(rows, _MAX_ORDER + 1)):
        taken.append(vector)
        if search.add(order, {key: _residue(c) for key, c in vector.items()}) is not None:
            return taken
    raise TooLarge(
        f"the function solves no linear ODE of order at most {_MAX_ORDER}, and exact algebra stops there; simplify it "
        'or use numbers: hk.dual(activation, ..., method="quadrature")'
    )


def _residue(function: Quotient) -> nmod:
    """The value at a fixed large point modulo a prime."""
    top, bottom = (
        nmod_poly([nmod(c.p, _PRIME) / nmod(c.q, _PRIME) for c in part.coeffs()], _PRIME)(_POINT)
        for part in (function.num, function.den)
    )
    return top / bottom


def operator_from(coefficients: list[fmpq_poly]) -> Operator:
    """Σ a_k D^k from polynomials a_k (``fmpq_poly``), divided by their common factor.

    >>> operator_from([fmpq_poly([0, -1]), fmpq_poly([0, 0, 1])])
    u*D - 1
    """
    content = fmpq_poly()
    for a in coefficients:
        content = content.gcd(a)
    parts = [a // content for a in coefficients]
    return D1.from_terms(((i, k), c) for k, a in enumerate(parts) for i, c in enumerate(a.coeffs())).primitive()
