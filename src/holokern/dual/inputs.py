"""Deviations and angles as the methods want them: checked, broadcast and flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holokern.errors import BadInput
from holokern.numeric import EPS, Array

Given: TypeAlias = ArrayLike | None
"""What a caller passes for one quantity: a number, an array, or nothing; it is checked here and nowhere else."""

SLACK = 1e-12
"""How far |r| may exceed 1, or θ the interval [0, π], and still count as rounding."""

# π less its float
_PI_LOST = 1.2246467991473532e-16
# relative change of π - θ below which it is like any other rounding
_MATTERS = 2 * EPS

_LARGEST = 1e300
"""Beyond, nodes that are 40 deviations away are no floats."""


@dataclass(frozen=True)
class Covariances:
    """Flat arrays of standard deviations and angles, and the shape in which they came.

    ``lost`` is what the float θ leaves of arccos r: next to π it counts, as π - θ is small there.
    """

    c1: Array
    c2: Array
    theta: Array
    lost: Array
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.theta)


def covariances(c1: Given, c2: Given, r: Given = None, theta: Given = None) -> Covariances:
    """Check and broadcast standard deviations and either correlations r or angles θ = arccos r.

    Raises BadInput if a number is missing, not real, NaN or infinite, a deviation is negative or above 1e300, |r| > 1,
    θ is outside [0, π], or the shapes do not broadcast.

    Examples
    --------
    >>> covariances(1, [1, 2], r=0.5).theta.round(6).tolist()
    [1.047198, 1.047198]
    """
    if (r is None) == (theta is None):
        given = "neither was given" if r is None else "both were given"
        raise BadInput(f"dual needs exactly one of r and theta, and {given}; pass r=… or theta=arccos(r)")
    arrays = {"c1": _real("c1", c1), "c2": _real("c2", c2)}
    for name, array in arrays.items():
        _check(name, array, array >= 0, "is negative; standard deviations are at least 0")
        _check(name, array, array <= _LARGEST, f"is above {_LARGEST:g}, the largest standard deviation; rescale σ")
    if theta is None:
        correlation = _real("r", r)
        _check("r", correlation, np.abs(correlation) <= 1 + SLACK, "is not in [-1, 1]; pass a correlation, or theta=…")
        arrays["angle"], arrays["lost"] = angle_of(correlation)
    else:
        angle = _real("theta", theta)
        _check(
            "theta", angle, (angle >= -SLACK) & (angle <= np.pi + SLACK), "is not in [0, π]; pass an angle in radians"
        )
        arrays["angle"], arrays["lost"] = np.clip(angle, 0.0, np.pi), np.zeros(())
    try:
        c1, c2, angle, lost = np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(str(arrays[name].shape) for name in ("c1", "c2", "angle"))
        raise BadInput(f"the shapes {shapes} of c1, c2 and r do not broadcast; add axes with [:, None]") from None
    return Covariances(c1.ravel(), c2.ravel(), angle.ravel(), lost.ravel(), angle.shape)


def angle_of(r: Array) -> tuple[Array, Array]:
    """The angle arccos r by half-angle chords, and what its float loses: nothing but rounding, unless r → -1.

    Examples
    --------
    >>> angle, lost = angle_of(np.array([1.0, -0.999999999]))
    >>> angle.tolist(), bool(abs(lost[1]) < 4e-16)
    ([0.0, 3.1415479322308717], True)
    """
    r = np.clip(r, -1.0, 1.0)
    opening = 2 * np.arcsin(np.sqrt((1 - np.abs(r)) / 2))
    theta = np.where(r >= 0, opening, np.pi - opening)
    lost = (np.pi - theta) - opening + _PI_LOST
    return theta, np.where((r < 0) & (np.abs(lost) > _MATTERS * opening), lost, 0.0)


def from_end(theta: Array) -> Array:
    """The distance of an angle from 0 or π, whichever is nearer: from π itself, not from its float.

    Examples
    --------
    >>> from_end(np.array([1.0, np.pi])).tolist()
    [1.0, 1.2246467991473532e-16]
    """
    return np.asarray(np.minimum(theta, (np.pi - theta) + _PI_LOST))


def _real(name: str, value: Given) -> Array:
    try:
        array = np.asarray(value)
        if array.dtype.kind in "cSUVMm":
            raise TypeError
        array = array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(
            f"{name} = {_short(value)} is not a real number or an array of real numbers; pass floats"
        ) from None
    _check(name, array, ~np.isnan(array), "is NaN; remove or impute missing values first")
    _check(name, array, ~np.isinf(array), "is infinite; pass finite numbers")
    return array


def _check(name: str, array: Array, good: NDArray[np.bool_], complaint: str) -> None:
    bad = np.flatnonzero(~np.asarray(good))
    if len(bad):
        where = f"[{', '.join(map(str, np.unravel_index(bad[0], array.shape)))}]" if array.ndim else ""
        raise BadInput(f"{name}{where} = {array.ravel()[bad[0]]!s} {complaint}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
