"""HIE for ReLU: the error of least squares against the number of basis functions.

The paper restricts the system to x11 = x22 = -1, where the unnormalised expectation f(x), x = x12, solves
(1 - x²)f'' - 5xf' - 4f = 0, and fits f from its values at two points [SakodaTakayama2024, Sect 4].  f grows like
(1 - x²)^(-3/2) towards ±1, so that polynomials in x need many functions; in the angle θ = arccos x the function
h = f sin³ θ is entire.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holokern.hgm import Basis, ChebyshevBasis, Constraint, MonomialBasis, fit_operator, fit_system, gauss_nodes
from holokern.numeric import Array
from holokern.paper.problem import Problem
from holokern.paper.results import Cell, Chart, Findings, Series, Table, finished
from holokern.progress import report
from holokern.weyl import weyl_algebra

_SIZES = (4, 6, 8, 10, 12, 16, 20, 24, 30, 40, 50, 60)  # from too few to more than enough
_EDGE = 0.9  # f has a pole-like end at ±1, so the fit in x keeps away from it
_POINTS = (-0.5, 0.6)  # two points fix a solution of an equation of second order; these are not symmetric
_PENALTY = 1.0  # the weight μ of the two values beside the integral of the squared residual
_FINE = 201  # points at which the error is measured


def relu_integral(x: Array) -> Array:
    """The unnormalised expectation of ReLU at (-1, x, -1), in closed form."""
    angle = np.arccos(x)
    return np.asarray((np.sin(angle) + (np.pi - angle) * x) / (4 * np.sin(angle) ** 3))


def fit_in_x(size: int, basis: Callable[[int], Basis], mu: float | None) -> float:
    """The largest error on [-0.9, 0.9] of the fit in x, relative to the largest value."""
    operator = weyl_algebra("x")("(1 - x^2)*dx^2 - 5*x*dx - 4")
    known = [Constraint(p, float(relu_integral(np.array(p)))) for p in _POINTS]
    fit = fit_operator(operator, basis(size), gauss_nodes(3 * size, -_EDGE, _EDGE), known, mu)
    x = np.linspace(-_EDGE, _EDGE, _FINE)
    return _worst(fit(x), relu_integral(x))


def fit_in_angle(size: int) -> float:
    """The largest error of h = f sin³ θ on all of [0, π] by Chebyshev polynomials in θ, relative to the largest value.

    With w = -h'/sin θ the equation is sin θ (h, w)' = ((0, -sin² θ), (-1, cos θ)) (h, w), regular at both ends.
    """
    nodes, weights = gauss_nodes(2 * size, 0.0, np.pi)
    sin, cos = np.sin(nodes), np.cos(nodes)
    top = np.stack([np.stack([0 * sin, -(sin**2)], axis=1), np.stack([-np.ones_like(sin), cos], axis=1)], axis=1)
    angles = np.arccos(_POINTS)
    known = [Constraint(float(t), float(_entire(np.array(t)))) for t in angles]
    fit = fit_system((sin, top), ChebyshevBasis(size, 0.0, np.pi), (nodes, weights), known)
    theta = np.linspace(0, np.pi, _FINE)
    return _worst(fit(theta)[:, 0], _entire(theta))


def _entire(theta: Array) -> Array:
    return np.asarray((np.sin(theta) + (np.pi - theta) * np.cos(theta)) / 4)


def _worst(found: Array, exact: Array) -> float:
    return float(np.max(np.abs(found - exact)) / np.max(np.abs(exact)))


def hie_relu(_: Problem) -> Findings:
    """Fits with more and more functions; the problem has no network in it."""
    ways: dict[str, Callable[[int], float]] = {
        "powers of x, penalty": lambda n: fit_in_x(n, MonomialBasis, _PENALTY),
        "Chebyshev in x, penalty": lambda n: fit_in_x(n, lambda m: ChebyshevBasis(m, -_EDGE, _EDGE), _PENALTY),
        "Chebyshev in x, exact": lambda n: fit_in_x(n, lambda m: ChebyshevBasis(m, -_EDGE, _EDGE), None),
        "Chebyshev in θ, exact": fit_in_angle,
    }
    errors: dict[str, list[float]] = {name: [] for name in ways}
    for done, size in enumerate(_SIZES):
        report("HIE for ReLU", done, len(_SIZES))
        for name, way in ways.items():
            errors[name].append(way(size))
    rows: list[tuple[Cell, ...]] = [(n, *(errors[name][i] for name in ways)) for i, n in enumerate(_SIZES)]
    p, q = _POINTS
    table = Table(
        "HIE for ReLU: error against the number of basis functions",
        ("functions", *ways),
        tuple(rows),
        (
            "HIE, holonomic interpolation, fits a function by least squares to its differential equation and to a few "
            "known values. Errors are the largest ones, relative to the largest value.",
            f"The known values are those at x₁₂ = {p} and {q}, as in the paper: as a penalty of weight {_PENALTY:g}, "
            f"or exactly. In x the fit covers [-{_EDGE}, {_EDGE}], because the function is infinite at ±1; in "
            "θ = arccos x₁₂ it covers all of [-1, 1]. The paper describes the method and prints no numbers.",
        ),
    )
    series = tuple(Series(name, tuple(map(float, _SIZES)), tuple(e), "both") for name, e in errors.items())
    caption = (
        "Fitting the kernel of ReLU to its differential equation with more and more polynomials. In the correlation x "
        "the error falls slowly; in the angle θ = arccos x twenty polynomials reach machine precision."
    )
    chart = Chart(
        "hie-relu", "HIE for ReLU", "basis functions", "largest relative error", series, log="y", caption=caption
    )
    middle = _SIZES.index(20)
    best, usual = errors["Chebyshev in θ, exact"][middle], errors["Chebyshev in x, exact"][middle]
    headline = (
        f"Holonomic interpolation: 20 polynomials in the angle err by {best:.0e}, 20 in the correlation by {usual:.0e}."
    )
    return Findings("Holonomic interpolation", (finished(table),), (chart,), headline)
