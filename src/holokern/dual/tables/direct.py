"""k and k′ without tables: on grids of deviations and angles, and pair by pair with digits for nearly equal points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holokern.activation import Activation
from holokern.dual.closed.method import closed, closed_moments, has_no_half_waves, has_quick_formulas
from holokern.dual.dual import dual
from holokern.dual.quadrature.line import distance
from holokern.dual.quadrature.method import norms as line_norms
from holokern.dual.quadrature.method import quadrature
from holokern.dual.quadrature.pairing import mean_square
from holokern.dual.quadrature.profile import profile_of
from holokern.dual.quadrature.sides import Side
from holokern.dual.roughness import has_infinite_slope, is_rough_at_ends
from holokern.dual.tables.point_row import PointRow
from holokern.dual.tables.samples import hermite_rows_at
from holokern.numeric import Array, legendre_rule

_FROM = 0.4
"""From this angle to its supplement Hermite coefficients give k and k′ of all pairs of a few deviations."""

_TOLERANCE = 1e-13
"""Asked of quadrature, relative to the norms."""

_ENOUGH = 1e-12
"""The error of k/(n1 n2) that is good enough without another method."""

_NEAR = 1e-4
"""Below this, 1 - k/(n1 n2) has lost too many digits and is computed by another formula."""

_TINY = 1e-6
"""Below this angle k′ of a continuous σ is constant to about as many digits, and differences of values lose as many."""

_NODES = 3
"""Gauss–Legendre nodes of the integral of k′ over such an angle."""


def grid_values(sigma: Activation, rows: Rows, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    """Both k and k′ for all pairs of deviations and all angles."""
    shape = (len(c1), len(c2), len(theta))
    first, second, angle = (a.ravel() for a in np.broadcast_arrays(c1[:, None, None], c2[None, :, None], theta))
    k, kdot = _values(sigma, rows, first, second, angle)
    return k.reshape(shape), kdot.reshape(shape)


Rows = Callable[[Array], list[PointRow | None]]
"""The activation at single deviations, None where there is no mesh for one."""


def _values(sigma: Activation, rows: Rows, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    """K and k′ for flat arrays: by formulas if they are quick, by rows on a mesh, or by `dual`."""
    k, kdot = np.full(len(theta), np.nan), np.full(len(theta), np.nan)
    todo = np.isnan(k)
    if has_no_half_waves(sigma) is None and not has_infinite_slope(sigma):
        inside = (theta > 0) & (theta < np.pi)
        k[inside], kdot[inside] = _by_angle(sigma, c1[inside], c2[inside], theta[inside])
        todo = np.isnan(k)
    if not has_quick_formulas(sigma):
        away = is_rough_at_ends(sigma)
        inside = (theta >= _FROM) & (theta <= np.pi - _FROM) if away else (theta > 0) & (theta < np.pi)
        inside &= todo
        some = c1[inside], c2[inside], theta[inside]
        found = _by_series(sigma, *some) if away else _by_rows(rows, *some)
        k[inside], kdot[inside] = found[0], found[-1]
        todo = np.isnan(k)
    inside = todo & (theta > 0) & (theta < np.pi)
    if sigma.jump_order == 0 and np.any(inside):
        # k′ is not wanted, and may be the harder one.
        first, second = c1[inside], c2[inside]
        values, _, error, _ = quadrature(sigma, first, second, theta[inside], _TOLERANCE)
        scale = line_norms(sigma, first) * line_norms(sigma, second)
        k[inside] = np.where(error <= _ENOUGH * scale, values, np.nan)
        todo = np.isnan(k)
    if np.any(todo):
        value = dual(sigma, c1[todo], c2[todo], theta=theta[todo])
        k[todo], kdot[todo] = value.k, value.kdot
    return k, np.full_like(k, np.nan) if has_infinite_slope(sigma) else kdot


def _by_angle(sigma: Activation, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    """K and k′ by integrals over one angle, NaN where these lose digits."""
    if not len(theta):
        return theta, theta
    k, kdot, error, kdot_error = closed(sigma, c1, c2, theta, _TOLERANCE)
    scales = closed_moments(sigma, c1) * closed_moments(sigma, c2)
    good = (error <= _TOLERANCE * scales[0]) & (kdot_error <= _TOLERANCE * scales[1])
    return np.where(good, k, np.nan), np.where(good, kdot, np.nan)


def _by_rows(rows: Rows, c1: Array, c2: Array, theta: Array) -> Array:
    """K and k′, NaN where there is no row."""
    both = rows(np.concatenate([c1, c2]))
    found = np.full((2, len(theta)), np.nan)
    for i, (one, other) in enumerate(zip(both[: len(c1)], both[len(c1) :], strict=True)):
        if one is not None and other is not None:
            found[:, i] = one.paired(other, float(theta[i]))
    return found


def _by_series(sigma: Activation, c1: Array, c2: Array, theta: Array) -> Array:
    if not len(theta):
        return np.empty((2, 0))
    different, back = np.unique(np.concatenate([c1, c2]), return_inverse=True)
    coefficients = hermite_rows_at(sigma, different, _FROM)
    first, second = back[: len(c1)], back[len(c1) :]
    powers = np.cos(theta)[:, None] ** np.arange(coefficients.shape[2])
    return np.stack([np.einsum("in,in->i", group[first] * group[second], powers) for group in coefficients])


def losses(
    sigma: Activation, rows: Rows, norms: tuple[Array, Array], c1: Array, c2: Array, theta: Array
) -> tuple[Array, Array]:
    """Both 1 - |k|/(n1 n2) and k′ for flat arrays with c1, c2 > 0; see `DualActivation.losses`."""
    angle = np.minimum(theta, np.pi - theta) if sigma.parity else theta
    n1, n2 = norms
    scale = np.where(n1 * n2 > 0, n1 * n2, 1.0)
    lost, kdot = np.zeros(len(angle)), np.zeros(len(angle))
    apart = (c1 != c2) | (angle > 0)
    if not np.all(apart) and not has_infinite_slope(sigma):
        here = rows(c1[~apart])
        slopes = np.array([np.nan if one is None else one.norm(1) for one in here])
        missing = np.isnan(slopes)
        if np.any(missing):
            slopes[missing] = line_norms(sigma, c1[~apart][missing], slope=True)
        kdot[~apart] = slopes**2
    k, kdot[apart] = _values(sigma, rows, c1[apart], c2[apart], angle[apart])
    lost[apart] = np.maximum(1.0 - k / scale[apart], 0.0)
    near = apart & (lost < _NEAR) & (n1 * n2 > 0)
    if np.any(near):
        left = near.copy()
        for i in np.nonzero(near)[0] if not sigma.breaks else ():
            found = _close_loss(rows, c1[i : i + 1], c2[i : i + 1], angle[i], (n1[i], n2[i]))
            left[i] = found is None
            lost[i] = lost[i] if found is None else found
        if np.any(left):
            lost[left] = _small_losses(sigma, c1[left], c2[left], angle[left], (n1[left], n2[left]))
    return lost, kdot


def _close_loss(rows: Rows, c1: Array, c2: Array, theta: float, norms: tuple[float, float]) -> float | None:
    """1 - k/(n₁n₂) of one pair of a smooth σ on a mesh, if its angle is small on the scale of the mesh."""
    (first,), (second,) = rows(c1), rows(c2)
    return None if first is None or second is None else first.loss(second, theta, norms)


def _small_losses(sigma: Activation, c1: Array, c2: Array, theta: Array, scales: tuple[Array, Array]) -> Array:
    """1 - k/(n₁n₂) for nearly equal points: half a mean square, or at tiny angles an integral of k′."""
    profile = profile_of(sigma)
    f, g = Side.of(profile, c1), Side.of(profile, c2)
    tiny = (theta == 0) | (theta < (0.0 if has_infinite_slope(sigma) else _TINY))
    result = np.empty(len(theta))
    for some in (np.nonzero(tiny)[0], np.nonzero(~tiny)[0]):
        if not len(some):
            continue
        sides, norms = (f.some(some), g.some(some)), (scales[0][some], scales[1][some])
        if tiny[some[0]]:
            result[some] = distance(*sides, norms)
            result[some] += _along_angle(sigma, c1[some], c2[some], theta[some]) / (norms[0] * norms[1])
        else:
            result[some] = mean_square(*sides, theta[some], norms)
    return result


def _along_angle(sigma: Activation, c1: Array, c2: Array, theta: Array) -> Array:
    """By how much k falls from the angle 0 to θ: c1 c2 ∫ k′ sin over (0, θ) [Price1958]."""
    nodes, weights = legendre_rule(_NODES)
    t = np.multiply.outer(theta, nodes).clip(min=1e-12)
    first, second = (np.repeat(c, len(nodes)) for c in (c1, c2))
    if has_quick_formulas(sigma):
        kdot = np.reshape(dual(sigma, first, second, theta=t.ravel()).kdot, t.shape)
    else:
        kdot = quadrature(sigma, first, second, t.ravel(), _TOLERANCE)[1].reshape(t.shape)
    return np.where(theta > 0, c1 * c2 * theta * ((np.sin(t) * kdot) @ weights), 0.0)
