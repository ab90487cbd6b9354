"""A Pfaffian system in polar form, as tables that floats are put into.

With c1, c2 the deviations and cos θ the correlation, the entries of the vector are made free of units and bounded,

    H_(i,j) = c1^i c2^j sin^m(θ) E[∂_u^i ∂_v^j σ1(u) σ2(v)],   m = max(0, i + j - 2q - 1),

where q is the order of the first derivative of σ that jumps: products of deltas at zero make the expectation grow like
sin^-m as det Σ → 0, and nothing worse happens there when σ breaks at zero only.  Along log c1, log c2 and θ the vector
satisfies dH = (L1 dlog c1 + L2 dlog c2 + T dθ) H, and every entry of D·L1, D·L2, D·T is a polynomial in c1^±1, c2^±1,
cos θ and sin θ for one common denominator D.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from flint import fmpz_mpoly
from numpy.typing import NDArray

from holokern.errors import BadInput
from holokern.hgm.steps.series import Array
from holokern.pfaffian import PfaffianSystem, RationalFunction
from holokern.weyl import split_off

#: Exponents of c1, c2, cos θ, sin θ -> coefficient.
Terms = dict[tuple[int, int, int, int], Fraction]


@dataclass(frozen=True)
class Polynomial:
    """Several polynomials in c1^±1, c2^±1, cos θ, sin θ with common lists of monomials."""

    deviations: NDArray[np.intp]  # (n, 2): exponents of c1 and c2
    angles: NDArray[np.intp]  # (m, 2): exponents of cos θ and sin θ
    table: NDArray[np.float64]  # (n, number of polynomials, m): coefficients

    @classmethod
    def of(cls, rows: Sequence[Terms]) -> Polynomial:
        """Collect the monomials of polynomials given by their terms."""
        deviations = sorted({key[:2] for row in rows for key in row}) or [(0, 0)]
        angles = sorted({key[2:] for row in rows for key in row}) or [(0, 0)]
        places = {key: i for i, key in enumerate(deviations)}, {key: i for i, key in enumerate(angles)}
        table = np.zeros((len(deviations), len(rows), len(angles)))
        for i, row in enumerate(rows):
            for key, value in row.items():
                table[places[0][key[:2]], i, places[1][key[2:]]] = float(value)
        return cls(np.array(deviations, dtype=np.intp), np.array(angles, dtype=np.intp), table)

    @cached_property
    def squared(self) -> Polynomial:
        """The sums of the squares of all terms."""
        return replace(self, deviations=2 * self.deviations, angles=2 * self.angles, table=self.table**2)

    def at(self, c1: Array, c2: Array) -> Array:
        """The coefficients of the monomials in cos θ and sin θ, of shape (points, polynomials, m)."""
        scalars = c1[:, None] ** self.deviations[:, 0] * c2[:, None] ** self.deviations[:, 1]
        count = self.table.shape[0]
        return (scalars @ self.table.reshape(count, -1)).reshape(len(c1), *self.table.shape[1:])


@dataclass(frozen=True)
class PolarTable:
    """The matrices T, L1, L2 over one denominator."""

    rank: int
    exponents: tuple[tuple[int, int], ...]  # (i, j) of every entry of H
    weights: tuple[int, ...]  # m of every entry of H
    bottom: Polynomial  # D, one polynomial
    tops: tuple[Polynomial, Polynomial, Polynomial]  # D·T, D·L1, D·L2: the polynomials of the places that are not zero
    places: tuple[tuple[Array, Array], ...]  # where those stand
    slope: tuple[Polynomial, Array]  # the row of D·P12 that gives c1 c2 k′ from H, and its columns
    exact: tuple[Terms, ...]  # D, the entries of D·T and those of the row of D·P12 again, exactly
    factors: tuple[Polynomial, ...]  # the factors of D other than powers of sin θ, c1 and c2
    ends: bool  # whether sin θ = 0 is singular
    scale: tuple[float, float]  # κ1, κ2: the tables want κ1c1 and κ2c2

    @property
    def outputs(self) -> tuple[int, int]:
        """The places of k and of E[∂_u ∂_v] in H, -1 for one that is not there."""
        return self.exponents.index((0, 0)), self.exponents.index((1, 1)) if (1, 1) in self.exponents else -1


def polar_table(system: PfaffianSystem, jump: int | None) -> PolarTable:
    """Prepare a system in the coordinates Σ; ``jump`` is the order of the first derivative of σ that jumps.

    Examples
    --------
    >>> from holokern.pfaffian import pfaffian
    >>> table = polar_table(pfaffian("relu", cache=False), 1)
    >>> table.rank, table.weights, table.ends
    (2, (0, 0), True)
    """
    if system.coordinates != "sigma" or system.frame is not None:
        raise BadInput("expected a Pfaffian system in the coordinates Σ with a basis of derivatives")
    quotients, exponents = zip(*system.monomials, strict=True)
    weights = tuple(0 if jump is None else max(0, i + j - 2 * jump - 1) for i, j in exponents)
    if (0, 0) not in exponents:
        raise BadInput("expected a basis that contains 1, so that the expectation itself is an entry of F")
    s11, s12, s22 = system.field.gens
    special = [(s12 * s12 - s11 * s22).numerator, s11.numerator, s22.numerator]
    locus = zip(system.singular_locus, system.multiplicities, strict=True)
    others = [(factor.numerator, power) for factor, power in locus if factor.numerator not in special]
    bottom = prod((factor**power for factor, power in others), start=system.field.ctx.constant(1))
    below = _polar(bottom)

    def terms(entry: RationalFunction, i: int, j: int, along_angle: bool) -> Terms:
        """An entry in polar form, without the other factors in its denominator; negative powers of sin θ may stay."""
        common = entry.denominator.gcd(bottom)
        (det, *own), rest = split_off(entry.denominator // common, special)
        # det = S12² - S11 S22 = -(c1 c2 sin θ)², and θ itself brings -c1 c2 sin θ
        factor = Fraction((-1) ** (det + along_angle), int(rest.leading_coefficient())) * quotients[j] / quotients[i]
        c1, c2 = (exponents[i][k] - exponents[j][k] - 2 * det - 2 * own[k] + along_angle for k in (0, 1))
        top = _polar(entry.numerator * (bottom // common))
        return _shift(top, (c1, c2, 0, weights[i] - weights[j] - 2 * det + along_angle), factor)

    tables = [
        {(i, j): terms(e, i, j, k == 0) for i, row in enumerate(matrix) for j, e in enumerate(row) if e}
        for k, matrix in enumerate(_polar_matrices(system, exponents))
    ]
    for i, m in enumerate(weights):
        if m:
            tables[0][i, i] = _sum(tables[0].get((i, i), {}), _shift(below, (0, 0, 1, -1), Fraction(m)))
    # c1 c2 k′ = c1 c2 (P12 F)_0
    first = exponents.index((0, 0))
    slope = {
        j: _shift(terms(e, first, j, False), (1, 1, 0, 0), Fraction(1)) for j, e in enumerate(system["S12"][first]) if e
    }
    every = [below, *slope.values(), *(entry for table in tables for entry in table.values())]
    common = -min(0, *(key[3] for entry in every for key in entry))
    whole = (0, 0, 0, common), Fraction(1)
    denominator, slopes = _shift(below, *whole), [_shift(entry, *whole) for entry in slope.values()]
    tops = [[_shift(table[place], *whole) for place in sorted(table)] for table in tables]
    places = [np.array(sorted(table), dtype=np.intp).reshape(-1, 2).T for table in tables]
    return PolarTable(
        system.rank,
        exponents,
        weights,
        Polynomial.of([denominator]),
        (Polynomial.of(tops[0]), Polynomial.of(tops[1]), Polynomial.of(tops[2])),
        tuple((rows, columns) for rows, columns in places),
        (Polynomial.of(slopes), np.array(list(slope), dtype=np.intp)),
        (denominator, *tops[0], *slopes),
        tuple(Polynomial.of([_polar(factor)]) for factor, _ in others),
        common > 0,
        (1.0, 1.0) if system.scale is None else (float(system.scale[0]), float(system.scale[1])),
    )


def _polar_matrices(
    system: PfaffianSystem, exponents: Sequence[tuple[int, int]]
) -> tuple[Sequence[Sequence[RationalFunction]], ...]:
    """The matrices of ∂/∂S12, and of ∂/∂log c1 and ∂/∂log c2 with the powers of c1 and c2 in H."""
    s11, s12, s22 = system.field.gens
    p11, p12, p22 = system.matrices
    # dlog c1 = 2 S11 ∂11 + S12 ∂12 on the expectation, and i on the factor c1^i
    sides = [
        [[2 * diagonal * a + s12 * b for a, b in zip(*rows, strict=True)] for rows in zip(p, p12, strict=True)]
        for p, diagonal in ((p11, s11), (p22, s22))
    ]
    for side, matrix in enumerate(sides):
        for i, row in enumerate(matrix):
            row[i] = row[i] + exponents[i][side]
    return p12, *sides


def _polar(polynomial: fmpz_mpoly) -> Terms:
    """A polynomial in S11, S12, S22 with S11 = c1², S12 = c1 c2 cos θ, S22 = c2²."""
    terms: Terms = {}
    for key, value in polynomial.terms():
        p, q, r = (int(e) for e in key)
        terms[2 * p + q, 2 * r + q, q, 0] = Fraction(int(value))
    return terms


def _shift(terms: Terms, by: tuple[int, int, int, int], factor: Fraction) -> Terms:
    """The product with a monomial in c1, c2, cos θ, sin θ."""
    c1, c2, cosine, sine = by
    return {(a + c1, b + c2, k + cosine, e + sine): value * factor for (a, b, k, e), value in terms.items()}


def _sum(one: Terms, other: Terms) -> Terms:
    total = dict(one)
    for key, value in other.items():
        total[key] = total.get(key, Fraction(0)) + value
    return {key: value for key, value in total.items() if value}
