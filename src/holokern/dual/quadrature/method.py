"""The reference method: panels that end at the breaks of σ, two resolutions, and an error for each value.

It serves every activation that can be evaluated, holonomic or not, at every covariance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation
from holokern.dual.quadrature.line import energy
from holokern.dual.quadrature.pairing import conditional, pair
from holokern.dual.quadrature.profile import profile_of
from holokern.dual.quadrature.sides import MOST_HALVINGS, ORDERS, Moments, Resolution, Side, normal
from holokern.dual.value import Estimate
from holokern.numeric import Array, Index, how_many_fit
from holokern.progress import report

FINE = Resolution(ORDERS[1])

# powers |u|^(p-1) with a smaller p count as one with this p: nothing is left of their integrals
_LEAST_POWER = 1e-3
# of the norms: the normal law beyond nine deviations in one of two variables
_BEYOND = 1e-18
# ends of panels of all points at a time: some ten arrays of 8 megabytes, and not many seconds between two reports; and
# the bytes of one end in all of them
_MOST_ENDS, _BYTES_OF_AN_END = 1 << 20, 80
# the norms of so few deviations, those of one or two points, are kept
_FEW = 4
# the smallest float with all digits
_TINY = float(np.finfo(float).tiny)
# the distance from 1 to the next float
_ROUNDING = np.finfo(float).eps


def quadrature(
    activation: Activation, c1: Array, c2: Array, theta: Array, tolerance: float
) -> tuple[Array, Array, Array, Array]:
    """k, k′ and their errors for positive deviations and 0 < θ < π.

    For σ with jumps k′ pairs the distributions σ′(u) and σ′(v) with the density of (u, v): the classical part, the
    δ-terms of one variable (integrals over a line) and the products of δ-terms (values of the density).
    """
    profile = profile_of(activation)
    # k is symmetric; the side with the finer structure goes outside.
    f, g = Side.of(profile, np.maximum(c1, c2)), Side.of(profile, np.minimum(c1, c2))

    def resolve(index: Index, resolution: Resolution) -> Moments:
        some_f, some_g, angle = f.some(index), g.some(index), theta[index]
        moments = pair(some_f, some_g, angle, resolution)
        if np.any(profile.jumps):
            delta, size = _delta_terms(some_f, some_g, angle, resolution)
            moments = Moments(moments.k, moments.kdot + delta, moments.size, moments.size_dot + size)
        return moments

    def within(some: Index) -> Callable[[Index, Resolution], Moments]:
        return lambda index, resolution: resolve(some[index], resolution)

    result = Estimate.empty(len(theta))
    # every point has rows of ends of panels, of which there may be many
    ends = max(1, f.panel_count)
    what = f"{profile.label} on {ends} panels"
    step = how_many_fit(_BYTES_OF_AN_END * ends, max(1, _MOST_ENDS // ends), what)
    for start in range(0, len(theta), step):
        some = np.arange(start, min(start + step, len(theta)))
        part = refine(within(some), f.some(some), g.some(some), theta[some], tolerance)
        result.put(some, part)
        if step < len(theta):
            report(f"pairs of {profile.label} by quadrature", start + len(some), len(theta))
    return result.arrays


def refine(
    resolve: Callable[[Index, Resolution], Moments], f: Side, g: Side, theta: Array, tolerance: float
) -> Estimate:
    """Compare two resolutions of ``resolve(index, resolution)``; halve the panels of the points where they differ."""
    result = Estimate.empty(len(f.c))
    condition = _condition(f), _condition(g)
    # the argument is rounded at random, and a formula may be off in one direction
    added = condition[0] + condition[1]
    factors = added[:2] / 4 + added[2:4]
    inside = (theta > 0) & (theta < np.pi)
    norms = condition[0][4:] * condition[1][4:]
    slow = _slowness(f, g, inside)
    todo = np.arange(len(f.c))
    before = np.full((2, len(todo)), np.inf)
    for halvings in range(MOST_HALVINGS + 1):
        coarse, fine = (resolve(todo, Resolution(nodes, halvings)) for nodes in ORDERS)
        slopes = condition[0][1, todo] * condition[1][1, todo]
        from_angle = _angle_errors(f.some(todo), g.some(todo), theta[todo], fine, slopes)
        rounding = [
            _ROUNDING * size * (3 + factor[todo]) + angle + np.where(inside[todo], _left_out(size, norm[todo]), 0.0)
            for size, factor, angle, norm in zip((fine.size, fine.size_dot), factors, from_angle, norms, strict=True)
        ]
        change = np.abs(fine.k - coarse.k), slow[todo] * np.abs(fine.kdot - coarse.kdot)
        result.put(todo, Estimate(fine.k, fine.kdot, change[0] + rounding[0], change[1] + rounding[1]))
        rough = np.zeros(len(todo), dtype=bool)
        for moved, size, noise, last in zip(change, (fine.size, fine.size_dot), rounding, before, strict=True):
            # Where halving has stopped helping, σ has a singularity that panels do not resolve: the error says so.
            rough |= ~(moved <= np.maximum(tolerance * size, 10 * noise)) & (moved < last[todo] / 4)
            last[todo] = moved
        todo = todo[rough]
        if not len(todo):
            break
    return result


def _slowness(f: Side, g: Side, inside: NDArray[np.bool_]) -> Array:
    """How many times larger than the change from one resolution to the other what is left is, if σ′ is unbounded.

    Gauss rules of n nodes leave out a share n^(-2p) of the integral of |u|^(p-1) next to zero.
    """
    exponents = f.profile.exponent, g.profile.exponent
    if min(exponents) == 1:
        return np.ones(len(f.c))
    # where the power is not positive k′ is infinite
    power = np.maximum(np.where(inside, min(exponents), sum(exponents) - 1), _LEAST_POWER)
    return np.asarray(1 / ((ORDERS[1] / ORDERS[0]) ** (2 * power) - 1))


def _left_out(size: Array, norm: Array) -> Array:
    """What lies beyond the range of integration, where that may matter: in tails that hardly meet, or underflow."""
    return np.where(size < _ROUNDING * norm, _BEYOND * norm, 0.0) + np.where(size == 0, _TINY, 0.0)


def _angle_errors(f: Side, g: Side, theta: Array, moments: Moments, slopes: Array) -> tuple[Array, Array]:
    """What the rounding of θ itself does to k and k′, by ∂k/∂θ = -c1 c2 sin θ k′ and the like of k′.

    ``slopes`` holds c1 c2 E[|σ″σ″|]/E[|σ′σ′|], roughly.
    """
    inside = (theta > 0) & (theta < np.pi)
    slope = slopes * np.sin(theta) * moments.size_dot
    for jump_f, b_f in zip(f.profile.slope_jumps, f.profile.breaks, strict=True):
        for jump_g, b_g in zip(g.profile.slope_jumps, g.profile.breaks, strict=True):
            angle = np.where(inside, theta, np.pi / 2)
            slope = slope + np.abs(jump_f * jump_g) * np.sin(angle) * joint_density(b_f / f.c, b_g / g.c, angle)
    unit = np.where(inside, 2 * _ROUNDING * theta, 0.0)
    return unit * f.c * g.c * np.sin(theta) * np.nan_to_num(np.abs(moments.kdot)), unit * slope


def norms(activation: Activation, c: Array, resolution: Resolution | None = None, *, slope: bool = False) -> Array:
    """E[σ(cx)²]^(1/2), or the same of σ′, for an array of deviations c > 0; without a resolution until they settle."""
    different, back = np.unique(c, return_inverse=True)
    if len(different) <= _FEW:
        return np.array([_norm(activation, float(one), resolution, slope) for one in different])[back]
    return np.sqrt(energy(Side.of(profile_of(activation), different), resolution, slope=slope))[back]


@lru_cache(maxsize=256)
def _norm(activation: Activation, c: float, resolution: Resolution | None, slope: bool) -> float:
    """The norm of one deviation; the methods that are tried in turn at a point ask for it again and again."""
    return float(np.sqrt(energy(Side.of(profile_of(activation), np.array([c])), resolution, slope=slope))[0])


def scales(activation: Activation, c1: Array, c2: Array, *, slope: bool = False) -> Array:
    """(E[σ(c1x)²] E[σ(c2x)²])^(1/2), the scale of k(c1, c2, ·); that of k′ from σ′. A few digits are enough."""
    both = norms(activation, np.concatenate([c1, c2]), FINE, slope=slope)
    return np.asarray(both[: len(c1)] * both[len(c1) :])


def _condition(side: Side) -> Array:
    different, first, back = np.unique(side.c, return_index=True, return_inverse=True)
    return side.profile.condition(different, side.left[first], side.right[first])[:, back]


def _delta_terms(f: Side, g: Side, theta: Array, resolution: Resolution) -> tuple[Array, Array]:
    """The terms of k′ with at least one δ, and the sum of their sizes."""
    total, size = np.zeros(len(theta)), np.zeros(len(theta))
    for one, other in ((f, g), (g, f)):
        for jump, weight, at in deltas(one):
            mean, mean_size = conditional(other, at, theta, resolution)
            total += jump * weight * mean
            size += np.abs(jump) * weight * mean_size
    for jump_f, _, at_f in deltas(f):
        for jump_g, _, at_g in deltas(g):
            term = jump_f * jump_g / (f.c * g.c) * joint_density(at_f, at_g, theta)
            total += term
            size += np.abs(term) * (1 + at_f**2 + at_g**2)
    return total, size


def deltas(side: Side) -> list[tuple[float, Array, Array]]:
    """(jump, density of u at the break, break in standard units) for each break where σ jumps."""
    jumps = [(float(jump), b / side.c) for jump, b in zip(side.profile.jumps, side.profile.breaks, strict=True) if jump]
    return [(jump, normal(at) / side.c, at) for jump, at in jumps]


def joint_density(x: Array, w: Array, theta: Array) -> Array:
    """Density of two standard normal variables with correlation cos θ, without cancellation as θ → 0 or π.

    Examples
    --------
    >>> round(float(joint_density(0.0, 0.0, np.pi / 2)) * 2 * np.pi, 15)
    1.0
    """
    near = np.cos(theta) >= 0
    apart = np.where(near, x - w, x + w) / np.sin(theta)
    half = np.where(near, np.cos(theta / 2), np.sin(theta / 2))
    exponent = apart**2 / 2 + np.where(near, x * w, -x * w) / (2 * half**2)
    return np.asarray(np.exp(-exponent) / (2 * np.pi * np.sin(theta)))
