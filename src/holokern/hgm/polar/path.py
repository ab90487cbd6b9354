"""Paths in the deviations and the angle of a dual activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holokern.hgm.polar.tables import PolarTable, Polynomial
from holokern.hgm.steps.series import (
    Array,
    SeriesEquation,
    batch_roots,
    multiply_series,
    nearest_root,
    power_table,
    trigonometric_series,
)


@dataclass(frozen=True)
class PolarPath:
    """What paths in the deviations and the angle share."""

    table: PolarTable

    @property
    def rank(self) -> int:
        """The number of entries of H."""
        return self.table.rank

    @property
    def outputs(self) -> tuple[int, ...]:
        """The places of k and k′."""
        return self.table.outputs


@dataclass(frozen=True)
class AnglePath(PolarPath):
    """Fixed deviations; the parameter is the angle θ.  In Σ this is a straight line.

    Attributes
    ----------
    table : PolarTable
    c1, c2 : arrays, (tracks,)
    """

    c1: Array
    c2: Array

    @cached_property
    def _scaled(self) -> tuple[Array, Array]:
        return self.c1 * self.table.scale[0], self.c2 * self.table.scale[1]

    @cached_property
    def _coefficients(self) -> tuple[Array, Array, Array]:
        table = self.table
        return tuple(p.at(*self._scaled) for p in (table.bottom, table.tops[0], table.slope[0]))  # type: ignore[return-value]

    @cached_property
    def _sizes(self) -> tuple[Array, Array]:
        return self.table.bottom.squared.at(*self._scaled), self.table.tops[0].squared.at(*self._scaled)

    @cached_property
    def roots(self) -> Array:
        """The angles where D vanishes, other than 0 and π: (tracks, any number), NaN where there are fewer."""
        found = [_arccos(_roots(factor.at(*self._scaled)[:, 0], factor)) for factor in self.table.factors]
        roots = np.concatenate([*found, np.full((len(self.c1), 1), np.nan + 0j)], axis=1)
        return np.concatenate([roots, -roots, 2 * np.pi - roots], axis=1)

    def distance(self, tracks: Array, at: Array) -> Array:
        """How far the nearest zero of D is from each point."""
        at = np.asarray(at)
        nearest = nearest_root(at, self.roots[tracks])
        if self.table.ends:
            nearest = np.minimum(nearest, np.minimum(np.abs(at), np.abs(np.pi - at)))
        return np.asarray(nearest)

    def equation_at(self, tracks: Array, at: Array, order: int) -> SeriesEquation:
        """The equation as series in θ - ``at``."""
        # all tracks start at the same angle, where one set of waves serves them all
        cosine, sine = trigonometric_series(at[:1] if np.all(at == at[:1]) else at, 1.0, order)
        polynomials = self.table.bottom, self.table.tops[0], self.table.slope[0]
        waves = _Waves(cosine, sine, polynomials, order)
        series = [waves.of(p) for p in polynomials]
        bottom, top, slope = (
            coefficients[tracks] @ wave for wave, coefficients in zip(series, self._coefficients, strict=True)
        )
        # rounding errors of the terms are independent, so their squares add up
        sizes = [np.sqrt(size[tracks] @ np.abs(wave) ** 2) for wave, size in zip(series[:2], self._sizes, strict=True)]
        places = self.table.places[0]
        return _assemble(self.table, bottom, [(top, places)], slope, (sizes[0], [(sizes[1], places)]))


@dataclass(frozen=True)
class SegmentPath(PolarPath):
    """Deviations and angle both move: log c1, log c2 and θ are linear in the parameter t, from 0 to 1.

    Attributes
    ----------
    table : PolarTable
    start, end : arrays, (tracks, 3)
        c1, c2, θ at both ends; θ may be complex.
    """

    start: Array
    end: Array

    @cached_property
    def _speed(self) -> Array:
        logs = [np.log(np.real(self.end[:, k]) / np.real(self.start[:, k])) for k in (0, 1)]
        return np.stack([*logs, self.end[:, 2] - self.start[:, 2]], axis=1)

    def distance(self, tracks: Array, at: Array) -> Array:
        """How far the nearest zero of D is: known for sin θ = 0, else estimated by the roots of a Taylor polynomial."""
        at = np.asarray(at)
        shape = at.shape
        at = at.reshape(len(tracks), -1)
        nearest = np.full(at.shape, np.inf)
        start, speed = self.start[tracks, 2][:, None], self._speed[tracks, 2][:, None]
        if self.table.ends:
            with np.errstate(divide="ignore", invalid="ignore"):
                for end in (0.0, np.pi):
                    gap = np.abs((end - start - at * speed) / speed)
                    nearest = np.minimum(nearest, np.where(np.abs(speed) > 0, gap, np.inf))
        if self.table.factors:
            for column in range(at.shape[1]):
                factors = self._factors(tracks, at[:, column])
                nearest[:, column] = np.minimum(nearest[:, column], _nearest_zero(factors))
        return nearest.reshape(shape)

    def _factors(self, tracks: Array, at: Array) -> list[Array]:
        order = 8
        waves = self._waves(tracks, at, self.table.factors, order)
        return [self._moving(p, tracks, at, waves, order)[:, 0] for p in self.table.factors]

    def _waves(self, tracks: Array, at: Array, polynomials: Sequence[Polynomial], order: int) -> _Waves:
        speed = self._speed[tracks, 2]
        cosine, sine = trigonometric_series(self.start[tracks, 2] + at * speed, speed, order)
        return _Waves(cosine, sine, polynomials, order)

    def equation_at(self, tracks: Array, at: Array, order: int) -> SeriesEquation:
        """The equation as series in t - ``at``."""
        table = self.table
        polynomials = (table.bottom, *table.tops, table.slope[0])
        waves = self._waves(tracks, at, polynomials, order)
        series = [self._moving(p, tracks, at, waves, order) for p in polynomials]
        speed = self._speed[tracks]
        weights = speed[:, 2], speed[:, 0], speed[:, 1]
        moving = zip(series[1:4], table.places, weights, strict=True)
        tops = [(top * weight[:, None, None], places) for top, places, weight in moving if top.shape[1]]
        sizes = [self._moving(p, tracks, at, waves, order, squares=True) for p in polynomials[:-1]]
        moving = zip(sizes[1:], table.places, weights, strict=True)
        above = [(np.abs(top * weight[:, None, None]), places) for top, places, weight in moving if top.shape[1]]
        return _assemble(table, series[0], tops, series[4], (sizes[0], above))

    def _moving(
        self, polynomial: Polynomial, tracks: Array, at: Array, waves: _Waves, order: int, *, squares: bool = False
    ) -> Array:
        """Σ coefficient · c1^a c2^b · cos^k sin^e, (points, polynomials, order + 1), or the root of the sum of squares.

        Rounding errors of the terms are independent, so their squares add up.
        """
        if not polynomial.table.shape[1]:
            return np.zeros((len(tracks), 0, order + 1))
        speed = self._speed[tracks]
        c1 = np.real(self.start[tracks, 0]) * np.exp(at * np.real(speed[:, 0])) * self.table.scale[0]
        c2 = np.real(self.start[tracks, 1]) * np.exp(at * np.real(speed[:, 1])) * self.table.scale[1]
        rate = np.real(speed[:, :2]) @ polynomial.deviations.T
        scalars = c1[:, None] ** polynomial.deviations[:, 0] * c2[:, None] ** polynomial.deviations[:, 1]
        factorial = np.cumprod(np.concatenate([[1.0], np.arange(1.0, order + 1)]))
        deviations = (scalars * 1.0)[..., None] * rate[..., None] ** np.arange(order + 1) / factorial
        table, angle = polynomial.table, waves.of(polynomial)
        if squares:
            deviations, table, angle = np.abs(deviations) ** 2, table**2, np.abs(angle) ** 2
        count, rows, columns = table.shape
        mixed = np.matmul(np.moveaxis(deviations, 1, 2), table.reshape(count, -1))
        mixed = np.moveaxis(mixed.reshape(len(tracks), order + 1, rows, columns), 1, 3)
        total = np.zeros((len(tracks), rows, order + 1), dtype=np.result_type(mixed, angle))
        for column in range(columns):
            if np.any(polynomial.table[:, :, column]):
                total += multiply_series(mixed[:, :, column], angle[:, None, column], order)
        return np.sqrt(total) if squares else total


class _Waves:
    """Series of the monomials cos^k sin^e."""

    def __init__(self, cosine: Array, sine: Array, polynomials: Sequence[Polynomial], order: int) -> None:
        angles = np.concatenate([p.angles for p in polynomials])
        highest = angles.max(axis=0)
        self.cosines = power_table(cosine, int(highest[0]), order)
        self.sines = power_table(sine, int(highest[1]), order)
        self.order = order
        self.known: dict[tuple[int, int], Array] = {}

    def of(self, polynomial: Polynomial) -> Array:
        """(points, monomials, order + 1)."""
        return np.stack([self._monomial(int(k), int(e)) for k, e in polynomial.angles], axis=1)

    def _monomial(self, k: int, e: int) -> Array:
        if not k or not e:
            return self.sines[:, e] if e else self.cosines[:, k]
        if (k, e) not in self.known:
            self.known[k, e] = multiply_series(self.cosines[:, k], self.sines[:, e], self.order)
        return self.known[k, e]


_Placed = list[tuple[Array, tuple[Array, Array]]]


def _assemble(
    table: PolarTable, bottom: Array, tops: _Placed, slope: Array, sizes: tuple[Array, _Placed]
) -> SeriesEquation:
    points, _, width = bottom.shape
    both = sizes[0][:, 0], _matrix(table, sizes[1], (points, width))
    whole = _matrix(table, tops, (points, width))
    if table.outputs[1] >= 0:
        return SeriesEquation(bottom[:, 0], whole, None, both)
    row = np.zeros((points, width, table.rank), dtype=whole.dtype)
    row[:, :, table.slope[1]] = np.moveaxis(slope, 1, 2)
    return SeriesEquation(bottom[:, 0], whole, row, both)


def _matrix(table: PolarTable, tops: _Placed, shape: tuple[int, int]) -> Array:
    """The matrix series from their entries, (points, width, rank, rank)."""
    kind = np.result_type(float, *(top for top, _ in tops))
    whole = np.zeros((*shape, table.rank, table.rank), dtype=kind)
    for top, (rows, columns) in tops:
        whole[:, :, rows, columns] += np.moveaxis(top, 1, 2)
    return whole


def _roots(coefficients: Array, factor: Polynomial) -> Array:
    """Roots in r = cos θ of polynomials given by their coefficients of cos^k, one row for each track."""
    degree = int(factor.angles[:, 0].max())
    dense = np.zeros((len(coefficients), degree + 1))
    dense[:, factor.angles[:, 0]] = coefficients
    return batch_roots(dense)


def _arccos(r: Array) -> Array:
    with np.errstate(invalid="ignore"):
        finite = np.where(np.isfinite(r), r, 0)
        return np.where(np.isfinite(r), np.arccos(finite.astype(complex)), np.nan)


def _nearest_zero(factors: list[Array]) -> Array:
    """The smallest root of Taylor polynomials, a rough measure."""
    nearest = np.full(len(factors[0]), np.inf)
    for series in factors:
        size = np.abs(batch_roots(series))
        nearest = np.minimum(nearest, np.min(np.where(np.isnan(size), np.inf, size), axis=1))
    return nearest
