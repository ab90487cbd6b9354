"""Functions without breaks: k and k̇ as series of cosines of θ, for all pairs of deviations at once.

In polar coordinates u = c1 ρ cos φ and v = c2 ρ cos(φ - θ). With f(cρ cos φ) = Σ f_m(c, ρ) cos mφ the mean over φ is

    E[f(u) f(v)] = ∫ ρ exp(-ρ²/2) (f_0 g_0 + ½ Σ f_m g_m cos mθ) dρ,    f_m = f_m(c1, ρ), g_m = f_m(c2, ρ).

A smooth f has few terms, so one set of values for each deviation serves all other deviations and all angles.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import dct

from holokern.dual.compiled_rule import SectorRule, first_rule, probes, settle
from holokern.dual.compiled_table import Table
from holokern.errors import PrecisionLost
from holokern.numeric.panels import Array

__all__ = ["wave_series"]

_LOST = 1e-17
_WIDE = 2
_ANGLES = np.array([0.0, 0.02, 0.9, 2.2, 3.1, np.pi])
_FEWEST, _MOST = 16, 1 << 18


def wave_series(functions: tuple[Table, ...], c1: Array, c2: Array, reach: float, label: str) -> list[Array]:
    """The coefficients of cos mθ in E[f(u) f(v)], shape (len(c1), len(c2), terms), of σ and of σ̇.

    Raises
    ------
    PrecisionLost
        If f is too rough for a series of bearable length.

    Examples
    --------
    >>> from holokern.dual.compiled_table import tabulate
    >>> c = np.array([1.0, 2.0])
    >>> [series] = wave_series((tabulate(lambda u: u, 20.0, "u"),), c, c, 9.0, "u")
    >>> series[:, :, 1].round(12).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    ends = probes(c1, c2)
    high = float(ends[-1])
    rule = first_rule(reach, high / _WIDE)
    scales = [rule.norms(f, ends) for f in functions]
    bound = np.multiply.outer(scales[-1], scales[-1])[:, :, None]

    def values(rule: SectorRule) -> Array:
        series = _series(functions[-1], ends, ends, rule, (ends, scales[-1]), label) / bound
        return np.asarray(series @ np.cos(np.multiply.outer(np.arange(series.shape[2]), _ANGLES)))

    rule = settle(values, rule, high, label)
    return [_series(f, c1, c2, rule, (ends, scale), label) for f, scale in zip(functions, scales, strict=True)]


def _series(function: Table, c1: Array, c2: Array, rule: SectorRule, ends: tuple[Array, Array], label: str) -> Array:
    parts = []
    for rho, weight in rule.radial_panels():
        masses = weight * rho * np.exp(-rho * rho / 2)
        count, terms = _enough(function, rho, masses, ends, label)
        first = _transform(function, c1, rho, count)[:, :, :terms]
        second = first if c2 is c1 else _transform(function, c2, rho, count)[:, :, :terms]
        left = np.ascontiguousarray((first * masses[:, None]).transpose(2, 0, 1))
        parts.append(left @ np.ascontiguousarray(second.transpose(2, 1, 0)))
    total = np.zeros((max(len(part) for part in parts), len(c1), len(c2)))
    for part in parts:
        total[: len(part)] += part
    total[1:] /= 2
    return np.ascontiguousarray(total.transpose(1, 2, 0))


def _enough(function: Table, rho: Array, masses: Array, ends: tuple[Array, Array], label: str) -> tuple[int, int]:
    """How many points on the circles, and how many terms, keep what is lost of E[f²] negligible."""
    c, scale = ends
    # Whatever the table resolves is seen by at least one point.
    count = int(2 ** np.ceil(np.log2(max(_FEWEST, np.pi * c[-1] * rho[-1] / function.grain))))
    while count <= _MOST:
        power = np.max(masses @ _transform(function, c, rho, count) ** 2 / scale[:, None] ** 2, axis=0)
        beyond = np.cumsum(power[::-1])[::-1]
        if beyond[3 * count // 4] <= _LOST:
            return count, max(2, int(np.sum(beyond > _LOST)))
        count *= 2
    raise PrecisionLost(
        f"{label}: {_MOST} points on a circle do not suffice at deviation {c[-1]:.4g}; rescale the data, or use "
        "method='quadrature'"
    )


def _transform(function: Table, c: Array, rho: Array, count: int) -> Array:
    """Coefficients of cos mφ in f(cρ cos φ), shape (len(c), len(rho), count)."""
    cosines = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    values = dct(function(np.multiply.outer(np.multiply.outer(c, rho), cosines)), type=2, axis=2) / count
    values[:, :, 0] /= 2
    return np.asarray(values)
