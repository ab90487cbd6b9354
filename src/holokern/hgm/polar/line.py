"""Straight lines in the coordinates of a Pfaffian system, Σ or x, as paths for the Taylor stepper.

Polynomials in the coordinates y1, y2, y3 are rewritten with d = y1y3 - y2² as a fourth variable, y1y3 = y2² + d: near
d = 0 powers of the determinant would cancel otherwise, and with them every digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from flint import fmpz_mpoly

from holokern.hgm.steps.path import SeriesEquation, batch_roots
from holokern.hgm.steps.series import Array, multiply_series, power_table
from holokern.pfaffian import PfaffianSystem, split_off

__all__ = ["LinePath", "LineTable"]


@dataclass(frozen=True)
class LineTable:
    """The three matrices over one common denominator, as tables of monomials in the coordinates.

    Attributes
    ----------
    rank : int
    exponents : array of int, (monomials, 4)
        Powers of y1, y2, y3 and d.
    bottom : array, (monomials,)
        The common denominator.
    tops : array, (3, places, monomials)
        Numerators of the entries that are not zero in some matrix.
    places : pair of arrays
        Rows and columns of those entries.
    factors : array, (factors, monomials)
        The irreducible factors of the denominator.
    """

    rank: int
    exponents: Array
    bottom: Array
    tops: Array
    places: tuple[Array, Array]
    factors: Array

    @classmethod
    def of(cls, system: PfaffianSystem) -> LineTable:
        """Prepare a :class:`~holokern.pfaffian.system.PfaffianSystem` in either coordinates."""
        factors = [f.numerator for f in system.singular_locus]
        common = system.field.ctx.constant(1)
        for factor, power in zip(factors, system.multiplicities, strict=True):
            common = common * factor**power
        rank = system.rank
        places = sorted(
            {(i, j) for m in system.matrices for i, row in enumerate(m) for j, entry in enumerate(row) if entry}
        )
        constants = [
            int(split_off(entry.denominator, factors)[1].leading_coefficient())
            for m in system.matrices
            for row in m
            for entry in row
        ]
        scale = int(np.lcm.reduce([abs(c) for c in constants])) if constants else 1
        common = common * scale
        monomials: dict[tuple[int, ...], int] = {}
        numerators = []
        for matrix in system.matrices:
            for i, j in places:
                entry = matrix[i][j]
                numerators.append(_terms(entry.numerator * (common // entry.denominator), monomials))
        bottom, parts = _terms(common, monomials), [_terms(f, monomials) for f in factors]
        count = len(monomials)
        tops = np.array([_dense(t, count) for t in numerators]).reshape(3, len(places), count)
        exponents = np.array(list(monomials), dtype=np.intp).reshape(count, 4)
        rows, columns = (np.array([p[axis] for p in places], dtype=np.intp) for axis in (0, 1))
        dense = np.array([_dense(t, count) for t in parts]).reshape(len(parts), count)
        return cls(rank, exponents, _dense(bottom, count), tops, (rows, columns), dense)


@dataclass(frozen=True)
class LinePath:
    """Lines from ``start`` (t = 0) to ``end`` (t = 1), (tracks, 3) each."""

    table: LineTable
    start: Array
    end: Array

    @property
    def rank(self) -> int:
        """The number of entries of the vector."""
        return self.table.rank

    @property
    def outputs(self) -> tuple[int, ...]:
        """Only the first entry matters."""
        return (0,)

    @cached_property
    def _speed(self) -> Array:
        return self.end - self.start

    def _monomials(self, tracks: Array, at: Array, order: int) -> Array:
        """Series of all monomials along the line, (tracks, monomials, order + 1)."""
        kind = np.result_type(at, self.start)
        lines = np.zeros((4, len(tracks), max(order + 1, 3)), dtype=kind)
        for axis in range(3):
            lines[axis, :, 0] = self.start[tracks, axis] + at * self._speed[tracks, axis]
            lines[axis, :, 1] = self._speed[tracks, axis]
        lines[3] = multiply_series(lines[0], lines[2], lines.shape[2] - 1)
        lines[3] -= multiply_series(lines[1], lines[1], lines.shape[2] - 1)
        # all series are polynomials, of degree two in d
        exponents = self.table.exponents
        width = min(order, int((exponents @ [1, 1, 1, 2]).max())) + 1
        product = np.zeros((len(tracks), len(exponents), width), dtype=kind)
        product[:, :, 0] = 1.0
        for line, powers in zip(lines, exponents.T, strict=True):
            table = power_table(line[:, : min(3, order + 1)], int(powers.max()), width - 1)
            product = multiply_series(product, table[:, powers], width - 1)
        result = np.zeros((len(tracks), len(exponents), order + 1), dtype=kind)
        result[:, :, :width] = product
        return result

    @cached_property
    def _roots(self) -> Array:
        """The parameters where a factor of the denominator vanishes, infinite ones included."""
        tracks = np.arange(len(self.start))
        order = int((self.table.exponents @ [1, 1, 1, 2]).max())
        series = self._monomials(tracks, np.zeros(len(tracks)), order)
        found = [batch_roots(np.einsum("m,pmn->pn", factor, series)) for factor in self.table.factors]
        return np.concatenate([*found, np.full((len(tracks), 1), np.inf + 0j)], axis=1)

    def distance(self, tracks: Array, at: Array) -> Array:
        """How far the nearest zero of the denominator is."""
        at = np.asarray(at)
        roots = self._roots[tracks]
        roots = roots.reshape(len(roots), *(1,) * (at.ndim - 1), roots.shape[1])
        finite = np.isfinite(roots)
        gaps = np.abs(at[..., None] - np.where(finite, roots, 0))
        return np.asarray(np.min(np.where(finite, gaps, np.inf), axis=-1))

    def equation_at(self, tracks: Array, at: Array, order: int) -> SeriesEquation:
        """The equation as series in t - ``at``."""
        series = self._monomials(tracks, at, order)
        # numerators along the line: the matrices weighted by the speed
        mixed = np.einsum("pv,vem->pem", self._speed[tracks], self.table.tops)
        top = np.zeros((len(tracks), order + 1, self.rank, self.rank), dtype=series.dtype)
        top[:, :, self.table.places[0], self.table.places[1]] = np.moveaxis(mixed @ series, 1, 2)
        bottom = np.einsum("m,pmn->pn", self.table.bottom, series)
        # d itself is a difference
        noise = np.abs(series[:, :, 0]) @ np.abs(self.table.bottom) / np.maximum(np.abs(bottom[:, 0]), 1e-300)
        return SeriesEquation(bottom, top, None, noise)


def _terms(polynomial: fmpz_mpoly, monomials: dict[tuple[int, ...], int]) -> list[tuple[int, float]]:
    """The coefficients after y1^i y3^j = y1^(i-m) y3^(j-m) (y2² + d)^m, m the smaller of i and j."""
    total: dict[tuple[int, ...], int] = {}
    for key, value in polynomial.terms():
        i, k, j = map(int, key)
        m = min(i, j)
        for e in range(m + 1):
            new = (i - m, k + 2 * (m - e), j - m, e)
            total[new] = total.get(new, 0) + int(value) * comb(m, e)
    return [(monomials.setdefault(key, len(monomials)), float(value)) for key, value in total.items() if value]


def _dense(terms: list[tuple[int, float]], count: int) -> Array:
    row = np.zeros(count)
    for place, value in terms:
        row[place] = value
    return row
