"""Machine code that evaluates tables and angles; numba takes long to import, so only networks import it."""

from holokern.numeric.machine.angles import (
    TINY,
    angle_from_gap,
    angle_of_quotient,
    angles_between,
    loss_of,
    slope_quotient,
)
from holokern.numeric.machine.cells import Cells, CellSide, Cores, cells_of, cores_at_points
from holokern.numeric.machine.compiled import called, entry, inlined, on_stack
from holokern.numeric.machine.look_up import CHUNK, Room, Task, TileAngles, TileSide, look_up_tile, room_for

__all__ = [
    "CHUNK",
    "TINY",
    "CellSide",
    "Cells",
    "Cores",
    "Room",
    "Task",
    "TileAngles",
    "TileSide",
    "angle_from_gap",
    "angle_of_quotient",
    "angles_between",
    "called",
    "cells_of",
    "cores_at_points",
    "entry",
    "inlined",
    "look_up_tile",
    "loss_of",
    "on_stack",
    "room_for",
    "slope_quotient",
]
