"""E[f(x) g(x cos θ + y sin θ)] for independent standard normal x and y, f and g piecewise smooth, all θ in (0, π).

The outer variable is x, the inner one y. Inside, the panels end where g does: at its breaks and where it stops being
smooth. Outside, h(x) = E[g | x] is g blurred by a normal law of width tan θ, so the panels end where f does, where g
does, and at the edges of the blurred layers round the breaks of g. Every piece is then smooth on its own scale, for
each θ down to zero, and each is integrated by a Gauss–Legendre rule.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from holokern.dual.quadrature.boxes import box_count, pair_on_boxes
from holokern.dual.quadrature.profile import HALF_RANGE
from holokern.dual.quadrature.sides import (
    EVALUATIONS,
    MOST_HALVINGS,
    ORDERS,
    Moments,
    Resolution,
    Side,
    Terms,
    cut_line,
    expectations,
    gauss_nodes,
    normal,
    outer_range,
    visible_ends,
)
from holokern.errors import PrecisionLost
from holokern.numeric import Array, Index, Panels, patience

# values of a nested integral from which on boxes are worth their overhead: a tenth of a second
_LONG = 3e6
# relative change of a mean square at which halving stops: its values are differences, which lost some digits
_CLOSE = 1e-9
# values in all that a point may take: some seconds
_LONGEST = 5e7
# work of a node on boxes, for its moments, in values of the nested integral
_BOX = 4


def _blur(g: Side, theta: Array, resolution: Resolution) -> Callable[..., Array]:
    """E[g | x] as a function of x: what is common to all nodes of a set of points is computed once."""
    cosines, sines, all_breaks, smooth = np.cos(theta), np.sin(theta), g.breaks, g.smoothness

    def at(x: Array, owner: Index, terms: Terms | None = None) -> Array:
        """E[g], E[ġ], E[|g|], E[|ġ|] given x, one row each; ``owner`` tells the point of every x.

        Or the means of ``terms(v, which)``, where ``which`` tells the x of every row of values v of g's argument.
        """
        cos, sin = cosines[owner][:, None], sines[owner][:, None]
        centre = x[:, None] * cos
        left, right = g.left[owner][:, None], g.right[owner][:, None]
        low, high = -_inner_reach(left, -centre, sin), _inner_reach(right, centre, sin)
        if g.profile.hollow is not None:
            first, last = (end / g.c[owner][:, None] for end in g.profile.hollow)
            low, high = -_beyond_gap(-low, (centre - first) / sin), _beyond_gap(high, (last - centre) / sin)
        with np.errstate(over="ignore"):
            breaks, ends = (all_breaks[owner] - centre) / sin, (smooth.ends[owner] - centre) / sin
            needed = visible_ends(ends, smooth.gaps[owner] / sin, low, high)
        panels = cut_line(low, high, breaks, needed).halved(resolution.halvings)

        def with_sizes(v: Array, which: Index) -> tuple[Array, ...]:
            value, slope = g.value(v, owner[which]), g.slope(v, owner[which])
            return value, slope, np.abs(value), np.abs(slope)

        wanted = terms or with_sizes

        def given(y: Array, which: Index) -> tuple[Array, ...]:
            return wanted(centre[which] + y * sin[which], which)

        return np.array(expectations(panels, resolution.nodes, given, len(x), 4 * EVALUATIONS))

    return at


def pair(f: Side, g: Side, theta: Array, resolution: Resolution) -> Moments:
    """E[f(x) g(x cos θ + y sin θ)] and E[ḟ ġ]."""
    twice = f.profile.parity is not None and f.profile.parity == g.profile.parity
    outer = _outer_panels(f, g, theta, twice).halved(resolution.halvings)
    boxed = _better_on_boxes(f, g, theta, _nested_work(g, theta, outer, resolution), resolution)
    outer = outer.part(~boxed[outer.owner])
    blur = _blur(g, theta, resolution)
    totals = np.zeros((4, len(theta)))
    for part, x, weight in gauss_nodes(outer, resolution.nodes, _outer_nodes(resolution)):
        heavy = weight * normal(x)
        value, slope = heavy * f.value(x, part.owner), heavy * f.slope(x, part.owner)
        means = blur(x.ravel(), np.repeat(part.owner, x.shape[1])).reshape(4, *x.shape)
        for i, outside in enumerate((value, slope, np.abs(value), np.abs(slope))):
            totals[i] += part.total((outside * means[i]).sum(axis=1), len(theta))
    totals = 2 * totals if twice else totals
    for point in np.nonzero(boxed)[0]:
        some = np.array([point])
        totals[:, point] = _on_boxes(f.some(some), g.some(some), float(theta[point]), resolution)
    return Moments(*totals)


def _outer_panels(f: Side, g: Side, theta: Array, half: bool) -> Panels:
    """Panels of x; ``half`` of them where the integrand does not change when both variables change sign."""
    cos, sin = np.cos(theta)[:, None], np.sin(theta)[:, None]
    low, high = outer_range(f, g, cos)
    here, there = f.smoothness, g.smoothness
    crowded = there.crowded
    with np.errstate(over="ignore", divide="ignore"):
        layers = [(crowded - HALF_RANGE * sin) / cos, crowded / cos, (crowded + HALF_RANGE * sin) / cos]
        ends = [
            visible_ends(here.ends, here.gaps, low, high),
            visible_ends(there.ends / cos, there.gaps / np.abs(cos), low, high),
        ]
    return cut_line(np.zeros_like(low) if half else low, high, f.breaks, *layers, *ends)


def _outer_nodes(resolution: Resolution) -> int:
    """Nodes of x at a time: about three inner panels a node, so that their values stay near the cache."""
    return EVALUATIONS // (3 * resolution.nodes << resolution.halvings)


def mean_square(f: Side, g: Side, theta: Array, scales: tuple[Array, Array]) -> Array:
    """E[(f(x)/n₁ - g(x cos θ + y sin θ)/n₂)²]/2, without cancellation where f and g are nearly the same."""
    result, todo = np.empty(len(theta)), np.arange(len(theta))
    for halvings in range(MOST_HALVINGS + 1):
        some = f.some(todo), g.some(todo), theta[todo], (scales[0][todo], scales[1][todo])
        # The finer one first: if it takes too long, nothing was done.
        result[todo], coarse = (_mean_square(*some, Resolution(nodes, halvings)) for nodes in reversed(ORDERS))
        todo = todo[np.abs(result[todo] - coarse) > _CLOSE * result[todo]]
        if not len(todo):
            break
    return result


def _mean_square(f: Side, g: Side, theta: Array, scales: tuple[Array, Array], resolution: Resolution) -> Array:
    outer = _outer_panels(f, g, theta, False).halved(resolution.halvings)
    _allow(_nested_work(g, theta, outer, resolution), f, g, theta)
    blur = _blur(g, theta, resolution)
    total = np.zeros(len(theta))
    for part, x, weight in gauss_nodes(outer, resolution.nodes, _outer_nodes(resolution)):
        owner = np.repeat(part.owner, x.shape[1])
        here, there = (f.value(x, part.owner) / scales[0][part.owner][:, None]).ravel(), scales[1][owner]

        def squares(
            v: Array, which: Index, owner: Index = owner, here: Array = here, there: Array = there
        ) -> tuple[Array, ...]:
            return ((here[which][:, None] - g.value(v, owner[which]) / there[which][:, None]) ** 2 / 2,)

        means = blur(x.ravel(), owner, squares)[0].reshape(x.shape)
        total += part.total((weight * normal(x) * means).sum(axis=1), len(theta))
    return total


def _ends_inside(side: Side) -> Index:
    return np.asarray(np.count_nonzero(np.abs(side.smoothness.ends) < HALF_RANGE, axis=1))


def _nested_work(g: Side, theta: Array, outer: Panels, resolution: Resolution) -> Array:
    """Values that nested integrals with these outer panels take, for each point."""
    panels = np.bincount(outer.owner, minlength=len(theta))
    inner = (3.0 + _ends_inside(g) * np.sin(theta)) * 2**resolution.halvings
    return np.asarray(panels * inner * resolution.nodes**2)


def _better_on_boxes(f: Side, g: Side, theta: Array, nested: Array, resolution: Resolution) -> NDArray[np.bool_]:
    """Where boxes take less work than nested integrals, which take long.

    Raises PrecisionLost if both take too long.
    """
    reach = HALF_RANGE + np.maximum.reduce([f.left, f.right, g.left, g.right])
    ends = (_ends_inside(f) + _ends_inside(g)) * 2**resolution.halvings
    boxes = _BOX * resolution.nodes * (ends + 2 * box_count(theta, reach))
    better = (nested > _LONG) & (boxes < nested / 2)
    _allow(np.where(better, boxes, nested), f, g, theta)
    return np.asarray(better)


def _allow(work: Array, f: Side, g: Side, theta: Array) -> None:
    """Raise PrecisionLost if a point takes too many values."""
    if np.any(work > _LONGEST * patience()):
        at = int(np.argmax(work))
        raise PrecisionLost(
            f"{f.profile.label} at c1 = {f.c[at]:.6g}, c2 = {g.c[at]:.6g}, θ = {theta[at]:.6g} oscillates too fast: "
            f"quadrature needs {work[at]:.1e} values; use smaller deviations, or another method"
        )


def _on_boxes(f: Side, g: Side, theta: float, resolution: Resolution) -> Array:
    """The four moments of one point by `pair_on_boxes`, the sizes relative to the norms, as its rounding is."""
    low, high = outer_range(f, g, np.array([[np.cos(theta)]]))
    back_low, back_high = outer_range(g, f, np.array([[np.cos(theta)]]))
    owner, ends = np.zeros(1, dtype=np.intp), []
    for side, a, b in ((f, low, high), (g, back_low, back_high)):
        panels = cut_line(a, b, side.breaks, side.smoothness.ends).halved(resolution.halvings)
        ends.append(np.append(panels.start, panels.start[-1] + panels.width[-1]))

    def sampled(side: Side) -> Callable[[Array], Array]:
        return lambda x: np.concatenate([side.value(x[None], owner), side.slope(x[None], owner)])

    one, same = sampled(f), f.c[0] == g.c[0]
    return np.concatenate(pair_on_boxes(one, one if same else sampled(g), theta, (ends[0], ends[1]), resolution.nodes))


def conditional(g: Side, x: Array, theta: Array, resolution: Resolution) -> tuple[Array, Array]:
    """E[ġ(x cos θ + y sin θ)] and E[|ġ|] at one x for each point."""
    means = _blur(g, theta, resolution)(x, np.arange(len(x)))
    return means[1], means[3]


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
