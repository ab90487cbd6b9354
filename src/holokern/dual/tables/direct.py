"""k and k̇ without tables: on grids of deviations and angles, and pair by pair with digits for nearly equal points."""

from __future__ import annotations

import numpy as np

from holokern.activation import Activation
from holokern.dual.dual import dual
from holokern.dual.quadrature.method import norms, quadrature
from holokern.dual.quadrature.pairing import Side, distance
from holokern.dual.quadrature.profile import profile_of
from holokern.dual.tables.rows import rows_at
from holokern.errors import PrecisionLost
from holokern.numeric.gauss import legendre_rule
from holokern.numeric.panels import Array

__all__ = ["grid_values", "losses"]

_FROM = 0.4
"""From this angle to its supplement Hermite coefficients give k and k̇ of all pairs of a few deviations."""

_TOLERANCE = 1e-13
"""Asked of quadrature, relative to the norms."""

_NEAR = 1e-4
"""Below this, 1 - k/(n1 n2) has lost too many digits and is computed by another formula."""

_NODES, _HALVINGS = 10, 8
"""Gauss–Legendre nodes on a panel of the integral of k̇; breaks away from zero make it rough, so panels are halved."""


def grid_values(sigma: Activation, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    """Both k and k̇ for all pairs of deviations and all angles."""
    shape = (len(c1), len(c2), len(theta))
    first, second, angle = (a.ravel() for a in np.broadcast_arrays(c1[:, None, None], c2[None, :, None], theta))
    k, kdot = _values(sigma, first, second, angle)
    return k.reshape(shape), kdot.reshape(shape)


def _values(sigma: Activation, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    """K and k̇ for flat arrays: by Hermite coefficients of the different deviations where they do, else by `dual`."""
    k, kdot = np.full(len(theta), np.nan), np.full(len(theta), np.nan)
    inside = (theta >= _FROM) & (theta <= np.pi - _FROM)
    if np.any(inside):
        try:
            k[inside], kdot[inside] = _by_rows(sigma, c1[inside], c2[inside], theta[inside])
        except PrecisionLost:
            inside[:] = False
    rest = ~inside
    if np.any(rest):
        found = dual(sigma, c1[rest], c2[rest], theta=theta[rest])
        k[rest], kdot[rest] = found.k, found.kdot
    return k, kdot if sigma.jump_order != 0 else np.full_like(k, np.nan)


def _by_rows(sigma: Activation, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    different, back = np.unique(np.concatenate([c1, c2]), return_inverse=True)
    coefficients = rows_at(sigma, different, _FROM)
    first, second = back[: len(c1)], back[len(c1) :]
    powers = np.cos(theta)[:, None] ** np.arange(coefficients.shape[2])
    found = [np.einsum("in,in,in->i", group[first], group[second], powers, optimize=True) for group in coefficients]
    return found[0], found[-1]


def losses(sigma: Activation, c1: Array, c2: Array, theta: Array, fold: int) -> tuple[Array, Array]:
    """Both 1 - |k|/(n1 n2) and k̇ for flat arrays with c1, c2 > 0; see `DualActivation.losses`."""
    angle = np.minimum(theta, np.pi - theta) if fold else theta
    n1, n2 = norms(sigma, c1), norms(sigma, c2)
    scale = np.where(n1 * n2 > 0, n1 * n2, 1.0)
    lost, kdot = np.zeros(len(angle)), np.zeros(len(angle))
    apart = (c1 != c2) | (angle > 0)
    if not np.all(apart) and sigma.jump_order != 0:
        kdot[~apart] = norms(sigma.derivative, c1[~apart]) ** 2
    k, kdot[apart] = _values(sigma, c1[apart], c2[apart], np.clip(angle[apart], 1e-12, np.pi - 1e-12))
    lost[apart] = np.maximum(1.0 - k / scale[apart], 0.0)
    near = apart & (lost < _NEAR) & (n1 * n2 > 0)
    if np.any(near):
        lost[near] = _small_losses(sigma, c1[near], c2[near], angle[near], (n1[near], n2[near]))
    return lost, kdot


def _small_losses(sigma: Activation, c1: Array, c2: Array, theta: Array, scales: tuple[Array, Array]) -> Array:
    """1 - k/(n₁n₂) for nearly equal points: the loss at θ = 0, and c1 c2 ∫ k̇ sin over (0, θ) by [Price1958]."""
    profile = profile_of(sigma)
    at_zero = distance(Side.of(profile, c1), Side.of(profile, c2), scales)
    nodes, weights = legendre_rule(_NODES)
    halvings = _HALVINGS if any(b != 0 for b in sigma.breaks) else 0
    ends = np.concatenate([[0.0], 0.5 ** np.arange(halvings, -1.0, -1.0)])
    at = (ends[:-1, None] + np.diff(ends)[:, None] * nodes).ravel()
    t = np.multiply.outer(theta, at).clip(min=1e-12)
    first, second = (np.repeat(c, len(at)) for c in (c1, c2))
    kdot = quadrature(sigma, first, second, t.ravel(), _TOLERANCE)[1].reshape(t.shape)
    integral = (np.sin(t) * kdot) @ np.outer(np.diff(ends), weights).ravel()
    return np.where(theta > 0, at_zero + c1 * c2 * theta * integral / (scales[0] * scales[1]), at_zero)
