"""Vectors carried from stop to stop, in floats and in balls, straight or round the singular points on the way.

Where a segment meets the singular locus, it goes around that point on a half circle in the complex plane of its
parameter, on the left or on the right.  Where the solution branches, the two sides differ, so the caller chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from flint import acb

from holokern.errors import SingularPath
from holokern.hgm.lines.ball_lines import on_segment
from holokern.hgm.lines.initial import as_complex, number_text
from holokern.hgm.lines.segments import LinePath, LineTable
from holokern.hgm.steps.balls import carry_balls
from holokern.hgm.steps.fixed_point import Ball
from holokern.hgm.steps.series import Array
from holokern.hgm.steps.stepper import transport
from holokern.numeric import EPS
from holokern.pfaffian import PfaffianSystem

SIDES = {"left": 1, "right": -1}
"""On which hand of the traveller a detour leads round a singular point."""

TINY = float(np.finfo(float).tiny)
"""The smallest normal float: what underflows is lost."""

_PERTURBED = 3  # columns that carry rounding errors along; three give the size of the error within a factor of two
# steps of one leg: ten thousand oscillations; close to a singularity steps shrink by half, so 70 serve 1e-20
_MOST_STEPS = 20_000
# matrices that lose so much lose it on long ways too; below, the copies of the vector show errors of this size
_CANCELS = 1e3
_SAME = 1e-8  # two ways round a point that agree to this are one value


def floats_along(
    system: PfaffianSystem,
    stops: Sequence[Array],
    vectors: Array,
    side: str | None,
    radii: Array | float = 0.0,
    changed: LineTable | None = None,
) -> tuple[Array, Array]:
    """Carry vectors, (tracks, rank), from stop to stop, (tracks, variables) each; values and error estimates.

    ``radii`` are the errors of the vectors themselves, where they exceed rounding; ``changed`` has other coefficients.
    """
    table = LineTable.of(system) if changed is None else changed
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(*vectors.shape, _PERTURBED))
    size = np.maximum(EPS * np.abs(vectors), radii)
    state = np.concatenate([vectors[..., None], size[..., None] * signs], axis=2)
    branched = np.zeros(vectors.shape)
    for a, b in pairwise(stops):
        met = crossings(system, table, a, b)
        straight = np.array([not places for places in met])
        moved = np.zeros(state.shape, dtype=complex)
        moved[straight] = _leg(table, a[straight], b[straight], state[straight])
        for k in np.nonzero(~straight)[0]:
            ways = [SIDES[side]] if side else [1, -1]
            sides = [_polygon(table, detour(a[k], b[k], met[k], way), state[k : k + 1])[0] for way in ways]
            moved[k] = sides[0]
            gap = np.abs(sides[0][:, 0] - sides[-1][:, 0])
            if np.any(gap > _SAME * np.max(np.abs(sides[0][:, 0]))):
                raise _branches(system, a[k], b[k], met[k])
            if not side:
                # the values on both ways are conjugate where the data are real
                moved[k] = (sides[0] + sides[1]) / 2
            branched[k] += gap
        state = moved.real if np.isrealobj(state) and np.isrealobj(a + b) and straight.all() else moved
    spread = np.sqrt(np.mean(np.abs(state[..., 1:]) ** 2, axis=2))
    value, error = state[..., 0], 5 * spread + branched + 2 * EPS * np.abs(state[..., 0]) + TINY
    if changed is None and table.cancellation(stops) > _CANCELS:
        # then the rounding of the coefficients is an error of its own: see what changed coefficients do
        error = error + 5 * np.abs(floats_along(system, stops, vectors, side, radii, table.perturbed())[0] - value)
    return value, error


def _polygon(table: LineTable, corners: Sequence[Array], state: Array) -> Array:
    for a, b in pairwise(corners):
        state = _leg(table, a[None], b[None], state)
    return state


def _leg(table: LineTable, a: Array, b: Array, state: Array) -> Array:
    """Straight segments that meet no singularity."""
    if not len(a):
        return state
    real = np.isrealobj(state) and not np.any(np.imag(a)) and not np.any(np.imag(b))
    a, b, state = (a.real, b.real, state) if real else (a.astype(complex), b.astype(complex), state.astype(complex))
    tracks = np.arange(len(a))
    arrival = transport(
        LinePath(table, a, b), np.zeros(len(a)), state, tracks, np.ones(len(a)), most=_MOST_STEPS, every_entry=True
    )
    value = arrival.value
    # what the series left out is an error as well; targets that no step reached have an infinite one
    value[..., 1:] += (6 * arrival.tail)[..., None] * np.where(value[..., 1:].real < 0, -1.0, 1.0)
    value[..., 0] = np.where(np.isfinite(arrival.tail), value[..., 0], np.nan)
    return value


def _branches(system: PfaffianSystem, a: Array, b: Array, met: Sequence[Crossing]) -> SingularPath:
    where, factor = point_text(system, a + met[0].at * (b - a)), system.singular_locus[met[0].factor]
    return SingularPath(
        f"the path from {point_text(system, a)} to {point_text(system, b)} meets the singular locus {factor} = 0 at "
        f"{where}, and the solution branches there; give side='left' or side='right', or a path round it"
    )


def carry_along(
    system: PfaffianSystem, stops: Sequence[Sequence[Ball]], columns: list[list[Ball]], side: str | None
) -> list[list[Ball]]:
    """Carry solutions in balls from stop to stop, straight or round the singular points on the way."""
    table = LineTable.of(system)
    for a, b in pairwise(stops):
        floats = [np.array([as_complex(x) for x in point]) for point in (a, b)]
        (met,) = crossings(system, table, floats[0][None], floats[1][None])
        if not met:
            columns = carry_balls(on_segment(system, a, b), columns)
            continue
        ways = [SIDES[side]] if side else [1, -1]
        sides = []
        for way in ways:
            corners = detour(floats[0], floats[1], met, way)
            inner = [[acb(complex(x).real, complex(x).imag) for x in corner] for corner in corners[1:-1]]
            state = columns
            for first, second in pairwise([a, *inner, b]):
                state = carry_balls(on_segment(system, first, second), state)
            sides.append(state)
        columns = [
            [_both(system, floats, met, *pair) for pair in zip(*ways_of, strict=True)]
            for ways_of in zip(*sides, strict=True)
        ]
        if not side and all(not isinstance(x, acb) for x in (*a, *b)):
            columns = [[entry.real if entry.imag.contains(0) else entry for entry in column] for column in columns]
    return columns


def _both(system: PfaffianSystem, ends: Sequence[Array], met: Sequence[Crossing], *values: Ball) -> Ball:
    """A ball that holds the values on both ways, which must not be proved different."""
    first, last = acb(values[0]), acb(values[-1])
    if not first.overlaps(last):
        raise _branches(system, ends[0], ends[1], met)
    return acb(first.real.union(last.real), first.imag.union(last.imag))


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
    return ", ".join(f"{name} = {number_text(x)}" for name, x in zip(system.variables, point, strict=True))
