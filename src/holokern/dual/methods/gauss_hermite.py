"""The baseline of the paper: a product Gauss–Hermite rule whose degree doubles until it settles."""

from __future__ import annotations

import numpy as np

from holokern.activation import Activation
from holokern.dual.quadrature.method import norms, scales
from holokern.dual.quadrature.profile import profile_of
from holokern.dual.value import Estimate
from holokern.errors import BadInput
from holokern.numeric import EPS, Array, hermite_rule

# of σ at a time: arrays of 8 MB
_EVALUATIONS = 1 << 20
# a relative error of E[σ²] that is rounding
_SEEN = 1e-13
# the degrees double from 25, so that the last one is 400: 160 000 nodes a point
_MOST = 512


def gauss_hermite(
    activation: Activation,
    c1: Array,
    c2: Array,
    theta: Array,
    tolerance: float,
    *,
    degree: int | None = None,
    change: float = 1e-10,
    most: int = _MOST,
) -> tuple[Array, Array, Array, Array]:
    """Product Gauss–Hermite rule as in [Han2022, Sec. 3] and in the numerical part of [SakodaTakayama2024].

    The degree starts at 25 and doubles until the relative change is below ``change`` or the degree would exceed
    ``most``; a given ``degree`` is used as it is, and compared with its half. The error is the last change, what
    the nodes miss of E[σ²], and near r = ±1 also what a break between two nodes may add. If σ has a break, the rule
    converges only like 1/degree, and it
    misses the δ-terms of k′, whose error is then infinite. It is here for comparison.
    """
    for name, value in (("degree", degree), ("most", most)):
        if value is not None and (not isinstance(value, int) or not 2 <= value <= 4096):
            raise BadInput(f"gauss_hermite: {name} = {value!r} is not an integer from 2 to 4096; try {name}=100")
    if degree is not None:
        coarse, fine = (_rule(activation, c1, c2, theta, n) for n in (max(degree // 2, 1), degree))
        return (*fine, *_errors(activation, (c1, c2, theta), fine, coarse, degree))
    result = Estimate.empty(len(theta))
    todo = np.arange(len(theta))
    degree = 25
    before = _rule(activation, c1, c2, theta, degree)
    while len(todo):
        degree *= 2
        now = _rule(activation, c1[todo], c2[todo], theta[todo], degree)
        moved = np.abs(now[0] - before[0]), np.abs(now[1] - before[1])
        errors = _errors(activation, (c1[todo], c2[todo], theta[todo]), now, before, degree)
        result.put(todo, Estimate(*now, *errors))
        if 2 * degree > most:
            break
        rough = (moved[0] > change * np.abs(now[0])) | (moved[1] > change * np.abs(now[1]))
        todo, before = todo[rough], (now[0][rough], now[1][rough])
    return result.arrays


def _errors(
    activation: Activation,
    points: tuple[Array, Array, Array],
    fine: tuple[Array, Array],
    coarse: tuple[Array, Array],
    degree: int,
) -> tuple[Array, Array]:
    """The change from one degree to the next, rounding, and what both degrees may miss at breaks."""
    c1, c2, theta = points
    # the distance of nodes near zero, and how far u and v are apart
    space, gap = np.pi / np.sqrt(degree), np.minimum(theta, np.pi - theta)
    result = []
    for function, a, b in zip((activation, activation.derivative), coarse, fine, strict=True):
        profile = profile_of(function)
        steps, kinks = (np.sum(np.abs(jumps)) ** 2 for jumps in (profile.jumps, profile.slope_jumps))
        # a jump J at zero adds J²θ/(2π) between the nodes, a kink J²c1c2θ³/(6π), and breaks elsewhere less
        unseen = steps * gap / (2 * np.pi) + kinks * c1 * c2 * gap**3 / (6 * np.pi)
        # the change may be small by chance
        typical = 0.02 * steps * space + 0.01 * kinks * c1 * c2 * space**2
        rounding = 8 * EPS * scales(function, c1, c2)
        missed = _missed(function, c1, degree) + _missed(function, c2, degree)
        beside = np.minimum(missed, 1.0) * scales(function, c1, c2)
        result.append(np.abs(b - a) + rounding + beside + np.where(gap < space, unseen, typical))
    return result[0], result[1] + (np.inf if np.any(profile_of(activation).jumps) else 0.0)


def _missed(function: Activation, c: Array, degree: int) -> Array:
    """How much of E[σ²] the nodes miss: all of it, where σ is a spike between two of them, at every degree.

    What half the degree misses ten times over is no spike: the rule converges there, and the change says the rest.
    """
    different, back = np.unique(c, return_inverse=True)
    size = norms(function, different) ** 2
    fine, coarse = (_off(function, different, size, n) for n in (degree, degree // 2))
    return np.where((fine < _SEEN) | (fine < 0.1 * coarse), 0.0, fine)[back]


def _off(function: Activation, c: Array, size: Array, degree: int) -> Array:
    """The relative error of E[σ²] by the rule of a degree."""
    x, w = hermite_rule(degree)
    with np.errstate(all="ignore"):
        seen = np.array([np.sum(w * function(one * x) ** 2) for one in c])
        return np.nan_to_num(np.abs(seen / size - 1), nan=0.0, posinf=1.0)


def _rule(activation: Activation, c1: Array, c2: Array, theta: Array, degree: int) -> tuple[Array, Array]:
    x, w = hermite_rule(degree)
    k, kdot = np.empty(len(theta)), np.empty(len(theta))
    step = max(1, _EVALUATIONS // degree**2)
    for start in range(0, len(theta), step):
        some = slice(start, start + step)
        u = c1[some, None] * x
        cos, sin = np.cos(theta[some])[:, None, None], np.sin(theta[some])[:, None, None]
        v = c2[some, None, None] * (x[:, None] * cos + x * sin)
        for total, function in ((k, activation), (kdot, activation.derivative)):
            total[some] = np.einsum("pi,pi->p", function(u) * w, function(v) @ w)
    return k, kdot
