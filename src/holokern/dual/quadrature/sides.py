"""Functions of a normal variable as integrands: σ(cx) for deviations c, and panels of x on which it is smooth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from holokern.dual.quadrature.profile import HALF_RANGE, Profile
from holokern.dual.quadrature.smoothness import Smoothness
from holokern.numeric import Array, Index, Panels, between, legendre_rule

# of the inner integrand at a time: arrays of half a megabyte stay in the cache
EVALUATIONS = 1 << 16
# the normal density at 0
DENSITY = 1 / np.sqrt(2 * np.pi)
# half a normal density is smooth on nine deviations: 26 and 30 nodes agree to 5e-15; 4.5 take longer for 1e-15
_PANEL = 9.0
# in the last 3.5 of nine deviations φ is below 3e-7 of its peak, and a smooth σ needs no ends of panels
_TAIL = 3.5

ORDERS = (26, 30)
"""Nodes a panel of the two resolutions that are compared; the finer one is returned."""

MOST_HALVINGS = 2
"""Named activations need none; these are for σ whose panels miss a narrow feature, and each doubles the time."""


@dataclass(frozen=True)
class Resolution:
    """Nodes of the Gauss–Legendre rule on a panel, and how often every panel is halved."""

    nodes: int
    halvings: int = 0


@dataclass(frozen=True)
class Side:
    """x ↦ σ(cx) for an array of standard deviations c, in units of one standard deviation.

    ``left`` and ``right`` say how far beyond nine deviations the mass of σ(cx)² reaches.
    """

    profile: Profile
    c: Array
    left: Array
    right: Array

    @classmethod
    def of(cls, profile: Profile, c: Array) -> Side:
        """The side of a profile at the given deviations, with its extra reach measured once for each."""
        different, back = np.unique(c, return_inverse=True)
        left, right = profile.extra_reach(different)
        return cls(profile, c, left[back], right[back])

    def some(self, index: Index) -> Side:
        """The side restricted to some points."""
        return Side(self.profile, self.c[index], self.left[index], self.right[index])

    @property
    def breaks(self) -> Array:
        """Break points, one row for each c."""
        return self.profile.breaks / self.c[:, None]

    @property
    def smoothness(self) -> Smoothness:
        """Where the side is smooth, one row for each c."""
        return self._panels.scaled(self.c)

    @property
    def panel_count(self) -> int:
        """How many ends of panels each c has."""
        return len(self._panels.ends)

    @property
    def _panels(self) -> Smoothness:
        reach = self.c * (HALF_RANGE + np.maximum(self.left, self.right))
        return self.profile.panels(float(np.max(reach)))

    def value(self, x: Array, owner: Index) -> Array:
        """σ(cx) at a row of nodes for each panel."""
        return _finite(self.profile.value(self.c[owner][:, None] * x))

    def slope(self, x: Array, owner: Index) -> Array:
        """σ′(cx) at a row of nodes for each panel."""
        return _finite(self.profile.slope(self.c[owner][:, None] * x))


Terms = Callable[[Array, Index], tuple[Array, ...]]
"""Functions at a row of nodes for each panel, from the owner of each panel."""


def gauss_nodes(panels: Panels, nodes: int, at_once: int = EVALUATIONS) -> Iterator[tuple[Panels, Array, Array]]:
    """Some panels at a time, with a row of Gauss–Legendre nodes and of weights of dx for each."""
    t, w = legendre_rule(nodes)
    step = max(1, at_once // nodes)
    for start in range(0, len(panels), step):
        part = panels.part(slice(start, start + step))
        yield part, part.start[:, None] + part.width[:, None] * t, part.width[:, None] * w


def normal(x: Array) -> Array:
    """The normal density."""
    return np.asarray(DENSITY * np.exp(-x * x / 2))


def expectations(panels: Panels, nodes: int, terms: Terms, points: int, at_once: int = EVALUATIONS) -> list[Array]:
    """Integrals of several functions times the normal density over the panels of each point."""
    totals: list[Array] = []
    for part, x, weight in gauss_nodes(panels, nodes, at_once):
        heavy = weight * normal(x)
        sums = [part.total(np.einsum("ij,ij->i", heavy, term), points) for term in terms(x, part.owner)]
        totals = [a + b for a, b in zip(totals, sums, strict=True)] if totals else sums
    return totals or [np.zeros(points) for _ in terms(np.empty((0, nodes)), panels.owner)]


def _finite(values: Array) -> Array:
    """The values, zero where a node hits a singular point of σ′: the two resolutions disagree if that matters."""
    is_finite = np.isfinite(values)
    return values if is_finite.all() else np.where(is_finite, values, 0.0)


@dataclass(frozen=True)
class Moments:
    """E[fg], E[ḟġ] without δ-terms, and the same of absolute values (for rounding errors), one entry a point."""

    k: Array
    kdot: Array
    size: Array
    size_dot: Array


def outer_range(f: Side, g: Side, cos: Array) -> tuple[Array, Array]:
    """Where f(x) g(x cos θ + …) has its mass: for exponentials it sits half way between the masses of f² and g².

    Where g is a tail, x is nine deviations sin θ from what the end of its mass leads to.
    """
    toward_right = np.maximum(cos, 0) * g.right[:, None] + np.maximum(-cos, 0) * g.left[:, None]
    toward_left = np.maximum(cos, 0) * g.left[:, None] + np.maximum(-cos, 0) * g.right[:, None]
    left, right = f.left[:, None], f.right[:, None]
    spread = HALF_RANGE * (np.abs(cos) + np.sqrt(np.maximum(1 - cos * cos, 0.0)) - 1)
    tails = [np.where(toward > 0, toward + spread, 0.0) for toward in (toward_left, toward_right)]
    low = -HALF_RANGE - np.maximum(np.maximum(left, (left + toward_left) / 2), tails[0])
    return low, HALF_RANGE + np.maximum(np.maximum(right, (right + toward_right) / 2), tails[1])


def visible_ends(ends: Array, gaps: Array, low: Array, high: Array) -> Array:
    """The ends of smooth panels, those moved to ``low`` that do not show.

    In the last deviations the weight is so small that a change of smoothness does not show, unless panels are narrow.
    """
    heavy = (ends > low + _TAIL) & (ends < high - _TAIL)
    return np.where(heavy | (gaps < _TAIL), ends, low)


def cut_line(low: Array, high: Array, *splits: Array) -> Panels:
    """Panels between ``low`` and ``high`` that end at the splits and at multiples of nine.

    Half a normal density is smooth on nine deviations, a whole one on eighteen is not.
    """
    most = int(np.ceil(max(np.max(high), -np.min(low)) / _PANEL))
    grid = np.broadcast_to(_PANEL * np.arange(-most, most + 1), (len(low), 2 * most + 1))
    return between(np.clip(np.concatenate([low, high, *splits, grid], axis=1), low, high))
