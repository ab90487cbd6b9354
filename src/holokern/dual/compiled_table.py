"""A function of one variable as a table of Chebyshev expansions on equal panels: much quicker than the function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from holokern.dual.pairing import Side
from holokern.dual.panels import Array
from holokern.dual.profile import HALF_RANGE, profile_of
from holokern.errors import PrecisionLost

__all__ = ["Table", "chebyshev_matrix", "chebyshev_nodes", "enough_terms", "tables_of", "tabulate"]

_DEGREE = 15
_TAIL = 4e-14
_WIDEST = 0.5
_MOST_PANELS = 1 << 17


def chebyshev_nodes(count: int) -> Array:
    """The Chebyshev points of the first kind, increasing.

    Examples
    --------
    >>> chebyshev_nodes(3).round(6).tolist()
    [-0.866025, 0.0, 0.866025]
    """
    # As sines they are antisymmetric to the last bit.
    return np.asarray(np.sin(np.pi * (2 * np.arange(count) + 1 - count) / (2 * count)))


@lru_cache(maxsize=128)
def chebyshev_matrix(count: int) -> Array:
    """From values at `chebyshev_nodes` to coefficients of the T_m.

    Examples
    --------
    >>> (abs(chebyshev_matrix(3) @ chebyshev_nodes(3) ** 2)).round(12).tolist()
    [0.5, 0.0, 0.5]
    """
    # Angles as whole multiples of π/(2·count), reduced exactly.
    turns = np.outer(np.arange(count), 2 * np.arange(count)[::-1] + 1) % (4 * count)
    matrix = 2.0 / count * np.cos(np.pi * turns / (2 * count))
    matrix[0] /= 2
    matrix.setflags(write=False)
    return np.asarray(matrix)


def tabulate(function: Callable[[Array], Array], limit: float, label: str) -> Table:
    """The function on [-limit, limit] by a table, for functions that are smooth on either side of zero.

    Raises
    ------
    PrecisionLost
        If no table of bearable size represents the function.

    Examples
    --------
    >>> sine = tabulate(np.sin, 10.0, "sin")
    >>> bool(abs(sine(np.array([3.7]))[0] - np.sin(3.7)) < 1e-15)
    True
    """
    width = _WIDEST
    matrix, nodes = chebyshev_matrix(_DEGREE + 1), chebyshev_nodes(_DEGREE + 1)
    while True:
        half = int(np.ceil(limit / width))
        if half > _MOST_PANELS:
            raise PrecisionLost(
                f"{label} is too rough for a table on [-{limit:.4g}, {limit:.4g}]; use method='quadrature'"
            )
        middle = width * (np.arange(-half, half) + 0.5)
        with np.errstate(all="ignore"):
            table = function(middle[:, None] + width / 2 * nodes) @ matrix.T
        size = np.maximum(np.max(np.abs(table), axis=1), _neighbourhood(table))
        if np.all(np.max(np.abs(table[:, -2:]), axis=1) <= 2e-15 * size):
            return Table(np.ascontiguousarray(table), width, half)
        width /= 2


def _neighbourhood(table: Array) -> Array:
    """The size of the function nearer to zero: the normal density makes what lies farther out count less."""
    half = len(table) // 2
    outwards = np.maximum.accumulate(np.maximum(np.abs(table[half:, 0]), np.abs(table[:half, 0][::-1])))
    return np.concatenate([outwards[::-1], outwards])


@dataclass(frozen=True)
class Table:
    """A table that is called like the function.

    Attributes
    ----------
    rows
        Chebyshev coefficients, one row a panel.
    width
        Width of a panel.
    half
        Panels on either side of zero.
    """

    rows: Array
    width: float
    half: int

    def __call__(self, u: Array) -> Array:
        """The function at an array of points."""
        from holokern.dual.compiled_lookup import look_up

        flat = np.ascontiguousarray(u, dtype=float).ravel()
        result = np.empty(len(flat))
        look_up(flat, self.rows, 1 / self.width, self.half, result)
        return result.reshape(np.shape(u))


def tables_of(sigma: Any, c: Array) -> tuple[Table, Table, float]:
    """Tables of σ and σ̇ for deviations c, and how many deviations their mass reaches."""
    side = Side.of(profile_of(sigma), c)
    reach = HALF_RANGE + float(max(np.max(side.left), np.max(side.right)))
    limit = 1.01 * reach * float(np.max(c))
    label = str(sigma)
    return tabulate(sigma, limit, label), tabulate(sigma.derivative, limit, f"the derivative of {label}"), reach


def enough_terms(counts: tuple[int, ...], tensor: Callable[[int], Array], axis: int, label: str) -> int:
    """The smallest of the counts whose last coefficients along the axis are negligible, trimmed."""
    for count in counts:
        sizes = np.max(np.abs(np.moveaxis(tensor(count), axis, 0)).reshape(count, -1), axis=1)
        if np.max(sizes[-2:]) <= _TAIL:
            return min(count, int(np.max(np.nonzero(sizes > _TAIL)[0], initial=0)) + 3)
    raise PrecisionLost(
        f"{label}: {counts[-1]} Chebyshev terms leave {np.max(sizes[-2:]):.1e}; narrow the range of deviations, for "
        "example by rescaling the data, or use method='quadrature'"
    )
