"""Points as unit vectors with lengths, and the data that a matrix is a part of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from holokern.errors import PrecisionLost
from holokern.numeric import Array, rounding_of_lengths, small_angles, unit_vectors

MULTIPLE = 8
"""Products of matrices with such numbers of rows have entries whose bits do not depend on their places."""

_TOGETHER = 1024
"""Small angles at a time."""

_LONGEST = 1e150
"""Norms whose squares, times the squares of a few layers' weights, are floats."""


@dataclass(frozen=True, eq=False)
class Points:
    """Points as unit vectors with their lengths, sorted by length so that neighbours have similar deviations."""

    # padded, length: Directions and lengths, the bias included as one more coordinate. The directions are
    # followed by rows of zeros up to a multiple of 8: products of such matrices have entries whose bits do not
    # depend on their places.
    padded: Array
    length: Array
    # order, rank: ``order[s]`` is the original place of the point ``s``, ``rank`` the inverse
    order: NDArray[np.intp]
    rank: NDArray[np.intp]
    is_sorted: bool  # False if the points kept their order, because only their directions matter
    # given, scale, bias: the points as they were given, in their own order, and what made them the points here:
    # floats are exact numbers, and directions and lengths are rounded
    given: Array
    scale: float
    bias: float

    def rows(self, places: NDArray[np.intp]) -> Array:
        """Some points as they were given, up to their scale and with the bias."""
        found = self.given[self.order[places]]
        return np.column_stack([found, np.full(len(found), self.bias / self.scale)]) if self.bias else found

    @cached_property
    def rounding(self) -> Array:
        """By how much the true lengths exceed the floats, relative to them."""
        found = rounding_of_lengths(self.given, self.scale, self.bias / self.scale, self.length[self.rank])
        return found[self.order]

    def to_single(self) -> Points:
        """The same with directions in single precision."""
        return replace(self, padded=np.asarray(self.padded, dtype=np.float32))

    @classmethod
    def of(cls, x: Array, scale: float, bias: float, sort: bool = True) -> Points:
        """Points of an array with one row each.

        Raises PrecisionLost if the square of a norm exceeds the range of floats.
        """
        given = np.asarray(x, dtype=float)
        points = given
        if scale != 1.0:
            points = points * scale
        if bias:
            points = np.concatenate([points, np.full((len(points), 1), bias)], axis=1)
        unit, length = unit_vectors(points)
        longest = float(np.max(length, initial=0.0))
        if longest > _LONGEST:
            raise PrecisionLost(
                f"a point has the norm {longest:.3g}, whose square exceeds the range of floats; scale the data"
            )
        if not sort:
            order = np.arange(len(length))
            return cls(_padded(unit), length, order, order, False, given, scale, bias)
        order = np.argsort(length, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(_padded(unit[order]), length[order], order, rank, True, given, scale, bias)


def _padded(unit: Array) -> Array:
    more = -len(unit) % MULTIPLE
    return np.concatenate([unit, np.zeros((more, unit.shape[1]))]) if more else np.ascontiguousarray(unit)


def angles_of_tile(rows: Points, columns: Points, some: slice, others: slice) -> tuple[Array, Array]:
    """Cosines of angles between points and the angles: their bits depend on the two points alone.

    Both slices start at a multiple of `MULTIPLE`; there may be a few more rows and columns than asked for.
    """
    from holokern.numeric import machine

    first, second = (
        one.padded[part.start : part.start - (part.start - part.stop) // MULTIPLE * MULTIPLE]
        for one, part in ((rows, some), (columns, others))
    )
    cosines = first @ second.T
    angles = cosines.copy()
    known = 0
    if rows is columns:
        # A point and itself need no care.
        last = min(some.start + len(first), others.start + len(second))
        known = int(np.count_nonzero(rows.length[max(some.start, others.start) : last]))
    if machine.angles_between(angles, first, second) > known:
        _sharpen(angles, machine.TINY, rows, columns, some, others)
    return cosines, angles


def _sharpen(angles: Array, tiny: float, rows: Points, columns: Points, some: slice, others: slice) -> None:
    """Angles that are too small for rounded unit vectors from the points as they were given, in place."""
    places, partners = np.nonzero(np.minimum(angles, np.pi - angles) < tiny)
    first, second = some.start + places, others.start + partners
    wanted = (first < len(rows.length)) & (second < len(columns.length)) & ((first != second) | (rows is not columns))
    for start in range(0, np.count_nonzero(wanted), _TOGETHER):
        part = np.nonzero(wanted)[0][start : start + _TOGETHER]
        here = places[part], partners[part]
        found = small_angles(rows.rows(first[part]), columns.rows(second[part]))
        angles[here] = np.where(angles[here] < 1.0, found, np.pi - found)


@dataclass(frozen=True, eq=False)
class Strip:
    """Some rows and some columns of a matrix, the columns from one on."""

    # some, others: the rows and the columns
    some: slice
    others: slice
    first: int  # the column from which on there are angles, a multiple of `MULTIPLE`
    # cosines, theta: cosines of the angles of all pairs and the angles; there may be a few more rows and columns
    cosines: Array
    theta: Array

    @classmethod
    def of(cls, rows: Points, columns: Points, some: slice, others: slice, start: int) -> Strip:
        """The strip with angles from the column ``start`` on or a little before."""
        first = start // MULTIPLE * MULTIPLE
        return cls(some, others, first, *angles_of_tile(rows, columns, some, slice(first, others.stop)))


@dataclass(frozen=True)
class DataRange:
    """The data that a matrix is a part of: the same for all parts, so that they share one table and its bits.

    Attributes
    ----------
    low, high
        The smallest and the largest positive deviation; infinity and 0 if there is none.
    pairs
        The number of entries.
    zeros
        Whether there are zero vectors.
    """

    low: float
    high: float
    pairs: int
    zeros: bool = False

    @classmethod
    def of(cls, *lengths: Array) -> DataRange:
        """The data of one or two sides."""
        positive = [one[one > 0] for one in lengths]
        low = min((float(np.min(one)) for one in positive if len(one)), default=np.inf)
        high = max((float(np.max(one)) for one in positive if len(one)), default=0.0)
        return cls(low, high, len(lengths[0]) * len(lengths[-1]), any(bool(np.any(one == 0)) for one in lengths))

    @classmethod
    def union(cls, parts: list[DataRange], shape: tuple[int, int]) -> DataRange:
        """The data of a matrix of this shape, from parts of it."""
        low, high = min(part.low for part in parts), max(part.high for part in parts)
        return cls(low, high, shape[0] * shape[1], any(part.zeros for part in parts))
