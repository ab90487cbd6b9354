"""Machine code that evaluates tables and angles; numba takes long to import, so only networks import it."""

from holokern.numeric.machine.angles import (
    TINY,
    angle_from_gap,
    angle_of_quotient,
    angles_between,
    loss_of,
    slope_quotient,
)
from holokern.numeric.machine.cells import Cells, CellSide, cells_at_points, cells_of
from holokern.numeric.machine.compiled import (
    aligned,
    bare_entry,
    called,
    entry,
    inlined,
    instructions,
    on_stack,
    prefetch,
)
from holokern.numeric.machine.exponential import exponential_less_one
from holokern.numeric.machine.look_up import CHUNK, Task, TileAngles, TileValues, look_up
from holokern.numeric.machine.vectors import (
    LANES,
    LINES,
    Fours,
    Rows,
    Vector,
    Vectors,
    chebyshev_rows,
    left_out,
    longest,
    put_in,
    weighted_rows,
)

__all__ = [
    "CHUNK",
    "LANES",
    "LINES",
    "TINY",
    "CellSide",
    "Cells",
    "Fours",
    "Rows",
    "Task",
    "TileAngles",
    "TileValues",
    "Vector",
    "Vectors",
    "aligned",
    "angle_from_gap",
    "angle_of_quotient",
    "angles_between",
    "bare_entry",
    "called",
    "cells_at_points",
    "cells_of",
    "chebyshev_rows",
    "entry",
    "exponential_less_one",
    "inlined",
    "instructions",
    "left_out",
    "longest",
    "look_up",
    "loss_of",
    "on_stack",
    "prefetch",
    "put_in",
    "slope_quotient",
    "weighted_rows",
]
