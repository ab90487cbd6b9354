"""An activation as a series of correlations, for pairs that are far from parallel.

By Mehler's formula k = Σ a_n(c₁) a_n(c₂) rⁿ with a_n(c) = E[σ(cz) h_n(z)] and normalised Hermite polynomials h_n
[Mehler1866]: one product for each power of the correlation r, where polynomials of chords have ten. With b = cd/n and
g = b/(1 + b²)^¼ it is a_n/(gn) that is kept for n > 0, as errors of k′ then are small beside k′.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holokern.dual import DualActivation, DualTable
from holokern.numeric import Array, Range, chebyshev_matrix

_LIMITS, _FEW, _ENOUGH = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4), 31, 0.7
"""Correlations that a series may reach; beyond the last of these numbers only if it has few functions, which take half
as long as polynomials of chords."""

_SAMPLED = 128
"""Hermite coefficients that are looked at: at a correlation of 0.5 no more than 45 count, whatever the activation."""

_NODES = (16, 32, 64, 128)
"""Deviations of samples."""

_LEFT_OUT = 3e-13
"""What may be left out of k and k′, relative to n₁n₂ and g₁g₂n₁n₂/(c₁c₂)."""

_ROUNDING, _SMALL = 1e-14, 1e-14
"""Coefficients in log c that show that samples are enough, and those that do not count."""


class Terms(NamedTuple):
    """A series of correlations.

    Attributes
    ----------
    limit
        The largest correlation that it serves; -1 if there is no series.
    evens, odds
        How many even powers and how many odd ones it has, the highest first, without 1.
    coefficients
        Chebyshev coefficients in log c, one column for each function: E[σ(cz)]/n, the even and the odd ones.
    """

    limit: float
    evens: int
    odds: int
    coefficients: Array


def terms_of(dual: DualActivation, table: DualTable, span: Range, most: int) -> Terms:
    """The series for deviations in a range that a table covers, with at most so many functions.

    Examples
    --------
    >>> from holokern.dual import dual_activation
    >>> d = dual_activation("tanh")
    >>> terms = terms_of(d, d.table(0.3, 1.1), Range(-1.0, 0.0), 51)
    >>> terms.limit, terms.evens, terms.odds
    (0.8, 0, 27)
    """
    for count in (1,) if span.is_point else _NODES:
        c = np.exp(span.nodes(count))
        n, b = table.norms(c), c * table.slope_norms(c) / table.norms(c)
        values = dual.hermite(c, _SAMPLED) / n[:, None]
        steep = np.ones(len(c)) if dual.jumps else b / (1 + b**2) ** 0.25
        scaled = np.concatenate([values[:, :1], values[:, 1:] / steep[:, None]], axis=1)
        coefficients = chebyshev_matrix(count) @ scaled
        if count == 1 or np.max(np.abs(coefficients[-2:])) <= _ROUNDING * np.max(np.abs(coefficients)):
            break
    else:
        return Terms(-1.0, 0, 0, coefficients[:1, :1])
    power = np.arange(_SAMPLED)
    sizes = np.max(np.abs(values), axis=0) ** 2, power * np.max(np.abs(scaled), axis=0) ** 2
    found = ((limit, *_powers(sizes, limit)) for limit in _LIMITS)
    fits = (one for one in found if one[1] + one[2] <= (most if one[0] <= _ENOUGH else _FEW))
    limit, evens, odds = next(fits, (-1.0, 0, 0))
    columns = np.array([0, *range(2 * evens, 0, -2), *range(2 * odds - 1, 0, -2)])
    # A coefficient counts with its power of the correlation.
    seen = np.abs(coefficients[:, columns]) * abs(limit) ** (np.maximum(columns - 1, 0) / 2)
    counts = np.maximum.accumulate((seen > _SMALL)[::-1], axis=0)[::-1]
    return Terms(limit, evens, odds, np.where(counts, coefficients[:, columns], 0.0))


def _powers(sizes: tuple[Array, Array], limit: float) -> tuple[int, int]:
    """How many even and odd powers count up to a correlation, without 1."""
    n = np.arange(_SAMPLED)
    tails = [np.cumsum((size * limit ** np.maximum(n - 1, 0))[::-1])[::-1] for size in sizes]
    counts = (n > 0) & (np.maximum(*tails) > _LEFT_OUT) & (np.maximum(*sizes) > _LEFT_OUT**2)
    even, odd = (int(np.max(n[counts & (n % 2 == parity)], initial=0)) for parity in (0, 1))
    return even // 2, (odd + 1) // 2
