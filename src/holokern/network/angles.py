"""Unit vectors and a polynomial arcsine: angles that keep their digits for points that nearly coincide."""

from __future__ import annotations

import numpy as np

from holokern.dual.compiled_table import chebyshev_matrix, chebyshev_nodes
from holokern.dual.panels import Array

__all__ = ["ARCSINE", "unit_vectors"]


def _arcsine() -> tuple[float, ...]:
    """Coefficients, highest first, of asin(√w)/√w as a polynomial in y = 4w - 1 for 0 ≤ w ≤ 1/2, to rounding."""
    y = chebyshev_nodes(23)
    s = np.sqrt((y + 1) / 4)
    coefficients = chebyshev_matrix(23) @ (np.arcsin(s) / s)
    return tuple(float(a) for a in np.polynomial.chebyshev.cheb2poly(coefficients[:21])[::-1])


ARCSINE = _arcsine()


def unit_vectors(points: Array) -> tuple[Array, Array]:
    """The rows divided by their lengths, and the lengths; zero rows stay zero.

    Scaled by the largest entry first, so that lengths neither overflow nor underflow.

    Examples
    --------
    >>> u, c = unit_vectors(np.array([[3e100, 4e100], [0.0, 0.0]]))
    >>> u.tolist(), c.tolist()
    ([[0.6, 0.8], [0.0, 0.0]], [5e+100, 0.0])
    """
    largest = np.max(np.abs(points), axis=1, initial=0.0)
    scaled = points / np.where(largest > 0, largest, 1.0)[:, None]
    length = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return scaled / np.where(length > 0, length, 1.0)[:, None], largest * length
