"""Where a function on the line is smooth: panels on which polynomials represent σ and σ′ to rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holokern.errors import PrecisionLost
from holokern.numeric import EPS, Array, chebyshev_basis, chebyshev_matrix, chebyshev_nodes, how_many_fit, patience

if TYPE_CHECKING:
    from holokern.dual.quadrature.profile import Profile

Function = Callable[[Array], Array]

DEGREE = 44
"""A panel is smooth when a polynomial of this degree represents the function on it to rounding."""

# noise in the values moves a Chebyshev coefficient by no more than this many times its median size
_NOISE = 4.0
# how closely a polynomial meets the function at the ends of a panel, relative to the function
_MET = 1e-9
# panels up to which neighbours are joined; of more than these few can be
_MERGED = 1 << 12
# panels of a cheap function: about 30 radians each, so that two million radians are served
_MOST_PANELS = 1 << 16
# bytes of a panel while its smoothness is judged: its nodes, values, coefficients and errors of two functions
_BYTES_OF_A_PANEL = 8 * 10 * (DEGREE + 1)
# below this size values lose digits to underflow, which looks rough on every panel
_UNDERFLOW = float(np.finfo(float).tiny) / EPS
# halvings of a panel: 2^-48 of its length is near rounding, so only singular points get there
_DEEPEST = 48


@dataclass(frozen=True)
class Smoothness:
    """Panels on which a function is smooth."""

    # ends, gaps: ends of the panels other than breaks, and the width of the narrower panel at each
    ends: Array
    gaps: Array
    crowded: Array  # the breaks, and the points round which panels crowd

    def scaled(self, c: Array) -> Smoothness:
        """The same for x ↦ σ(cx), one row for each c."""
        return Smoothness(*(part / c[:, None] for part in (self.ends, self.gaps, self.crowded)))


def smooth_panels(curve: Profile, limit: float) -> Smoothness:
    """Panels on [-limit, limit] on which σ and σ′ are polynomials to rounding, between the breaks.

    Raises PrecisionLost if there are too many.
    """
    inside = curve.breaks[np.abs(curve.breaks) < limit]
    # Dyadic distances from zero and from the breaks, so that no narrow feature hides between the sample points.
    distance = limit * 0.5 ** np.arange(0.0, max(2.0, np.log2(limit) + 6))
    seeds = np.add.outer(np.append(inside, 0.0), np.concatenate([-distance, [0.0], distance])).ravel()
    ends = np.unique(np.concatenate([[-limit], seeds[np.abs(seeds) < limit], [limit]]))
    ceiling = _ceiling(curve, limit)
    todo = np.stack([ends[:-1], ends[1:]], axis=1)
    done: list[Array] = []
    most = int(_MOST_PANELS * patience() / curve.price)
    for _ in range(_DEEPEST):
        smooth = _is_smooth(curve, todo, ceiling) | (np.diff(todo)[:, 0] < 1e-11 * np.max(np.abs(todo), axis=1))
        done.append(todo[smooth])
        rough = todo[~smooth]
        if not len(rough):
            break
        if sum(map(len, done)) + 2 * len(rough) > most:
            raise PrecisionLost(
                f"{curve.label} oscillates too fast up to |u| = {limit:.6g}: it needs more than "
                f"{most} panels; use smaller deviations, or another method"
            )
        how_many_fit(_BYTES_OF_A_PANEL * 2 * len(rough), 1, f"{curve.label} on {2 * len(rough)} panels")
        middle = rough.mean(axis=1)
        todo = np.concatenate([np.stack([rough[:, 0], middle], 1), np.stack([middle, rough[:, 1]], 1)])
    else:
        done.append(todo)
    panels = np.concatenate(done)
    panels = panels[np.argsort(panels[:, 0])]
    if len(panels) < _MERGED:
        panels = _merged(curve, panels, ceiling)
    width = np.diff(panels)[:, 0]
    ends, gaps = panels[1:, 0], np.minimum(width[1:], width[:-1])
    soft = ~np.isin(ends, inside)
    return Smoothness(ends[soft], gaps[soft], np.unique(np.concatenate([inside, _crowded(panels, inside)])))


def _ceiling(curve: Profile, limit: float) -> Callable[[Array], tuple[Array, Array]]:
    """The largest |σ| and |σ′| up to a distance, and ∫|σ| and ∫|σ′|: errors are measured against these.

    The distance from zero counts, as φ depends on |x| only.  A spike has a small integral, so what it leaves on
    wide panels beside it must be smaller still.
    """
    distance = limit * np.concatenate([np.geomspace(1e-12, 0.1, 60)[:-1], np.linspace(0.1, 1.0, 200)])
    with np.errstate(all="ignore"):
        sizes = [
            np.nan_to_num(np.maximum(np.abs(f(distance)), np.abs(f(-distance))), posinf=0.0)
            for f in (curve.value, curve.slope)
        ]
        heights = np.stack([np.maximum.accumulate(one) for one in sizes])
        masses = np.stack([np.cumsum(one * np.diff(distance, prepend=0.0)) for one in sizes])

    def ceiling(r: Array) -> tuple[Array, Array]:
        at = np.minimum(np.searchsorted(distance, r), len(distance) - 1)
        return heights[:, at], masses[:, at]

    return ceiling


def _is_smooth(curve: Profile, panels: Array, ceiling: Callable[[Array], tuple[Array, Array]]) -> NDArray[np.bool_]:
    smooth = np.ones(len(panels), dtype=bool)
    functions = (curve.value, curve.slope, curve.noise), (curve.slope, curve.curvature, curve.slope_noise)
    for which, (function, rate, own) in enumerate(functions):
        # where σ is rough, nothing is asked of σ′
        left = panels[smooth]
        if len(left):
            height, mass = (bounds[which] for bounds in ceiling(np.max(np.abs(left), axis=1)))
            smooth[smooth] = _is_polynomial(function, rate, own, left, height, mass)
    return smooth


def _is_polynomial(
    function: Function, rate: Function | None, own: Function | None, panels: Array, height: Array, mass: Array
) -> NDArray[np.bool_]:
    """Whether a function is a polynomial to rounding on each panel, beside its noise and its bounds up to there."""
    a, b = panels[:, :1], panels[:, 1:]
    at = a + (b - a) * _NODES
    # a step or spike at an end lies beyond the nodes, so the polynomial must meet the function there as well
    tips = np.concatenate([np.nextafter(a, b), np.nextafter(b, a)], axis=1)
    with np.errstate(all="ignore"):
        values, at_tips = np.split(function(np.concatenate([at, tips], axis=1)), [len(_NODES)], axis=1)
        coefficients = values @ _TO_CHEBYSHEV.T
        off = np.max(np.nan_to_num(np.abs(at_tips - coefficients @ _AT_TIPS), posinf=0.0), axis=1)
    coefficients = np.abs(coefficients)
    tail = np.max(coefficients[:, -6:], axis=1)
    earlier = np.max(coefficients[:, -14:-6], axis=1)
    sizes = np.abs(values)
    largest = np.max(sizes, axis=1)
    scale = np.maximum(height, largest)
    counted = np.minimum(scale, mass / (b - a)[:, 0] + np.mean(sizes, axis=1))
    counted = np.maximum(counted, _UNDERFLOW)
    # A flat tail far below the values is rounding noise of σ itself, which no splitting removes.
    noise = (tail > 0.2 * earlier) & (tail < 1e-10 * (scale if own is None else largest))
    settled = (tail <= 1e-13 * counted) | noise | ~np.isfinite(tail)
    met = off <= _MET * np.maximum(scale, _UNDERFLOW)
    rough = np.nonzero(~(settled & met))[0]
    if len(rough):
        level = _noise_at(at[rough][:, ::9], rate, own)
        settled[rough] |= tail[rough] <= _NOISE * level
        apart = settled[rough] & ~met[rough]
        if apart.any():
            rough, level = rough[apart], level[apart]
            met[rough] = off[rough] <= _NOISE * len(_NODES) * (level + _noise_at(tips[rough], rate, own))
    return np.asarray(settled & met)


def _merged(curve: Profile, panels: Array, ceiling: Callable[[Array], tuple[Array, Array]]) -> Array:
    """Join neighbours, never across a break, while the union is still smooth and agrees with both."""
    kept = [panels[0]]
    pairs = np.stack([panels[:-1, 0], panels[1:, 1]], axis=1)
    # Zero stays an end: the panels of a normal density end there as well.
    joins = _is_smooth(curve, pairs, ceiling) & ~np.isin(panels[1:, 0], curve.breaks) & (panels[1:, 0] != 0)
    for pair, panel, join in zip(pairs, panels[1:], joins, strict=True):
        union = np.array([kept[-1][0], panel[1]])
        smooth = join and (union[0] == pair[0] or bool(_is_smooth(curve, union[None], ceiling)[0]))
        if smooth and _agrees(curve, union, np.stack([kept[-1], panel]), ceiling):
            kept[-1] = union
        else:
            kept.append(panel)
    return np.array(kept)


def _agrees(curve: Profile, union: Array, parts: Array, ceiling: Callable[[Array], tuple[Array, Array]]) -> bool:
    """Whether the polynomial of the union passes through values on its parts, which may hold a spike."""
    a, width = union[0], union[1] - union[0]
    tests = (parts[:, :1] + (parts[:, 1:] - parts[:, :1]) * _NODES).ravel()
    points = np.concatenate([a + width * _NODES, tests])
    basis = chebyshev_basis(2 * (tests - a) / width - 1, DEGREE + 1)
    heights, masses = ceiling(np.max(np.abs(union), keepdims=True))
    for function, height, mass in zip((curve.value, curve.slope), heights[:, 0], masses[:, 0], strict=True):
        with np.errstate(all="ignore"):
            values, there = np.split(function(points), [len(_NODES)])
            guess = basis @ (_TO_CHEBYSHEV @ values)
        scale = max(float(height), float(np.max(np.abs(there))))
        scale = min(scale, float(mass) / width + float(np.mean(np.abs(there))))
        if not np.all(np.abs(guess - there) <= 1e-11 * scale):
            return False
    return True


def _noise_at(u: Array, rate: Function | None, own: Function | None) -> Array:
    """The median noise of a function on each panel: that of its formula, and what the rounding of u does."""
    level = np.zeros(len(u))
    with np.errstate(all="ignore"):
        for noise in ((lambda x: EPS * np.abs(x * rate(x))) if rate else None, own):
            if noise is not None:
                level += np.nan_to_num(np.median(noise(u), axis=1), posinf=0.0)
    return level


def _crowded(panels: Array, breaks: Array) -> Array:
    """Centres of the runs of panels that are locally the shortest: a smooth function changes fast there."""
    width = panels[:, 1] - panels[:, 0]
    starts = [0, *(i for i in range(1, len(width)) if not 0.6 < width[i] / width[i - 1] < 1.7), len(width)]
    centres: list[float] = []
    for start, stop in pairwise(starts):
        wider_left = start > 0 and width[start - 1] > width[start]
        wider_right = stop < len(width) and width[stop] > width[stop - 1]
        ends = panels[start:stop]
        if (wider_left or start == 0) and (wider_right or stop == len(width)) and not np.all(np.isin(ends, breaks)):
            centres.append(float(ends[0, 0] + ends[-1, 1]) / 2)
    return np.array(centres if len(centres) < len(width) else [])


# Chebyshev points of a panel [0, 1]
_NODES = (1 + chebyshev_nodes(DEGREE + 1)) / 2
# from values at them to coefficients
_TO_CHEBYSHEV = chebyshev_matrix(DEGREE + 1)
# from coefficients to values at both ends
_AT_TIPS = np.stack([(-1.0) ** np.arange(DEGREE + 1), np.ones(DEGREE + 1)], axis=1)
