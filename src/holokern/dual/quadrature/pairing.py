"""E[f(x) g(x cos θ + y sin θ)] for independent standard normal x and y, f and g piecewise smooth, all θ in (0, π).

The outer variable is x, the inner one y. Inside, the panels end where g does: at its breaks and where it stops being
smooth. Outside, h(x) = E[g | x] is g blurred by a normal law of width tan θ, so the panels end where f does, where g
does, and at the edges of the blurred layers round the breaks of g. Every piece is then smooth on its own scale, for
each θ down to zero, and each is integrated by a Gauss–Legendre rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holokern.dual.quadrature.boxes import box_count, pair_on_boxes
from holokern.dual.quadrature.profile import HALF_RANGE, Profile
from holokern.dual.quadrature.smoothness import Smoothness
from holokern.errors import PrecisionLost
from holokern.numeric import Array, Index, Panels, between, legendre_rule, patience

# of the inner integrand at a time: arrays of half a megabyte stay in the cache
_EVALUATIONS = 1 << 16
# the normal density at 0
_DENSITY = 1 / np.sqrt(2 * np.pi)
# half a normal density is smooth on nine deviations: 26 and 30 nodes agree to 5e-15; 4.5 take longer for 1e-15
_PANEL = 9.0
# in the last 3.5 of nine deviations φ is below 3e-7 of its peak, and a smooth σ needs no ends of panels
_TAIL = 3.5
# of the integrals over a line, whose panels are halved until they settle: 12 take longer, 36 about as long
_NODES = 24
# relative change at which halving stops; 1e-12 and 1e-15 gave the same values for named activations
_SETTLED = 1e-14
# a relative change that may be noise
_NOISE = 1e-9
# panels in all from which on they are not halved any more: twelve million values
_MOST_PANELS = 1 << 19
# 64 panels in the place of one; what is still not settled has a singularity that halving does not resolve
_MOST_HALVINGS = 7
# values of a nested integral from which on boxes are worth their overhead: a tenth of a second
_LONG = 3e6
# values in all that a point may take: some seconds
_LONGEST = 5e7
# work of a node on boxes, for its moments, in values of the nested integral
_BOX = 4


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


def _finite(values: Array) -> Array:
    """The values, zero where a node hits a singular point of σ′: the two resolutions disagree if that matters."""
    if np.isfinite(values.sum()):
        return values
    return np.where(np.isfinite(values), values, 0.0)


@dataclass(frozen=True)
class Moments:
    """E[fg], E[ḟġ] without δ-terms, and the same of absolute values (for rounding errors), one entry a point."""

    k: Array
    kdot: Array
    size: Array
    size_dot: Array


@dataclass(frozen=True)
class _Blur:
    """E[g | x] as a function of x: what is common to all nodes of a set of points."""

    g: Side
    cos: Array
    sin: Array
    breaks: Array
    smooth: Smoothness
    resolution: Resolution

    @classmethod
    def of(cls, g: Side, theta: Array, resolution: Resolution) -> _Blur:
        return cls(g, np.cos(theta), np.sin(theta), g.breaks, g.smoothness, resolution)

    def at(self, x: Array, owner: Index) -> Array:
        """E[g], E[ġ], E[|g|], E[|ġ|] given x, one row each; ``owner`` tells the point of every x."""
        t, w = legendre_rule(self.resolution.nodes)
        g, cos, sin = self.g, self.cos[owner][:, None], self.sin[owner][:, None]
        centre = x[:, None] * cos
        left, right = g.left[owner][:, None], g.right[owner][:, None]
        low, high = -_inner_reach(left, -centre, sin), _inner_reach(right, centre, sin)
        if g.profile.hollow is not None:
            first, last = (end / g.c[owner][:, None] for end in g.profile.hollow)
            low, high = -_beyond_gap(-low, (centre - first) / sin), _beyond_gap(high, (last - centre) / sin)
        with np.errstate(over="ignore"):
            breaks, ends = (self.breaks[owner] - centre) / sin, (self.smooth.ends[owner] - centre) / sin
            needed = _needed(ends, self.smooth.gaps[owner] / sin, low, high)
        panels = _panels(low, high, breaks, needed).halved(self.resolution.halvings)
        totals = np.zeros((4, len(x)))
        step = max(1, 4 * _EVALUATIONS // len(t))
        for start in range(0, len(panels), step):
            part = panels.part(slice(start, start + step))
            y = part.start[:, None] + part.width[:, None] * t
            weight = np.exp(-y * y / 2)
            v = centre[part.owner] + y * sin[part.owner]
            value, slope = (weight * f(v, owner[part.owner]) for f in (g.value, g.slope))
            mass = _DENSITY * part.width
            for i, terms in enumerate((value, slope, np.abs(value), np.abs(slope))):
                totals[i] += part.total((terms @ w) * mass, len(x))
        return totals


def pair(f: Side, g: Side, theta: Array, resolution: Resolution) -> Moments:
    """E[f(x) g(x cos θ + y sin θ)] and E[ḟ ġ]."""
    cos, sin = np.cos(theta)[:, None], np.sin(theta)[:, None]
    low, high = _outer_range(f, g, cos)
    here, there = f.smoothness, g.smoothness
    crowded = there.crowded
    with np.errstate(over="ignore", divide="ignore"):
        layers = [(crowded - HALF_RANGE * sin) / cos, crowded / cos, (crowded + HALF_RANGE * sin) / cos]
        ends = [
            _needed(here.ends, here.gaps, low, high),
            _needed(there.ends / cos, there.gaps / np.abs(cos), low, high),
        ]
    twice = f.profile.parity is not None and f.profile.parity == g.profile.parity
    if twice:
        # The integrand does not change when both variables change sign.
        low = np.zeros_like(low)
    outer = _panels(low, high, f.breaks, *layers, *ends).halved(resolution.halvings)
    boxed = _better_on_boxes(f, g, theta, np.bincount(outer.owner, minlength=len(theta)), resolution)
    outer = outer.part(~boxed[outer.owner])
    blur = _Blur.of(g, theta, resolution)
    t, w = legendre_rule(resolution.nodes)
    totals = np.zeros((4, len(theta)))
    # About three inner panels a node: a chunk stays near the cache, and memory stays bounded.
    step = max(1, _EVALUATIONS // (len(t) ** 2 * 3 * 2**resolution.halvings))
    for start in range(0, len(outer), step):
        part = outer.part(slice(start, start + step))
        x = part.start[:, None] + part.width[:, None] * t
        weight = w * part.width[:, None] * _DENSITY * np.exp(-x * x / 2)
        value, slope = weight * f.value(x, part.owner), weight * f.slope(x, part.owner)
        means = blur.at(x.ravel(), np.repeat(part.owner, len(t))).reshape(4, *x.shape)
        for i, outside in enumerate((value, slope, np.abs(value), np.abs(slope))):
            totals[i] += part.total((outside * means[i]).sum(axis=1), len(theta))
    totals = 2 * totals if twice else totals
    for point in np.nonzero(boxed)[0]:
        some = np.array([point])
        totals[:, point] = _on_boxes(f.some(some), g.some(some), float(theta[point]), resolution)
    return Moments(*totals)


def _better_on_boxes(f: Side, g: Side, theta: Array, outer: Index, resolution: Resolution) -> NDArray[np.bool_]:
    """Where boxes take less work than nested integrals with so many outer panels, which take long.

    Raises
    ------
    PrecisionLost
        If both take too long.
    """
    inside = [np.count_nonzero(np.abs(side.smoothness.ends) < HALF_RANGE, axis=1) for side in (f, g)]
    parts = 2**resolution.halvings
    nested = outer * (3.0 + inside[1] * np.sin(theta)) * parts * resolution.nodes**2
    reach = HALF_RANGE + np.maximum.reduce([f.left, f.right, g.left, g.right])
    boxes = _BOX * resolution.nodes * ((inside[0] + inside[1]) * parts + 2 * box_count(theta, reach))
    better = (nested > _LONG) & (boxes < nested / 2)
    work = np.where(better, boxes, nested)
    if np.any(work > _LONGEST * patience()):
        at = int(np.argmax(work))
        raise PrecisionLost(
            f"{f.profile.label} at c1 = {f.c[at]:.6g}, c2 = {g.c[at]:.6g}, θ = {theta[at]:.6g} oscillates too fast: "
            f"quadrature needs {work[at]:.1e} values; use smaller deviations, or another method"
        )
    return np.asarray(better)


def _on_boxes(f: Side, g: Side, theta: float, resolution: Resolution) -> Array:
    """The four moments of one point by `pair_on_boxes`, the sizes relative to the norms, as its rounding is."""
    low, high = _outer_range(f, g, np.array([[np.cos(theta)]]))
    back_low, back_high = _outer_range(g, f, np.array([[np.cos(theta)]]))
    owner, ends = np.zeros(1, dtype=np.intp), []
    for side, a, b in ((f, low, high), (g, back_low, back_high)):
        panels = _panels(a, b, side.breaks, side.smoothness.ends).halved(resolution.halvings)
        ends.append(np.append(panels.start, panels.start[-1] + panels.width[-1]))

    def sampled(side: Side) -> Callable[[Array], Array]:
        return lambda x: np.concatenate([side.value(x[None], owner), side.slope(x[None], owner)])

    one, same = sampled(f), f.c[0] == g.c[0]
    return np.concatenate(pair_on_boxes(one, one if same else sampled(g), theta, (ends[0], ends[1]), resolution.nodes))


def conditional(g: Side, x: Array, theta: Array, resolution: Resolution) -> tuple[Array, Array]:
    """E[ġ(x cos θ + y sin θ)] and E[|ġ|] at one x for each point."""
    means = _Blur.of(g, theta, resolution).at(x, np.arange(len(x)))
    return means[1], means[3]


def diagonal(f: Side, g: Side, sign: int, resolution: Resolution | None = None) -> Moments:
    """E[f(x) g(±x)] and E[ḟ(x) ġ(±x)]: the limits of `pair` at θ = 0 and θ = π.

    Without a resolution here and below, panels are halved until the integrals do not change any more.
    """
    same = sign == 1 and g.profile is f.profile and np.array_equal(g.c, f.c)

    def products(x: Array, owner: Index) -> tuple[Array, ...]:
        here = f.value(x, owner), f.slope(x, owner)
        there = here if same else (g.value(sign * x, owner), g.slope(sign * x, owner))
        k, kdot = here[0] * there[0], here[1] * there[1]
        return k, kdot, np.abs(k), np.abs(kdot)

    return Moments(*_on_line(f, g, sign, resolution, products))


def energy(f: Side, resolution: Resolution | None = None, *, slope: bool = False) -> Array:
    """E[f(x)²], or E[ḟ(x)²]."""
    function = f.slope if slope else f.value
    return _on_line(f, f, 1, resolution, lambda x, owner: (function(x, owner) ** 2,))[0]


def mean(f: Side) -> Array:
    """E[f(x)]."""
    return _on_line(f, f, 1, None, lambda x, owner: (f.value(x, owner), np.abs(f.value(x, owner))))[0]


def distance(f: Side, g: Side, scales: tuple[Array, Array]) -> Array:
    """E[(f(x)/n₁ - g(x)/n₂)²]/2, without cancellation where f and g are nearly the same."""

    def squares(x: Array, owner: Index) -> tuple[Array, ...]:
        n1, n2 = (scale[owner][:, None] for scale in scales)
        return ((f.value(x, owner) / n1 - g.value(x, owner) / n2) ** 2 / 2,)

    return _on_line(f, g, 1, None, squares)[0]


def _on_line(
    f: Side, g: Side, sign: int, resolution: Resolution | None, terms: Callable[[Array, Index], tuple[Array, ...]]
) -> list[Array]:
    """Expectations of functions of x that are smooth between the breaks of f(x) and of g(±x)."""
    low, high = _outer_range(f, g, np.full((len(f.c), 1), float(sign)))
    deep = [np.broadcast_to(side.profile.deep_ends, (len(f.c), len(side.profile.deep_ends))) for side in (f, g)]
    splits = f.breaks, f.smoothness.ends, sign * g.breaks, sign * g.smoothness.ends, *deep
    panels = _panels(low, high, *splits)
    if resolution is not None:
        return _integrals(panels.halved(resolution.halvings), resolution.nodes, terms, len(f.c))
    before = _integrals(panels, _NODES, terms, len(f.c))
    last = np.full(len(f.c), np.inf)
    for halvings in range(1, _MOST_HALVINGS):
        after = _integrals(panels.halved(halvings), _NODES, terms, len(f.c))
        scale = np.max(np.abs(after), axis=0)
        moved = np.max(np.abs(np.subtract(after, before)), axis=0)
        # where a change is small and does not fall any more, it is the noise of the values
        noise = (moved <= _NOISE * scale) & (moved > last / 4)
        if np.all((moved <= _SETTLED * scale) | noise) or len(panels) << halvings > _MOST_PANELS:
            break
        before, last = after, moved
    return after


def _integrals(
    panels: Panels, nodes: int, terms: Callable[[Array, Index], tuple[Array, ...]], points: int
) -> list[Array]:
    t, w = legendre_rule(nodes)
    totals: list[Array] = []
    step = max(1, _EVALUATIONS // len(t))
    for start in range(0, len(panels), step):
        part = panels.part(slice(start, start + step))
        x = part.start[:, None] + part.width[:, None] * t
        weight = w * part.width[:, None] * _DENSITY * np.exp(-x * x / 2)
        sums = [part.total((weight * term).sum(axis=1), points) for term in terms(x, part.owner)]
        totals = [a + b for a, b in zip(totals, sums, strict=True)] if totals else sums
    return totals


def _inner_reach(extra: Array, centre: Array, sin: Array) -> Array:
    """How far y goes: half the extra reach if g grows, and up to the end of its mass if g is zero before.

    The end lies far out in y where g is a tail and x does not lead there; what lies nine deviations farther is nothing.
    """
    near = HALF_RANGE + extra / 2 * sin
    end = np.minimum((HALF_RANGE + extra - centre) / sin, 2 * HALF_RANGE + extra)
    return np.where(extra > 0, np.maximum(near, end), near)


def _beyond_gap(reach: Array, begin: Array) -> Array:
    """How far y goes if g vanishes up to ``begin``: until the density has fallen by exp(-40) from there."""
    end = np.sqrt(np.where(np.isfinite(begin), np.maximum(begin, 0.0), 0.0) ** 2 + 80.0)
    return np.maximum(reach, np.minimum(end, 3 * HALF_RANGE))


def _outer_range(f: Side, g: Side, cos: Array) -> tuple[Array, Array]:
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


def _needed(ends: Array, gaps: Array, low: Array, high: Array) -> Array:
    """The ends of smooth panels, those moved to ``low`` that do not show.

    In the last deviations the weight is so small that a change of smoothness does not show, unless panels are narrow.
    """
    heavy = (ends > low + _TAIL) & (ends < high - _TAIL)
    return np.where(heavy | (gaps < _TAIL), ends, low)


def _panels(low: Array, high: Array, *splits: Array) -> Panels:
    """Panels between ``low`` and ``high`` that end at the splits and at multiples of nine.

    Half a normal density is smooth on nine deviations, a whole one on eighteen is not.
    """
    most = int(np.ceil(max(np.max(high), -np.min(low)) / _PANEL))
    grid = np.broadcast_to(_PANEL * np.arange(-most, most + 1), (len(low), 2 * most + 1))
    return between(np.clip(np.concatenate([low, high, *splits, grid], axis=1), low, high))
