"""The machine code of one layer of a tile: the step from θ, Σ and Θ before it to those after it.

Every inner loop runs along a row of the tile without branches, so that it becomes vector instructions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from holokern.numeric import machine


class Step(NamedTuple):
    """The numbers of a layer."""

    # residual, bias, weight: as in `HiddenLayer`
    residual: bool
    bias: float
    weight: float
    fold: int  # +1 if k is even in the correlation, -1 if it is odd, else 0


@machine.bare_entry
def advance(step: Any, rows: Any, columns: Any, lost: Any, slope: Any, tile: Any) -> None:
    """One layer of a tile, in place, from 1 - |k|/(n₁n₂) and k′.

    ``rows`` and ``columns`` are `LayerSide.numbers`, and ``tile`` has θ, Σ and Θ. The new angle comes from 1 - r
    without cancellation: with the parts a_t = (n, bias, c) of a point and their own 1 - r_t,

        √(q_i q_j) (1 - r) = Σ_t a_ti a_tj (1 - r_t) + Σ_{s<t} (a_si a_tj - a_ti a_sj)² / (√(q_i q_j) + Σ_t a_ti a_tj).
    """
    (theta, sigma, tangent), bias = tile, step.bias
    width = theta.shape[1]
    joined = step.residual or bias != 0.0
    for i in range(theta.shape[0]):
        norm, deviation = rows[1, i], rows[3, i] if step.residual else 0.0
        for j in range(width):
            far = step.fold != 0 and theta[i, j] > 0.5 * math.pi
            sign = float(step.fold) if far else 1.0
            rate = -step.weight if far and step.fold > 0 else step.weight
            part = norm * columns[1, j] * (1.0 - lost[i, j]) * sign + bias * bias
            moved = tangent[i, j] * slope[i, j] * rate + part
            tangent[i, j] = tangent[i, j] + moved if step.residual else moved
            sigma[i, j] = sigma[i, j] + part if step.residual else part
        for j in range(width if joined else 0):
            other, there = columns[1, j], columns[3, j] if step.residual else 0.0
            left = norm * norm + bias * bias + deviation * deviation
            right = other * other + bias * bias + there * there
            root = math.sqrt(left * right)
            inner = norm * other + bias * bias + deviation * there
            a, b, c = bias * (norm - other), bias * (deviation - there), norm * there - deviation * other
            half = math.sin(0.5 * theta[i, j]) if step.residual else 0.0
            opposite = step.fold < 0 and theta[i, j] > 0.5 * math.pi
            gap = norm * other * (2.0 - lost[i, j] if opposite else lost[i, j])
            gap += deviation * there * 2.0 * half * half + (a * a + b * b + c * c) / (root + inner)
            # Points whose parts are all zero count as orthogonal.
            lost[i, j] = gap / root if root > 0.0 else 1.0
        for j in range(width):
            opposite = not joined and step.fold < 0 and theta[i, j] > 0.5 * math.pi
            angle = machine.angle_from_gap(lost[i, j])
            theta[i, j] = math.pi - angle if opposite else angle
