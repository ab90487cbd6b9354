"""Connection matrices of ideals of the rational Weyl algebra, and their change of basis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holokern.weyl.rational.algebra import Exponents
from holokern.weyl.rational.fractions import FunctionField, RationalFunction

if TYPE_CHECKING:
    from holokern.weyl.rational.ideal import RationalIdeal

Matrix = tuple[tuple[RationalFunction, ...], ...]


def connection_of_standard_monomials(ideal: RationalIdeal) -> tuple[Matrix, ...]:
    """Rows of the i-th matrix: normal forms of ∂_i times the standard monomials of the ideal."""
    border = _Border(ideal)
    return tuple(
        tuple(border.row(_raised(key, i)) for key in ideal.standard_exponents) for i in range(ideal.algebra.dimension)
    )


def gauge_transformed(
    matrices: tuple[Matrix, ...], transition: list[list[RationalFunction]], field: FunctionField
) -> tuple[Matrix, ...] | None:
    """The matrices (∂_i T + T P_i) T⁻¹ for the vector T F, or None when T is singular."""
    inverse = inverse_matrix(transition, field)
    if inverse is None:
        return None
    result = []
    for name, matrix in zip(field.variables, matrices, strict=False):  # parameters come last and have no matrix
        changed = [
            [m + t.derivative(name) for m, t in zip(left, right, strict=True)]
            for left, right in zip(_product(transition, matrix), transition, strict=True)
        ]
        result.append(tuple(map(tuple, _product(changed, inverse))))
    return tuple(result)


def _raised(key: Exponents, i: int) -> Exponents:
    return (*key[:i], key[i] + 1, *key[i + 1 :])


class _Border:
    """Coordinates of monomials on the border of the standard ones, each made from a lower one."""

    def __init__(self, ideal: RationalIdeal) -> None:
        self.field = ideal.algebra.field
        self.names = ideal.algebra.variables
        self.standard = {key: place for place, key in enumerate(ideal.standard_exponents)}
        self.leading = dict(zip(ideal.leading_exponents, ideal.groebner(), strict=True))
        self.known: dict[Exponents, tuple[RationalFunction, ...]] = {}

    def row(self, key: Exponents) -> tuple[RationalFunction, ...]:
        if key not in self.known:
            self.known[key] = self._make(key)
        return self.known[key]

    def _make(self, key: Exponents) -> tuple[RationalFunction, ...]:
        row = [self.field.zero] * len(self.standard)
        if key in self.standard:
            row[self.standard[key]] = self.field.one
        elif key in self.leading:
            for other, c in self.leading[key]:
                if other != key:
                    row[self.standard[other]] = -c
        else:
            self._from_lower(key, row)
        return tuple(row)

    def _from_lower(self, key: Exponents, row: list[RationalFunction]) -> None:
        """∂_i Σ c_s s = Σ (∂_i c_s) s + c_s (∂_i s), where ∂^key = ∂_i times a lower monomial of the border."""
        i, lower = next(
            (i, other)
            for i, other in ((i, (*key[:i], e - 1, *key[i + 1 :])) for i, e in enumerate(key) if e)
            if other not in self.standard
        )
        inner = self.row(lower)
        for monomial, place in self.standard.items():
            c = inner[place]
            if not c:
                continue
            row[place] = row[place] + c.derivative(self.names[i])
            for column, value in enumerate(self.row(_raised(monomial, i))):
                if value:
                    row[column] = row[column] + c * value


def _product(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> list[list[Any]]:
    columns = list(zip(*right, strict=True))
    result = []
    for row in left:
        entries = []
        for column in columns:
            total = row[0] * column[0]
            for a, b in zip(row[1:], column[1:], strict=True):
                if a and b:
                    total = total + a * b
            entries.append(total)
        result.append(entries)
    return result


def inverse_matrix(matrix: list[list[Any]], field: Any) -> list[list[Any]] | None:
    """The inverse by Gauss–Jordan elimination, or None."""
    size = len(matrix)
    rows = [[*row, *(field.one if i == j else field.zero for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        # short pivots keep the rational functions small
        candidates = [i for i in range(column, size) if rows[i][column]]
        if not candidates:
            return None
        best = min(candidates, key=lambda i: len(rows[i][column].numerator) + len(rows[i][column].denominator))
        rows[column], rows[best] = rows[best], rows[column]
        pivot = field.one / rows[column][column]
        rows[column] = [pivot * entry if entry else entry for entry in rows[column]]
        for i in range(size):
            factor = rows[i][column]
            if i != column and factor:
                rows[i] = [a - factor * b if b else a for a, b in zip(rows[i], rows[column], strict=True)]
    return [row[size:] for row in rows]
