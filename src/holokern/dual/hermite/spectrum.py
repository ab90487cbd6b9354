"""Hermite coefficients in floating point for any activation, and quick values of k and k′ from them.

With γ_n(c) = E[He_n(z) σ(cz)]/√n!,  k = Σ γ_n(c1) γ_n(c2) r^n  and  c1 c2 k′ = Σ n γ_n(c1) γ_n(c2) r^(n-1)
[Daniely2016].  Where σ′ jumps, the terms decay like n^(-5/2) and n^(-3/2), where σ jumps like n^(-3/2) and n^(-1/2).
The tail after N terms is then a known function of N log 1/|r| times its value at r = ±1, a one-dimensional integral.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from holokern.activation import Activation
from holokern.activation import activation as as_activation
from holokern.dual.dual import dual
from holokern.dual.roughness import has_infinite_slope
from holokern.dual.sampling.mehler import hermite_sums
from holokern.dual.tables.samples import FURTHER, nodes_between_breaks, reach_of
from holokern.numeric import Array

TERMS = 2048
"""How many coefficients are computed."""

# deviations: waves of degree 2048 are 2π/√2048 = 0.14 long near zero, so that a panel has one and a half
_WIDTH = 0.2


@lru_cache(maxsize=256)
def spectrum(activation: object, c: float = 1.0) -> Array:
    """The coefficients γ_n(c) for n < 2048.

    Examples
    --------
    >>> spectrum("relu")[:3].round(6).tolist()
    [0.398942, 0.5, 0.282095]
    """
    sigma = as_activation(activation)
    deviation = np.array([float(c)])
    nodes = nodes_between_breaks(sigma, deviation, float(reach_of(sigma, deviation)[0]) + FURTHER, _WIDTH)
    gamma = np.asarray(hermite_sums(nodes.values[:1], nodes.x, nodes.weights, TERMS)[0])
    gamma.setflags(write=False)
    return gamma


def series_values(activation: Activation, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    """Values k and k′ at every angle for every pair of deviations, one row for each pair; 0 < θ < π."""
    r, n = np.cos(theta), np.arange(TERMS)
    powers = np.power(r, n[:, None])
    product = np.stack(
        [spectrum(activation, float(a)) * spectrum(activation, float(b)) for a, b in zip(c1, c2, strict=True)]
    )
    slope_product = n * product / (c1 * c2)[:, None]
    k, kdot = product @ powers, slope_product[:, 1:] @ powers[:-1]
    if not activation.breaks:
        # then the coefficients decay faster than any power, and nothing is left
        return k, kdot
    aligned, opposite = (dual(activation, c1, c2, theta=angle) for angle in (0.0, np.pi))
    alternating = (-1.0) ** n
    near = np.asarray(aligned.k) - product.sum(axis=1), np.asarray(opposite.k) - product @ alternating
    fading, faster = _fading(r)
    if has_infinite_slope(activation):
        k = k + _sided(*near, r) * fading
        # terms a n^(-3/2) of k, hence a n^(-1/2) of c1 c2 k′
        size = _sided(*near, r) * np.sqrt(TERMS) / 2 / (c1 * c2)[:, None]
        return k, kdot + size * np.where(r < 0, -1.0, 1.0) * _diverging(r)
    k = k + _sided(*near, r) * faster
    near = (
        np.asarray(aligned.kdot) - slope_product.sum(axis=1),
        np.asarray(opposite.kdot) + slope_product @ alternating,
    )
    return k, kdot + _sided(*near, r) * fading


def _sided(positive: Array, negative: Array, r: Array) -> Array:
    """What is missing at r = 1 for r ≥ 0, and at r = -1 for r < 0."""
    return np.asarray(np.where(r >= 0, positive[:, None], negative[:, None]))


def _fading(r: Array) -> tuple[Array, Array]:
    """Σ n^(-3/2) |r|^n over n ≥ N, divided by its value at 1, and the same for n^(-5/2)."""
    from scipy.special import erfc

    x = -TERMS * np.log(np.abs(r) + 1e-300)
    slow = np.exp(-x) - np.sqrt(np.pi * x) * erfc(np.sqrt(x))
    return slow, np.exp(-x) - 2 * x * slow


def _diverging(r: Array) -> Array:
    """Σ n^(-1/2) |r|^n over n ≥ N."""
    from scipy.special import erfc

    rate = -np.log(np.abs(r) + 1e-300)
    return np.asarray(np.sqrt(np.pi / rate) * erfc(np.sqrt(TERMS * rate)))
