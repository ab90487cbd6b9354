"""A function of one variable as a table of polynomials on equal panels: much quicker than the function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from holokern.dual.quadrature.pairing import Side
from holokern.dual.quadrature.profile import HALF_RANGE, profile_of
from holokern.errors import PrecisionLost
from holokern.numeric.chebyshev import chebyshev_matrix, chebyshev_nodes
from holokern.numeric.panels import Array

__all__ = ["Table", "enough_terms", "tables_of", "tabulate"]

_DEGREE = 15
_TAIL = 4e-14
_WIDEST = 0.5
_SHORT = 8
_MOST_PARTS = 16
_NEGLIGIBLE = 2e-16
_MOST_PANELS = 1 << 17


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
        middle = np.asarray(width * (np.arange(-half, half) + 0.5), dtype=np.float64)
        with np.errstate(all="ignore"):
            table = function(middle[:, None] + width / 2 * nodes) @ matrix.T
        size = np.maximum(np.max(np.abs(table), axis=1), _neighbourhood(table))
        if np.all(np.max(np.abs(table[:, -2:]), axis=1) <= 2e-15 * size + _rounding(table, middle, width)):
            return _split(table, size, width, half)
        width /= 2


def _rounding(table: Array, middle: Array, width: float) -> Array:
    """What the rounding of u itself does to the function on each panel."""
    slope = np.abs(table[:, 1:5]) @ np.arange(1, 5) ** 2.0 * (2 / width)
    return np.asarray(np.finfo(float).eps / 4 * np.abs(middle) * slope)


def _split(table: Array, size: Array, width: float, half: int) -> Table:
    """Shorter polynomials in powers of x on equal parts of the panels: they take less time."""
    parts = 1
    while True:
        to_short = _to_short(parts)
        short = np.einsum("skm,pm->psk", to_short, table, optimize=True)
        lost = np.max(np.abs(short[:, :, _SHORT:]), axis=(1, 2))
        if np.all(lost <= _NEGLIGIBLE * size) or parts == _MOST_PARTS:
            powers = short[:, :, :_SHORT].reshape(-1, _SHORT) @ _to_powers()
            return Table(np.ascontiguousarray(powers), width / parts, half * parts, width)
        parts *= 2


@lru_cache(maxsize=16)
def _to_short(parts: int) -> Array:
    """From coefficients of the T_m on [-1, 1] to those on each of its equal parts, two more than are kept."""
    nodes, matrix = chebyshev_nodes(_SHORT + 2), chebyshev_matrix(_SHORT + 2)
    at = (2 * np.arange(parts)[:, None] + 1 + nodes) / parts - 1
    return np.asarray(matrix @ np.polynomial.chebyshev.chebvander(at, _DEGREE))


@lru_cache(maxsize=1)
def _to_powers() -> Array:
    rows = np.zeros((_SHORT, _SHORT))
    for m in range(_SHORT):
        powers = np.polynomial.chebyshev.cheb2poly(np.eye(_SHORT)[m])
        rows[m, : len(powers)] = powers
    return rows


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
        Coefficients of the powers of x in [-1, 1], eight for each panel.
    width
        Width of a panel.
    half
        Panels on either side of zero.
    grain
        What a polynomial of degree 15 covers.
    """

    rows: Array
    width: float
    half: int
    grain: float

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
