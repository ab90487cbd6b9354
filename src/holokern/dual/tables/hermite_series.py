"""`HermiteSeries`: the Hermite coefficients of a smooth activation as functions of the deviation.

With a_n(c) = E[σ(cz) h_n(z)] Mehler's formula is k = Σ a_n(c1) a_n(c2) cosⁿθ [Mehler1866]. For smooth activations and
deviations of order one few terms count, even at θ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation
from holokern.dual.tables.samples import hermite_coefficients
from holokern.errors import PrecisionLost
from holokern.numeric import Array, Range, chebyshev_basis, chebyshev_matrix

_MOST = 160
"""Terms beyond which tables are quicker."""

_TRIED = 2 * _MOST + 40
"""Terms that are computed, to see how fast they fall; half of them are zero for most activations."""

_TAIL = 2e-16
"""n a_n², relative to the norms, from which on terms are left out: they stand for k and k′ at θ = 0."""

_ZERO = 1e-9
"""Coefficients below this, relative to the norm, count as zero: their products are rounding errors of k."""

_NODES = (16, 24, 36, 54, 80)
"""Chebyshev nodes in log c that are tried."""

_NEGLIGIBLE = 2e-15
"""The size of the last Chebyshev coefficients in log c, relative to the largest norm."""


@dataclass(frozen=True, eq=False)
class HermiteSeries:
    """Hermite coefficients for deviations in a range.

    Attributes
    ----------
    range
        The range of log c.
    start, step
        The coefficients are those of n = start, start + step, …; with step 2 the others are zero, but for n = 1 if
        start is 0, and for n = 0 if start is 1: u Φ(u) is u/2 and an even function, 1/(1 + e⁻ᵘ) is 1/2 and an odd one.
    extra
        Chebyshev coefficients in log c of that other coefficient; zeros if step is 1.
    coefficients
        Chebyshev coefficients in log c, one column for each n.
    """

    range: Range
    start: int
    step: int
    extra: Array
    coefficients: Array

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The n of the columns of values: that of the other coefficient, and then start, start + step, and so on."""
        return np.append(1 - self.start, self.start + self.step * np.arange(self.coefficients.shape[1]))

    def __call__(self, logs: Array) -> Array:
        """The coefficients, one row for each deviation, given by its logarithm; the first column is the other one."""
        basis = chebyshev_basis(self.range.place(logs), len(self.coefficients))
        return np.asarray(basis @ np.column_stack([self.extra, self.coefficients]))


def hermite_series(sigma: Activation, span: Range) -> HermiteSeries | None:
    """The series of an activation on a range of log c; None if it breaks, or too many terms count."""
    if len(sigma.breaks) or sigma.jump_order is not None:
        return None
    for count in (1,) if span.is_point else _NODES:
        try:
            found = hermite_coefficients(sigma, np.exp(span.nodes(count)), _TRIED)
        except PrecisionLost:
            return None
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        if not np.all(np.isfinite(norms)) or not np.all(norms > 0):
            return None
        sizes = np.max(np.abs(found / norms), axis=0)
        count_n = 1 + int(np.max(np.nonzero(np.arange(_TRIED) * sizes**2 > _TAIL)[0], initial=0))
        start, step = _parity(sizes[:count_n])
        terms = len(range(start, count_n, step))
        if count_n > _TRIED - 8 or terms > _MOST:
            return None
        to_series = chebyshev_matrix(count)
        if count == 1 or np.max(np.abs((to_series @ (found / norms))[-2:])) <= _NEGLIGIBLE:
            series = to_series @ found
            extra = series[:, 1 - start] if step == 2 else np.zeros(count)
            return HermiteSeries(span, start, step, extra, series[:, start:count_n:step])
    return None


def _parity(sizes: Array) -> tuple[int, int]:
    """Where the coefficients that are not zero begin, and their steps; n = 0 or n = 1 may be an exception."""
    if np.all(sizes[2::2] <= _ZERO):
        return 1, 2
    return (0, 2) if np.all(sizes[3::2] <= _ZERO) else (0, 1)
