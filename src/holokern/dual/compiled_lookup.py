"""The machine code of tables and of sums over sectors; apart, as importing numba takes a while."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

__all__ = ["look_up", "sector_sums"]

_AT_ONCE = 1024


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def look_up(u: Any, table: Any, panels_a_unit: Any, half: Any, result: Any) -> None:
    """The polynomial of the panel that holds each u; points beyond the ends use the last panel.

    The sum is taken in pairs, as a chain of products would wait for each of them.
    """
    last = table.shape[0] - 1
    for i in range(u.shape[0]):
        place = u[i] * panels_a_unit
        panel = min(max(math.floor(place) + half, 0), last)
        x = 2 * (place - (panel - half)) - 1
        square = x * x
        low = (table[panel, 0] + table[panel, 1] * x) + (table[panel, 2] + table[panel, 3] * x) * square
        high = (table[panel, 4] + table[panel, 5] * x) + (table[panel, 6] + table[panel, 7] * x) * square
        result[i] = low + high * (square * square)


@numba.njit(cache=True, nogil=True, fastmath=True)
def sector_sums(
    table: Any,
    panels_a_unit: Any,
    half: Any,
    first: Any,
    second: Any,
    alike: Any,
    sines: Any,
    weights: Any,
    rho: Any,
    masses: Any,
    same: Any,
    opposite: Any,
) -> None:
    """Σ w f(±c_a ρ sin t) f(±c_b ρ sin(α - t)) for equal and for opposite signs, all a and b; ``sines`` is sin t.

    ``alike`` says that both sets of deviations are one. A product of small matrices by hand: a threaded BLAS is slower
    here, and much slower on a busy machine.
    """
    angles = sines.shape[0]
    # Some radii at a time, so that all values stay in the cache.
    radii = max(1, min(rho.shape[0], _AT_ONCE // angles))
    same[:], opposite[:] = 0.0, 0.0
    points = np.empty(angles * radii)
    heavy_right, heavy_left = np.empty(angles * radii), np.empty(angles * radii)
    right, left = np.empty((first.shape[0], angles * radii)), np.empty((first.shape[0], angles * radii))
    others = 0 if alike else second.shape[0]
    other_right, other_left = np.empty((others, angles * radii)), np.empty((others, angles * radii))
    for start in range(0, rho.shape[0], radii):
        for t in range(angles):
            for i in range(radii):
                # Beyond the last radius the weight is zero.
                points[t * radii + i] = sines[t] * rho[min(start + i, rho.shape[0] - 1)]
        _both_signs(table, panels_a_unit, half, first, points, right, left)
        if not alike:
            _both_signs(table, panels_a_unit, half, second, points, other_right, other_left)
        for a in range(first.shape[0]):
            # Reversed in t, so that the inner loops run forwards over both factors.
            for t in range(angles):
                for i in range(radii):
                    weight = weights[t] * masses[start + i] if start + i < rho.shape[0] else 0.0
                    heavy_right[(angles - 1 - t) * radii + i] = weight * right[a, t * radii + i]
                    heavy_left[(angles - 1 - t) * radii + i] = weight * left[a, t * radii + i]
            for b in range(a + 1 if alike else others):
                there_right, there_left = (right[b], left[b]) if alike else (other_right[b], other_left[b])
                equal = 0.0
                unequal = 0.0
                for i in range(angles * radii):
                    equal += heavy_right[i] * there_right[i] + heavy_left[i] * there_left[i]
                    unequal += heavy_right[i] * there_left[i] + heavy_left[i] * there_right[i]
                same[a, b] += equal
                opposite[a, b] += unequal
    if alike:
        for a in range(first.shape[0]):
            for b in range(a):
                same[b, a], opposite[b, a] = same[a, b], opposite[a, b]


@numba.njit(cache=True, nogil=True)
def _both_signs(table: Any, panels_a_unit: Any, half: Any, c: Any, points: Any, right: Any, left: Any) -> None:
    """f(c p) and f(-c p) at all points p, one row for each c."""
    u = np.empty(points.shape[0])
    for a in range(c.shape[0]):
        for i in range(points.shape[0]):
            u[i] = c[a] * points[i]
        look_up(u, table, panels_a_unit, half, right[a])
        for i in range(points.shape[0]):
            u[i] = -u[i]
        look_up(u, table, panels_a_unit, half, left[a])
