"""1 - |k|/(n₁n₂) and k′ of a tile from the table of its layer."""

from __future__ import annotations

import numpy as np

from holokern.dual import DualTable
from holokern.numeric import Array, Some, machine


def table_losses(
    table: DualTable,
    cells: machine.Cells,
    sides: tuple[machine.CellSide, machine.CellSide],
    parts: tuple[Some, Some],
    numbers: tuple[Array, Array],
    theta: Array,
    with_tangent: bool,
) -> tuple[Array, Array, int]:
    """1 - |k|/(n₁n₂), k′ but for √w in each of the norms, and how many pairs the table does not serve, which are NaN.

    ``parts`` are the points of both sides that are rows and columns, and ``numbers`` are those of `LayerSide` for them.
    """
    (own, other), starts = numbers, np.zeros(len(theta), dtype=np.int64)
    flat, found = np.empty((1, *theta.shape)), np.full((2, *theta.shape), np.nan)
    functions = 2 if with_tangent and table.has_slope else 1
    found[functions:] = 0.0
    scales = np.stack([np.ones(own.shape[1]), own[2]]), np.stack([np.ones(other.shape[1]), other[2]])
    task, angles = machine.Task(0, functions, float(table.fold != 0)), machine.TileAngles(theta, 0)
    left = machine.look_up(cells, sides, parts, scales, task, starts, angles, flat, found)
    angle = np.minimum(theta, np.pi - theta) if table.fold else theta
    lost = flat[0]
    lost *= (own[0][:, None] - other[0]) ** 2
    found[0] *= angle * angle if table.power == 2 else angle
    lost += found[0]
    return lost, found[1], left
