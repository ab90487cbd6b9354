"""A Pfaffian system along r = ±(1 - w²)/(1 + w²), w = tan(θ/2) or its reciprocal, for transport in balls.

From w = 1, where u and v are independent, to w = 0, where r = ±1.  Near r = ±1 the distance 1 - |r| is about 2w², so
halving steps reach it in half the number that r itself would need, and no square root has to be taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from flint import arb, arb_poly, fmpq, fmpq_poly, fmpz_mpoly

from holokern.errors import BadInput
from holokern.hgm.steps.fixed_point import BallRow, Polynomial
from holokern.numeric import to_fmpq
from holokern.pfaffian import PfaffianSystem
from holokern.weyl import common_denominator

Number: TypeAlias = Any
"""``fmpq`` for exact deviations, ``arb`` for balls: one code serves both."""

#: A polynomial in s = Σ12: for each power of s the terms (coefficient, power of Σ11, power of Σ22).
Rows = list[list[tuple[int, int, int]]]


@dataclass(frozen=True)
class HalfAngleTable:
    """The matrix of ∂/∂Σ12, each row over its own denominator, as tables that balls are put into."""

    # for each row its denominator and its non-zero numerators: polynomials in s with coefficients in Σ11 and Σ22
    rows: tuple[tuple[Rows, dict[int, Rows]], ...]
    # the entry of F with exponents (i, j) is E[∂_u^i ∂_v^j σ(u)σ(v)] times its factor
    exponents: tuple[tuple[int, int], ...]
    factors: tuple[fmpq, ...]

    @classmethod
    def of(cls, system: PfaffianSystem) -> HalfAngleTable:
        """Prepare a :class:`~holokern.pfaffian.system.PfaffianSystem` in the coordinates Σ."""
        if system.coordinates != "sigma" or system.frame is not None:
            raise BadInput("expected a Pfaffian system in the coordinates Σ with a basis of derivatives")
        rows = []
        for row in system["S12"]:
            common = common_denominator(system.field, row)
            tops = {j: _rows(entry.numerator * (common // entry.denominator)) for j, entry in enumerate(row) if entry}
            rows.append((_rows(common), tops))
        factors, exponents = zip(*system.monomials, strict=True)
        return cls(tuple(rows), tuple(exponents), tuple(to_fmpq(q) for q in factors))

    def along(self, c1: Number, c2: Number, sign: int) -> list[BallRow]:
        """The system in w for the scaled vector c1^i c2^j F_(i,j), towards r = ``sign``.

        With s = c1c2 r and r = ±(1-w²)/(1+w²), dF/dw = ∓4w/(1+w²)² c1c2 P(s) F.  For exact deviations common factors
        are removed; balls keep them, which costs time only.
        """
        exact = isinstance(c1, fmpq) and isinstance(c2, fmpq)
        kind = fmpq_poly if exact else arb_poly
        plus, minus = kind([1, 0, 1]), kind([sign, 0, -sign])
        values, weights = _Monomials(c1, c2), self._weights(c1, c2)
        result = []
        for i, (bottom, tops) in enumerate(self.rows):
            degree = max(len(bottom), *map(len, tops.values()), 1) - 1
            # r^k (1+w²)^degree
            powers = [minus**k * plus ** (degree - k) for k in range(degree + 1)]
            speed = kind([0, -4 * sign]) * (c1 * c2)
            row = BallRow(
                values.polynomial(bottom, powers) * plus * plus,
                {j: values.polynomial(top, powers) * speed * (weights[i] / weights[j]) for j, top in tops.items()},
            )
            result.append(_without_common_factors(row) if exact else row)
        return result

    def matrix_row(self, index: int, c1: arb, c2: arb, r: arb) -> list[arb]:
        """One row of the matrix of ∂/∂Σ12 for the scaled vector of :meth:`along`, at correlation r."""
        values, weights = _Monomials(c1, c2), self._weights(c1, c2)
        bottom, tops = self.rows[index]
        powers = [r**k for k in range(max(len(bottom), *map(len, tops.values()), 1))]
        scale = weights[index] / values.polynomial(bottom, powers)
        return [
            values.polynomial(tops[j], powers) * scale / weights[j] if j in tops else arb(0)
            for j in range(len(self.rows))
        ]

    def _weights(self, c1: Number, c2: Number) -> list[Number]:
        return [c1**i * c2**j / q for (i, j), q in zip(self.exponents, self.factors, strict=True)]


def _without_common_factors(row: BallRow) -> BallRow:
    common = row.denominator
    for entry in row.entries.values():
        common = common.gcd(entry)
    return row.mapped(lambda polynomial: arb_poly(polynomial // common))


class _Monomials:
    """Values of polynomials whose s is c1c2 times a given quantity."""

    def __init__(self, c1: Number, c2: Number) -> None:
        self.c1, self.c2 = c1, c2
        self.known: dict[tuple[int, int], Number] = {}

    def monomial(self, i: int, j: int) -> Number:
        if (i, j) not in self.known:
            self.known[i, j] = self.c1**i * self.c2**j
        return self.known[i, j]

    def polynomial(self, rows: Rows, powers: Sequence[Polynomial]) -> Polynomial:
        total = powers[0] * 0
        for k, terms in enumerate(rows):
            if terms:
                value = sum(self.monomial(2 * i + k, 2 * j + k) * c for c, i, j in terms)
                total = total + powers[k] * value
        return total


def _rows(polynomial: fmpz_mpoly) -> Rows:
    """Sort the terms of an ``fmpz_mpoly`` in (S11, S12, S22) by the power of S12."""
    rows: Rows = []
    for key, c in polynomial.terms():
        i, k, j = (int(e) for e in key)
        while len(rows) <= k:
            rows.append([])
        rows[k].append((int(c), i, j))
    return rows or [[]]
