"""Polynomials for a tree next to the points where its formula cancels, such as 0 for u - tanh(u) or (1 - cos(u))/u.

The coefficients come from balls of many digits beside the point, on each side separately, as it may be a break.  With
the leading power of the distance factored out, floats then keep their digits down to the point itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, arb_poly
from numpy.typing import NDArray

from holokern.activation.tree.nodes import Node, Number, Product, Sum, Variable, walk
from holokern.activation.values.balls import ball
from holokern.activation.values.noise import noisy
from holokern.numeric import Array, to_ball, working_precision

_NODES = 28  # nodes of the interpolation: an error of 2^-120 where the next singular point is eight reaches away
# bits of the balls: the distances that are tested are 2^-40, and leading powers up to 12 then leave 500 bits
_BITS = 1024
_VANISHING = 2.0**-80  # a leading coefficient below this, relative to the largest, is zero
_REACHES = (0, -3, -6, -9, -13, -18)  # reaches that are tried, as powers of 2
# the part of the reach that is served: at its end there may be a break, which rounding must not step over
_SERVED = 0.9
# distances at which formulas are tested, relative to the reach
_DISTANCES = _SERVED * 2.0 ** -np.arange(0.0, 42.0, 3.0)
_CANCELS = 64 * np.finfo(float).eps  # a formula whose bound of the error is so many roundings of the value cancels
# what a polynomial may be off at the test points, relative to the sum of the sizes of its terms
_ACCURATE = 8 * np.finfo(float).eps
# points between those, at which the formula tells where the tree is no polynomial, such as on a spike
_BETWEEN = _SERVED * np.arange(1.0, 4097.0) / 4096
# below this, values lose digits to underflow, which is no cancellation
_UNDERFLOW = float(np.finfo(float).tiny / np.finfo(float).eps)
_MOST_POINTS = 8  # points of a tree that are looked at


@dataclass(frozen=True, eq=False)
class NearPoint:
    """σ(p ± t) = t^power (a_0 + a_1 t/reach + …) for 0 < t ≤ 0.9 reach, on one side of a point p."""

    point: Fraction
    side: int  # 1 for the right, -1 for the left
    reach: float  # a power of 2
    power: int
    coefficients: Array  # highest power first

    def distance(self, x: Array) -> Array:
        """The distance from the point, positive on this side; exact to rounding however small."""
        high = float(self.point)
        return self.side * ((x - high) - float(self.point - Fraction(high)))

    def covers(self, distance: Array) -> NDArray[np.bool_]:
        """Which distances it serves."""
        return np.asarray((distance > 0) & (distance <= _SERVED * self.reach))

    def at(self, distance: Array) -> Array:
        """The values at distances that it serves."""
        return np.asarray(distance**self.power * np.polyval(self.coefficients, distance / self.reach))

    def error(self, distance: Array) -> Array:
        """What rounding does to those values, at most."""
        size = np.polyval(np.abs(self.coefficients), distance / self.reach)
        return np.asarray(_ACCURATE * distance**self.power * size)


@lru_cache(maxsize=512)
def near_points(stable: Node) -> tuple[NearPoint, ...]:
    """Polynomials for both sides of every rational point where a stabilised tree cancels.

    The points are zero and the zeros of the linear expressions in the tree.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> [(near.side, near.power) for near in near_points(read_expression("u - tanh(u)"))]
    [(1, 3), (-1, 3)]
    >>> near_points(read_expression("tanh(u)"))
    ()
    """
    found = (_near(stable, point, side) for point in _points(stable) for side in (1, -1))
    return tuple(near for near in found if near is not None)


def _points(tree: Node) -> list[Fraction]:
    """Zero and the zeros of linear expressions with rational coefficients."""
    points = {Fraction(0): None}
    for node in walk(tree):
        if isinstance(node, Sum) and len(node.terms) == 2:
            parts = {type(term): term for term in node.terms}
            constant = parts.get(Number)
            slope = _multiple(next((term for term in node.terms if term is not constant), node))
            if isinstance(constant, Number) and slope:
                points[-constant.value / slope] = None
    return list(points)[:_MOST_POINTS]


def _multiple(node: Node) -> Fraction:
    """The a of a*u, else 0."""
    match node:
        case Variable():
            return Fraction(1)
        case Product((Number(a), Variable())):
            return a
    return Fraction(0)


def _near(stable: Node, point: Fraction, side: int) -> NearPoint | None:
    """The polynomial on one side of a point, None if the formula does not cancel there or is not smooth."""
    if not _cancels(stable, float(point), side):
        return None
    others = [side * (other - point) for other in _points(stable)]
    for exponent in _REACHES:
        if any(0 < distance <= Fraction(2) ** exponent for distance in others):
            continue
        near = _interpolated(stable, point, side, Fraction(2) ** exponent)
        if near is not None and _agrees(stable, near):
            return near
    return None


def _cancels(stable: Node, point: float, side: int) -> bool:
    # farther out a large error beside a small value is a zero of σ, and no matter
    distance = _DISTANCES[(_DISTANCES < 2**-10) & (1e-9 * abs(point) < _DISTANCES)]
    value, error = noisy(stable, point + side * distance)
    return bool(np.any(error > _CANCELS * np.maximum(np.abs(value), _UNDERFLOW)))


def _interpolated(stable: Node, point: Fraction, side: int, reach: Fraction) -> NearPoint | None:
    nodes = [Fraction(float(t)) for t in (1 - np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)) / 2]
    values = [ball(stable, point + side * reach * t, _BITS).mid() for t in nodes]
    if not all(value.is_finite() for value in values):
        return None
    with working_precision(_BITS):
        exact = arb_poly.interpolate([to_ball(t) for t in nodes], values)
        largest = max(map(abs, exact.coeffs()), key=float, default=arb(0))
        if not largest > 0:
            return None
        sizes = [float((exact[k] / largest).mid()) for k in range(_NODES)]
        power = next(k for k, size in enumerate(sizes) if abs(size) > _VANISHING)
        scale = to_ball(1 / reach) ** power
        coefficients = [float((exact[k] * scale).mid()) for k in range(power, _NODES)]
    return NearPoint(point, side, float(reach), power, np.array(coefficients[::-1]))


def _agrees(stable: Node, near: NearPoint) -> bool:
    """Whether the polynomial in floats gives the values of balls at other points, down to the smallest distance."""
    x = float(near.point) + near.side * near.reach * _DISTANCES
    x = x[near.covers(near.distance(x))]
    true = np.array([float(ball(stable, Fraction(float(u)), _BITS).mid()) for u in x])
    distance = near.distance(x)
    if not np.all(np.abs(near.at(distance) - true) <= near.error(distance)):
        return False
    value, error = noisy(stable, float(near.point) + near.side * near.reach * _BETWEEN)
    distance = near.reach * _BETWEEN
    known = np.isfinite(value) & np.isfinite(error)
    return bool(np.all(~known | (np.abs(near.at(distance) - value) <= 2 * error + 2 * near.error(distance))))
