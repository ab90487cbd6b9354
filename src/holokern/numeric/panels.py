"""Gauss–Legendre panels of many points at once, kept ragged so that no empty panel is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Some = slice | Index
"""Some of many, such as rows of a matrix, by their places."""
AnyArray: TypeAlias = Any
"""An array of numpy, JAX or torch: they have no common type."""
EPS = float(np.finfo(float).eps)
"""The distance from 1 to the next float."""


@dataclass(frozen=True)
class Panels:
    """Intervals [start, start + width], each belonging to the point ``owner``; owners do not decrease."""

    owner: Index
    start: Array
    width: Array

    def __len__(self) -> int:
        return len(self.owner)

    def halved(self, times: int) -> Panels:
        """Every panel cut into 2^times equal ones.

        Examples
        --------
        >>> p = between(np.array([[0.0, 1.0]])).halved(1)
        >>> p.start.tolist(), p.width.tolist()
        ([0.0, 0.5], [0.5, 0.5])
        """
        if not times:
            return self
        parts = 2**times
        width = np.repeat(self.width / parts, parts)
        start = np.repeat(self.start, parts) + width * np.tile(np.arange(parts), len(self))
        return Panels(np.repeat(self.owner, parts), start, width)

    def total(self, values: Array, points: int) -> Array:
        """Sum of one value for each panel over the panels of each point."""
        return np.asarray(np.bincount(self.owner, weights=values, minlength=points), dtype=float)

    def part(self, some: slice | NDArray[np.bool_]) -> Panels:
        """Some of the panels."""
        return Panels(self.owner[some], self.start[some], self.width[some])


def between(ends: Array) -> Panels:
    """The panels between consecutive entries of each row, empty ones left out.

    Examples
    --------
    >>> between(np.array([[1.0, 0.0, 0.0], [2.0, 2.0, 2.0]])).width.tolist()
    [1.0]
    """
    ends = np.sort(ends, axis=1)
    width = np.diff(ends, axis=1)
    owner, column = np.nonzero(width > 0)
    return Panels(owner, ends[owner, column], width[owner, column])
