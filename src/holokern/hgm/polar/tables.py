"""A Pfaffian system in polar form, as tables that floats are put into.

With c1, c2 the deviations and cos θ the correlation, the entries of the vector are made free of units and bounded,

    H_(i,j) = c1^i c2^j sin^m(θ) E[∂_u^i ∂_v^j σ1(u) σ2(v)],   m = max(0, i + j - 2q - 1),

where q is the order of the first derivative of σ that jumps: products of deltas at zero make the expectation grow like
sin^-m as det Σ → 0, and nothing worse happens there when σ breaks at zero only.  Along log c1, log c2 and θ the vector
satisfies dH = (L1 dlog c1 + L2 dlog c2 + T dθ) H, and every entry of D·L1, D·L2, D·T is a polynomial in c1^±1, c2^±1,
cos θ and sin θ for one common denominator D.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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

#: An entry: numerator, powers of the other factors, powers of det, S11 and S22, and the constant below.
Part = tuple[fmpz_mpoly, list[int], list[int], int]
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
    return _Builder(system, quotients, exponents, weights).table()


class _Builder:
    """Entries as numerator over det^p c1^x c2^y and the other factors, put over one denominator."""

    def __init__(
        self,
        system: PfaffianSystem,
        quotients: tuple[Fraction, ...],
        exponents: tuple[tuple[int, int], ...],
        weights: tuple[int, ...],
    ) -> None:
        self.system, self.quotients, self.exponents, self.weights = system, quotients, exponents, weights
        field = system.field
        s11, s12, s22 = field.gens
        self.det = (s12 * s12 - s11 * s22).numerator
        self.special = [self.det, s11.numerator, s22.numerator]
        self.others = [f.numerator for f in system.singular_locus if f.numerator not in self.special]
        p11, p12, p22 = system.matrices
        rank = range(system.rank)
        # dlog c1 = 2 S11 ∂11 + S12 ∂12 on the expectation, and i on the factor c1^i
        along = [
            [[2 * diagonal * p[i][j] + s12 * p12[i][j] for j in rank] for i in rank]
            for p, diagonal in ((p11, s11), (p22, s22))
        ]
        for side, matrix in enumerate(along):
            for i in rank:
                matrix[i][i] = matrix[i][i] + exponents[i][side]
        self.matrices = [p12, *along]

    def table(self) -> PolarTable:
        split = [
            {(i, j): self._split(entry) for i, row in enumerate(m) for j, entry in enumerate(row) if entry}
            for m in self.matrices
        ]
        row = {j: self._split(entry) for j, entry in enumerate(self.matrices[0][self._first()]) if entry}
        parts = [part for entries in split for part in entries.values()]
        powers = [max((part[1][k] for part in parts), default=0) for k in range(len(self.others))]
        # the power of sin θ in every entry, before the common denominator; θ itself brings -c1 c2 sin θ
        sines = [
            {
                (i, j): self.weights[i] - self.weights[j] - 2 * part[2][0] + (1 if k == 0 else 0)
                for (i, j), part in entries.items()
            }
            for k, entries in enumerate(split)
        ]
        below = [-self.weights[j] - 2 * part[2][0] for j, part in row.items()]
        lowest = min([0, *below, *(e for entries in sines for e in entries.values())])
        if any(self.weights):
            lowest = min(lowest, -1)
        common = -lowest
        bottom = self._product([(f, p) for f, p in zip(self.others, powers, strict=True)])
        tops: list[Polynomial] = []
        places: list[tuple[Array, Array]] = []
        exact: list[Terms] = []
        for k, entries in enumerate(split):
            rows: dict[tuple[int, int], Terms] = {}
            for place, part in entries.items():
                rows[place] = self._terms(part, place, powers, sines[k][place] + common, along_angle=k == 0)
            if k == 0:
                for i, m in enumerate(self.weights):
                    if m:
                        extra = _shift(_polar(bottom), (0, 0, 1, common - 1), Fraction(m))
                        rows[i, i] = _sum(rows.get((i, i), {}), extra)
            ordered = sorted(rows)
            if k == 0:
                exact = [rows[place] for place in ordered]
            tops.append(Polynomial.of([rows[place] for place in ordered]))
            lines, columns = (np.array([p[axis] for p in ordered], dtype=np.intp) for axis in (0, 1))
            places.append((lines, columns))
        first = self._first()
        slope = {
            j: self._terms(part, (first, j), powers, -self.weights[j] - 2 * part[2][0] + common, along_angle=False)
            for j, part in row.items()
        }
        # c1 c2 k′ = c1 c2 (P12 F)_0
        slope_rows = [_shift(slope[j], (1, 1, 0, 0), Fraction(1)) for j in sorted(slope)]
        denominator = _shift(_polar(bottom), (0, 0, 0, common), Fraction(1))
        scale = self.system.scale
        return PolarTable(
            self.system.rank,
            self.exponents,
            self.weights,
            Polynomial.of([denominator]),
            (tops[0], tops[1], tops[2]),
            tuple(places),
            (Polynomial.of(slope_rows), np.array(sorted(slope), dtype=np.intp)),
            (denominator, *exact, *slope_rows),
            tuple(Polynomial.of([_polar(f)]) for f, p in zip(self.others, powers, strict=True) if p),
            common > 0,
            (1.0, 1.0) if scale is None else (float(scale[0]), float(scale[1])),
        )

    def _first(self) -> int:
        if (0, 0) not in self.exponents:
            raise BadInput("expected a basis that contains 1, so that the expectation itself is an entry of F")
        return self.exponents.index((0, 0))

    def _split(self, entry: RationalFunction) -> Part:
        """Numerator, powers of the other factors, of det, S11, S22, and the rational rest of the denominator."""
        special, rest = split_off(entry.denominator, self.special)
        powers, rest = split_off(rest, self.others)
        return entry.numerator, powers, special, int(rest.leading_coefficient())

    def _product(self, factors: Iterable[tuple[fmpz_mpoly, int]]) -> fmpz_mpoly:
        one: fmpz_mpoly = self.system.field.ctx.constant(1)
        return prod((factor**power for factor, power in factors), start=one)

    def _terms(self, part: Part, place: tuple[int, int], powers: list[int], sine: int, along_angle: bool) -> Terms:
        numerator, own, special, constant = part
        i, j = place
        missing = self._product([(f, p - q) for f, p, q in zip(self.others, powers, own, strict=True)])
        terms = _polar(numerator * missing)
        # det = S12² - S11 S22 = -(c1 c2 sin θ)²
        factor = Fraction((-1) ** special[0], constant) * self.quotients[j] / self.quotients[i]
        ci = [self.exponents[i][axis] - self.exponents[j][axis] for axis in (0, 1)]
        down = [2 * special[0] + 2 * special[1 + axis] for axis in (0, 1)]
        extra = 1 if along_angle else 0
        moved = ci[0] - down[0] + extra, ci[1] - down[1] + extra, 0, sine
        return _shift(terms, moved, -factor if along_angle else factor)


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
