"""The holonomic gradient method: transport of the Pfaffian system from independent to correlated u and v."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from holokern.dual.initial import HermiteMoments, hermite_moments
from holokern.dual.panels import Array
from holokern.errors import BadInput, HolokernError, PrecisionLost, UnknownName
from holokern.pfaffian.derive import pfaffian
from holokern.transport.collocation import approach
from holokern.transport.near_end import NearEnd
from holokern.transport.path import AnglePath
from holokern.transport.stepper import Arrival, transport
from holokern.transport.tables import PolarTable, polar_table

__all__ = ["Result", "cannot_transport", "crosses", "hgm", "moments_of", "polar_system", "start_states"]

COLUMNS = 4
"""Perturbations that are carried along to see how errors grow."""

_SERIES_TERMS = 64
_HEIGHT = 0.45
_STRIP = 0.35
_STEPS = 14
_HANDOVER = 0.7
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class PolarSystem:
    """What an activation's transport needs: tables, derived once."""

    activation: Any
    table: PolarTable


@lru_cache(maxsize=64)
def polar_system(activation: Any) -> PolarSystem:
    """The Pfaffian system of an activation in polar form; the most recent ones are kept."""
    return PolarSystem(activation, polar_table(pfaffian(activation), activation.jump_order))


def cannot_transport(activation: Any) -> str | None:
    """Why the activation has no Pfaffian system, or None."""
    try:
        polar_system(activation)
    except HolokernError as error:
        return f"{error} (method='quadrature' serves every activation)"
    return None


def hgm(
    activation: Any,
    c1: Array,
    c2: Array,
    theta: Array,
    tolerance: float,
    *,
    solver: str = "taylor",
    coordinates: str = "sigma",
    rtol: float = 1e-10,
    integrator: str = "RK45",
) -> tuple[Array, Array, Array, Array]:
    """k, k̇ and their errors by transport from the independent point [SakodaTakayama2024, Algorithm 2].

    Parameters
    ----------
    solver : {"taylor", "scipy"}
        Our Taylor steps, for all points at once, or ``scipy.integrate.solve_ivp`` for one point after another.
    coordinates : {"sigma", "x"}
        A straight line in Σ from the diagonal matrix with the same variances, or the paper's straight line in
        x = -½Σ⁻¹ from (-1, 0, -1).
    rtol, integrator : float, str
        Of solve_ivp.

    Notes
    -----
    In Σ the parameter of the line is the angle θ, in which k has no singularity at det Σ = 0 when σ breaks at zero
    only, so that values near r = ±1 need no fallback.  Where Taylor steps do not arrive, Chebyshev collocation goes on.
    """
    if solver not in ("taylor", "scipy"):
        raise UnknownName(f"unknown solver {solver!r}; choose 'taylor' or 'scipy'")
    if coordinates not in ("sigma", "x"):
        raise UnknownName(f"unknown coordinates {coordinates!r}; choose 'sigma' or 'x'")
    if not 0 < rtol < 1:
        raise BadInput(f"rtol = {rtol!r} is not between 0 and 1; the paper uses 1e-10")
    if coordinates == "x":
        from holokern.dual.hgm_x import hgm_in_x

        return hgm_in_x(activation, c1, c2, theta, solver, rtol, integrator)
    system = polar_system(activation)
    tracks = Tracks.of(c1, c2, theta)
    if solver == "scipy":
        return _by_scipy(system, tracks, theta, rtol, integrator)
    result = Result.empty(len(theta))
    moments = moments_of(activation, system.table, c1, c2)
    path = AnglePath(system.table, tracks.c1, tracks.c2)
    for detour, some in _by_kind(path):
        _transport(system, path, tracks, some, theta, moments, detour, result)
    _finish(system, path, tracks, theta, moments, result)
    return result.arrays(system.table, c1, c2, theta)


@dataclass(frozen=True)
class Tracks:
    """Points sorted into tracks: equal deviations, and the same side of θ = π/2."""

    c1: Array
    c2: Array
    side: Array
    owner: Any

    @classmethod
    def of(cls, c1: Array, c2: Array, theta: Array) -> Tracks:
        """Find the tracks of points."""
        rows = np.stack([c1, c2, np.where(theta <= np.pi / 2, 1.0, -1.0)], axis=1)
        different, owner = np.unique(rows, axis=0, return_inverse=True)
        return cls(different[:, 0], different[:, 1], different[:, 2], owner.reshape(-1))


@dataclass(frozen=True)
class Result:
    """k and c1c2k̇ sin^m at all points, with errors."""

    k: Array
    slope: Array
    k_error: Array
    slope_error: Array

    @classmethod
    def empty(cls, count: int) -> Result:
        return cls(np.full(count, np.nan), np.full(count, np.nan), np.full(count, np.inf), np.full(count, np.inf))

    def take(self, where: Any, arrival: Arrival, outputs: tuple[int, int]) -> None:
        """Values of an arrival; its perturbations and the tails of its series become errors."""
        first, second = outputs
        columns = arrival.value[:, first], (arrival.slope if second < 0 else arrival.value[:, second])
        tails = arrival.tail[:, first], (arrival.slope_tail if second < 0 else arrival.tail[:, second])
        for value, error, column, tail in zip(
            (self.k, self.slope), (self.k_error, self.slope_error), columns, tails, strict=True
        ):
            value[where] = column[:, 0]
            spread = np.sqrt(np.mean(column[:, 1:] ** 2, axis=1))
            floor = _EPS * (2 * np.abs(column[:, 0]) + 0.3 * np.abs(columns[0][:, 0]) + 0.3 * np.abs(columns[1][:, 0]))
            error[where] = np.nan_to_num(3 * spread + 6 * tail + floor, nan=np.inf)

    def put(self, where: Any, other: Result, some: Any) -> None:
        """Overwrite the entries ``where`` with ``some`` of another result."""
        for mine, new in zip(
            (self.k, self.slope, self.k_error, self.slope_error),
            (other.k, other.slope, other.k_error, other.slope_error),
            strict=True,
        ):
            mine[where] = new[some]

    def arrays(self, table: PolarTable, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array, Array, Array]:
        """k, k̇ and errors, without the factors that made k̇ bounded."""
        power = table.weights[table.outputs[1]] if table.outputs[1] >= 0 else 0
        factor = c1 * c2 * np.sin(theta) ** power
        # θ itself is rounded: k moves by c1c2k̇ sin θ, and the factor of k̇ by its logarithmic derivative
        rounded = 2 * _EPS * theta
        k_error = self.k_error + rounded * np.sin(theta) * np.abs(c1 * c2 * self.slope / factor)
        kdot_error = self.slope_error + power * np.abs(self.slope) * rounded / np.abs(np.tan(theta))
        return self.k, self.slope / factor, k_error, kdot_error / factor


def moments_of(activation: Any, table: PolarTable, c1: Array, c2: Array) -> HermiteMoments:
    """The moments that :func:`start_states` needs."""
    highest = max(max(pair) for pair in table.exponents)
    return hermite_moments(activation, np.concatenate([c1, c2]), highest + 1 + _SERIES_TERMS)


def crosses(path: AnglePath) -> Any:
    """Which tracks must pass an apparent singularity, so that they cannot stay on the real line."""
    roots = path.roots
    known = ~np.isnan(roots)
    close = known & (np.abs(roots.imag) < _STRIP) & (roots.real > -_STRIP) & (roots.real < np.pi + _STRIP)
    return np.any(close, axis=1)


def _by_kind(path: AnglePath) -> list[tuple[bool, Any]]:
    crossed = crosses(path)
    kinds = [(False, np.nonzero(~crossed)[0]), (True, np.nonzero(crossed)[0])]
    return [(detour, some) for detour, some in kinds if len(some)]


def start_states(
    table: PolarTable, moments: HermiteMoments, c1: Array, c2: Array, angle: Any, seed: int = 7
) -> Any:
    """H at one angle for each pair of deviations, and perturbations as large as its errors: (tracks, rank, columns)."""
    # the float next to π/2 is not π/2, and an entry of H may be smaller than what that makes
    value, error = moments.correlated(c1, c2, table.exponents, np.cos(angle))
    gauge = np.sin(angle)[:, None] ** np.array(table.weights)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(*error.shape, COLUMNS - 1))
    columns = (error * np.abs(gauge))[..., None] * signs
    return np.concatenate([(value * gauge)[..., None], columns], axis=2)


def _starts(detour: bool, count: int) -> Any:
    return np.full(count, np.pi / 2 + 1j * _HEIGHT) if detour else np.full(count, np.pi / 2)


def _transport(
    system: PolarSystem,
    path: AnglePath,
    tracks: Tracks,
    some: Any,
    theta: Array,
    moments: HermiteMoments,
    detour: bool,
    result: Result,
) -> None:
    table = system.table
    start = _starts(detour, len(some))
    state = start_states(table, moments, path.c1[some], path.c2[some], start)
    mine = np.nonzero(np.isin(tracks.owner, some))[0]
    part = AnglePath(table, path.c1[some], path.c2[some])
    owner = np.searchsorted(some, tracks.owner[mine])
    arrival = transport(part, start, state, owner, theta[mine], detour=detour, most=_STEPS)
    result.take(mine, arrival, table.outputs)


def _finish(
    system: PolarSystem, path: AnglePath, tracks: Tracks, theta: Array, moments: HermiteMoments, result: Result
) -> None:
    """Collocation for the points that Taylor steps did not reach, or reached with a poor tail."""
    table = system.table
    if not table.ends:
        return
    size = np.abs(result.k) + np.abs(result.slope)
    poor = ~(result.k_error + result.slope_error <= 1e-13 * size)
    distance = np.minimum(theta, np.pi - theta)
    crossed = {int(i) for detour, some in _by_kind(path) if detour for i in some}
    for detour in (False, True):
        # an apparent singularity at the start is left behind by Taylor steps first
        near = _HANDOVER if detour else np.pi / 2
        hard = np.array([i for i in np.unique(tracks.owner[poor & (distance <= near)]) if (int(i) in crossed) == detour])
        if len(hard):
            _collocate(system, path, tracks, hard, poor & (distance <= near), distance, moments, detour, near, result)


def _collocate(
    system: PolarSystem,
    path: AnglePath,
    tracks: Tracks,
    hard: Any,
    poor: Any,
    distance: Array,
    moments: HermiteMoments,
    detour: bool,
    near: float,
    result: Result,
) -> None:
    table = system.table
    part = AnglePath(table, path.c1[hard], path.c2[hard])
    start = _starts(detour, len(hard))
    state = start_states(table, moments, part.c1, part.c2, start)
    if detour:
        handover = np.where(tracks.side[hard] > 0, near, np.pi - near)
        state = transport(part, start, state, np.arange(len(hard)), handover, detour=detour, whole=True).value
    outputs = np.array([table.outputs[0], table.outputs[1] if table.outputs[1] >= 0 else table.rank])
    for i, track in enumerate(hard):
        mine = np.nonzero((tracks.owner == track) & poor)[0]
        if not np.all(np.isfinite(state[i])):
            continue
        end = NearEnd.of(table, float(part.c1[i]), float(part.c2[i]), int(tracks.side[track]))
        values, errors = approach(end, near, state[i], distance[mine], outputs)
        better = np.sum(errors, axis=1) < result.k_error[mine] + result.slope_error[mine]
        at = mine[better]
        result.k[at], result.slope[at] = values[better, 0], values[better, 1]
        result.k_error[at], result.slope_error[at] = errors[better, 0], errors[better, 1]


def _by_scipy(
    system: PolarSystem, tracks: Tracks, theta: Array, rtol: float, integrator: str
) -> tuple[Array, Array, Array, Array]:
    from holokern.transport.scipy_solver import solve_along

    table = system.table
    moments = moments_of(system.activation, table, tracks.c1, tracks.c2)
    c1, c2 = tracks.c1[tracks.owner], tracks.c2[tracks.owner]
    path = AnglePath(table, c1, c2)
    detour = dict.fromkeys(range(len(theta)), False)
    for kind, some in _by_kind(path):
        detour.update(dict.fromkeys(some.tolist(), kind))
    result = Result.empty(len(theta))
    for i in range(len(theta)):
        start = _starts(detour[i], 1)
        state = start_states(table, moments, c1[i : i + 1], c2[i : i + 1], start)[0, :, 0]
        value, slope, error = solve_along(path, i, complex(start[0]), float(theta[i]), state, rtol, integrator)
        first, second = table.outputs
        result.k[i], result.slope[i] = value[first].real, (slope if second < 0 else value[second]).real
        result.k_error[i] = error * abs(result.k[i]) + error * float(np.max(np.abs(value))) * 0.1
        result.slope_error[i] = error * float(np.max(np.abs(value)))
    if not np.all(np.isfinite(result.k)):
        raise PrecisionLost("solve_ivp did not reach a target; use solver='taylor'")
    return result.arrays(table, c1, c2, theta)
