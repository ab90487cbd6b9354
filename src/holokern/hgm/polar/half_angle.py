"""A Pfaffian system along r = ±(1 - w²)/(1 + w²), w = tan(θ/2) or its reciprocal, for transport in balls.

From w = 1, where u and v are independent, to w = 0, where r = ±1.  Near r = ±1 the distance 1 - |r| is about 2w², so
halving steps reach it in half the number that r itself would need, and no square root has to be taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

from flint import arb, arb_poly, fmpq, fmpq_poly, fmpz_mpoly

from holokern.errors import BadInput
from holokern.hgm.steps.fixed_point import BallRow
from holokern.numeric import to_fmpq
from holokern.pfaffian import PfaffianSystem
from holokern.weyl import by_powers, common_denominator, evaluate_polynomial

Number: TypeAlias = Any
"""``fmpq`` for exact deviations, ``arb`` for balls: one code serves both."""

#: A polynomial in Σ12: for each power of it a polynomial in Σ11 and Σ22.
Parts: TypeAlias = dict[tuple[int, ...], fmpz_mpoly]


@dataclass(frozen=True)
class HalfAngleTable:
    """The matrix of ∂/∂Σ12, each row over its own denominator."""

    # for each row its denominator and its non-zero numerators
    rows: tuple[tuple[Parts, dict[int, Parts]], ...]
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
            tops = {j: entry.numerator * (common // entry.denominator) for j, entry in enumerate(row) if entry}
            rows.append((by_powers(common, [1]), {j: by_powers(top, [1]) for j, top in tops.items()}))
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
        weights, result = self._weights(c1, c2), []
        for i, (bottom, above) in enumerate(self.rows):
            # as polynomials in r, and then times (1+w²)^degree
            in_r = {j: _in_correlation(parts, c1, c2) for j, parts in ((-1, bottom), *above.items())}
            degree = max(max(p) for p in in_r.values())
            powers = [minus**k * plus ** (degree - k) for k in range(degree + 1)]
            in_w = {j: sum((powers[k] * c for k, c in p.items()), kind([0])) for j, p in in_r.items()}
            speed = kind([0, -4 * sign]) * (c1 * c2)
            row = BallRow(
                in_w.pop(-1) * plus * plus, {j: top * speed * (weights[i] / weights[j]) for j, top in in_w.items()}
            )
            if exact:
                common = reduce(fmpq_poly.gcd, row.entries.values(), row.denominator)
                tops = {j: arb_poly(top // common) for j, top in row.entries.items()}
                row = BallRow(arb_poly(row.denominator // common), tops)
            result.append(row)
        return result

    def matrix_row(self, index: int, c1: arb, c2: arb, r: arb) -> list[arb]:
        """One row of the matrix of ∂/∂Σ12 for the scaled vector of :meth:`along`, at correlation r."""
        weights, (bottom, tops) = self._weights(c1, c2), self.rows[index]
        at = {
            j: sum((c * r**k for k, c in _in_correlation(parts, c1, c2).items()), arb(0))
            for j, parts in ((-1, bottom), *tops.items())
        }
        scale = weights[index] / at[-1]
        return [at[j] * scale / weights[j] if j in at else arb(0) for j in range(len(self.rows))]

    def _weights(self, c1: Number, c2: Number) -> list[Number]:
        return [c1**i * c2**j / q for (i, j), q in zip(self.exponents, self.factors, strict=True)]


def _in_correlation(parts: Parts, c1: Number, c2: Number) -> dict[int, Number]:
    """The coefficients of the powers of r = Σ12/(c1c2)."""
    place = [c1 * c1, 0, c2 * c2]
    return {k: evaluate_polynomial(part, place) * (c1 * c2) ** k for (k,), part in parts.items()}
