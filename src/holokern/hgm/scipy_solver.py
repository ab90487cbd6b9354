"""The paper's solver: ``scipy.integrate.solve_ivp``, one target after another."""

from __future__ import annotations

import numpy as np

from holokern.errors import BadInput, SingularPath
from holokern.hgm.steps.series import Array, Path

INTEGRATORS = ("RK45", "DOP853", "RK23", "Radau", "BDF", "LSODA")

_HALT = 1e-3  # explicit solvers cannot arrive at a singular target; 17 terms of the series do from here, to (1e-3)^17


def solve_along(
    path: Path, track: int, ends: tuple[complex, float], state: Array, *, rtol: float, integrator: str
) -> tuple[Array, complex]:
    """Integrate D H' = N H along one track from ``ends[0]`` to the real ``ends[1]``.

    A start off the real line means that singularities lie on it: the path then stays above until it stands over the
    target.  Within a small distance of a singular target the value is continued by one Taylor step, since explicit
    methods cannot arrive there.

    Returns H and c1c2k′ at the target.
    """
    from holokern.hgm.steps.stepper import taylor_coefficients

    start, target = ends
    tracks = np.array([track])
    corners = [start, complex(target, start.imag), complex(target)] if start.imag else [start, complex(target)]
    value: Array = state.astype(complex if start.imag else float)
    here = corners[0]
    for corner in corners[1:]:
        last = corner == corners[-1]
        stop = corner
        if last:
            free = float(path.distance(tracks, np.array([corner if start.imag else corner.real]))[0])
            halt = min(_HALT, 0.5 * abs(corner - here))
            if free < halt:
                stop = corner - (corner - here) / abs(corner - here) * halt
        value = integrate(path, track, (here, stop), value, rtol=rtol, integrator=integrator)
        here = stop
    at = np.array([here if start.imag else here.real])
    equation = path.equation_at(tracks, at, 16)
    series, slopes = taylor_coefficients(equation, value[None, :, None])
    powers = (target - at[0]) ** np.arange(17)
    return np.tensordot(powers, series[0, :, :, 0], 1), powers @ slopes[0, :, 0]


def integrate(
    path: Path, track: int, ends: tuple[complex, complex], value: Array, *, rtol: float, integrator: str
) -> Array:
    """One run of solve_ivp along one track, from one parameter to another, real or complex."""
    if integrator not in INTEGRATORS:
        raise BadInput(f"unknown integrator {integrator!r}; solve_ivp has {', '.join(INTEGRATORS)}")
    from scipy.integrate import solve_ivp

    here, there = ends
    tracks = np.array([track])
    length = there - here
    if length == 0:
        return value
    real = not np.iscomplexobj(value)

    def slope(t: float, y: Array) -> Array:
        at = here + t * length
        equation = path.equation_at(tracks, np.array([at.real if real else at]), 0)
        speed = length.real if real else length
        return np.asarray(equation.top[0, 0] @ y * (speed / equation.bottom[0, 0]))

    scale = float(np.max(np.abs(value))) or 1.0
    solution = solve_ivp(slope, (0.0, 1.0), value, method=integrator, rtol=rtol, atol=1e-3 * rtol * scale)
    if not solution.success:
        raise SingularPath(f"solve_ivp stopped between {here:.6g} and {there:.6g}: {solution.message}")
    return np.asarray(solution.y[:, -1])
