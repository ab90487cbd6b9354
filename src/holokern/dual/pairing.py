"""E[f(x) g(x cos θ + y sin θ)] for independent standard normal x and y, f and g piecewise smooth, all θ in (0, π).

The outer variable is x, the inner one y. Inside, the panels end where g does: at its breaks and where it stops being
smooth. Outside, h(x) = E[g | x] is g blurred by a normal law of width tan θ, so the panels end where f does, where g does, and at
the edges of the blurred layers round the breaks of g. Every piece is then smooth on its own scale, for each θ down to zero,
and each is integrated by a Gauss–Legendre rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holokern.dual.gauss import legendre_rule
from holokern.dual.panels import Array, Index, Panels, between
from holokern.dual.profile import HALF_RANGE, Profile

__all__ = ["Moments", "Side", "conditional", "diagonal", "pair"]

_EVALUATIONS = 1 << 16
_DENSITY = 1 / np.sqrt(2 * np.pi)
_PANEL = 9.0


@dataclass(frozen=True)
class Side:
    """x ↦ σ(cx) for an array of standard deviations c, in units of one standard deviation."""

    profile: Profile
    c: Array
    left: Array
    right: Array

    @classmethod
    def of(cls, profile: Profile, c: Array) -> Side:
        """The side of a profile at the given deviations, with the growth measured once for each."""
        different, back = np.unique(c, return_inverse=True)
        left, right = profile.growth(different)
        return cls(profile, c, left[back], right[back])

    def some(self, index: Index) -> Side:
        """The side restricted to some points."""
        return Side(self.profile, self.c[index], self.left[index], self.right[index])

    def swapped_where(self, other: Side, where: Array) -> Side:
        """This side, except ``other`` where the mask says so; both must have one profile."""
        pick = [
            np.where(where, b, a) for a, b in ((self.c, other.c), (self.left, other.left), (self.right, other.right))
        ]
        return Side(self.profile, *pick)

    @property
    def ends(self) -> tuple[Array, Array]:
        """Ends of smooth panels and points of crowding, one row for each c."""
        reach = self.c * (HALF_RANGE + np.maximum(self.left, self.right))
        ends, crowded = self.profile.panels(float(np.max(reach)))
        return ends / self.c[:, None], crowded / self.c[:, None]

    @property
    def breaks(self) -> Array:
        """Break points, one row for each c."""
        return self.profile.breaks / self.c[:, None]

    def value(self, x: Array, owner: Index) -> Array:
        """σ(cx) at a row of nodes for each panel."""
        return self.profile.value(self.c[owner][:, None] * x)

    def slope(self, x: Array, owner: Index) -> Array:
        """σ̇(cx) at a row of nodes for each panel."""
        return self.profile.slope(self.c[owner][:, None] * x)


@dataclass(frozen=True)
class Moments:
    """E[fg], E[ḟġ] without δ-terms, and the same of absolute values (for rounding errors), one entry a point."""

    k: Array
    kdot: Array
    size: Array
    size_dot: Array

    def doubled(self) -> Moments:
        """Twice each moment."""
        return Moments(2 * self.k, 2 * self.kdot, 2 * self.size, 2 * self.size_dot)


@dataclass(frozen=True)
class _Means:
    """E[g | x], E[ġ | x] and the same of absolute values, one entry for each x."""

    value: Array
    slope: Array
    size: Array
    size_slope: Array


def pair(f: Side, g: Side, theta: Array, count: int, halvings: int) -> Moments:
    """E[f(x) g(x cos θ + y sin θ)] and E[ḟ ġ] with ``count`` nodes a panel and every panel halved ``halvings`` times."""
    cos, sin = np.cos(theta)[:, None], np.sin(theta)[:, None]
    toward_right = np.maximum(cos, 0) * g.right[:, None] + np.maximum(-cos, 0) * g.left[:, None]
    toward_left = np.maximum(cos, 0) * g.left[:, None] + np.maximum(-cos, 0) * g.right[:, None]
    low = -HALF_RANGE - np.maximum(f.left[:, None], (f.left[:, None] + toward_left) / 2)
    high = HALF_RANGE + np.maximum(f.right[:, None], (f.right[:, None] + toward_right) / 2)
    twice = f.profile.parity is not None and f.profile.parity == g.profile.parity
    if twice:
        # The integrand does not change when both variables change sign.
        low = np.zeros_like(low)
    ends, crowded = g.ends
    with np.errstate(over="ignore", divide="ignore"):
        blurred = [ends / cos, (crowded - HALF_RANGE * sin) / cos, crowded / cos, (crowded + HALF_RANGE * sin) / cos]
    outer = between(np.clip(np.concatenate([low, high, f.ends[0], *blurred, _grid(low, high)], axis=1), low, high))
    moments = _outer_sum(f, g, cos[:, 0], sin[:, 0], ends, outer.halved(halvings), count, halvings)
    return moments.doubled() if twice else moments


def conditional(g: Side, x: Array, theta: Array, count: int, halvings: int) -> tuple[Array, Array]:
    """E[ġ(x cos θ + y sin θ)] and E[|ġ|] at one x for each point."""
    means = _inner(g, x, np.cos(theta), np.sin(theta), np.arange(len(x)), g.ends[0], count, halvings)
    return means.slope, means.size_slope


def diagonal(f: Side, g: Side, sign: int, count: int, halvings: int) -> Moments:
    """E[f(x) g(±x)] and E[ḟ(x) ġ(±x)]: the limits of `pair` at θ = 0 and θ = π."""
    left, right = (g.left, g.right) if sign > 0 else (g.right, g.left)
    low = -HALF_RANGE - np.maximum(f.left, (f.left + left) / 2)[:, None]
    high = HALF_RANGE + np.maximum(f.right, (f.right + right) / 2)[:, None]
    ends = [low, high, f.ends[0], sign * g.ends[0], _grid(low, high)]
    panels = between(np.clip(np.concatenate(ends, axis=1), low, high)).halved(halvings)
    t, w = legendre_rule(count)
    totals = np.zeros((4, len(f.c)))
    step = max(1, _EVALUATIONS // count)
    for start in range(0, len(panels), step):
        part = panels.part(slice(start, start + step))
        x = part.start[:, None] + part.width[:, None] * t
        weight = w * part.width[:, None] * _DENSITY * np.exp(-x * x / 2)
        k = weight * f.value(x, part.owner) * g.value(sign * x, part.owner)
        kdot = weight * f.slope(x, part.owner) * g.slope(sign * x, part.owner)
        for total, terms in zip(totals, (k, kdot, np.abs(k), np.abs(kdot)), strict=True):
            total += part.total(terms.sum(axis=1), len(f.c))
    return Moments(*totals)


def _grid(low: Array, high: Array) -> Array:
    """Multiples of nine: half a normal density is smooth on nine deviations, a whole one on eighteen is not."""
    most = int(np.ceil(max(np.max(high), -np.min(low)) / _PANEL))
    return np.broadcast_to(_PANEL * np.arange(-most, most + 1), (len(low), 2 * most + 1))


def _outer_sum(
    f: Side, g: Side, cos: Array, sin: Array, ends: Array, outer: Panels, count: int, halvings: int
) -> Moments:
    t, w = legendre_rule(count)
    totals = np.zeros((4, len(f.c)))
    # The inner panels of a node are at most all of them; a chunk stays near the cache and memory stays bounded.
    step = max(1, _EVALUATIONS // (count * count * 3 * 2**halvings))
    for start in range(0, len(outer), step):
        part = outer.part(slice(start, start + step))
        x = part.start[:, None] + part.width[:, None] * t
        weight = w * part.width[:, None] * _DENSITY * np.exp(-x * x / 2)
        owner = np.repeat(part.owner, count)
        mean = _inner(g, x.ravel(), cos[owner], sin[owner], owner, ends, count, halvings)
        value, slope = weight * f.value(x, part.owner), weight * f.slope(x, part.owner)
        terms = (value, mean.value), (slope, mean.slope), (abs(value), mean.size), (abs(slope), mean.size_slope)
        for total, (outside, inside) in zip(totals, terms, strict=True):
            total += part.total((outside * inside.reshape(x.shape)).sum(axis=1), len(f.c))
    return Moments(*totals)


def _inner(g: Side, x: Array, cos: Array, sin: Array, owner: Index, ends: Array, count: int, halvings: int) -> _Means:
    """E[g(x cos θ + y sin θ)] over y for every x."""
    t, w = legendre_rule(count)
    cos, sin = cos[:, None], sin[:, None]
    low = -HALF_RANGE - g.left[owner][:, None] / 2 * sin
    high = HALF_RANGE + g.right[owner][:, None] / 2 * sin
    with np.errstate(over="ignore"):
        at = (ends[owner] - x[:, None] * cos) / sin
    panels = between(np.clip(np.concatenate([low, high, at, _grid(low, high)], axis=1), low, high)).halved(halvings)
    totals = np.zeros((4, len(x)))
    step = max(1, 4 * _EVALUATIONS // count)
    for start in range(0, len(panels), step):
        part = panels.part(slice(start, start + step))
        y = part.start[:, None] + part.width[:, None] * t
        weight = np.exp(-y * y / 2)
        v = (x[:, None] * cos)[part.owner] + y * sin[part.owner]
        mass = _DENSITY * part.width
        value, slope = g.value(v, owner[part.owner]), g.slope(v, owner[part.owner])
        value *= weight
        slope *= weight
        for total, terms in zip(totals, (value, slope, np.abs(value), np.abs(slope)), strict=True):
            total += part.total((terms @ w) * mass, len(x))
    return _Means(*totals)
