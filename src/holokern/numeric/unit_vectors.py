"""Points as unit vectors and lengths."""

from __future__ import annotations

import numpy as np

from holokern.numeric.panels import Array


def unit_vectors(points: Array) -> tuple[Array, Array]:
    """The rows divided by their lengths, and the lengths; zero rows stay zero.

    Scaled by the largest entry first, so that lengths neither overflow nor underflow.

    Examples
    --------
    >>> u, c = unit_vectors(np.array([[3e100, 4e100], [0.0, 0.0]]))
    >>> u.tolist(), c.tolist()
    ([[0.6, 0.8], [0.0, 0.0]], [5e+100, 0.0])
    """
    points = np.ascontiguousarray(points)
    largest = np.max(np.abs(points), axis=1, initial=0.0)
    scaled = points / np.where(largest > 0, largest, 1.0)[:, None]
    length = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return scaled / np.where(length > 0, length, 1.0)[:, None], largest * length
