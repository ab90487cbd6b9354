"""An activation as a series of correlations, for pairs that are far from parallel.

By Mehler's formula k = Σ a_n(c₁) a_n(c₂) rⁿ with a_n(c) = E[σ(cz) h_n(z)] and normalised Hermite polynomials h_n
[Mehler1866]: one product for each power of the correlation r, where polynomials of chords have ten. With b = cd/n and
g = b/(1 + b²)^¼ it is a_n/(gn) that is kept for n > 0, as errors of k′ then are small beside k′.

High powers count little, and their a_n hardly differ but for a factor. So one function stands for all of them, once for
even and once for odd powers, and what it is multiplied with, a series in r, becomes a polynomial of the powers that are
kept: its Chebyshev series is half as long [Lanczos1938].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from holokern.dual import DualActivation, DualTable
from holokern.numeric import Array, Range, chebyshev_matrix, chebyshev_nodes

_LIMITS = 0.65, 0.55, 0.45
"""Correlations that a series may reach: most of random images are below the first, and up to higher ones the functions
become so many that polynomials of chords take no longer."""

_SAMPLED = 128
"""Hermite coefficients that are looked at: at a correlation of 0.5 no more than 45 count, whatever the activation."""

_NODES = (16, 32, 64, 128)
"""Deviations of samples."""

_LEFT_OUT = 3e-13
"""What may be left out of k and k′, relative to n₁n₂ and g₁g₂n₁n₂/(c₁c₂)."""

_SEEN, _PLACES = 16, 24
"""Deviations and correlations at which errors are measured: both functions are smooth."""

_ROUNDING, _SMALL = 1e-14, 5e-14
"""Coefficients in log c that show that samples are enough, and those that do not count."""


class Terms(NamedTuple):
    """A series of correlations.

    Attributes
    ----------
    limit
        The largest correlation that it serves; -1 if there is no series.
    evens, odds
        How many even powers and how many odd ones it has, the highest first, without 1.
    shares
        What the product of the functions that stand for high powers adds to the coefficient of each power that is kept.
    coefficients
        Chebyshev coefficients in log c, one column for each function: E[σ(cz)]/n, the even and the odd ones, and those
        that stand for high even and for high odd powers.
    """

    limit: float
    evens: int
    odds: int
    shares: Array
    coefficients: Array


class _Part(NamedTuple):
    """The even or the odd powers: how many are kept, their shares, and the function of the others at the deviations."""

    kept: int
    shares: Array
    function: Array


def terms_of(dual: DualActivation, table: DualTable, span: Range, most: int) -> Terms:
    """The series for deviations in a range that a table covers, with at most so many functions.

    Examples
    --------
    >>> from holokern.dual import dual_activation
    >>> d = dual_activation("tanh")
    >>> terms = terms_of(d, d.table(0.3, 1.1), Range(-1.0, 0.0), 49)
    >>> terms.limit, terms.evens, terms.odds
    (0.65, 0, 13)
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
        return Terms(-1.0, 0, 0, np.zeros(0), coefficients[:1, :1])
    nothing = _Part(0, np.zeros(0), np.ones(len(c)))
    limit, even, odd = -1.0, nothing, nothing
    for tried in _LIMITS:
        parts = [_part(scaled, steep, tried, parity) for parity in (0, 1)]
        if sum(part.kept for part in parts) <= most:
            limit, (even, odd) = tried, parts
            break
    columns = np.array([0, *range(2 * even.kept, 0, -2), *range(2 * odd.kept - 1, 0, -2)])
    # A coefficient counts with its power of the correlation.
    weights = np.array([*abs(limit) ** (np.maximum(columns - 1, 0) / 2), *(_weight(part) for part in (even, odd))])
    shared = chebyshev_matrix(count) @ np.stack([even.function, odd.function], axis=1)
    whole = np.concatenate([coefficients[:, columns], shared], axis=1)
    counts = np.maximum.accumulate((np.abs(whole) * weights > _SMALL)[::-1], axis=0)[::-1]
    shares = np.concatenate([even.shares[::-1], odd.shares[::-1]])
    return Terms(limit, even.kept, odd.kept, shares, np.where(counts, whole, 0.0))


def _weight(part: _Part) -> float:
    """How much the function that stands for high powers counts."""
    return float(np.sum(np.abs(part.shares)) ** 0.5)


def _part(scaled: Array, steep: Array, limit: float, parity: int) -> _Part:
    """As few even or odd powers as will do up to a correlation; ``scaled`` has a column for each power."""
    powers = np.arange(2 - parity, scaled.shape[1], 2)
    values, y = scaled[:, powers], limit**2 * (0.5 + 0.5 * chebyshev_nodes(_PLACES))
    some = np.unique(np.linspace(0, len(values) - 1, _SEEN).astype(int))
    sizes = powers * np.max(np.abs(values), axis=0) ** 2 * limit ** (powers - 1.0)
    low, high = -1, int(np.sum(np.cumsum(sizes[::-1])[::-1] > _LEFT_OUT / 2))
    found = _Part(high, np.zeros(high), np.ones(len(values)))
    while high - low > 1:
        kept = (low + high) // 2
        tried = _shared(values, powers, limit, kept)
        value, slope = _left_out(values[some], powers, tried._replace(function=tried.function[some]), y)
        both = np.outer(steep[some], steep[some])[:, :, None]
        if max(np.max(np.abs(value * both)), np.max(np.abs(slope))) <= _LEFT_OUT / 2:
            high, found = kept, tried
        else:
            low = kept
    return found


def _shared(values: Array, powers: NDArray[np.int64], limit: float, kept: int) -> _Part:
    """One function for all powers but the first ones: the singular vector of what they add to k′."""
    left, some = powers[kept:], np.unique(np.linspace(0, len(values) - 1, 2 * _SEEN).astype(int))
    weights = np.sqrt(left) * limit ** (left / 2)
    best = np.linalg.svd(values[some, kept:] * weights, full_matrices=False)[2][0]
    function = values[:, kept:] @ (weights * best)
    size = float(np.max(np.abs(function))) or 1.0
    # Behind a factor r or r² both are polynomials of y = r².
    y = limit**2 * (0.5 + 0.5 * chebyshev_nodes(max(1, kept)))
    series = chebyshev_matrix(len(y)) @ (y[:, None] ** np.arange(kept, len(powers)) @ (best / weights * size) ** 2)
    shares = np.asarray(Chebyshev(series, [0.0, limit**2]).convert(kind=Polynomial).coef, dtype=np.float64)
    return _Part(kept, np.pad(shares, (0, max(0, kept - len(shares))))[:kept], function / size)


def _left_out(values: Array, powers: NDArray[np.int64], part: _Part, y: Array) -> tuple[Array, Array]:
    """What a part leaves out of the sum and of its derivative at pairs of deviations and correlations √y."""
    found, left = list[Array](), values[:, part.kept :]
    for factors, less in ((np.ones(len(powers)), 0), (powers, 1)):
        terms = factors[:, None] * np.sqrt(y) ** (powers[:, None] - less)
        whole = np.einsum("an,bn,ny->aby", left, left, terms[part.kept :], optimize=True)
        both = np.outer(part.function, part.function)[:, :, None]
        found.append(whole - both * (part.shares @ terms[: part.kept]))
    return found[0], found[1]
