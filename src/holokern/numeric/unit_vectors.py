"""Points as unit vectors and lengths, and the digits that these two lose: floats are exact numbers."""

from __future__ import annotations

import numpy as np

from holokern.numeric.error_free import two_product, two_sum
from holokern.numeric.panels import EPS, Array

_PARALLEL = 4 * EPS
"""What is left of a residual when its part along a vector is taken away, relative to it, and is rounding alone."""


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
    # One array for all steps: to touch new memory takes longer than to divide.
    unit = np.abs(points)
    largest = np.max(unit, axis=1, initial=0.0)
    np.divide(points, np.where(largest > 0, largest, 1.0)[:, None], out=unit)
    length = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    unit /= np.where(length > 0, length, 1.0)[:, None]
    return unit, largest * length


def small_angles(x: Array, y: Array) -> Array:
    """The angles between the rows of x and of y, or between x and -y, to rounding however small they are.

    The residual x - sy has exact products, so that it keeps its digits where unit vectors have lost them.

    Examples
    --------
    >>> small_angles(np.array([[1.0, 1.0], [2.0, 6.0]]), np.array([[1.0, 1 + 2.0**-52], [3.0, 9.0]])).tolist()
    [1.1102230246251564e-16, 0.0]
    """
    x, y = (np.ldexp(one, -np.frexp(np.max(np.abs(one), axis=1, initial=0.0))[1][:, None]) for one in (x, y))
    # The mean of both orders does not depend on the order.
    return (_angle_of_residual(x, y) + _angle_of_residual(y, x)) / 2


def _angle_of_residual(x: Array, y: Array) -> Array:
    square = _dot(y, y)
    factor = (_dot(x, y) / square)[:, None]
    product, rest = two_product(factor, y)
    residual = x - product - rest
    size = _dot(residual, residual)
    # Twice: the first time leaves a rounding of the part along y.
    for _ in range(2):
        residual = residual - (_dot(residual, y) / square)[:, None] * y
    across = _dot(residual, residual)
    across[across <= _PARALLEL**2 * size] = 0.0
    return np.asarray(np.arcsin(np.minimum(np.sqrt(across / _dot(x, x)), 1.0)))


def rounding_of_lengths(points: Array, scale: float, last: float, length: Array) -> Array:
    """By how much true lengths exceed given ones, relative to them, to many digits.

    The points have one more coordinate ``last`` and are scaled.

    Examples
    --------
    >>> rounding_of_lengths(np.array([[1.0]]), 1.0, 1.0, np.sqrt([2.0])).round(20).tolist()
    [-6.836e-17]
    """
    given, length = length, length / scale
    product, rest = two_product(length, np.full_like(length, scale))
    missing = (given - product) - rest
    largest = np.maximum(np.max(np.abs(points), axis=1, initial=0.0), abs(last))
    # Powers of two, so that squares neither overflow nor underflow and no digit changes.
    down = -np.frexp(largest)[1]
    total, low = np.zeros(len(points)), np.zeros(len(points))
    for column in [*points.T, np.full(len(points), last)]:
        scaled = np.ldexp(column, down)
        high, rest = two_product(scaled, scaled)
        total, error = two_sum(total, high)
        low += error + rest
    scaled = np.ldexp(length, down)
    square, rest = two_product(scaled, scaled)
    excess = ((total - square) + (low - rest)) / np.where(length > 0, 2 * square, 1.0)
    return np.where(length > 0, excess - missing / np.where(length > 0, given, 1.0), 0.0)


def _dot(x: Array, y: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", x, y))
