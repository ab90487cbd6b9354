"""A polynomial arcsine and arctangent: angles from half-angle chords and slopes that keep their digits next to zero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holokern.numeric.chebyshev import chebyshev_matrix, chebyshev_nodes
from holokern.numeric.panels import Array


def _quotient(arc: Callable[[Array], Array], end: float, degree: int) -> tuple[float, ...]:
    """Coefficients, highest first, of arc(√w)/√w as a polynomial in y = 2w/end - 1 for 0 ≤ w ≤ end, to rounding."""
    y = chebyshev_nodes(degree + 3)
    s = np.sqrt((y + 1) * (end / 2))
    coefficients = chebyshev_matrix(degree + 3) @ (arc(s) / s)
    return tuple(float(a) for a in np.polynomial.chebyshev.cheb2poly(coefficients[: degree + 1])[::-1])


TANGENT = float(np.tan(np.pi / 8))
"""Slopes up to this one are those of the polynomial ARCTANGENT."""

ARCSINE = _quotient(np.arcsin, 0.5, 20)
SHORT_ARCSINE = _quotient(np.arcsin, 0.5, 8)
"""For single precision."""

ARCTANGENT = _quotient(np.arctan, TANGENT**2, 11)
