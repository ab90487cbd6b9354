"""Connection matrices of ideals of the rational Weyl algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holokern.weyl.rational.algebra import Exponents
from holokern.weyl.rational.fractions import RationalFunction
from holokern.weyl.rational.matrices import Matrix

if TYPE_CHECKING:
    from holokern.weyl.rational.ideal import RationalIdeal


def connection_of_standard_monomials(ideal: RationalIdeal) -> tuple[Matrix, ...]:
    """Rows of the i-th matrix: normal forms of ∂_i times the standard monomials of the ideal."""
    border = _Border(ideal)
    return tuple(
        tuple(border.row(_raised(key, i)) for key in ideal.standard_exponents) for i in range(ideal.algebra.dimension)
    )


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
