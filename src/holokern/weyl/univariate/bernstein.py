"""Gröbner bases of left ideals of D₁ for the Bernstein degree, by reduction of polynomial matrices.

The elements of order at most K of a left ideal are a free Q[u]-module, so the elements of small Bernstein degree among
them are the rows of its Popov form with shifts 0, 1, …, K.  K grows until Buchberger's criterion holds.  Plain
Buchberger computes the same basis, but its intermediate coefficients explode as soon as there are several breaks.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from random import SystemRandom
from typing import Any

from flint import fmpz, fmpz_poly, nmod

from holokern.numeric import bounded, charge, subtract
from holokern.weyl.algebra.operator import Operator, multiply_terms
from holokern.weyl.algebra.weyl_algebra import Monomial
from holokern.weyl.univariate.operators import UnivariateIdeal

Row = list[Any]


@bounded
def bernstein_basis(operators: Iterable[Operator] | UnivariateIdeal) -> tuple[Operator, ...]:
    """The reduced Gröbner basis for the Bernstein degree (weights 1 on u and ∂), ties broken in favour of ∂.

    The result always generates the ideal of the operators; that no further element is needed for a Gröbner basis is
    decided by Buchberger's criterion modulo a random prime of 61 bits.

    >>> from holokern.weyl import weyl_algebra
    >>> D1 = weyl_algebra("u", "D")
    >>> bernstein_basis([D1("u*D - 1"), D1("D^2")])
    (u*D - 1, D^2)
    """
    if isinstance(operators, UnivariateIdeal):
        ideal = operators
    else:
        generators = list(operators)
        if not generators:
            return ()
        ideal = UnivariateIdeal(generators[0].algebra, generators)
    if ideal.is_zero:
        return ()
    rows = ideal.rows()
    table: dict[int, Row] = {}
    while True:
        _insert(table, _integral(next(rows)))
        if len(table) >= ideal.stable_order - (ideal.rank or 0) + 1 and _is_closed(_corners(table)):
            break
    corners = [_tail_reduced(table, _lead(row)[1]) for row in _corners(table)]
    return tuple(_operator(ideal, row).primitive() for row in corners)


def _lead(row: Row) -> tuple[int, int]:
    """(Bernstein degree, ∂-exponent) of the leading monomial."""
    return max((a.degree() + i, i) for i, a in enumerate(row) if a != 0)


def _insert(table: dict[int, Row], row: Row) -> None:
    """Add a row to a table in weak Popov form: one row for each ∂-exponent of a leading monomial."""
    while True:
        _, column = _lead(row)
        other = table.get(column)
        if other is None:
            table[column] = row
            return
        if row[column].degree() < other[column].degree():
            table[column], row, other = row, other, row
        row = _cancelled(row, other, column, row[column].degree())


def _cancelled(row: Row, other: Row, column: int, degree: int) -> Row:
    """``row`` without the term u^degree ∂^column, by a multiple of ``other``, whose leading monomial divides it."""
    top, bottom = row[column][degree], other[column].leading_coefficient()
    charge(sum(1 + a.degree() for a in other) / 10, int(bottom.bit_length()))
    common = top.gcd(bottom)
    shift = degree - other[column].degree()
    left, right = bottom // common, fmpz_poly([0] * shift + [top // common])
    length = max(len(row), len(other))
    padded = [part + [fmpz_poly()] * (length - len(part)) for part in (row, other)]
    return _primitive([a * left - right * b for a, b in zip(*padded, strict=True)])


def _tail_reduced(table: dict[int, Row], column: int) -> Row:
    """The row of ``column`` with every other term reduced; a cancellation changes smaller terms only."""
    row = table[column]
    top, _ = _lead(row)
    for degree in range(top, -1, -1):
        for i in range(min(degree, len(row) - 1), -1, -1):
            other = table.get(i)
            if (i == column and degree == top) or other is None or i >= len(row):
                continue
            if degree - i >= other[i].degree() and row[i][degree - i] != 0:
                row = _cancelled(row, other, i, degree - i)
    return row


def _corners(table: dict[int, Row]) -> list[Row]:
    """The rows whose leading monomials generate all of them, by increasing leading monomial."""
    kept: list[Row] = []
    lowest: int | None = None
    for column in sorted(table):
        power = table[column][column].degree()
        if lowest is None or power < lowest:
            kept.append(table[column])
            lowest = power
    return sorted(kept, key=_lead)


def _is_closed(corners: list[Row]) -> bool:
    """Buchberger's criterion modulo a random prime, for neighbouring corners of the staircase, which are enough."""
    prime = _random_prime()
    elements: list[tuple[Monomial, dict[Monomial, nmod]]] = []
    for row in sorted(corners, key=lambda row: _lead(row)[1]):
        degree, column = _lead(row)
        residues = (((k, i), int(c) % prime) for i, a in enumerate(row) for k, c in enumerate(a.coeffs()))
        terms: dict[Monomial, nmod] = {key: nmod(c, prime) for key, c in residues if c}
        lead = (degree - column, column)
        if lead not in terms:
            return False
        elements.append((lead, {key: c / terms[lead] for key, c in terms.items()}))
    for (one, f), (two, g) in pairwise(elements):
        unit = nmod(1, prime)
        left = multiply_terms({(0, two[1] - one[1]): unit}, f, 1)
        right = multiply_terms({(one[0] - two[0], 0): unit}, g, 1)
        subtract(left, unit, right)
        if _remains(left, elements):
            return False
    return True


def _random_prime() -> int:
    """A prime between 2^60 and 2^61, so that a product fits flint's words; no input can be made to fit it."""
    system = SystemRandom()
    while not fmpz(candidate := system.randrange(2**60 + 1, 2**61, 2)).is_prime():
        pass
    return candidate


def _remains(terms: dict[Monomial, nmod], elements: list[tuple[Monomial, dict[Monomial, nmod]]]) -> bool:
    """Whether the normal form is not zero."""
    while terms:
        key = max(terms, key=lambda key: (key[0] + key[1], key[1]))
        divisors = [(lead, f) for lead, f in elements if lead[0] <= key[0] and lead[1] <= key[1]]
        if not divisors:
            return True
        lead, f = divisors[-1]
        shifted = multiply_terms({(key[0] - lead[0], key[1] - lead[1]): f[lead]}, f, 1)
        subtract(terms, terms[key], shifted)
    return False


def _integral(row: Row) -> Row:
    """A row over Q as a primitive row over Z."""
    common = fmpz(1)
    for a in row:
        common = common * a.denom() // common.gcd(a.denom())
    return _primitive([(a * common).numer() for a in row])


def _primitive(row: Row) -> Row:
    content = fmpz(0)
    for a in row:
        if a != 0:
            content = content.gcd(a.content())
    while row and row[-1] == 0:
        row.pop()
    return [a // content for a in row] if content > 1 else row


def _operator(ideal: UnivariateIdeal, row: Row) -> Operator:
    return ideal.algebra.from_terms(((k, i), c) for i, a in enumerate(row) for k, c in enumerate(a.coeffs()))
