"""Routes through the coordinates: polygons from point to point that keep off the singular locus.

Where a segment meets the singular locus, it goes around that point on a half circle in the complex plane of its
parameter, on the left or on the right.  Where the solution branches, the two sides differ, so the caller chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holokern.errors import SingularPath
from holokern.hgm.lines.segments import LinePath, LineTable
from holokern.hgm.steps.series import Array
from holokern.pfaffian import PfaffianSystem

# closer to the segment, in units of its length, a zero counts as on it: roots of floats are that good
_ON_SEGMENT = 1e-7
_AT_END = 1e-9  # closer to an end, the end itself counts as singular
_CORNERS = 4  # corners of a half circle: with four the steps are as long as with many


@dataclass(frozen=True)
class Crossing:
    """Where a segment meets the singular locus: the parameter t and the factor that vanishes."""

    at: float
    factor: int
    clear: float


def crossings(system: PfaffianSystem, table: LineTable, a: Array, b: Array) -> list[list[Crossing]]:
    """For each segment the places strictly inside that are singular, in order.

    Raises SingularPath when an end, or a whole segment, lies in the singular locus.
    """
    tracks = LinePath(table, a, b)
    names = [str(factor) for factor in system.singular_locus]
    found: list[list[Crossing]] = []
    for k, roots in enumerate(tracks.roots):
        inside = np.isnan(roots).all(axis=1)
        if inside.any():
            raise SingularPath(
                f"the segment from {point_text(system, a[k])} to {point_text(system, b[k])} lies in the singular locus "
                f"{names[int(np.argmax(inside))]} = 0; give a path round it"
            )
        for factor, row in enumerate(roots):
            for end, point in ((0.0, a[k]), (1.0, b[k])):
                if np.any(np.abs(row - end) < _AT_END):
                    raise SingularPath(
                        f"the point {point_text(system, point)} lies on the singular locus {names[factor]} = 0; "
                        "start and end elsewhere, or start from a series there: frobenius, or Taylor coefficients"
                    )
        near = (np.abs(roots.imag) < _ON_SEGMENT) & (roots.real > 0) & (roots.real < 1)
        places = sorted((float(roots[i, j].real), int(i)) for i, j in zip(*np.nonzero(near), strict=True))
        found.append(_merged(places, roots[np.isfinite(roots) & ~near]))
    return found


def _merged(places: Sequence[tuple[float, int]], others: Array) -> list[Crossing]:
    """One crossing for each place, with a radius that no other zero and no end is near to."""
    different: list[tuple[float, int]] = []
    for at, factor in places:
        if not different or at - different[-1][0] > 10 * _ON_SEGMENT:
            different.append((at, factor))
    result = []
    for k, (at, factor) in enumerate(different):
        gaps = [at, 1 - at, *(abs(at - other) for i, (other, _) in enumerate(different) if i != k)]
        gaps += [float(g) for g in np.abs(others - at)]
        result.append(Crossing(at, factor, 0.5 * min(gaps)))
    return result


def detour(a: Array, b: Array, met: Sequence[Crossing], side: int) -> list[Array]:
    """The corners from ``a`` to ``b``, both included, round every crossing; ``side`` is 1 for left, -1 for right."""
    corners = [a]
    for crossing in met:
        for k in range(_CORNERS + 1):
            turn = np.exp(1j * np.pi * side * (1 - k / _CORNERS))
            t = crossing.at + crossing.clear * (turn if 0 < k < _CORNERS else turn.real)
            corners.append(a + t * (b - a))
    return [*corners, b]


def point_text(system: PfaffianSystem, point: Array) -> str:
    """A point for messages: x = 1, y = 0.5."""
    values = [complex(x) for x in point]
    shown = [f"{v.real:.6g}" if not v.imag else f"{v:.6g}" for v in values]
    return ", ".join(f"{name} = {value}" for name, value in zip(system.variables, shown, strict=True))
