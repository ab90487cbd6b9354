"""The machine code of what is known of single outputs, and of angles from distances."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from holokern.numeric import machine

_U = np.uint64
"""Indices of arrays: for signed ones numba allows for negative ones, and loops do not become vector instructions."""

_WIDTH = 64
"""Outputs at a time, so that their sums stay in the nearest cache."""


@numba.njit(inline="always")
def _gap(distance: Any, c: Any, d: Any) -> Any:
    """1 - cos θ from the half squared distance of two Gaussian variables with deviations c and d."""
    apart = c - d
    return (distance - 0.5 * apart * apart) / (c * d)


@machine.entry
def angles_of(gap: Any, rows: Any, columns: Any, theta: Any) -> None:
    """The angles of one tile from its half squared distances, and the deviations of its rows and columns."""
    for i in range(gap.shape[0]):
        for j in range(gap.shape[1]):
            theta[i, j] = machine.angle_from_gap(_gap(gap[i, j], rows[i], columns[j]))


@machine.entry
def chebyshev_sums(weights: Any, fours: Any, columns: Any, places: Any, values: Any) -> None:
    """Σ_m weights[q, m] T_m at flat ``places``, for each of some columns q, into flat ``values``.

    The weights and their ``fours`` are those of `machine.weighted_rows`.
    """
    terms, x = machine.Fours(weights, 0, fours, 0, fours.shape[0]), machine.on_stack(_WIDTH)
    length, w, most = places.shape[0], _U(_WIDTH), machine.longest(terms)
    found = np.empty((columns + 3) // 4 * 4 * _WIDTH)
    rows = machine.Rows(np.empty(4 * most * _WIDTH), 0, _WIDTH)
    for start in range(0, length, _WIDTH):
        size = _U(min(_WIDTH, length - start))
        for j in range(w):
            x[j] = places[_U(start) + j] if j < size else 0.0
        vectors = (int(size) + 2 * machine.LANES - 1) // (2 * machine.LANES)
        machine.chebyshev_rows(x, most, rows, vectors)
        machine.weighted_rows(terms, rows, machine.Rows(found, 0, _WIDTH), vectors)
        for q in range(columns):
            source, to = _U(q * _WIDTH), _U(q * length + start)
            for j in range(size):
                values[to + j] = found[source + j]
