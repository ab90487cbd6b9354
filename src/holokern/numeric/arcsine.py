"""A polynomial arcsine: angles from half-angle chords that keep their digits as they go to zero."""

from __future__ import annotations

import numpy as np

from holokern.numeric.chebyshev import chebyshev_matrix, chebyshev_nodes

__all__ = ["ARCSINE"]


def _arcsine() -> tuple[float, ...]:
    """Coefficients, highest first, of asin(√w)/√w as a polynomial in y = 4w - 1 for 0 ≤ w ≤ 1/2, to rounding."""
    y = chebyshev_nodes(23)
    s = np.sqrt((y + 1) / 4)
    coefficients = chebyshev_matrix(23) @ (np.arcsin(s) / s)
    return tuple(float(a) for a in np.polynomial.chebyshev.cheb2poly(coefficients[:21])[::-1])


ARCSINE = _arcsine()
