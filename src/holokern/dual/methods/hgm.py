"""The holonomic gradient method: transport of the Pfaffian system from independent to correlated u and v."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation, has_branch
from holokern.dual.inputs import from_end
from holokern.dual.methods.polar import Start, Tracks, arrived, crosses, ends_of, polar_system, unscaled
from holokern.dual.quadrature.method import scales
from holokern.dual.value import Estimate
from holokern.errors import BadInput, HolokernError, PrecisionLost, UnknownName
from holokern.hgm import AnglePath, NearEnd, Numbers, approach, transport
from holokern.numeric import EPS, Array, Index, limited_work, working_precision

if TYPE_CHECKING:
    from flint import arb

Arrays = tuple[Array, Array, Array, Array]

# imaginary part of θ at the start of a detour: from 0.7 on the series at the start loses digits, below 0.3 it is slower
_HEIGHT = 0.45
# most tracks need fewer than 7; those that need more do better by collocation (28 take twice the time for nothing)
_STEPS = 14
# steps that halve the angle come within 1e-16 of the end, where nothing takes over from them
_STEPS_ALONE = 60
# angle from the end at which collocation takes over on a detour; 0.35 and 1.2 do as well
_HANDOVER = 0.7
# relative error from which collocation tries; 1e-14 costs time and improves nothing
_POOR = 1e-13
# of cos θ, so that the width of its ball does not limit the result
_BITS = 400
# of a float
_DIGITS = 16
# units of work of one point, about two seconds: next to θ = π `dual` asks for two angles
_WORK = 2e5


def hgm(
    activation: Activation,
    c1: Array,
    c2: Array,
    theta: Array,
    tolerance: float,
    *,
    solver: str = "taylor",
    coordinates: str = "sigma",
    rtol: float = 1e-10,
    integrator: str = "RK45",
    precise: bool = True,
) -> Arrays:
    """k, k′ and their errors by transport from the independent point [SakodaTakayama2024, Algorithm 2].

    Parameters
    ----------
    activation, c1, c2, theta, tolerance
        As for every method.
    solver : {"taylor", "scipy"}
        Our Taylor steps, for all points at once, or ``scipy.integrate.solve_ivp`` for one point after another.
    coordinates : {"sigma", "x"}
        A straight line in Σ from the diagonal matrix with the same variances, or the paper's straight line in
        x = -½Σ⁻¹ from (-1, 0, -1).
    rtol, integrator : float, str
        Of solve_ivp.
    precise : bool
        Whether points that miss the tolerance in floats, because errors grow too much on the way, are transported
        again in ball arithmetic of higher precision, one after another.

    Notes
    -----
    In Σ the parameter of the line is the angle θ.  If the only break of σ is zero, k has no singularity in θ at
    det Σ = 0, so values near r = ±1 need no fallback.  Where Taylor steps do not get through, Chebyshev collocation
    takes over.  Its last panel ends at r = ±1, where k and k′ are integrals in one variable.

    Use it for a holonomic σ at dozens to thousands of points, each with its own deviations, or as an independent check
    of quadrature.  The system is derived once and kept.

    Its limits: for σ that oscillates or grows, other solutions of the system grow like exp(c1 c2) on the way from
    r = 0.  ReSin loses digits at small angles when both deviations are above about 5, and most of them at 10; the
    returned error shows this.  ``auto`` tries quadrature first.
    """
    if solver not in ("taylor", "scipy"):
        raise UnknownName(f"unknown solver {solver!r}; choose 'taylor' or 'scipy'")
    if coordinates not in ("sigma", "x"):
        raise UnknownName(f"unknown coordinates {coordinates!r}; choose 'sigma' or 'x'")
    if not 0 < rtol < 1:
        raise BadInput(f"rtol = {rtol!r} is not between 0 and 1; the paper uses 1e-10")
    chosen = (rtol, integrator) if solver == "scipy" else None
    if coordinates == "x":
        from holokern.dual.methods.hgm_x import hgm_in_x

        return hgm_in_x(activation, c1, c2, theta, scipy=chosen)
    table = polar_system(activation)
    if chosen is not None:
        return _by_scipy(activation, c1, c2, theta, rtol=rtol, integrator=integrator)
    journey = _Journey.of(activation, c1, c2, theta)
    # the last panel of collocation is for solutions that are smooth at r = ±1
    by_collocation = table.ends and not has_branch(activation)
    for detour in (False, True):
        journey.by_steps(detour, _STEPS if by_collocation else _STEPS_ALONE)
    if by_collocation:
        for detour in (False, True):
            journey.by_collocation(detour, tolerance)
    found = unscaled(journey.result, table, c1, c2, theta)
    if precise:
        _in_balls(activation, (c1, c2, theta), tolerance, found)
    return found.arrays


@dataclass(frozen=True)
class _Journey:
    """The points on their tracks, where the tracks start, and the values so far."""

    activation: Activation
    path: AnglePath
    tracks: Tracks
    theta: Array
    start: Start
    crossed: NDArray[np.bool_]
    result: Estimate  # of k and c1c2k′ sin^m

    @classmethod
    def of(cls, activation: Activation, c1: Array, c2: Array, theta: Array) -> _Journey:
        tracks = Tracks.of(c1, c2, theta)
        path = AnglePath(polar_system(activation), tracks.c1, tracks.c2)
        crossed = crosses(path)
        start = Start.of(activation, tracks.c1, tracks.c2, far=bool(np.any(crossed)))
        return cls(activation, path, tracks, theta, start, crossed, Estimate.empty(len(theta)))

    def _begin(self, some: Index, detour: bool) -> tuple[AnglePath, Numbers, Numbers]:
        """Some tracks as a path, their starts and the vectors there."""
        part = AnglePath(self.path.table, self.path.c1[some], self.path.c2[some])
        angle = np.full(len(some), np.pi / 2 + 1j * _HEIGHT if detour else np.pi / 2)
        return part, angle, self.start.states(part.c1, part.c2, angle)

    def by_steps(self, detour: bool, most: int) -> None:
        """Taylor steps, along the real line or round the singularities on it."""
        some = np.nonzero(self.crossed == detour)[0]
        mine = np.nonzero(np.isin(self.tracks.owner, some))[0]
        if len(mine):
            part, angle, states = self._begin(some, detour)
            owner = np.searchsorted(some, self.tracks.owner[mine])
            arrival = transport(part, angle, states, owner, self.theta[mine], detour=detour, most=most)
            self.result.put(mine, arrived(arrival, self.path.table.outputs))

    def by_collocation(self, detour: bool, tolerance: float) -> None:
        """Collocation for the points that Taylor steps did not reach, or reached with a large error."""
        table, result = self.path.table, self.result
        distance = from_end(self.theta)
        # an apparent singularity at the start is left behind by Taylor steps first
        near = _HANDOVER if detour else np.pi / 2
        poor = ~(result.k_error + result.kdot_error <= _POOR * (np.abs(result.k) + np.abs(result.kdot)))
        if not np.any(poor & (distance <= near)):
            return
        # values that are small beside those of independent u and v are not asked for all their digits
        begin = np.abs(self._begin(np.arange(len(self.tracks.c1)), False)[2][:, :, 0])
        floor = np.max(begin[:, [max(i, 0) for i in table.outputs]], axis=1)
        size = np.maximum(np.abs(result.k) + np.abs(result.kdot), floor[self.tracks.owner])
        poor = ~(result.k_error + result.kdot_error <= _POOR * size) & (distance <= near)
        hard = np.unique(self.tracks.owner[poor])
        hard = hard[self.crossed[hard] == detour]
        if not len(hard):
            return
        part, angle, states = self._begin(hard, detour)
        tracks = self.tracks.some(hard)
        if detour:
            handover = np.where(tracks.side > 0, near, np.pi - near)
            states = transport(part, angle, states, np.arange(len(hard)), handover, detour=True, every_entry=True).value
        else:
            # π/2 from the end, which is another float than π/2 itself on the side of π
            states = self.start.states(part.c1, part.c2, angle, tracks.side)
        known = ends_of(self.activation, tracks, tolerance)
        outputs = np.array([table.outputs[0], table.outputs[1] if table.outputs[1] >= 0 else table.rank])
        for i, track in enumerate(hard):
            if np.all(np.isfinite(states[i])):
                mine = np.nonzero((self.tracks.owner == track) & poor)[0]
                end = NearEnd.of(table, float(part.c1[i]), float(part.c2[i]), int(tracks.side[i]))
                values, errors = approach(end, near, states[i], distance[mine], outputs=outputs, limit=known[i])
                result.improve(mine, Estimate(*values.T, *errors.T))


def _in_balls(activation: Activation, points: tuple[Array, Array, Array], tolerance: float, found: Estimate) -> None:
    """The same transport with as many digits as it takes, for the points that floats leave too rough."""
    k, kdot, k_error, kdot_error = found.arrays
    where = np.nonzero(~((k_error <= tolerance * np.abs(k)) & (kdot_error <= tolerance * np.abs(kdot))))[0]
    if not len(where):
        return
    c1, c2, theta = (values[where] for values in points)
    scale, slope = (scales(activation, c1, c2, slope=slope) for slope in (False, True))
    slope = np.maximum(slope, np.nan_to_num(np.abs(kdot[where]), nan=0.0, posinf=0.0))
    rough = ~((k_error[where] <= tolerance * scale) & (kdot_error[where] <= tolerance * slope))
    for i in np.nonzero(rough)[0]:
        balls = _enclosed(activation, float(c1[i]), float(c2[i]), float(theta[i]))
        if balls is not None:
            for target, error, value in zip((k, kdot), (k_error, kdot_error), balls, strict=True):
                middle = float(value.mid())
                target[where[i]], error[where[i]] = middle, float(value.rad()) + 2 * EPS * abs(middle)
            # θ itself is rounded; at π/2, where k′ of an even σ vanishes, nothing of k′ is left beside that
            moved = 2 * EPS * theta[i] * np.sin(theta[i]) * c1[i] * c2[i]
            k_error[where[i]] += moved * np.nan_to_num(abs(kdot[where[i]]))
            kdot_error[where[i]] += EPS * slope[i]


def _enclosed(activation: Activation, c1: float, c2: float, theta: float) -> tuple[arb, arb] | None:
    from flint import arb, fmpq

    from holokern.dual.enclosure.enclose import enclose

    with working_precision(_BITS), limited_work(_WORK):
        r = arb(fmpq(*theta.as_integer_ratio())).cos()
        try:
            balls = enclose(activation, Fraction(c1), Fraction(c2), r, digits=_DIGITS, method="taylor")
        except HolokernError:
            return None
        return balls.k, balls.kdot


def _by_scipy(activation: Activation, c1: Array, c2: Array, theta: Array, *, rtol: float, integrator: str) -> Arrays:
    """One run of solve_ivp for every point."""
    from holokern.hgm import solve_along

    table = polar_system(activation)
    path = AnglePath(table, c1, c2)
    crossed = crosses(path)
    begin = Start.of(activation, c1, c2, far=bool(np.any(crossed)))
    result = Estimate.empty(len(theta))
    first, second = table.outputs
    for i in range(len(theta)):
        angle = np.array([np.pi / 2 + 1j * _HEIGHT if crossed[i] else np.pi / 2])
        state = begin.states(c1[i : i + 1], c2[i : i + 1], angle)[0, :, 0]
        ways = complex(angle[0]), float(theta[i])
        value, slope = solve_along(path, i, ways, state, rtol=rtol, integrator=integrator)
        result.k[i], result.kdot[i] = np.real(value[first]), np.real(slope if second < 0 else value[second])
        error = 2 * rtol * float(np.max(np.abs(value)))
        result.k_error[i], result.kdot_error[i] = error, error
    if not np.all(np.isfinite(result.k)):
        raise PrecisionLost(f"solve_ivp did not reach a point of {activation}; use solver='taylor'")
    return unscaled(result, table, c1, c2, theta).arrays
