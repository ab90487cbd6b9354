"""The order in which one run visits many points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holokern.errors import BadInput, UnknownName
from holokern.numeric import Array

Index = NDArray[np.intp]

ORDERS = ("short", "sorted", "given")

_SWEEPS = 30  # 8 sweeps settle 800 points; this only bounds the time


def order_of(points: Array, start: Array, order: str = "short") -> Index:
    """The order of the rows of ``points`` for a path that begins at ``start``.

    Parameters
    ----------
    points : array, (n, d)
    start : array, (d,)
    order : {"short", "sorted", "given"}
        "short": nearest neighbours, then reversals of pieces while they shorten the path (2-opt).  "sorted": by the
        first coordinate, then the second and so on, as the paper sorts.  "given": as they come.

    Examples
    --------
    >>> order_of(np.array([[3.0], [1.0], [2.0]]), np.array([0.0])).tolist()
    [1, 2, 0]
    """
    if order not in ORDERS:
        raise UnknownName(f"unknown order {order!r}; choose one of {', '.join(ORDERS)}")
    if order == "given" or len(points) < 2:
        return np.arange(len(points))
    if order == "sorted":
        return np.lexsort(points.T[::-1])
    return _shortened(points, start, _nearest(points, start))


def length_of(points: Array, start: Array) -> float:
    """The length of the polygon from ``start`` through the points.

    Examples
    --------
    >>> length_of(np.array([[1.0], [3.0]]), np.array([0.0]))
    3.0
    """
    return float(np.sum(np.linalg.norm(np.diff(np.concatenate([start[None], points]), axis=0), axis=1)))


def _nearest(points: Array, start: Array) -> Index:
    left = np.ones(len(points), dtype=bool)
    here = start
    found = []
    for _ in range(len(points)):
        gaps = np.linalg.norm(points - here, axis=1)
        best = int(np.argmin(np.where(left, gaps, np.inf)))
        found.append(best)
        left[best] = False
        here = points[best]
    return np.array(found, dtype=np.intp)


def _shortened(points: Array, start: Array, tour: Index) -> Index:
    """2-opt for an open path: reverse the piece i..j while the two new edges are shorter than the old ones."""
    everything = np.concatenate([start[None], points])
    place = np.concatenate([[0], tour + 1])
    gaps = np.linalg.norm(everything[:, None] - everything[None], axis=2)
    for _ in range(_SWEEPS):
        changed = False
        for i in range(1, len(place) - 1):
            before, first = place[i - 1], place[i]
            ends = place[i + 1 :]
            after = np.append(place[i + 2 :], -1)
            leaving = np.where(after >= 0, gaps[ends, after], 0.0)
            returning = np.where(after >= 0, gaps[first, after], 0.0)
            gain = gaps[before, first] + leaving - gaps[before, ends] - returning
            best = int(np.argmax(gain))
            if gain[best] > 1e-12:
                j = i + 1 + best
                place[i : j + 1] = place[i : j + 1][::-1]
                changed = True
        if not changed:
            break
    return np.asarray(place[1:] - 1)


def clusters(points: Array, distance: float) -> Index:
    """For each point the index of the first point within ``distance`` that represents it.

    Examples
    --------
    >>> clusters(np.array([[0.0], [1.0], [1e-7]]), 1e-5).tolist()
    [0, 1, 0]
    """
    if not distance >= 0:
        raise BadInput(f"distance = {distance!r} is not a non-negative number")
    representative = np.arange(len(points))
    chosen: list[int] = []
    for i, point in enumerate(points):
        if chosen:
            gaps = np.linalg.norm(points[chosen] - point, axis=1)
            nearest = int(np.argmin(gaps))
            if gaps[nearest] < distance:
                representative[i] = chosen[nearest]
                continue
        chosen.append(i)
    return representative


def resampled(points: Array, step: int) -> Array:
    """The paper's ``step`` experiment: keep every ``step``-th point, and cut the polygon into as many points as before.

    With ``step`` 1 nothing changes; with larger steps the path is closer to a straight line.

    >>> resampled(np.array([[0.0], [5.0], [1.0]]), 2).ravel().tolist()
    [0.0, 0.5, 1.0]
    """
    if not (isinstance(step, int) and step >= 1):
        raise BadInput(f"step = {step!r} is not a positive integer")
    if step == 1 or len(points) < 3:
        return points.copy()
    kept = points[::step]
    if (len(points) - 1) % step:
        kept = np.concatenate([kept, points[-1:]])
    # every segment is divided equally, so that the parameter is the number of the segment
    at = np.linspace(0, len(kept) - 1, len(points))
    return np.stack([np.interp(at, np.arange(len(kept)), column) for column in kept.T], axis=1)
