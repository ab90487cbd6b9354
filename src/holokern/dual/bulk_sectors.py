"""Functions with a break at zero: k and k̇ as Chebyshev series in θ on [0, π], for all pairs of deviations at once."""

from __future__ import annotations

import numpy as np

from holokern.dual.compiled_rule import SectorRule, probes, settled_rule
from holokern.dual.compiled_table import Table, enough_terms
from holokern.numeric.chebyshev import chebyshev_matrix, chebyshev_nodes
from holokern.numeric.panels import Array

__all__ = ["sector_series", "unit_angles"]

_FEWEST, _GROWTH, _TRIES = 24, 1.6, 5
_OF_SINE = 18
_MAGNIFIED = 16.0


def sector_series(functions: tuple[Table, ...], c1: Array, c2: Array, reach: float, label: str) -> list[Array]:
    """The coefficients of T_m(2θ/π - 1) in E[f(u) f(v)], shape (len(c1), len(c2), terms), of σ and of σ̇ if it is given.

    Raises
    ------
    PrecisionLost
        If no rule or no series of bearable size serves.

    Examples
    --------
    >>> from holokern.dual.compiled_table import tabulate
    >>> step = tabulate(lambda u: (u > 0).astype(float), 20.0, "step")
    >>> [series] = sector_series((step,), np.ones(1), np.ones(1), 9.0, "step")
    >>> series.round(12)[0, 0, :2].tolist()
    [0.25, -0.25]
    """
    ends = probes(c1, c2)
    rule = settled_rule(functions[-1:], ends, reach, label)
    scale = rule.norms(functions[-1], ends)
    bound = np.multiply.outer(scale, scale)[:, :, None]

    def normalised(count: int) -> Array:
        return _series(functions[-1], rule, ends, ends, count) / bound

    count = enough_terms(_counts(float(ends[-1])), normalised, 2, label)
    last = _series(functions[-1], rule, c1, c2, count)
    if len(functions) == 1:
        return [last]
    magnified = np.max(ends * scale / rule.norms(functions[0], ends)) ** 2
    if magnified > _MAGNIFIED:
        return [_series(functions[0], rule, c1, c2, count), last]
    return [_from_slope(last, c1, c2, _at_zero(functions[0], rule, c1, c2)), last]


def _counts(high: float) -> tuple[int, ...]:
    """Numbers of terms worth trying up to a deviation; they grow with its root."""
    return tuple(int(_FEWEST * np.sqrt(max(1.0, high / 2)) * _GROWTH**i) for i in range(_TRIES))


def _at_zero(function: Table, rule: SectorRule, c1: Array, c2: Array) -> Array:
    """E[f(c1 x) f(c2 x)]."""
    x, w = rule.on_line()
    x, w = np.concatenate([-x, x]), np.concatenate([w, w])
    return np.asarray((function(np.multiply.outer(c1, x)) * w) @ function(np.multiply.outer(c2, x)).T)


def _from_slope(slope: Array, c1: Array, c2: Array, at_zero: Array) -> Array:
    """The series of k from that of k̇: k(0) - k(θ) = c1 c2 ∫ k̇ sin over (0, θ) [Price1958]."""
    count = slope.shape[2]
    finer = count + _OF_SINE
    nodes = chebyshev_nodes(finer)
    sine = np.sin((nodes + 1) * np.pi / 2) * np.pi / 2
    to_product = chebyshev_matrix(finer) @ (sine[:, None] * np.polynomial.chebyshev.chebvander(nodes, count - 1))
    operator = np.polynomial.chebyshev.chebint(to_product, lbnd=-1, axis=0)
    series = -np.multiply.outer(c1, c2)[:, :, None] * (slope @ operator.T)
    series[:, :, 0] += at_zero
    return np.asarray(series)


def _series(function: Table, rule: SectorRule, c1: Array, c2: Array, count: int) -> Array:
    theta = (chebyshev_nodes(count) + 1) * np.pi / 2
    return np.asarray(rule.pairs(function, c1, c2, theta) @ chebyshev_matrix(count).T)


def unit_angles(theta: Array) -> Array:
    """The ψ with cos ψ = 2θ/π - 1, so that T_m(2θ/π - 1) = cos mψ; exact to rounding at both ends."""
    return np.asarray(2 * np.arctan2(np.sqrt(np.maximum(np.pi - theta, 0.0)), np.sqrt(theta)))
