"""Straight segments in the coordinates of any Pfaffian system, real or complex, as a path for the Taylor stepper.

On x(t) = a + t (b - a) the system is D(t) F' = N(t) F with polynomials: D is the product of the irreducible factors of
the denominators.  Every factor and every numerator is restricted to the line by itself, so nothing is expanded in
several variables.

Systems in the three coordinates y1, y2, y3 of Σ or x may be written with d = y1y3 - y2² as a fourth variable: near
d = 0 powers of the determinant would cancel otherwise, and with them every digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import comb

import numpy as np
from flint import fmpz_mpoly

from holokern.hgm.steps.series import Array, SeriesEquation, batch_roots, multiply_series, nearest_root, power_table
from holokern.pfaffian import PfaffianSystem, tabulated

Powers = tuple[int, ...]

_WHOLE = 10**6  # more than the degree of any polynomial here
_PLACES = (0.0, 0.3, 0.5, 0.7, 1.0)  # where on a segment the sizes of terms are compared


@dataclass(frozen=True)
class _Group:
    """Entries over one denominator: their places in the matrix and numerators, (variables, places, monomials)."""

    missing: Powers
    rows: Array
    columns: Array
    tops: Array


@dataclass(frozen=True)
class LineTable:
    """A Pfaffian system as tables of floats, for :class:`LinePath`.

    Attributes
    ----------
    rank : int
    exponents : array of int, (monomials, variables)
        The last variable is the determinant where ``determinant`` is set.
    factors : array, (factors, monomials)
        The irreducible factors of the denominators.
    powers : tuple of int
        Their powers in the common denominator.
    groups : tuple
        The entries of the matrices, by denominators.
    determinant : bool
    """

    rank: int
    exponents: Array
    factors: Array
    powers: Powers
    groups: tuple[_Group, ...]
    determinant: bool = False

    @classmethod
    def of(cls, system: PfaffianSystem, determinant: bool = False) -> LineTable:
        """Prepare a system; ``determinant`` for one in three coordinates whose ways come close to y1y3 = y2²."""
        factors, powers = [f.numerator for f in system.singular_locus], system.multiplicities
        polynomials = [*factors, *(numerator for numerator, _, _ in system.entries.values())]
        terms = (_with_determinant(p) if determinant else p.to_dict() for p in polynomials)
        exponents, table = tabulated(list(terms), len(system.variables) + determinant)
        found: dict[Powers, dict[tuple[int, int], list[tuple[int, Array]]]] = {}
        rows = table[len(factors) :]
        for ((variable, i, j), (_, own, scale)), row in zip(system.entries.items(), rows, strict=True):
            missing = tuple(p - q for p, q in zip(powers, own, strict=True))
            found.setdefault(missing, {}).setdefault((i, j), []).append((variable, row / scale))
        groups = []
        for missing, places in found.items():
            tops = np.zeros((len(system.variables), len(places), len(exponents)))
            for place, parts in enumerate(places.values()):
                for v, part in parts:
                    tops[v, place] = part
            lines, columns = np.array(list(places), dtype=np.intp).T
            groups.append(_Group(missing, lines, columns, tops))
        return cls(system.rank, exponents, table[: len(factors)], powers, tuple(groups), determinant)

    def cancellation(self, stops: Sequence[Array]) -> float:
        """How much larger the terms of a denominator or of the numerators are than their sums, on the way."""
        worst = 1.0
        for a, b in pairwise(stops):
            for t in _PLACES:
                point = a + t * (b - a)
                monomials = np.prod(point[:, None] ** self.exponents, axis=2).T
                for rows, together in [(self.factors, False), *((group.tops, True) for group in self.groups)]:
                    terms, sums = np.abs(rows) @ np.abs(monomials), np.abs(rows @ monomials)
                    if together:
                        # entries that are small beside the others do no harm
                        terms, sums = terms.max(axis=(0, 1)), sums.max(axis=(0, 1))
                    with np.errstate(divide="ignore", invalid="ignore"):
                        ratio = np.where(sums > 0, terms / sums, 1.0)
                    worst = max(worst, float(np.max(ratio, initial=1.0)))
        return worst

    def perturbed(self) -> LineTable:
        """The same table with coefficients that differ by rounding."""
        random = np.random.default_rng(2)

        def moved(rows: Array) -> Array:
            return np.asarray(rows * (1 + 2 * np.finfo(float).eps * random.choice([-1.0, 1.0], size=rows.shape)))

        groups = tuple(replace(group, tops=moved(group.tops)) for group in self.groups)
        return replace(self, factors=moved(self.factors), groups=groups)


@dataclass(frozen=True)
class LinePath:
    """Segments from ``start`` (t = 0) to ``end`` (t = 1), (tracks, variables) each."""

    table: LineTable
    start: Array
    end: Array

    @property
    def rank(self) -> int:
        """The number of entries of the vector."""
        return self.table.rank

    @property
    def outputs(self) -> tuple[int, ...]:
        """All entries matter."""
        return tuple(range(self.rank))

    def _monomials(self, tracks: Array, at: Array, order: int) -> Array:
        """All monomials along the lines as polynomials in t - ``at``, (tracks, monomials, degree + 1)."""
        speed = (self.end - self.start)[tracks]
        here = self.start[tracks] + at[:, None] * speed
        exponents = self.table.exponents
        lines = [np.stack(line, axis=1) for line in zip(here.T, speed.T, strict=True)]
        if self.table.determinant:
            lines.append(multiply_series(lines[0], lines[2], 2) - multiply_series(lines[1], lines[1], 2))
        degrees = np.array([line.shape[1] - 1 for line in lines])
        degree = min(order, int((exponents @ degrees).max(initial=0)))
        result = np.zeros((len(tracks), len(exponents), degree + 1), dtype=here.dtype)
        result[:, :, 0] = 1.0
        for line, powers in zip(lines, exponents.T, strict=True):
            highest = int(powers.max(initial=0))
            if highest:
                table = power_table(line, highest, min(degree, highest * (line.shape[1] - 1)))
                result = multiply_series(table[:, powers], result, degree)
        return result

    @cached_property
    def roots(self) -> Array:
        """The parameters where a factor vanishes, (tracks, factors, degree), infinite where there are fewer.

        A factor that vanishes on the whole line has only NaN.
        """
        tracks = np.arange(len(self.start))
        series = self._monomials(tracks, np.zeros(len(tracks)), _WHOLE)
        sizes = self._monomials_size(tracks)
        found = np.full((len(tracks), len(self.table.factors), max(series.shape[2] - 1, 1)), np.inf + 0j)
        for k, factor in enumerate(self.table.factors):
            line = np.einsum("m,pmn->pn", factor, series)
            size = sizes @ np.abs(factor)
            # a coefficient below rounding is zero: such a line is tangent, or lies in the locus
            line = np.where(np.abs(line) <= 1e-14 * size[:, None], 0, line)
            gone = ~np.any(line, axis=1)
            top = int(np.max(np.nonzero(np.any(line, axis=0))[0], initial=0))
            if top:
                # rows of lower degree have a vanishing leading coefficient, which batch_roots takes to infinity
                safe = np.where(gone[:, None], np.eye(top + 1)[0], line[:, : top + 1])
                found[:, k, :top] = batch_roots(safe)
            found[gone, k] = np.nan
        return found

    def _monomials_size(self, tracks: Array) -> Array:
        ends = np.maximum(np.abs(self.start[tracks]), np.abs(self.end[tracks]))
        if self.table.determinant:
            ends = np.concatenate([ends, ends[:, :1] * ends[:, 2:] + ends[:, 1:2] ** 2], axis=1)
        return np.asarray(np.prod(ends[:, None] ** self.table.exponents, axis=2))

    @cached_property
    def _finite_roots(self) -> Array:
        flat = self.roots.reshape(len(self.start), -1)
        return np.where(np.isfinite(flat), flat, 1e300)

    def distance(self, tracks: Array, at: Array) -> Array:
        """How far the nearest zero of the denominator is."""
        return nearest_root(np.asarray(at), self._finite_roots[tracks])

    def equation_at(self, tracks: Array, at: Array, order: int) -> SeriesEquation:
        """The equation as series in t - ``at``; they are polynomials, and end with their degree."""
        table = self.table
        series = self._monomials(tracks, at, order)
        factors = [_trimmed(np.einsum("m,pmn->pn", factor, series)) for factor in table.factors]
        speed = (self.end - self.start)[tracks]
        known: dict[Powers, Array | None] = {(0,) * len(factors): None}

        def product(powers: Powers) -> Array | None:
            """The product of powers of the factors, None for 1; what two of them begin with is multiplied once."""
            if powers not in known:
                last = max(k for k, power in enumerate(powers) if power)
                factor, rest = factors[last], product((*powers[:last], powers[last] - 1, *powers[last + 1 :]))
                whole = factor if rest is None else multiply_series(factor, rest, rest.shape[1] + factor.shape[1] - 2)
                known[powers] = whole
            return known[powers]

        parts = []
        for group in table.groups:
            mixed = np.einsum("pv,vem->pem", speed, group.tops)
            parts.append(multiply_into(mixed @ series, product(group.missing), order))
        bottom = product(table.powers)
        bottom = np.ones((len(tracks), 1), dtype=series.dtype) if bottom is None else bottom[:, : order + 1]
        width = min(order + 1, max([bottom.shape[1], *(part.shape[2] for part in parts)]))
        top = np.zeros((len(tracks), width, table.rank, table.rank), dtype=series.dtype)
        for group, part in zip(table.groups, parts, strict=True):
            top[:, : part.shape[2], group.rows, group.columns] += np.moveaxis(part, 1, 2)
        whole = np.zeros((len(tracks), width), dtype=series.dtype)
        whole[:, : bottom.shape[1]] = bottom
        if not table.determinant:
            return SeriesEquation(whole, top, None)
        # how many units in the last place the denominator is off: the determinant itself is a difference
        here = series[:, :, 0]
        terms, sums = np.abs(here) @ np.abs(table.factors).T, np.abs(here @ table.factors.T)
        noise = 1.0 + (terms / np.maximum(sums, 1e-300)) @ np.array(table.powers)
        return SeriesEquation(
            whole, top, None, (np.abs(whole) * noise[:, None], np.abs(top) * noise[:, None, None, None])
        )


def multiply_into(numerators: Array, cofactor: Array | None, order: int) -> Array:
    """Numerators, (tracks, places, width), times one polynomial a track."""
    numerators = _trimmed(numerators)
    if cofactor is None:
        return numerators[..., : order + 1]
    degree = min(order, numerators.shape[2] + cofactor.shape[1] - 2)
    return multiply_series(cofactor[:, None], numerators, degree)


def _trimmed(series: Array) -> Array:
    """Without the highest coefficients that vanish on all tracks."""
    if series.shape[-1] == 1:
        return series
    kept = np.nonzero(np.any(series != 0, axis=tuple(range(series.ndim - 1))))[0]
    return series[..., : int(np.max(kept, initial=0)) + 1]


def _with_determinant(polynomial: fmpz_mpoly) -> dict[tuple[int, ...], int]:
    """The terms after y1^i y3^j = y1^(i-m) y3^(j-m) (y2² + d)^m, m the smaller of i and j."""
    total: dict[tuple[int, ...], int] = {}
    for key, value in polynomial.terms():
        i, k, j = map(int, key)
        m = min(i, j)
        for e in range(m + 1):
            new = (i - m, k + 2 * (m - e), j - m, e)
            total[new] = total.get(new, 0) + int(value) * comb(m, e)
    return {key: value for key, value in total.items() if value}
