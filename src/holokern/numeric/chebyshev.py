"""Chebyshev points and the matrices between values and coefficients."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from holokern.numeric.panels import Array

_SKETCH = 360
"""Singular vectors of a large matrix that are found: more than the activations of a benchmark need on wide ranges."""


def chebyshev_nodes(count: int) -> Array:
    """The Chebyshev points of the first kind, increasing.

    Examples
    --------
    >>> chebyshev_nodes(3).round(6).tolist()
    [-0.866025, 0.0, 0.866025]
    """
    # As sines they are antisymmetric to the last bit.
    return np.asarray(np.sin(np.pi * (2 * np.arange(count) + 1 - count) / (2 * count)))


@lru_cache(maxsize=128)
def chebyshev_matrix(count: int) -> Array:
    """From values at `chebyshev_nodes` to coefficients of the T_m.

    Examples
    --------
    >>> (abs(chebyshev_matrix(3) @ chebyshev_nodes(3) ** 2)).round(12).tolist()
    [0.5, 0.0, 0.5]
    """
    # Angles as whole multiples of π/(2·count), reduced exactly.
    turns = np.outer(np.arange(count), 2 * np.arange(count)[::-1] + 1) % (4 * count)
    matrix = 2.0 / count * np.cos(np.pi * turns / (2 * count))
    matrix[0] /= 2
    matrix.setflags(write=False)
    return np.asarray(matrix)


def chebyshev_basis(x: Array, count: int) -> Array:
    """T_0(x), …, T_{count-1}(x) in a new last axis, for x in [-1, 1].

    Examples
    --------
    >>> chebyshev_basis(np.array([0.5]), 3).round(12).tolist()
    [[1.0, 0.5, -0.5]]
    """
    return np.asarray(np.polynomial.chebyshev.chebvander(np.clip(x, -1.0, 1.0), count - 1))


def left_singular(wide: Array) -> tuple[Array, Array]:
    """The left singular vectors and the singular values of a matrix; of a large one the first ones, by a random sketch.

    Large matrices here have singular values that fall fast [HalkoMartinssonTropp2011].
    """
    if min(wide.shape) > 2 * _SKETCH:
        random = np.random.default_rng(20261).standard_normal((wide.shape[1], _SKETCH))
        basis, _ = np.linalg.qr(wide @ random)
        basis, _ = np.linalg.qr(wide @ (wide.T @ basis))
        inner, sizes = left_singular(basis.T @ wide)
        return np.asarray(basis @ inner), sizes
    triangle = np.asarray(np.linalg.qr(wide.T, mode="r"))
    left, sizes, _ = np.linalg.svd(triangle.T, full_matrices=False)
    return left, sizes
