"""Gröbner bases of left ideals of D₁ for the Bernstein degree, by reduction of polynomial matrices.

The elements of order at most K of a left ideal are a free Q[u]-module, so the elements of small Bernstein degree among
them are the rows of its Popov form with shifts 0, 1, …, K.  K grows until Buchberger's criterion holds.  Plain
Buchberger computes the same basis, but its intermediate coefficients explode as soon as there are several breaks.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm
from typing import Any

from flint import fmpz, fmpz_poly

from holokern.numeric import bounded, charge
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order
from holokern.weyl.groebner.basis import leading_parts
from holokern.weyl.univariate.operators import UnivariateIdeal

Row = list[Any]
_ORDER = Order("Bernstein degree, then ∂", 2, ((1, 1), (0, 1)), False)  # the order of the bases here


@bounded
def bernstein_basis(operators: Iterable[Operator] | UnivariateIdeal) -> tuple[Operator, ...]:
    """The reduced Gröbner basis for the Bernstein degree (weights 1 on u and ∂), ties broken in favour of ∂.

    The result always generates the ideal of the operators; that no further element is needed for a Gröbner basis is
    decided modulo two random primes of 31 bits.

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
        if len(table) >= ideal.stable_order - (ideal.rank or 0) + 1 and _is_closed(ideal, _corners(table)):
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


def _is_closed(ideal: UnivariateIdeal, corners: list[Row]) -> bool:
    """Whether the Gröbner basis of the corners modulo two random primes has no other leading monomials."""
    if len(corners) < 2:
        return True
    leads = {(degree - order, order) for degree, order in map(_lead, corners)}
    bases = leading_parts([_operator(ideal, row) for row in corners], _ORDER)
    return all({max(element, key=_ORDER.key) for element in basis} == leads for _, basis in bases)


def _integral(row: Row) -> Row:
    """A row over Q as a primitive row over Z."""
    common = lcm(*(int(a.denom()) for a in row))
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
