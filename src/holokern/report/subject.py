"""An activation with all that the parts of its page share, and the data of its charts.

Its Chebyshev tables of k and k′ are small enough to travel in a page, whose sliders redraw the curves from them.  With
ℓ = log c, n(c) = E[σ(cz)²]^(1/2) and a scale s(c) of k′, they hold log n and log s in ℓ, and

    ρ = k/(n1 n2),    τ = k′/(s1 s2)    in (ℓ1, ℓ2, θ), and again for c1 = c2 over a wider range of ℓ.

s is E[σ′(cz)²]^(1/2). Where that is infinite, as for σ with jumps, s is n/c and the table holds τ sin θ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebval

from holokern.activation import Activation, curves
from holokern.dual import DualActivation, dual, dual_activation, series_values, spectrum
from holokern.errors import BadInput, HolokernError, PrecisionLost
from holokern.network import EdgePart, edge_of_chaos
from holokern.numeric import Array, Range, chebyshev_matrix, chebyshev_nodes
from holokern.paper import Json
from holokern.progress import report

# deviations of the sliders, the widest first; exponentials have moments for the small ones only
_RANGES = ((0.125, 8.0), (0.25, 4.0), (0.5, 2.0), (0.5, 1.25))
_SIZES = ((9, 36), (14, 56))  # terms in log c and in θ: the small table first, which makes the page smaller
_RADICALS = 48  # terms in log c of the logarithms of E[σ²] and E[σ′²]; they cost nothing
_GOOD = 3e-5  # errors that no eye sees in a chart of some hundred pixels
_DIGITS = 9  # four more than the tables are good for, so that JSON costs no accuracy
_SAMPLES = 16  # random points on which no table was built

Tables = tuple[Array, Array]
Limits = tuple[float, float]


def slope_scale(sigma: DualActivation, c: Array) -> Array:
    """The scale s(c) of k′."""
    return sigma.norms(c) / c if sigma.jumps else sigma.slope_norms(c)


def _grid(sigma: DualActivation, c1: Array, c2: Array, theta: Array) -> Tables:
    """The functions ρ and τ of every pair of deviations (rows) at every angle."""
    return _normalised(sigma, *series_values(sigma.activation, c1, c2, theta), c1, c2, theta)


def _truth(sigma: DualActivation, c1: Array, c2: Array, theta: Array) -> Tables:
    """The functions ρ and τ at single points, by `dual`."""
    found = sigma.values(c1, c2, theta)
    k, kdot = np.asarray(found.k)[:, None], np.asarray(found.kdot)[:, None]
    rho, tau = _normalised(sigma, k, kdot, c1, c2, theta[:, None])
    return rho[:, 0], tau[:, 0]


def _normalised(sigma: DualActivation, k: Array, kdot: Array, c1: Array, c2: Array, theta: Array) -> Tables:
    # n is zero in floats where σ lives too many deviations away; a narrower range is tried then
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rho = k / (sigma.norms(c1) * sigma.norms(c2))[:, None]
        tau = kdot / (slope_scale(sigma, c1) * slope_scale(sigma, c2))[:, None]
        tau = tau * (np.sin(theta) if sigma.jumps else 1.0)
    if not np.all(np.isfinite(rho)) or not np.all(np.isfinite(tau)):
        raise PrecisionLost(f"k of {sigma.activation} leaves the floating-point range")
    return rho, tau


def read_sigma(activation: Activation) -> DualActivation:
    """Look at an activation before any work.

    Raises BadInput for a constant σ, whose kernels are constant, too.
    """
    sigma, one = dual_activation(activation), np.ones(1)
    if not sigma.norms(one)[0] > 0 or not slope_scale(sigma, one)[0] > 0:
        raise BadInput(f"{activation} is constant, and so are its kernels; give an activation that depends on u")
    return sigma


@dataclass(frozen=True)
class ValueTables:
    """What a page needs to draw k, k′ and networks."""

    wide: tuple[float, float]  # the range of c on which log n, log s and the diagonal tables hold
    range: tuple[float, float]  # the range of c1 and c2 of the pair tables
    # log_norm, log_slope: coefficients of log n and log s on ``wide``
    log_norm: Array
    log_slope: Array
    # diagonal, diagonal_slope: ρ and τ for c1 = c2 on ``wide``: axes ℓ, θ
    diagonal: Array
    diagonal_slope: Array
    # pair, pair_slope: ρ and τ on ``range``: axes ℓ1, ℓ2, θ
    pair: Array
    pair_slope: Array
    steep: bool  # whether τ was multiplied by sin θ
    # the largest error of ρ, and of τ up to the factor sin θ, at points on which the tables were not built
    error: float

    def data(self) -> dict[str, Json]:
        """Plain data for JSON, rounded to what a curve can show."""
        return {
            "wide": self.wide,
            "range": self.range,
            "steep": self.steep,
            "logNorm": _short(self.log_norm, 12),
            "logSlope": _short(self.log_slope, 12),
            "diagonal": _short(self.diagonal),
            "diagonalSlope": _short(self.diagonal_slope),
            "pair": _short(self.pair),
            "pairSlope": _short(self.pair_slope),
        }


def value_tables(sigma: DualActivation) -> ValueTables:
    """Tables over the widest range of deviations on which they are good.

    Raises PrecisionLost if no range can be served at all.
    """
    wide, diagonals, error = _widest(sigma, _RANGES, _diagonal)
    near, pairs, pair_error = _widest(sigma, [limits for limits in _RANGES[1:] if limits[1] <= wide[1]], _pair)
    c = _deviations(wide, _RADICALS)
    log_norm = chebyshev_matrix(_RADICALS) @ np.log(sigma.norms(c))
    log_slope = chebyshev_matrix(_RADICALS) @ np.log(slope_scale(sigma, c))
    worst = max(error, pair_error)
    return ValueTables(wide, near, log_norm, log_slope, *diagonals, *pairs, steep=sigma.jumps, error=worst)


Builder = Callable[[DualActivation, Limits, int, int], tuple[Tables, float]]


def _widest(sigma: DualActivation, ranges: Sequence[Limits], build: Builder) -> tuple[Limits, Tables, float]:
    """The range, the tables of ρ and τ and their error: the first that is good, else the best."""
    best: tuple[Limits, Tables, float] | None = None
    reason: HolokernError | None = None
    for limits in ranges:
        for deviations, angles in _SIZES:
            report(f"values for deviations from {limits[0]:g} to {limits[1]:g}")
            try:
                tables, error = build(sigma, limits, deviations, angles)
            except HolokernError as problem:
                reason = problem
                break
            if best is None or error < best[2]:
                best = limits, tables, error
            if error <= _GOOD:
                return best
    if best is None:
        raise PrecisionLost(f"no table of k could be made for {sigma.activation}: {reason}")
    return best


def _diagonal(sigma: DualActivation, limits: Limits, deviations: int, angles: int) -> tuple[Tables, float]:
    """Tables for c1 = c2 with twice as many deviations."""
    c = _deviations(limits, 2 * deviations)
    to_place, to_angle = chebyshev_matrix(len(c)), chebyshev_matrix(angles)
    first, second = (to_place @ part @ to_angle.T for part in _grid(sigma, c, c, _angles(angles)))
    (c, _), (place, _), theta = _samples(limits)
    return (first, second), max(
        float(np.max(np.abs(_at(table, place, theta) - true)))
        for table, true in zip((first, second), _truth(sigma, c, c, theta), strict=True)
    )


def _pair(sigma: DualActivation, limits: Limits, deviations: int, angles: int) -> tuple[Tables, float]:
    """Tables for any c1 and c2."""
    c = _deviations(limits, deviations)
    rows, columns = np.triu_indices(deviations)
    to_place, to_angle = chebyshev_matrix(deviations), chebyshev_matrix(angles)
    tables = []
    for part in _grid(sigma, c[rows], c[columns], _angles(angles)):
        full = np.empty((deviations, deviations, angles))
        full[rows, columns] = full[columns, rows] = part @ to_angle.T
        tables.append(np.einsum("pa,qb,abt->pqt", to_place, to_place, full, optimize=True))
    (c1, c2), places, theta = _samples(limits)
    outer = chebval(places[0], np.eye(deviations))
    return (tables[0], tables[1]), max(
        float(np.max(np.abs(sum(outer[p] * _at(inner, places[1], theta) for p, inner in enumerate(table)) - true)))
        for table, true in zip(tables, _truth(sigma, c1, c2, theta), strict=True)
    )


def _samples(limits: Limits) -> tuple[Array, Array, Array]:
    """Two rows of deviations, the same mapped to [-1, 1], and angles, on which no table was built."""
    random = np.random.default_rng(5)
    places = 2 * random.random((2, _SAMPLES)) - 1
    low, high = np.log(limits)
    return np.exp((low + high) / 2 + (high - low) / 2 * places), places, np.pi * random.random(_SAMPLES)


def _at(table: Array, place: Array, theta: Array) -> Array:
    """A table with the axes ℓ, θ at points."""
    rows, columns = (np.eye(count) for count in table.shape)
    return np.asarray(np.einsum("pi,pm,mi->i", chebval(place, rows), table, chebval(2 * theta / np.pi - 1, columns)))


def _deviations(limits: Limits, count: int) -> Array:
    return np.exp(Range(*map(float, np.log(limits))).nodes(count))


def _angles(count: int) -> Array:
    return (chebyshev_nodes(count) + 1) * np.pi / 2


def _short(values: Array, digits: int = _DIGITS) -> Json:
    rounded = np.round(values, digits)
    return [_short(part, digits) for part in rounded] if rounded.ndim > 1 else [float(x) or 0 for x in rounded]


NODES = (25, 100)  # the degree that the rule of the paper starts with, and one that costs sixteen times as much
ROUNDING = 1e-17  # shares that a sum of one does not feel
_DEGREES = 61  # the chart shows degrees 0 to 60


@dataclass(frozen=True)
class Subject:
    """An activation with all that its parts of the page share."""

    activation: Activation
    sigma: DualActivation
    tables: ValueTables
    edge: list[EdgePart]
    weight: float

    @classmethod
    def of(cls, activation: Activation) -> Subject:
        """Compute the tables of an activation and its edge of chaos."""
        sigma = read_sigma(activation)
        report(f"tables of k and k′ of {activation}")
        tables = value_tables(sigma)
        edge = [] if sigma.jumps else edge_of_chaos(activation, *tables.wide)
        return cls(activation, sigma, tables, edge, 1 / float(sigma.norms(np.ones(1))[0]))

    @property
    def name(self) -> str:
        """The name with the parameters that are not the usual ones, or the expression."""
        text = str(self.activation)
        if self.activation.name not in (None, text):
            given = ", ".join(f"{key} = {value}" for key, value in self.activation.parameters.items())
            text = f"{self.activation.name} ({given})"
        return text if len(text) <= 80 else f"{text[:79]}…"

    def data(self) -> dict[str, Json]:
        """What the script of the page draws."""
        report(f"Gauss–Hermite rules for {self.activation}")
        edge = [
            {"weight": _digits(part.weight), "bias": _digits(part.bias), "stable": part.stable} for part in self.edge
        ]
        return {
            "name": self.name,
            "weight": self.weight,
            "tables": self.tables.data(),
            "sigma": _graph(self.activation),
            "gauss": _gauss_data(self.sigma),
            "spectrum": _spectrum_data(self.sigma),
            "edge": edge,
        }


def _graph(activation: Activation) -> dict[str, Json]:
    """σ and σ′ for the first chart; a gap where σ or σ′ jumps."""
    u, value, slope = curves(activation)
    jumps = activation.jump_order == 0
    return {"u": _digits(u), "value": _digits(value), "slope": _digits(slope), "jumps": jumps}


def _gauss_data(sigma: DualActivation) -> dict[str, Json]:
    """Errors of Gauss–Hermite rules at c1 = c2 = 1, relative to the values at r = 1."""
    theta = np.linspace(0.01, np.pi - 0.01, 121)
    rows = [rule_errors(sigma, 1.0, 1.0, theta, nodes) for nodes in NODES]
    return {
        "r": _digits(np.cos(theta)),
        "k": [_digits(row[0], 3) for row in rows],
        "kdot": [_digits(row[1], 3) for row in rows],
    }


def rule_errors(sigma: DualActivation, c1: float, c2: float, theta: Array, nodes: int) -> tuple[Array, Array]:
    """Errors of k and of k′ by a Gauss–Hermite rule, relative to the values at r = 1."""
    truth = dual(sigma.activation, c1, c2, theta=theta)
    rule = dual(sigma.activation, c1, c2, theta=theta, method="gauss_hermite", degree=nodes)
    both = np.array([c1, c2])
    size, slope_size = (float(np.prod(scale)) for scale in (sigma.norms(both), slope_scale(sigma, both)))
    return np.abs(rule.k - truth.k) / size, np.abs(rule.kdot - truth.kdot) / slope_size


def _spectrum_data(sigma: DualActivation) -> dict[str, Json]:
    share = spectrum(sigma.activation)[:_DEGREES] ** 2 / float(sigma.norms(np.ones(1))[0]) ** 2
    n = np.flatnonzero(share > ROUNDING)
    return {"n": n.tolist(), "share": _digits(share[n], 4)}


def _digits(values: Array, digits: int = 6) -> list[float | None]:
    return [float(f"{x:.{digits}g}") if np.isfinite(x) else None for x in values]
