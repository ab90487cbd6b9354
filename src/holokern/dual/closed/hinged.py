"""k and k′ of piecewise polynomial activations in closed form, for flat arrays of covariances."""

from __future__ import annotations

import numpy as np

from holokern.activation import Activation
from holokern.dual.closed.hinges import pieces_of
from holokern.dual.closed.wedge import HingeSide, hinge_sides
from holokern.numeric import Array

# units in the last place of the sizes of the terms: recurrences of moments lose a few of them at each step
_ROUNDING = 64 * np.finfo(float).eps


def hinged(activation: Activation, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array, Array, Array]:
    """k, k′ and bounds of their rounding; k′ is NaN when σ jumps.

    Raises
    ------
    Unsupported
        If σ is not piecewise polynomial.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> one, right = np.ones(1), np.full(1, np.pi / 2)
    >>> hinged(activation("Max(u - 1, 0)"), one, one, right)[0].round(12).tolist()
    [0.006941467639]
    """
    from holokern.dual.closed.wedge_sums import wedge_tile

    pieces = pieces_of(activation)
    jumping = activation.jump_order == 0
    fold = _fold(activation)
    lost, slope = np.empty((len(theta), 1)), np.empty((len(theta), 1))
    first, second = hinge_sides(pieces, (c1, c2), jumping)
    for i in range(len(theta)):
        some = slice(i, i + 1)
        row, column = first.part(some), second.part(some)
        wedge_tile(
            theta[some, None], fold, jumping, False, row.jumps, row.arrays, column.arrays, lost[some], slope[some]
        )
    far = (theta > np.pi / 2) if fold else np.zeros(len(theta), dtype=bool)
    scale = first.numbers[1] * second.numbers[1]
    k = np.where(far, fold, 1) * scale * (1 - lost[:, 0])
    k_error = _ROUNDING * (scale + _size(first, first.weights) * _size(second, second.weights))
    if jumping:
        return k, np.full_like(k, np.nan), k_error, np.full_like(k, np.nan)
    kdot = np.where(far & (fold > 0), -1, 1) * slope[:, 0]
    terms = _size(first, first.slope_weights) * _size(second, second.slope_weights)
    return k, kdot, k_error, _ROUNDING * (first.numbers[2] * second.numbers[2] + terms)


def _fold(activation: Activation) -> int:
    return {"even": 1, "odd": -1}.get(activation.parity or "", 0)


def _size(side: HingeSide, weights: Array) -> Array:
    """How large the terms of the hinges are, which cancel when σ is bounded and the deviations are large."""
    h, tail = side.marks[:, 0], side.marks[:, 2]
    return np.asarray(np.sum(np.sum(np.abs(weights), axis=1) * np.sqrt(tail) * (1 + h * h), axis=0))
