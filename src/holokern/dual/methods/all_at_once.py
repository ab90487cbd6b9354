"""HGM all at once: one path through all points instead of one path to each [SakodaTakayama2024, Sect 5].

The path is a polygon in (log c1, log c2, θ).  All its segments are solved side by side for a basis of solutions, and
the products of their transition matrices carry the initial vector from point to point.
"""

from __future__ import annotations

import numpy as np

from holokern.activation import Activation
from holokern.dual.methods.polar import COLUMNS, Start, arrived, crosses, polar_system, unscaled
from holokern.dual.quadrature.method import scales
from holokern.dual.value import Estimate
from holokern.errors import BadInput, PrecisionLost, UnknownName
from holokern.hgm import TAYLOR_TERMS, AnglePath, Numbers, PolarTable, SegmentPath, order_of, transport
from holokern.numeric import EPS, Array

# the imaginary part of θ of all vertices, above zeros of D; with 0.12 errors of gelu are three times as large
_HEIGHT = 0.25
# how far vertices stay from r = ±1, where D vanishes; one expansion goes from there to the point
_CLEAR = 0.4
# relative error above which there is nothing to report
_HOPELESS = 1e-3


def all_at_once(
    activation: Activation, c1: Array, c2: Array, theta: Array, tolerance: float, *, order: str = "short"
) -> tuple[Array, Array, Array, Array]:
    """k, k′ and their errors by one run through all points.

    Parameters
    ----------
    order : {"short", "sorted", "given"}
        The order of the points: one that makes the path short, the paper's, or the given one.

    Notes
    -----
    The vertices stay away from det Σ = 0, and a common imaginary part of θ keeps them away from apparent singularities.
    One expansion leads from a vertex to its point.  The error comes from perturbations that are transported too, and
    from a second run with other steps.  Use it for many points with similar deviations; for few or scattered points
    "hgm" is better.

    Raises
    ------
    PrecisionLost
        When errors grow so much along the path that no digits are left, as between very different deviations.
    """
    table = polar_system(activation)
    lifted = bool(np.any(crosses(AnglePath(table, c1, c2))))
    angle = np.clip(theta, _CLEAR, np.pi - _CLEAR) if table.ends else theta
    coordinates = np.stack([np.log(c1), np.log(c2), angle], axis=1)
    first = np.argmin(np.abs(angle - np.pi / 2))
    start = np.array([*coordinates[first, :2], np.pi / 2])
    tour = order_of(coordinates, start, order)
    vertices = np.concatenate([start[None], coordinates[tour]])
    begin = angle[tour] + (1j * _HEIGHT if lifted else 0.0)
    path = AnglePath(table, c1[tour], c2[tour])
    results = []
    # rounding errors on a long path show when other steps are taken
    for terms in (TAYLOR_TERMS, TAYLOR_TERMS - 6):
        states = _run(activation, table, vertices, lifted, terms)
        arrival = transport(path, begin, states[1:], np.arange(len(tour)), theta[tour], detour=lifted)
        results.append(Estimate.empty(len(theta)))
        results[-1].put(tour, arrived(arrival, table.outputs))
    result, other = results
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.abs(result.k - other.k) + np.abs(result.kdot - other.kdot)
        result.k_error[:] += 2 * moved
        result.kdot_error[:] += 2 * moved
        lost = ~(result.k_error <= _HOPELESS * scales(activation, c1, c2))
    if np.any(lost):
        raise PrecisionLost(
            f"all_at_once: the errors of {activation} grow too much along one path through these points; use "
            "method='hgm', which goes to each point by itself, or points with similar deviations"
        )
    return unscaled(result, table, c1, c2, theta).arrays


def _run(activation: Activation, table: PolarTable, vertices: Array, lifted: bool, order: int) -> Numbers:
    """H at the vertices of the polygon, with perturbations: (vertices, rank, columns).

    θ of every vertex is lifted by the same imaginary part if ``lifted``.
    """
    shift = 1j * _HEIGHT if lifted else 0.0
    ends = np.stack([np.exp(vertices[:, 0]), np.exp(vertices[:, 1]), vertices[:, 2] + shift], axis=1)
    segments = len(ends) - 1
    path = SegmentPath(table, ends[:-1], ends[1:])
    identity = np.tile(np.eye(table.rank), (segments, 1, 1))
    arrival = transport(
        path,
        np.zeros(segments),
        identity,
        np.arange(segments),
        np.ones(segments),
        order=order,
        detour=lifted,
        every_entry=True,
        perturbed=False,
    )
    if not np.all(np.isfinite(arrival.value)):
        raise PrecisionLost(f"all_at_once: a segment of the path is singular for {activation}; use method='hgm'")
    c1, c2 = np.real(ends[:1, 0]), np.real(ends[:1, 1])
    start = Start.of(activation, c1, c2, far=True)
    state = start.states(c1, c2, ends[:1, 2] if lifted else vertices[:1, 2])[0]
    signs = np.random.default_rng(11).choice([-1.0, 1.0], size=(segments, table.rank, COLUMNS - 1))
    states = [state]
    for matrix, tail, sign in zip(arrival.value, arrival.tail, signs, strict=True):
        new = matrix @ state
        size = np.abs(matrix) @ np.abs(state[:, 0])
        missing = tail * float(np.max(np.abs(state[:, 0])))
        new[:, 1:] += sign * (2 * EPS * size + missing)[:, None]
        state = new
        states.append(state)
    return np.array(states)


def run_through(
    activation: Activation, x: Array, solver: str = "taylor", *, rtol: float = 1e-10, integrator: str = "RK45"
) -> Numbers:
    """The unnormalised expectation g at points of the space of x, by one run in the order given, as in the paper.

    Parameters
    ----------
    x : array, (n, 3)
        Rows (x11, x12, x22), negative definite.
    solver : {"taylor", "scipy"}

    Returns
    -------
    array, (n,)

    Notes
    -----
    In x a long path multiplies errors: g and its derivatives change by orders of magnitude along it, and not all
    solutions of the system do so alike.  :func:`all_at_once` scales them and loses little.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> run_through(activation("relu"), np.array([[-1.0, 0.0, -1.0], [-1.0, 0.5, -2.0]])).round(12).tolist()
    [0.25, 0.247184162916]
    """
    from holokern.dual.methods.hgm_x import start_in_x, system_in_x
    from holokern.hgm import LinePath, integrate

    if solver not in ("taylor", "scipy"):
        raise UnknownName(f"unknown solver {solver!r}; choose 'taylor' or 'scipy'")
    x = np.asarray(x, dtype=float)
    if x.ndim != 2 or x.shape[1] != 3 or not np.all((x[:, 0] < 0) & (x[:, 0] * x[:, 2] > x[:, 1] ** 2)):
        raise BadInput("expected rows (x11, x12, x22) of negative definite matrices")
    system, table = system_in_x(activation)
    if system.scale is not None:
        raise BadInput(f"{activation} has an irrational scale; run_through takes an activation over the rationals")
    start, _ = start_in_x(activation)
    corners = np.concatenate([[[-1.0, 0.0, -1.0]], x])
    path = LinePath(table, corners[:-1], corners[1:])
    count = len(x)
    values, state = [], start
    for i in range(count):
        if solver == "scipy":
            state = integrate(path, i, (0.0, 1.0), state, rtol=rtol, integrator=integrator)
        else:
            segment = LinePath(table, corners[i : i + 1], corners[i + 1 : i + 2])
            there = np.zeros(1, dtype=np.intp), np.ones(1)
            state = transport(
                segment, np.zeros(1), state[None, :, None], *there, every_entry=True, perturbed=False
            ).value[0, :, 0]
        values.append(state[0])
    return np.array(values)
