"""Values of a tree at floats: any shape, no warnings, NaN to NaN, limits at the infinities."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

from holokern.activation.tree.nodes import Node
from holokern.activation.values.balls import ball
from holokern.activation.values.cancellation import stabilise
from holokern.activation.values.floats import FLOATS
from holokern.activation.values.near_points import near_points
from holokern.activation.values.noise import noisy
from holokern.errors import BadInput
from holokern.numeric import Array

UNITS = 16 * float(np.finfo(float).eps)
"""What a callable or an ODE may be off, relative to its value: sixteen units in the last place."""

_BLOCK = 1 << 15  # points at a time: arrays of 256 kB stay in the cache of a processor
_BALL_BITS = (128, 512, 2048)  # more and more of them until a value has the digits of a float
_TRIALS = 200  # points at which balls are asked first, a tenth of a second
# on both sides of a point, closer than any float, so that a removable singularity shows
_NEAR = tuple(sign * Fraction(1, 2**exponent) for exponent in (200, 300) for sign in (1, -1))
_FAR = np.array([2.0**40, 2.0**80, 2.0**120, 2.0**160])  # arguments that tell a limit at infinity


def evaluate(tree: Node, x: Any) -> Any:
    """Evaluate a tree.

    ``x``: real numbers.  A scalar gives a Python float, an array an array of the same shape; float32 and float16 arrays
    are computed in double precision and rounded once.
    The value is NaN where ``x`` is NaN or the function is undefined; at an infinity it is the limit, if there is one,
    and so it is at a single point where only the formula is undefined, such as 0 for sin(u)/u.
    Raises BadInput for input that is not real numbers.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> gelu = read_expression("u/2*(1 + erf(u/sqrt(2)))")
    >>> f"{evaluate(gelu, -10.0):.14e}"  # plain floats give 0
    '-7.61985302416053e-23'
    """
    stable = stabilise(tree)

    def values(flat: Array) -> Array:
        result = np.empty_like(flat)
        for start in range(0, flat.size, _BLOCK):
            result[start : start + _BLOCK] = _block(stable, flat[start : start + _BLOCK])
        return result

    return on_floats(x, values)


def on_floats(x: Any, values: Callable[[Array], Array]) -> Any:
    """What ``values`` gives for a row of floats: a float for a scalar, else an array of the shape of ``x``.

    float32 and float16 are computed in double precision and rounded once.  Raises BadInput unless ``x`` is real.
    """
    points = _read(x)
    with np.errstate(all="ignore"):
        found = values(points.astype(np.float64).ravel()).reshape(points.shape)
        if points.dtype in (np.float32, np.float16):
            found = found.astype(points.dtype)
    return float(found) if points.ndim == 0 and not isinstance(x, np.ndarray) else found


def evaluation_noise(tree: Node, x: Array) -> Array:
    """Bounds of the errors of `evaluate` at an array of floats, to first order; infinite where nothing is known.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> far = read_expression("Abs(u)*(sqrt(1 + u^2) - Abs(u))")  # 1/2 in the limit
    >>> bool(evaluation_noise(far, np.array([1e6]))[0] > 1e-6)
    True
    """
    flat = np.asarray(x, dtype=float).ravel()
    stable = stabilise(tree)
    error = noisy(stable, flat)[1]
    for near in near_points(stable):
        distance = near.distance(flat)
        here = near.covers(distance)
        error[here] = near.error(distance[here])
    return error.reshape(np.shape(x))


def _read(x: Any) -> np.ndarray[Any, np.dtype[Any]]:
    try:
        points = np.asarray(x)
    except (TypeError, ValueError) as error:
        raise BadInput(f"expected real numbers to evaluate at, got {type(x).__name__}: {error}") from None
    if points.dtype == object and all(isinstance(item, Real | Decimal) for item in points.flat):
        points = points.astype(np.float64)
    if points.dtype.kind not in "fiub":
        raise BadInput(f"expected real numbers to evaluate at, got an array of {points.dtype}")
    return points


def _block(stable: Node, x: Array) -> Array:
    """One block of points, with the rare cases that floats cannot settle done one by one."""
    result = np.array(FLOATS.value(stable, x))
    result[np.isnan(x)] = np.nan
    for near in near_points(stable):
        distance = near.distance(x)
        here = near.covers(distance)
        result[here] = near.at(distance[here])
    unsettled = ~np.isfinite(result)
    if not unsettled.any():
        return result
    for place in np.flatnonzero(unsettled & np.isinf(x) & np.isnan(result)):
        result[place] = _limit(stable, float(np.sign(x[place])))
    places = np.flatnonzero(unsettled & np.isfinite(x))
    # rules of quadrature meet the same point, most often zero, thousands of times
    points, first, owner = np.unique(x[places], return_index=True, return_inverse=True)
    settled = result[places[first]]
    # where a function overflows for good, some of many points tell
    some = np.arange(0, len(points), max(1, len(points) // _TRIALS))
    settled[some] = [_by_balls(stable, float(points[j]), float(settled[j])) for j in some]
    if len(some) < len(points) and np.isfinite(settled[some]).any():
        settled[:] = [_by_balls(stable, float(u), float(v)) for u, v in zip(points, settled, strict=True)]
    result[places] = settled[owner]
    return result


@lru_cache(maxsize=1024)
def _by_balls(stable: Node, x: float, found: float) -> float:
    """Balls do not overflow, so they settle inf - inf and 0*inf; near x they settle 0/0."""
    for bits in _BALL_BITS:
        exact = ball(stable, Fraction(x), bits)
        if exact.is_finite() and exact.rel_accuracy_bits() > 53:
            return float(exact)
    near = [float(ball(stable, Fraction(x) + step, _BALL_BITS[-1])) for step in _NEAR]
    scale = max(map(abs, near))
    # a removable singularity: from both sides and at two distances the same value
    if np.isfinite(near).all() and np.ptp(near) <= 1e-15 * scale + 1e-60:
        return near[-1] if scale > 1e-60 else 0.0
    return found


def _limit(stable: Node, direction: float) -> float:
    """The limit at an infinity where plain arithmetic finds none: what far points agree on."""
    values = FLOATS.value(stable, direction * _FAR)
    sizes = np.abs(values)
    if np.isnan(values).any():
        return float("nan")
    if np.ptp(values[1:]) <= 1e-12 * sizes[-1]:
        return float(values[-1])
    if (np.diff(sizes) < 0).all() and sizes[-1] < 1e-15:
        return 0.0
    if (np.diff(sizes) > 0).all() and sizes[-1] > 1e12 and abs(np.sign(values).sum()) == values.size:
        return float(np.copysign(np.inf, values[-1]))
    return float("nan")
