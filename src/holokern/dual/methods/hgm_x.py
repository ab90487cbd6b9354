"""The paper's route: a straight line in x = -½Σ⁻¹ from (-1, 0, -1), for the unnormalised expectation.

There g(x) = ∫∫ σ(u)σ(v) exp(x11u² + 2x12uv + x22v²) du dv = k π/√det x, and near the start the derivatives of g are
products of moments ∫ u^n σ(u) exp(-u²) du [SakodaTakayama2024, Prop 1].
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation
from holokern.dual.methods.initial import hermite_moments
from holokern.errors import BadInput
from holokern.hgm import LinePath, LineTable, Numbers, transport
from holokern.numeric import EPS, Array
from holokern.pfaffian import PfaffianSystem, pfaffian

# terms fall about like 0.3^n, so that the last one is far below rounding
_TERMS = 48
# the imaginary part of x12 at the start, above a singularity on the line; the series in x12 converges for |x12| < 1
_LIFT = 0.3


@lru_cache(maxsize=32)
def system_in_x(activation: Activation) -> tuple[PfaffianSystem, LineTable]:
    """The Pfaffian system in x with its tables; the most recent ones are kept."""
    system = pfaffian(activation, coordinates="x")
    return system, LineTable.of(system, determinant=True)


def coordinates_x(c1: Array, c2: Array, theta: Array) -> Array:
    """Rows (x11, x12, x22) of x = -½Σ⁻¹.

    Examples
    --------
    >>> half = np.array([0.5**0.5])
    >>> coordinates_x(half, half, np.array([np.pi / 2])).round(12).tolist()
    [[-1.0, 0.0, -1.0]]
    """
    sine = np.sin(theta)
    rows = -0.5 / (c1 * sine) ** 2, 0.5 * np.cos(theta) / (c1 * c2 * sine**2), -0.5 / (c2 * sine) ** 2
    return np.stack(rows, axis=1)


def moments_in_x(activation: Activation, count: int) -> tuple[Array, Array]:
    """∫ u^n σ(u) exp(-u²) du for n < ``count``, and errors.

    With u = z/√2 this is √π E[(z/√2)^n σ(z/√2)], and z^n is a sum of Hermite polynomials with positive coefficients.
    """
    found = hermite_moments(activation, np.array([np.sqrt(0.5)]), count)
    weight = np.sqrt(np.cumprod(np.concatenate([[1.0], np.arange(1.0, count)])))
    powers = np.zeros((count, count))
    powers[0, 0] = 1.0
    for n in range(1, count):
        # z He_k = He_(k+1) + k He_(k-1)
        powers[n, 1:] += powers[n - 1, :-1]
        powers[n, :-1] += powers[n - 1, 1:] * np.arange(1, count)
    scale = np.sqrt(np.pi) * np.sqrt(0.5) ** np.arange(count)
    values = scale * (powers @ (found.values[0] * weight))
    return values, scale * (powers @ (found.errors[0] * weight))


def start_in_x(activation: Activation, x12: complex = 0.0) -> tuple[Numbers, Array]:
    """The vector of the system in x at (-1, x12, -1), |x12| well below 1, and errors.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> start_in_x(activation("relu"))[0].round(12).tolist()
    [0.25, 0.392699081699]
    """
    system, _ = system_in_x(activation)
    factors, exponents = zip(*system.monomials, strict=True)
    extra = _TERMS if np.any(x12 != 0) else 1
    highest = max(max(pair) for pair in exponents)
    values, errors = moments_in_x(activation, highest + extra)
    n = np.arange(extra)
    weight = (2 * x12) ** n / np.cumprod(np.concatenate([[1.0], np.arange(1.0, extra)]))
    result, error = [], []
    for q, (i, j) in zip(factors, exponents, strict=True):
        terms = values[i + n] * values[j + n] * weight
        spread = np.abs(weight) * (errors[i + n] * np.abs(values[j + n]) + np.abs(values[i + n]) * errors[j + n])
        result.append(float(q) * terms.sum())
        error.append(float(q) * (spread.sum() + EPS * np.abs(terms).sum() + (np.abs(terms[-1]) if extra > 1 else 0)))
    return np.array(result), np.array(error)


def hgm_in_x(
    activation: Activation, c1: Array, c2: Array, theta: Array, *, scipy: tuple[float, str] | None = None
) -> tuple[Array, Array, Array, Array]:
    """k, k′ and errors along straight lines in x, by Taylor steps or by solve_ivp with (rtol, integrator)."""
    system, table = system_in_x(activation)
    if system.monomials[0][1] != (0, 0):
        raise BadInput("expected a basis that begins with 1 in the coordinates x; use coordinates='sigma'")
    stretch, diagonal = system.scaling(float) or ([1.0] * 3, [1.0] * system.rank)
    target = coordinates_x(c1, c2, theta) * np.array(stretch)
    count = len(theta)
    # the start is lifted off x12 = 0 where the system is singular there, or crosses a singularity on the way
    begin = np.tile(np.array([-1.0, 0.0, -1.0]) * np.array(stretch), (count, 1))
    path = LinePath(table, begin, target)
    singular = bool(np.any(_near_line(path, count)))
    if singular:
        begin = begin.astype(complex)
        begin[:, 1] += 1j * _LIFT * stretch[1]
        path = LinePath(table, begin, target.astype(complex))
    start, error = start_in_x(activation, 1j * _LIFT if singular else 0.0)
    start, error = start / np.array(diagonal), error / np.array(diagonal)
    signs = np.random.default_rng(3).choice([-1.0, 1.0], size=(len(error), 3))
    state = np.concatenate([start[:, None], error[:, None] * signs], axis=1)
    states = np.tile(state, (count, 1, 1))
    if scipy is not None:
        value, spread, tail = _scipy(path, states[:, :, 0], *scipy)
    else:
        ways = np.arange(count), np.ones(count)
        arrival = transport(path, np.zeros(count), states, *ways, detour=singular, every_entry=True)
        value, tail = arrival.value[:, :, 0], arrival.tail
        spread = np.sqrt(np.mean(arrival.value[:, :, 1:] ** 2, axis=2))
    error = 5 * spread + 6 * tail + 2 * EPS * np.abs(value)
    return _normalised(table, (c1, c2, theta), np.array(stretch), value, error)


def _near_line(path: LinePath, count: int) -> NDArray[np.bool_]:
    """Whether a zero of the denominator lies close to the way, other than one at its end."""
    tracks = np.arange(count)
    near = np.zeros(count, dtype=bool)
    for t in np.linspace(0.0, 0.9, 10):
        near |= path.distance(tracks, np.full(count, t)) < 0.06
    return near


def _scipy(path: LinePath, states: Numbers, rtol: float, integrator: str) -> tuple[Array, Array, Array]:
    from holokern.hgm import integrate

    values = []
    for track in range(len(states)):
        state = states[track]
        values.append(integrate(path, track, (0.0, 1.0), state, rtol=rtol, integrator=integrator))
    value = np.array(values).real
    error = 2 * rtol * np.max(np.abs(value), axis=1, keepdims=True) * np.ones_like(value)
    return value, error / 5, np.zeros_like(error)


def _normalised(
    table: LineTable, points: tuple[Array, Array, Array], stretch: Array, value: Array, error: Array
) -> tuple[Array, Array, Array, Array]:
    """The expectation k = g √det x/π, and k′ = ∂k/∂Σ12 by the chain rule."""
    c1, c2, theta = points
    x = coordinates_x(c1, c2, theta)
    # dx = 2x dΣ x with dΣ12 = dΣ21 = 1; the way of x as Σ12 grows is a line to first order
    speed = np.stack([4 * x[:, 0] * x[:, 1], 2 * (x[:, 0] * x[:, 2] + x[:, 1] ** 2), 4 * x[:, 1] * x[:, 2]], axis=1)
    matrix, noise = _matrix(table, x * stretch, speed * stretch)
    root = 0.5 / (c1 * c2 * np.sin(theta)) / np.pi
    row = matrix[:, 0].copy()
    row[:, 0] += np.cos(theta) / (c1 * c2 * np.sin(theta) ** 2)
    k, kdot = value[:, 0] * root, np.einsum("pj,pj->p", row, value) * root
    # x itself is rounded, and the vector moves with it
    moved = error.copy()
    for axis in range(3):
        one = np.zeros_like(x)
        one[:, axis] = x[:, axis]
        moved += 2 * EPS * np.einsum("pij,pj->pi", np.abs(_matrix(table, x * stretch, one * stretch)[0]), np.abs(value))
    rounding = EPS * noise * np.einsum("pj,pj->p", np.abs(row), np.abs(value))
    return k, kdot, moved[:, 0] * root, (np.einsum("pj,pj->p", np.abs(row), moved) + rounding) * root


def _matrix(table: LineTable, at: Array, speed: Array) -> tuple[Array, Array]:
    """The matrix of the derivative in a direction, and how many units in the last place it is off."""
    equation = LinePath(table, at, at + speed).equation_at(np.arange(len(at)), np.zeros(len(at)), 0)
    bottom = equation.bottom[:, 0]
    noise = np.ones(len(at)) if equation.sizes is None else equation.sizes[0][:, 0] / np.abs(bottom)
    return equation.top[:, 0] / bottom[:, None, None], noise
