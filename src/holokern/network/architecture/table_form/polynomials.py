"""Polynomials of deviations and chords in the order in which machine code reads them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from holokern.numeric import Array, chebyshev_basis

_DROPPED, _STEEPER, NOISE = 5e-13, 0.6, 3e-14
"""What each T_m may lose of values of order one; how much larger, in units of m, that is in the derivative: with
`_BEYOND` m / √(1 - x²) times s/2 at the end of a panel; and the errors of tables, below which nothing counts."""


class Panel(NamedTuple):
    """Coefficients of H̃ at pairs of deviations, of shape (n, n, m), and the chords that are -1 and 1."""

    low: float
    high: float
    values: Array

    def at(self, chord: float) -> Array:
        """The values at a chord."""
        x = (2 * chord - self.low - self.high) / (self.high - self.low)
        return np.asarray(self.values @ chebyshev_basis(np.array([x]), self.values.shape[2])[0])


class Polynomials(NamedTuple):
    """The terms of one panel, as `Chords` has them."""

    fours: NDArray[np.int64]
    values: Array


def polynomials_of(panel: Panel, flat: Array, dual: Array) -> Polynomials:
    """The terms that count, from coefficients at pairs of deviations, as powers of the chord behind W or A."""
    core = np.einsum("ap,abm,bq->pqm", dual, panel.values, dual, optimize=True)
    allowed = np.maximum(_DROPPED / (1 + _STEEPER * np.arange(core.shape[2])), NOISE)
    # What is left out with all ψ from the q-th on, of either deviation
    tails = np.sqrt(np.cumsum(np.sum(core**2, axis=0)[::-1], axis=0)[::-1])
    # W counts with all ψ; behind the last power are zeros.
    reach = np.concatenate([[len(core)], np.sum(tails > allowed, axis=0), np.zeros(3, dtype=np.int64)])
    reach = np.max(reach[: len(reach) // 4 * 4].reshape(-1, 4), axis=1)
    fours = np.maximum.accumulate(-(-reach[::-1] // 4))[::-1]
    fours = fours[fours > 0]
    kept = 4 * np.repeat(fours, 4)[1 : 1 + core.shape[2]]
    order = np.arange(len(core))
    core = np.where((order[:, None, None] < kept) & (order[:, None] < kept), core[:, :, : len(kept)], 0.0)
    powers = core @ _powers(len(kept)).T * (2 / (panel.high - panel.low)) ** np.arange(len(kept))
    whole = np.concatenate([(dual.T @ flat @ dual)[:, :, None], powers], axis=2)
    whole = np.pad(whole, ((0, 0), (0, 0), (0, 4 * len(fours) - whole.shape[2])))
    # in the order of `machine.put_in`
    values = [
        whole[: 4 * four, 4 * k : 4 * k + 4, 4 * g : 4 * g + 4].reshape(-1)
        for g, four in enumerate(fours)
        for k in range(four)
    ]
    return Polynomials(fours, np.concatenate(values))


@lru_cache(maxsize=64)
def _powers(count: int) -> Array:
    """The matrix from coefficients of Chebyshev polynomials to those of powers."""
    found = np.zeros((count, count))
    for m in range(count):
        found[: m + 1, m] = chebyshev.cheb2poly(np.eye(count)[m])[: m + 1]
    return found


def in_fours(coefficients: Array) -> tuple[Array, NDArray[np.int64]]:
    """Coefficients, one column for each function, in the order of `machine.weighted_rows`, and how many count.

    Four functions have as many terms as the longest of them, in fours.
    """
    whole = np.pad(coefficients, [(0, -size % 4) for size in coefficients.shape])
    groups = whole.reshape(len(whole), -1, 4).transpose(1, 0, 2)
    lengths = np.max(np.any(groups != 0.0, axis=2) * np.arange(1, len(whole) + 1), axis=1)
    fours = np.maximum(1, -(-lengths // 4))
    return np.concatenate([one[: 4 * four].reshape(-1) for one, four in zip(groups, fours, strict=True)]), fours
