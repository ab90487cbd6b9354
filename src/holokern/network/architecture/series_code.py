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
def chebyshev_sums(coefficients: Any, places: Any, values: Any) -> None:
    """Σ coefficients[q, m] T_m at flat ``places``, for each q; there are an even number of terms."""
    count, terms, length = coefficients.shape[0], coefficients.shape[1], places.shape[0]
    x, one, two, total = (
        machine.on_stack(_WIDTH),
        machine.on_stack(_WIDTH),
        machine.on_stack(_WIDTH),
        machine.on_stack(_WIDTH),
    )
    table, flat, place = np.empty(terms * _WIDTH), values.reshape(-1), places
    for start in range(0, length, _WIDTH):
        size = _U(min(_WIDTH, length - start))
        for j in range(size):
            x[j] = place[_U(start) + j]
            one[j] = 1.0
            two[j] = x[j]
        for m in range(0, terms, 2):
            row = _U(m * _WIDTH)
            for j in range(size):
                table[row + j] = one[j]
                table[row + _U(_WIDTH) + j] = two[j]
                one[j] = 2.0 * x[j] * two[j] - one[j]
                two[j] = 2.0 * x[j] * one[j] - two[j]
        for q in range(count):
            for j in range(size):
                total[j] = 0.0
            for m in range(0, terms, 2):
                a, b, row = coefficients[q, m], coefficients[q, m + 1], _U(m * _WIDTH)
                for j in range(size):
                    total[j] = (total[j] + a * table[row + j]) + b * table[row + _U(_WIDTH) + j]
            to = _U(q * length + start)
            for j in range(size):
                flat[to + j] = total[j]
