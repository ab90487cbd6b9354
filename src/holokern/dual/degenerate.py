"""Limits at degenerate covariances: r = ±1, one variance zero, both zero.

They are limits along θ → 0 or π, and c → 0+ at a fixed angle. A break of σ at zero is felt however small c is: there
σ(cx) tends to σ(0±) according to the sign of x, not to σ(0).

For σ with jumps J_b at b, k′ has the terms

- δδ: at r = ±1 two breaks with b/c1 = ±b'/c2 meet, and k′ is infinite with the sign of Σ J_b J_b' φ(b/c1) over such
  pairs; pairs that do not meet give nothing, and neither do pairs whose sum cancels;
- δσ′: J_b φ(b/c1)/c1 times σ′ at the matching point ±c2 b/c1, the mean of both sides if σ′ breaks there.

Where σ′ is unbounded at breaks that meet, k′ at r = ±1 may be infinite as well: see
:mod:`holokern.activation.pieces.unbounded`.

As c → 0 a jump at zero makes k′ infinite, jumps elsewhere disappear.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation, unbounded_sides
from holokern.dual.quadrature.line import diagonal
from holokern.dual.quadrature.method import FINE, deltas, joint_density, refine
from holokern.dual.quadrature.pairing import conditional, pair
from holokern.dual.quadrature.profile import limit_at_zero, profile_of
from holokern.dual.quadrature.sides import Moments, Resolution, Side
from holokern.dual.value import Estimate
from holokern.numeric import Array, Index


def is_degenerate(c1: Array, c2: Array, theta: Array) -> NDArray[np.bool_]:
    """Where the covariance matrix is singular; θ counts as π from the float nearest to π on."""
    return np.asarray((c1 == 0) | (c2 == 0) | (theta <= 0) | (theta >= np.pi))


def limits(activation: Activation, c1: Array, c2: Array, theta: Array, tolerance: float) -> Estimate:
    """k, k′ and their errors at degenerate covariances."""
    result = Estimate.empty(len(c1))
    small, large = np.minimum(c1, c2), np.maximum(c1, c2)
    kinds = {"both": large == 0, "one": (small == 0) & (large > 0), "none": small > 0}
    for kind, where in kinds.items():
        index = np.nonzero(where)[0]
        if len(index):
            result.put(index, _OF_KIND[kind](activation, small[index], large[index], theta[index], tolerance))
    return result


def _both_zero(activation: Activation, small: Array, large: Array, theta: Array, tolerance: float) -> Estimate:
    at_zero = limit_at_zero(activation)
    sides = np.array([1.0, -1.0])
    angle = np.clip(theta, 0.0, np.pi)
    same, opposite = (np.pi - angle) / (2 * np.pi), angle / (2 * np.pi)
    moments, sizes = [], []
    for function in (at_zero.value, at_zero.slope):
        right, left = function(sides)
        parts = same * (right**2 + left**2), opposite * (2 * right * left)
        moments.append(parts[0] + parts[1])
        sizes.append(parts[0] + np.abs(parts[1]))
    k, kdot = moments
    infinite = np.full(len(theta), at_zero.jumps[0] != 0)
    error = 4 * np.finfo(float).eps
    return Estimate(k, np.where(infinite, np.inf, kdot), error * sizes[0], np.where(infinite, 0.0, error * sizes[1]))


def _one_zero(activation: Activation, small: Array, large: Array, theta: Array, tolerance: float) -> Estimate:
    at_zero = limit_at_zero(activation)
    f, g = Side.of(at_zero, np.ones(len(large))), Side.of(profile_of(activation), large)
    result = _integrals(f, g, theta, tolerance, with_deltas_of_g=True)
    if at_zero.jumps[0]:
        result.kdot[:], result.kdot_error[:] = _infinite_slope(float(at_zero.jumps[0]), g, theta)
    return result


def _infinite_slope(jump: float, g: Side, theta: Array) -> tuple[Array, Array]:
    """The limit of k′ as c1 → 0 when σ jumps at zero: J φ(0)/c1 times the mean of σ′(v) given u = 0, with δ-terms."""
    inside = (theta > 0) & (theta < np.pi)
    angle = np.where(inside, theta, np.pi / 2)
    mean = np.where(inside, conditional(g, np.zeros(len(theta)), angle, FINE)[0], _two_sided(g, np.zeros(len(theta))))
    for b, height in zip(g.profile.breaks, g.profile.jumps, strict=True):
        density = joint_density(np.zeros(len(theta)), b / g.c, angle)
        mean = mean + np.where(inside, height / g.c * density, np.inf * height if b == 0 and height else 0.0)
    slope = np.where(mean == 0, 0.0, np.copysign(np.inf, jump * mean))
    return slope, np.zeros(len(theta))


def _aligned(activation: Activation, small: Array, large: Array, theta: Array, tolerance: float) -> Estimate:
    profile = profile_of(activation)
    f, g = Side.of(profile, large), Side.of(profile, small)
    result = _integrals(f, g, theta, tolerance, with_deltas_of_g=False)
    sign = np.where(theta <= 0, 1.0, -1.0)
    infinite = infinite_slope_sign(activation, large, small, sign)
    result.kdot[:] = np.where(infinite == 0, result.kdot, np.copysign(np.inf, infinite))
    result.kdot_error[infinite != 0] = 0.0
    if np.any(profile.jumps):
        finite, meeting = _aligned_deltas(f, g, sign)
        result.kdot[:] = np.where(meeting == 0, result.kdot + finite, np.copysign(np.inf, meeting))
        result.kdot_error[:] = np.where(meeting == 0, result.kdot_error + 1e-15 * np.abs(finite), 0.0)
    return result


def infinite_slope_sign(activation: Activation, c1: Array, c2: Array, sign: Array) -> Array:
    """The sign of an infinite E[σ′(c1 x) σ′(±c2 x)], 0 where it is finite; ``sign`` holds ±1."""
    total = np.zeros(len(c1))
    lowest = np.full(len(c1), np.inf)
    sides = unbounded_sides(activation)
    for one in sides:
        for other in sides:
            power = float(one.exponent + other.exponent)
            # decided on products, which are exact for the usual breaks and deviations
            meet = (one.point * c2 == sign * other.point * c1) & (other.side == sign * one.side) & (power <= 1)
            steeper = meet & (power < lowest)
            total[steeper], lowest[steeper] = 0.0, power
            total += np.where(meet & (power == lowest), one.sign * other.sign, 0.0)
    return np.sign(total)


# how many deviations are positive decides which limit it is
_OF_KIND = {"both": _both_zero, "one": _one_zero, "none": _aligned}


def _integrals(f: Side, g: Side, theta: Array, tolerance: float, with_deltas_of_g: bool) -> Estimate:
    """The classical integrals; δ-terms of g are added where f is a constant on either side of zero."""
    result = Estimate.empty(len(theta))
    cases = {1: theta <= 0, -1: theta >= np.pi, 0: (theta > 0) & (theta < np.pi)}
    for sign, where in cases.items():
        index = np.nonzero(where)[0]
        if not len(index):
            continue
        case = f.some(index), g.some(index), theta[index], sign

        def resolve(todo: Index, resolution: Resolution, case: tuple[Side, Side, Array, int] = case) -> Moments:
            some_f, some_g, angle, sign = case[0].some(todo), case[1].some(todo), case[2][todo], case[3]
            moments = diagonal(some_f, some_g, sign, resolution) if sign else pair(some_f, some_g, angle, resolution)
            if not with_deltas_of_g:
                return moments
            extra = _deltas_against(some_f, some_g, angle, sign)
            return Moments(moments.k, moments.kdot + extra, moments.size, moments.size_dot + np.abs(extra))

        result.put(index, refine(resolve, *case[:3], tolerance))
    return result


def _deltas_against(f: Side, g: Side, theta: Array, sign: int) -> Array:
    """Σ J φ(b/c)/c E[ḟ(x) | v = b] for f constant on either side of zero."""
    total = np.zeros(len(theta))
    for jump, weight, at in deltas(g):
        total += jump * weight * (_two_sided(f, sign * at) if sign else conditional(f, at, theta, FINE)[0])
    return total


def _aligned_deltas(f: Side, g: Side, sign: Array) -> tuple[Array, Array]:
    """The finite δ-terms at r = ±1, and the coefficient of the infinite one."""
    finite, meeting = np.zeros(len(sign)), np.zeros(len(sign))
    for one, other in ((f, g), (g, f)):
        for jump, weight, at in deltas(one):
            finite += jump * weight * _two_sided(other, sign * at)
    for jump_f, b_f in zip(f.profile.jumps, f.profile.breaks, strict=True):
        for jump_g, b_g in zip(g.profile.jumps, g.profile.breaks, strict=True):
            # b/c1 = ±b'/c2 decided on products, which are exact for the usual breaks and deviations.
            meet = b_f * g.c == sign * b_g * f.c
            meeting += np.where(meet, jump_f * jump_g * np.exp(-((b_f / f.c) ** 2) / 2), 0.0)
    return finite, meeting


def _two_sided(side: Side, x: Array) -> Array:
    """The mean of σ′(cx±), which differs from σ′(cx) only at a break."""
    step = np.maximum(4 * np.spacing(np.abs(x)), 1e-280)
    owner = np.arange(len(x))
    both = side.slope(np.stack([x - step, x + step], axis=1), owner)
    return np.asarray(both.mean(axis=1))
