"""Machine code that evaluates tables and angles; numba takes long to import, so only networks import it."""

from holokern.numeric.machine.angles import angle_from_gap, angle_from_slope, angle_from_slopes, angles_between
from holokern.numeric.machine.cells import Cells, CellSide, Cores, cells_of, cores_at_points
from holokern.numeric.machine.compiled import called, entry
from holokern.numeric.machine.look_up import CHUNK, Room, Task, TileAngles, TileSide, look_up, look_up_tile, room_for

__all__ = [
    "CHUNK",
    "CellSide",
    "Cells",
    "Cores",
    "Room",
    "Task",
    "TileAngles",
    "TileSide",
    "angle_from_gap",
    "angle_from_slope",
    "angle_from_slopes",
    "angles_between",
    "called",
    "cells_of",
    "cores_at_points",
    "entry",
    "look_up",
    "look_up_tile",
    "room_for",
]
