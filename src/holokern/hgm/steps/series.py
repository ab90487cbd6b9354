"""Truncated power series of many points at once: the last axis holds the coefficients."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""Floats, long floats or complex floats: the same code carries all three."""


def multiply_series(one: Array, other: Array, order: int) -> Array:
    """The product of two arrays of series, up to and including the power ``order``; other axes broadcast.

    Examples
    --------
    >>> multiply_series(np.array([1.0, 1.0]), np.array([1.0, -1.0]), 2)
    array([ 1.,  0., -1.])
    """
    if one.shape[-1] > other.shape[-1]:
        one, other = other, one
    shape = np.broadcast_shapes(one.shape[:-1], other.shape[:-1])
    total = np.zeros((*shape, order + 1), dtype=np.result_type(one, other))
    for j in range(min(one.shape[-1], order + 1)):
        width = min(other.shape[-1], order + 1 - j)
        total[..., j : j + width] += one[..., j : j + 1] * other[..., :width]
    return total


def power_table(series: Array, highest: int, order: int) -> Array:
    """The powers 0, …, ``highest`` of each series, along a new axis before the last.

    Examples
    --------
    >>> power_table(np.array([1.0, 1.0]), 2, 2)
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 2., 1.]])
    """
    table = np.zeros((*series.shape[:-1], highest + 1, order + 1), dtype=series.dtype)
    table[..., 0, 0] = 1
    width = min(series.shape[-1], order + 1)
    table[..., 1:2, :width] = series[..., None, :width]
    for k in range(1, highest):
        table[..., k + 1, :] = multiply_series(series, table[..., k, :], order)
    return table


def power_of_series(series: Array, exponent: float) -> Array:
    """A real power f^α of each series, by f y' = α f' y; the constant terms must not vanish.

    Examples
    --------
    >>> power_of_series(np.array([1.0, -1.0, 0.0]), -1.0)
    array([1., 1., 1.])
    """
    order = series.shape[-1] - 1
    result = np.zeros_like(series)
    result[..., 0] = series[..., 0] ** exponent
    for n in range(1, order + 1):
        j = np.arange(1, n + 1)
        weight = exponent * j - (n - j)
        result[..., n] = np.sum(weight * series[..., j] * result[..., n - j], axis=-1) / (n * series[..., 0])
    return result


def trigonometric_series(angle: Array, speed: Array | float, order: int) -> tuple[Array, Array]:
    """The series in x of cos and sin of ``angle + speed x``.

    Examples
    --------
    >>> [series.tolist() for series in trigonometric_series(np.array([0.0]), 1.0, 2)]
    [[[1.0, -0.0, -0.5]], [[0.0, 1.0, -0.0]]]
    """
    cosine, sine = np.cos(angle), np.sin(angle)
    steps = np.asarray(speed)[..., None] ** np.arange(order + 1)
    factorial = np.cumprod(np.concatenate([[1.0], np.arange(1.0, order + 1)]))
    pattern = np.arange(order + 1) % 4
    waves = []
    for first, second in ((cosine, -sine), (sine, cosine)):
        cycle = np.stack([first, second, -first, -second], axis=-1)
        waves.append(cycle[..., pattern] * steps / factorial)
    return waves[0], waves[1]
