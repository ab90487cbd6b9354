"""Breaks where σ or its derivative is unbounded, and what that does to k and k′ at r = ±1.

Beside a break b let σ have a term C |u-b|^e with e < 1 that is no constant, or its like with logarithms.  Then σ′ grows
like |u-b|^(e-1), and where two such points meet, E[σ′(c1 x) σ′(±c2 x)] is infinite if and only if e + e' ≤ 1.  In the
same way E[σ(cx)²] is infinite if 2e ≤ -1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from holokern.activation.function import Activation
from holokern.activation.ring.breaks import denominators
from holokern.activation.ring.expansions import LocalSeries
from holokern.activation.ring.one_sided import BallSeries
from holokern.activation.ring.pieces import piecewise
from holokern.activation.tree.nodes import Node
from holokern.activation.values.cancellation import stabilise
from holokern.activation.values.evaluate import evaluate
from holokern.errors import HolokernError, Unsupported
from holokern.numeric import Array

# on each side of a zero of a denominator σ must grow at these distances, relative to the place, to have a pole there
_APPROACH = 2.0 ** -np.arange(8.0, 22.0, 2.0)
_BRANCH_TERMS = 8  # powers of u below which a branch is looked for: a later one is too weak to spoil a mesh
_NOT_SQUARE_INTEGRABLE = 0.49  # powers of the distance with which 1/√distance is told from weaker growth
_FARTHEST = 60.0  # poles are looked for as far as breaks are
_GRID = 6001  # points of the search: oscillations up to 120 radians a unit are seen
_SECTIONS = 72  # golden sections of a bracket: 1e-15 of its width
_GOLDEN = (1 + 5**0.5) / 2  # the ratio of a bracket to the next one
_MOST_DENOMINATORS = 12  # denominators that are looked at, so that long derivatives do not take long


@dataclass(frozen=True, slots=True)
class UnboundedSide:
    """One side of a break where σ′ is unbounded."""

    point: float
    side: int  # 1 for the right side, -1 for the left one
    exponent: Fraction  # e, when σ′ grows like |u-b|^(e-1)
    sign: int  # the sign of σ′ there


@lru_cache(maxsize=128)
def unbounded_sides(activation: Activation) -> tuple[UnboundedSide, ...]:
    """All sides of breaks where σ′ is unbounded; none for an activation given by its ODE or its values.

    >>> from holokern.activation import activation
    >>> [(g.side, str(g.exponent), g.sign) for g in unbounded_sides(activation("Abs(u)^(1/2)"))]
    [(-1, '1/2', -1), (1, '1/2', 1)]
    >>> unbounded_sides(activation("relu"))
    ()
    """
    found = []
    for place, pair in _expansions(activation, 1):
        for side, series in zip((-1, 1), pair, strict=True):
            term = _steepest(series)
            if term is not None:
                found.append(UnboundedSide(place, side, term[0], side * term[1]))
    return tuple(found)


def _expansions(activation: Activation, order: int) -> Iterator[tuple[float, tuple[LocalSeries | BallSeries, ...]]]:
    """The breaks with the expansions at both sides, where there are expansions."""
    try:
        pieces = piecewise(activation.tree)
    except HolokernError:
        return
    for index, point in enumerate(activation.breaks):
        try:
            yield float(point), pieces.expansions(index, order)
        except Unsupported:
            # it counts as a jump
            continue


@lru_cache(maxsize=128)
def has_branch(activation: Activation) -> bool:
    """Whether σ has powers |u - b|^e with a fraction e, or logarithms of |u - b|, at a break b.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> has_branch(activation("Max(u, 0)^(3/2)")), has_branch(activation("relu"))
    (True, False)
    """
    sides = (series for _, pair in _expansions(activation, _BRANCH_TERMS) for series in pair)
    return any(e.denominator != 1 or k > 0 for series in sides for e, k in series)


def _steepest(series: LocalSeries | BallSeries) -> tuple[Fraction, int] | None:
    """The exponent and the sign of the slope in s = |u-b| of the term whose derivative grows fastest."""
    steep = [(e, -k, k) for e, k in series if e < 1 and (e or k)]
    if not steep:
        return None
    e, _, k = min(steep)
    # the derivatives of s^e (log s)^k and of (log s)^k as s → 0+
    slope = (1 if e > 0 else -1) * (-1) ** k if e else (-1) ** (k - 1)
    return e, slope * (1 if series[e, k] > 0 else -1)


@lru_cache(maxsize=256)
def not_square_integrable(activation: Activation) -> str | None:
    """Why E[σ(cx)²] is infinite for every c, or None.

    >>> from holokern.activation import activation
    >>> not_square_integrable(activation("tan(u)"))
    'it has a pole at u = -1.5708'
    >>> not_square_integrable(activation("u/sin(u)^(1/3)")) is None
    True
    """
    for side in unbounded_sides(activation):
        if 2 * side.exponent <= -1:
            return f"it grows like |u - ({side.point:g})|^({side.exponent}) at u = {side.point:g}"
    try:
        pole = _numerical_pole(activation.tree)
    except HolokernError:
        return None
    return None if pole is None else f"it has a pole at u = {round(pole, 9):.6g}"


def _numerical_pole(tree: Node) -> float | None:
    """A point where σ is seen to grow like a power of the distance that is not square-integrable, or None."""
    stable = stabilise(tree)
    for base in denominators(stable)[:_MOST_DENOMINATORS]:
        for place in _zeros(base):
            for side in (1.0, -1.0):
                u = place + side * _APPROACH * max(1.0, abs(place))
                with np.errstate(all="ignore"):
                    growth = -np.diff(np.log(np.abs(evaluate(tree, u)))) / np.diff(np.log(_APPROACH))
                if np.all(growth > _NOT_SQUARE_INTEGRABLE):
                    return place
    return None


def _zeros(base: Node) -> list[float]:
    """Where the values on a grid change sign or nearly touch zero."""

    def size(u: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.nan_to_num(np.abs(evaluate(base, u)), nan=np.inf))

    u = np.linspace(-_FARTHEST, _FARTHEST, _GRID)
    height = size(u)
    dips = 1 + np.nonzero((height[1:-1] <= height[:-2]) & (height[1:-1] <= height[2:]))[0]
    low, high = u[dips - 1], u[dips + 1]
    # golden sections
    for _ in range(_SECTIONS):
        left, right = high - (high - low) / _GOLDEN, low + (high - low) / _GOLDEN
        down = size(left) < size(right)
        low, high = np.where(down, low, left), np.where(down, right, high)
    middle = (low + high) / 2
    found = middle[size(middle) <= 1e-9 * height[dips + 1]]
    return [float(p) for p in found[np.argsort(np.abs(found))]]
