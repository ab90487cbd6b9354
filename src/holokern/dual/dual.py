"""`dual`: from an activation and covariances to k and k′."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation
from holokern.activation import activation as as_activation
from holokern.dual.defined import check_defined
from holokern.dual.degenerate import is_degenerate, limits
from holokern.dual.inputs import Covariances, Given, covariances
from holokern.dual.quadrature.method import scales
from holokern.dual.registry import Method, method_named, methods
from holokern.dual.value import DualValue, Estimate
from holokern.errors import BadInput, HolokernError, PrecisionLost
from holokern.numeric import Array, Index, limited_work

AUTO = ("closed", "angular", "quadrature", "hgm")
"""What ``auto`` tries, cheapest first, until the tolerance is met."""

# units of work that ``auto`` gives to the derivation of a Pfaffian system, some seconds
_DERIVATION = 2e5
# of π - θ, from one angle to the next in a difference: its error is as small beside a difference over all of π - θ
_APART = 2.0**-12
# an error that no method improves: where nothing but the smallest floats is left, some of them are added up
_SMALLEST = 16 * np.finfo(float).tiny


def dual(
    activation: object,
    c1: Given,
    c2: Given,
    r: Given = None,
    *,
    theta: Given = None,
    method: str = "auto",
    tolerance: float = 1e-12,
    **options: Any,
) -> DualValue:
    """The dual activation k = E[σ(u)σ(v)] and k′ = E[σ′(u)σ′(v)] for normal u, v with deviations c1, c2, correlation r.

    Parameters
    ----------
    activation
        An activation, a name, an expression in u, or a SymPy expression.
    c1, c2
        Standard deviations, at least 0.
    r, theta
        Correlations in [-1, 1], or angles arccos r in [0, π]; give exactly one of them. Near r = ±1 give the angle,
        because rounding its cosine loses a small angle.
    method
        "auto", or one of `methods()`.
    tolerance
        The error that you allow, relative to (k(c1, c1, 1) k(c2, c2, 1))^(1/2).
    **options
        Options of the method.

    Returns
    -------
    DualValue
        ``k``, ``kdot``, ``error``, ``kdot_error`` and ``method``: numbers if all inputs are, else arrays of the
        broadcast shape.

    Notes
    -----
    If σ jumps, k′ uses σ′ as a distribution, δ-terms included. It is finite for |r| < 1, and infinite at r = ±1
    where two jumps meet. A zero deviation means the limit c → 0 at the given angle.

    Examples
    --------
    >>> v = dual("relu", 1, 1, 0.5)
    >>> round(v.k, 12), round(v.kdot, 12)
    (0.304498890522, 0.333333333333)
    >>> dual("step", 1, 1, [0.0, 1.0]).kdot.round(6).tolist()
    [0.159155, inf]
    """
    sigma = as_activation(activation)
    if not (isinstance(tolerance, (int, float)) and 0 < tolerance < 1):
        raise BadInput(f"tolerance = {tolerance!r} is not between 0 and 1; try 1e-12")
    names = _names(sigma, method, options)
    points = covariances(c1, c2, r, theta)
    check_defined(sigma)
    result = Estimate.empty(len(points))
    used: list[str] = []
    failure: HolokernError | None = None
    zero = (points.c1 == 0) | (points.c2 == 0)
    singular = zero if method_named(names[0]).aligned else is_degenerate(points.c1, points.c2, points.theta)
    todo = np.nonzero(~singular)[0]
    for name in names:
        candidate = method_named(name)
        if not len(todo):
            break
        if method == "auto":
            with limited_work(_DERIVATION, exact=True):
                if candidate.serves(sigma) is not None:
                    continue
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                result.improve(todo, _estimate(candidate, sigma, points, todo, tolerance, options))
        except HolokernError as error:
            # what an earlier method gave stands, with the error that it reports; a later one may do better
            failure = failure or error
            continue
        used.append(name)
        # NaN is a formula that left the range on its way, and another method may serve
        _check_range(sigma, points, np.where(np.isinf(result.k) & ~singular, result.k, 0.0))
        if method == "auto":
            with np.errstate(over="ignore", invalid="ignore"):
                todo = todo[_too_rough(sigma, points, todo, tolerance, result)]
    if failure is not None and np.any(np.isnan(result.k[~singular])):
        raise failure
    where = np.nonzero(singular)[0]
    if len(where):
        some = points.c1[where], points.c2[where], points.theta[where]
        with np.errstate(over="ignore", invalid="ignore"):
            result.put(where, limits(sigma, *some, tolerance))
        used.append("limit")
    _check_range(sigma, points, result.k)
    # a value that may be off by anything is none
    _refuse(sigma, points, ~np.isfinite(result.k_error), f"is not found by {' + '.join(used)}; try another method")
    return DualValue.shaped(result, points.shape, " + ".join(used))


def _estimate(
    method: Method,
    sigma: Activation,
    points: Covariances,
    todo: Index,
    tolerance: float,
    options: Mapping[str, object],
) -> Estimate:
    """What a method gives at some points, moved by what their angles lost to rounding.

    Next to θ = π that counts: k and k′ change there over distances π - θ.  ∂k/∂θ is -c1 c2 sin θ k′, and the slope of
    k′ comes from a second angle.
    """
    at = np.nonzero(points.lost[todo])[0]
    both = np.concatenate([todo, todo[at]])
    theta, c1, c2 = points.theta[both], points.c1[both], points.c2[both]
    theta[len(todo) :] -= (np.pi - theta[at]) * _APART
    step = theta[at] - theta[len(todo) :]
    found = method.run(sigma, c1, c2, theta, tolerance, **options)
    k, kdot, error, kdot_error = (values[: len(todo)].copy() for values in found)
    if len(at):
        lost = points.lost[todo][at]
        moved = (kdot[at] - found[1][len(todo) :]) * (lost / step)
        unsure = (kdot_error[at] + found[3][len(todo) :]) * np.abs(lost / step)
        k[at] -= (c1 * c2 * np.sin(theta))[at] * np.nan_to_num(kdot[at]) * lost
        kdot[at] += moved
        kdot_error[at] += np.abs(moved) / 64 + unsure
    return Estimate(k, kdot, error, kdot_error)


def _check_range(sigma: Activation, points: Covariances, k: Array) -> None:
    """Refuse values of k beyond the largest float; k′ may be infinite, k may not."""
    _refuse(sigma, points, ~np.isfinite(k), "exceeds the range of floating-point numbers; scale the data")


def _refuse(sigma: Activation, points: Covariances, where: NDArray[np.bool_], reason: str) -> None:
    """Raise an error that names the first of these points."""
    for at in np.nonzero(where)[0][:1]:
        raise PrecisionLost(
            f"k of {sigma} at c1 = {points.c1[at]:g}, c2 = {points.c2[at]:g}, θ = {points.theta[at]:g} {reason}, or "
            "use enclose()"
        )


def _names(sigma: Activation, method: str, options: Mapping[str, object]) -> tuple[str, ...]:
    if method != "auto":
        method_named(method).check(sigma, options)
        return (method,)
    if options:
        raise BadInput(
            f"method 'auto' takes no options, got {', '.join(options)}; name a method: {', '.join(methods())}"
        )
    return _order(sigma)


@lru_cache(maxsize=256)
def _order(sigma: Activation) -> tuple[str, ...]:
    """The methods of ``auto``: quadrature is slow where σ′ is infinite, so it comes last there."""
    with np.errstate(all="ignore"):
        slopes = np.array([sigma.derivative(float(b)) for b in sigma.breaks], dtype=float)
    return AUTO if np.all(np.isfinite(slopes)) else ("closed", "angular", "hgm", "quadrature")


def _too_rough(sigma: Activation, points: Covariances, todo: Index, tolerance: float, result: Estimate) -> Array:
    """Which points miss the tolerance; the scale is computed only for those that a quicker test leaves in doubt."""
    pairs = (
        (False, result.k_error[todo], result.k[todo]),
        (True, result.kdot_error[todo], result.kdot[todo]),
    )
    rough = np.zeros(len(todo), dtype=bool)
    for slope, error, value in pairs:
        # a value that is missing needs no scale; k′ may be infinite, and is then exact
        missing = np.isnan(value) | ~np.isfinite(error)
        rough |= missing
        doubtful = np.nonzero(~missing & ~(error <= tolerance * np.abs(value)))[0]
        if len(doubtful):
            at = todo[doubtful]
            scale = scales(sigma, points.c1[at], points.c2[at], slope=slope)
            # no method does better than some of the smallest floats
            rough[doubtful] |= ~(error[doubtful] <= np.maximum(tolerance * scale, _SMALLEST))
    return rough
