"""1 - |k|/(n₁n₂) and k′ of a tile from the table of its layer."""

from __future__ import annotations

import numpy as np

from holokern.dual import DualTable
from holokern.numeric import Array, machine


def table_losses(
    table: DualTable,
    cores: machine.Cores,
    sides: tuple[machine.CellSide, machine.CellSide],
    numbers: tuple[Array, Array],
    theta: Array,
    with_tangent: bool,
) -> tuple[Array, Array, int]:
    """1 - |k|/(n₁n₂), k′ but for √w in each of the norms, and how many pairs the table does not serve, which are NaN.

    ``numbers`` are those of `LayerSide` for rows and columns.
    """
    from holokern.numeric import machine

    (rows, columns), (own, other) = sides, numbers
    flat, found = np.empty((1, *theta.shape)), np.full((2, *theta.shape), np.nan)
    functions = 2 if with_tangent and table.has_slope else 1
    found[functions:] = 0.0
    scales = [np.stack([np.ones(one.shape[1]), one[2]]) for one in numbers]
    left = machine.look_up_tile(
        cores,
        machine.room_for(cores, columns.cells),
        machine.Task(0, functions, float(table.fold != 0)),
        machine.TileSide(rows.cells, rows.by_point, scales[0]),
        machine.TileSide(columns.cells, columns.vectors, scales[1]),
        np.zeros(len(theta), dtype=np.int64),
        machine.TileAngles(theta, 0),
        flat,
        found,
    )
    angle = np.minimum(theta, np.pi - theta) if table.fold else theta
    lost = flat[0]
    lost *= (own[0][:, None] - other[0]) ** 2
    found[0] *= angle * angle if table.power == 2 else angle
    lost += found[0]
    return lost, found[1], int(left)
