"""A function on the line as quadrature sees it: where it breaks, where it is smooth, how fast it grows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation, Call, walk
from holokern.errors import PrecisionLost, Unsupported
from holokern.numeric import how_many_fit, patience

__all__ = ["HALF_RANGE", "Profile", "Smoothness", "limit_at_zero", "profile_of"]

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

HALF_RANGE = 9.0
"""Beyond nine standard deviations the normal density is below 1e-18 of its peak."""

DEGREE = 44
"""A panel is smooth when a polynomial of this degree represents the function on it to rounding."""

# noise in the values moves a Chebyshev coefficient by no more than this many times its median size
_NOISE = 4.0
# deviations; exp(au) at deviation c has its mass about 2ac out, so farther means an infinite moment or overflow
_FARTHEST = 60.0
# deviations from which on σ is in the tails of the normal law
_FAR_OUT = 6.0
# how closely a polynomial meets the function at the ends of a panel, relative to the function
_MET = 1e-9
# limits beyond which panels are made for a quarter of an octave more at most
_FAR = 128.0
# panels up to which neighbours are joined; of more than these few can be
_MERGED = 1 << 12
# panels of a cheap function: about 30 radians each, so that two million radians are served
_MOST_PANELS = 1 << 16
# calls of functions in σ and σ′ up to which both are cheap, and those that take as long as four others
_CHEAP, _DEAR = 4, frozenset({"airyai", "airyaiprime", "besselj"})
# bytes of a panel while its smoothness is judged: its nodes, values, coefficients and errors of two functions
_BYTES_OF_A_PANEL = 8 * 10 * (DEGREE + 1)
# the distance from 1 to the next float
_EPS = float(np.finfo(float).eps)
# below this size values lose digits to underflow, which looks rough on every panel
_UNDERFLOW = float(np.finfo(float).tiny) / _EPS
# points of a grid, and ends of panels beside it, at which errors are estimated: a few percent is enough
_SAMPLES = 160
# halvings of a panel: 2^-48 of its length is near rounding, so only singular points get there
_DEEPEST = 48


@dataclass(frozen=True)
class Smoothness:
    """Panels on which a function is smooth.

    Attributes
    ----------
    ends, gaps
        Ends of the panels other than breaks, and the width of the narrower panel at each.
    crowded
        The breaks, and the points round which panels crowd.
    """

    ends: Array
    gaps: Array
    crowded: Array

    def scaled(self, c: Array) -> Smoothness:
        """The same for x ↦ σ(cx), one row for each c."""
        return Smoothness(*(part / c[:, None] for part in (self.ends, self.gaps, self.crowded)))


@dataclass
class Profile:
    """σ and its classical derivative, with break points, jumps, and panels on which both are smooth.

    Attributes
    ----------
    value, slope
        σ and σ′, vectorised.
    breaks
        Break points in increasing order.
    jumps, slope_jumps
        σ(b+) - σ(b-) and σ′(b+) - σ′(b-) at each break point.
    parity
        "even", "odd" or None.
    label
        What error messages call the function.
    curvature
        The second derivative between the breaks, where there is one: it tells how σ′ magnifies rounding errors.
    noise, slope_noise
        Bounds of the rounding errors of σ and σ′, where they are known.
    price
        What values of σ and σ′ cost, in units of cheap ones.
    """

    value: Function
    slope: Function
    breaks: Array
    jumps: Array
    slope_jumps: Array
    parity: str | None
    label: str
    curvature: Function | None = None
    noise: Function | None = None
    slope_noise: Function | None = None
    price: float = 1.0
    _panels: dict[float, Smoothness] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def panels(self, limit: float) -> Smoothness:
        """Where σ and σ′ are smooth inside [-limit, limit]."""
        if self._finite(2 * limit):
            # Far out a function that oscillates has many panels, so that powers of 2 are too coarse.
            steps = 1 if limit <= _FAR else 4
            limit = float(2.0 ** (np.ceil(steps * np.log2(max(limit, 1e-300))) / steps))
        with self._lock:
            if limit not in self._panels:
                self._panels[limit] = self._resolve(limit)
            return self._panels[limit]

    @cached_property
    def hollow(self) -> tuple[float, float] | None:
        """The interval around zero on which σ vanishes, for tails such as Heaviside(u - 3); else None."""
        left = float(np.max(self.breaks[self.breaks < 0], initial=-np.inf))
        right = float(np.min(self.breaks[self.breaks > 0], initial=np.inf))
        if 0 in self.breaks or not (np.isfinite(left) or np.isfinite(right)):
            return None
        far = 8 * min(-left, right)
        u = np.linspace(max(left, -far), min(right, far), 19)[1:-1]
        with np.errstate(all="ignore"):
            return (left, right) if not (np.any(self.value(u)) or np.any(self.slope(u))) else None

    def extra_reach(self, c: Array) -> tuple[Array, Array]:
        """How far beyond nine deviations σ(cx)²φ(x) and its derivative's keep mass, on the left and on the right.

        Raises
        ------
        PrecisionLost
            If the second moment of σ(cx) is infinite, or σ overflows where its mass is.
        """
        x = np.arange(0.25, _FARTHEST + 0.125, 0.25)
        left, right = np.zeros(len(c)), np.zeros(len(c))
        for start in range(0, len(c), 512):
            some = slice(start, start + 512)
            u = np.multiply.outer(c[some], np.concatenate([-x[::-1], x]))
            for function in (self.value, self.slope):
                with np.errstate(all="ignore"):
                    mass = 2 * np.log(np.abs(function(u))) - np.concatenate([x[::-1], x]) ** 2 / 2
                bad = np.isnan(mass) | (mass == np.inf)
                mass[bad] = np.inf
                peak = np.max(np.where(bad, -np.inf, mass), axis=1, keepdims=True)
                heavy = mass > peak - 40.0 - _beyond(mass, peak, x)
                far_left = np.max(np.where(heavy[:, : len(x)], x[::-1], 0.0), axis=1)
                far_right = np.max(np.where(heavy[:, len(x) :], x, 0.0), axis=1)
                beyond = np.maximum(far_left, far_right) >= _FARTHEST
                overflow = beyond & np.any(bad, axis=1)
                # Values that overflow only where the mass is negligible do no harm.
                if np.any(overflow):
                    far_left, far_right = self._finite_reach(mass, peak, x, c[some])
                elif np.any(beyond):
                    self._refuse(c[some][beyond][0])
                left[some] = np.maximum(left[some], far_left - HALF_RANGE)
                right[some] = np.maximum(right[some], far_right - HALF_RANGE)
        return left, right

    def condition(self, c: Array, left: Array, right: Array) -> Array:
        """How many roundings σ(cx) and σ′(cx) are off, in the mean under the normal law: roughly.

        The rows: what the rounding of the argument does to σ and to σ′, the noise of their formulas, their norms.
        """
        low, high = -HALF_RANGE - left[:, None], HALF_RANGE + right[:, None]
        grid = low + (high - low) * np.arange(_SAMPLES + 1) / _SAMPLES
        # a spike may lie between the points of the grid, but panels crowd round it
        ends = self.panels(float(np.max(c * np.maximum(high, -low)[:, 0]))).ends
        ends = ends[:: len(ends) // _SAMPLES + 1]
        edges = np.sort(np.concatenate([grid, np.clip(ends / c[:, None], low, high)], axis=1))
        x, step = (edges[:, 1:] + edges[:, :-1]) / 2, np.diff(edges)
        u = c[:, None] * x
        factors = np.zeros((6, len(c)))
        for row, (function, rate, noise) in enumerate(
            ((self.value, self.slope, self.noise), (self.slope, self.curvature, self.slope_noise))
        ):
            with np.errstate(all="ignore"):
                # Logarithms, as the squares of a fast growing σ overflow.
                size = 2 * np.log(np.abs(function(u))) - x * x / 2
                change = 2 * np.log(np.abs(u * (rate(u) if rate else 0.0))) - x * x / 2
                peak = np.nan_to_num(np.max(size, axis=1, keepdims=True), neginf=0.0)
                whole = np.nansum(step * np.exp(size - peak), axis=1)
                ratio = np.nansum(step * np.exp(change - peak), axis=1) / whole
                factors[row + 4] = np.exp(peak[:, 0] / 2) * np.sqrt(whole / np.sqrt(2 * np.pi))
                factors[row] = np.sqrt(np.nan_to_num(ratio, posinf=0.0))
                # In the tails the density turns a rounding of x into x² roundings.
                ratio = np.nansum(step * np.exp(size - peak) * x**4, axis=1) / whole
                factors[row + 2] = np.sqrt(np.nan_to_num(ratio, posinf=0.0)) / 8
                if noise is not None:
                    off = noise(u)
                    own = 2 * np.log(np.where(np.isfinite(off), off, 0.0) / _EPS) - x * x / 2
                    ratio = np.nansum(step * np.exp(own - peak), axis=1) / whole
                    factors[row + 2] += np.sqrt(np.nan_to_num(ratio, posinf=0.0))
        return factors

    def _finite_reach(self, mass: Array, peak: Array, x: Array, c: Array) -> tuple[Array, Array]:
        reach = []
        for half in (mass[:, : len(x)][:, ::-1], mass[:, len(x) :]):
            finite = np.isfinite(half) | (half == -np.inf)
            first_bad = np.where(np.all(finite, axis=1), len(x), np.argmin(finite, axis=1))
            usable = np.arange(len(x)) < first_bad[:, None]
            heavy = usable & (half > peak - 40.0)
            last = np.max(np.where(heavy, np.arange(len(x)), -1), axis=1)
            cut = (last >= 0) & (last + 1 >= first_bad)
            if np.any(cut):
                self._refuse(c[cut][0])
            reach.append(np.where(last >= 0, x[np.maximum(last, 0)], 0.0))
        return reach[0], reach[1]

    def _refuse(self, c: float) -> None:
        raise PrecisionLost(
            f"{self.label}: at standard deviation {c:.6g} the second moment of σ or of its derivative is infinite or "
            "overflows double precision; use smaller deviations, or rescale σ"
        )

    def _finite(self, limit: float) -> bool:
        ends = np.array([-limit, limit])
        with np.errstate(all="ignore"):
            return bool(np.all(np.isfinite(self.value(ends))) and np.all(np.isfinite(self.slope(ends))))

    def _resolve(self, limit: float) -> Smoothness:
        inside = self.breaks[np.abs(self.breaks) < limit]
        # Dyadic distances from zero and from the breaks, so that no narrow feature hides between the sample points.
        distance = limit * 0.5 ** np.arange(0.0, max(2.0, np.log2(limit) + 6))
        seeds = np.add.outer(np.append(inside, 0.0), np.concatenate([-distance, [0.0], distance])).ravel()
        ends = np.unique(np.concatenate([[-limit], seeds[np.abs(seeds) < limit], [limit]]))
        ceiling = self._ceiling(limit)
        todo = np.stack([ends[:-1], ends[1:]], axis=1)
        done: list[Array] = []
        most = int(_MOST_PANELS * patience() / self.price)
        for _ in range(_DEEPEST):
            smooth = self._is_smooth(todo, ceiling) | (np.diff(todo)[:, 0] < 1e-11 * np.max(np.abs(todo), axis=1))
            done.append(todo[smooth])
            rough = todo[~smooth]
            if not len(rough):
                break
            if sum(map(len, done)) + 2 * len(rough) > most:
                raise PrecisionLost(
                    f"{self.label} oscillates too fast up to |u| = {limit:.6g}: it needs more than "
                    f"{most} panels; use smaller deviations, or another method"
                )
            how_many_fit(_BYTES_OF_A_PANEL * 2 * len(rough), 1, f"{self.label} on {2 * len(rough)} panels")
            middle = rough.mean(axis=1)
            todo = np.concatenate([np.stack([rough[:, 0], middle], 1), np.stack([middle, rough[:, 1]], 1)])
        else:
            done.append(todo)
        panels = np.concatenate(done)
        panels = panels[np.argsort(panels[:, 0])]
        if len(panels) < _MERGED:
            panels = self._merged(panels, ceiling)
        width = np.diff(panels)[:, 0]
        ends, gaps = panels[1:, 0], np.minimum(width[1:], width[:-1])
        soft = ~np.isin(ends, inside)
        return Smoothness(ends[soft], gaps[soft], np.unique(np.concatenate([inside, _crowded(panels, inside)])))

    def _ceiling(self, limit: float) -> Callable[[Array], tuple[Array, Array]]:
        """The largest |σ| and |σ′| up to a distance, and ∫|σ| and ∫|σ′|: errors are measured against these.

        The distance from zero counts, as φ depends on |x| only.  A spike has a small integral, so what it leaves on
        wide panels beside it must be smaller still.
        """
        distance = limit * np.concatenate([np.geomspace(1e-12, 0.1, 60)[:-1], np.linspace(0.1, 1.0, 200)])
        with np.errstate(all="ignore"):
            sizes = [
                np.nan_to_num(np.maximum(np.abs(f(distance)), np.abs(f(-distance))), posinf=0.0)
                for f in (self.value, self.slope)
            ]
            heights = np.stack([np.maximum.accumulate(one) for one in sizes])
            masses = np.stack([np.cumsum(one * np.diff(distance, prepend=0.0)) for one in sizes])

        def ceiling(r: Array) -> tuple[Array, Array]:
            at = np.minimum(np.searchsorted(distance, r), len(distance) - 1)
            return heights[:, at], masses[:, at]

        return ceiling

    def _is_smooth(self, panels: Array, ceiling: Callable[[Array], tuple[Array, Array]]) -> NDArray[np.bool_]:
        a, b = panels[:, :1], panels[:, 1:]
        at = a + (b - a) * _NODES
        # a step or spike at an end lies beyond the nodes, so the polynomial must meet the function there as well
        tips = np.concatenate([np.nextafter(a, b), np.nextafter(b, a)], axis=1)
        heights, masses = ceiling(np.max(np.abs(panels), axis=1))
        smooth = np.ones(len(panels), dtype=bool)
        functions = (self.value, self.slope, self.noise), (self.slope, self.curvature, self.slope_noise)
        for (function, rate, own), height, mass in zip(functions, heights, masses, strict=True):
            with np.errstate(all="ignore"):
                values, at_tips = function(at), function(tips)
                coefficients = values @ _TO_CHEBYSHEV.T
                off = np.max(np.nan_to_num(np.abs(at_tips - coefficients @ _AT_TIPS), posinf=0.0), axis=1)
            coefficients = np.abs(coefficients)
            tail = np.max(coefficients[:, -6:], axis=1)
            earlier = np.max(coefficients[:, -14:-6], axis=1)
            largest = np.max(np.abs(values), axis=1)
            scale = np.maximum(height, largest)
            counted = np.minimum(scale, mass / (b - a)[:, 0] + np.mean(np.abs(values), axis=1))
            counted = np.maximum(counted, _UNDERFLOW)
            # A flat tail far below the values is rounding noise of σ itself, which no splitting removes.
            noise = (tail > 0.2 * earlier) & (tail < 1e-10 * (scale if own is None else largest))
            settled = (tail <= 1e-13 * counted) | noise | ~np.isfinite(tail)
            met = off <= _MET * np.maximum(scale, _UNDERFLOW)
            rough = np.nonzero(~(settled & met))[0]
            if len(rough):
                level = _noise_at(at[rough][:, ::9], rate, own)
                settled[rough] |= tail[rough] <= _NOISE * level
                met[rough] |= off[rough] <= _NOISE * len(_NODES) * (level + _noise_at(tips[rough], rate, own))
            settled &= met
            smooth &= settled
        return smooth

    def _merged(self, panels: Array, ceiling: Callable[[Array], tuple[Array, Array]]) -> Array:
        """Join neighbours, never across a break, while the union is still smooth and agrees with both."""
        kept = [panels[0]]
        pairs = np.stack([panels[:-1, 0], panels[1:, 1]], axis=1)
        # Zero stays an end: the panels of a normal density end there as well.
        joins = self._is_smooth(pairs, ceiling) & ~np.isin(panels[1:, 0], self.breaks) & (panels[1:, 0] != 0)
        for panel, join in zip(panels[1:], joins, strict=True):
            union = np.array([[kept[-1][0], panel[1]]])
            smooth = join and bool(self._is_smooth(union, ceiling)[0])
            if smooth and self._agrees(union[0], np.stack([kept[-1], panel]), ceiling):
                kept[-1] = union[0]
            else:
                kept.append(panel)
        return np.array(kept)

    def _agrees(self, union: Array, parts: Array, ceiling: Callable[[Array], tuple[Array, Array]]) -> bool:
        """Whether the polynomial of the union passes through values on its parts, which may hold a spike."""
        a, width = union[0], union[1] - union[0]
        tests = (parts[:, :1] + (parts[:, 1:] - parts[:, :1]) * _NODES).ravel()
        heights, masses = ceiling(np.max(np.abs(union), keepdims=True))
        for function, height, mass in zip((self.value, self.slope), heights[:, 0], masses[:, 0], strict=True):
            with np.errstate(all="ignore"):
                coefficients = _TO_CHEBYSHEV @ function(a + width * _NODES)
                there = function(tests)
            guess = np.polynomial.chebyshev.chebval(1 - 2 * (tests - a) / width, coefficients)
            scale = max(float(height), float(np.max(np.abs(there))))
            scale = min(scale, float(mass) / width + float(np.mean(np.abs(there))))
            if not np.all(np.abs(guess - there) <= 1e-11 * scale):
                return False
        return True


def _noise_at(u: Array, rate: Function | None, own: Function | None) -> Array:
    """The median noise of a function on each panel: that of its formula, and what the rounding of u does."""
    level = np.zeros(len(u))
    with np.errstate(all="ignore"):
        for noise in ((lambda x: _EPS * np.abs(x * rate(x))) if rate else None, own):
            if noise is not None:
                level += np.nan_to_num(np.median(noise(u), axis=1), posinf=0.0)
    return level


def _beyond(mass: Array, peak: Array, x: Array) -> Array:
    """How much less mass counts beyond a peak far out: E[f g] falls half as fast as E[f²], unless σ grows fast."""
    distance = np.concatenate([x[::-1], x])
    far = np.zeros((len(mass), 1))
    for half in (mass[:, : len(x)][:, ::-1], mass[:, len(x) :]):
        at = np.argmax(np.where(half == peak, 1, 0), axis=1)
        here, later = (half[np.arange(len(half)), np.minimum(at + ahead, len(x) - 1)] for ahead in (0, 4))
        # on one deviation from the peak log σ² gains less than half of what the density loses
        flat = (later <= here - x[at] / 2) & (here == peak[:, 0]) & (x[at] > _FAR_OUT)
        far[flat, 0] = x[at][flat]
    return np.asarray(np.maximum(distance - far, 0.0) * far / 2)


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


def _chebyshev_matrix() -> Array:
    count = DEGREE + 1
    angle = np.pi * (np.arange(count) + 0.5) / count
    matrix: Array = 2.0 / count * np.cos(np.outer(np.arange(count), angle))
    matrix[0] /= 2
    return matrix


# from values at the nodes to coefficients
_TO_CHEBYSHEV = _chebyshev_matrix()
# from coefficients to values at both ends
_AT_TIPS = np.stack([np.ones(DEGREE + 1), (-1.0) ** np.arange(DEGREE + 1)], axis=1)
# Chebyshev points of a panel [0, 1]
_NODES = (1 - np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))) / 2


@lru_cache(maxsize=256)
def profile_of(activation: Activation) -> Profile:
    """The profile of an activation; the most recent ones are kept."""
    breaks = np.array(sorted(float(b) for b in activation.breaks), dtype=float)
    slope = activation.derivative
    continuous = activation.jump_order != 0
    jumps = np.array([0.0 if continuous else _jump(activation, b) for b in breaks])
    slope_jumps = np.array([_jump(slope, b) for b in breaks])
    noises = activation.noise, slope.noise
    label = str(activation)
    return Profile(
        activation,
        slope,
        breaks,
        jumps,
        slope_jumps,
        activation.parity,
        label,
        slope.derivative,
        *noises,
        price=max(1.0, (_calls(activation) + _calls(slope)) / _CHEAP),
    )


def _calls(activation: Activation) -> int:
    """Calls of functions that a value takes, as many as a cheap function has where they are not known."""
    try:
        calls = [node.name for node in walk(activation.tree) if isinstance(node, Call)]
    except Unsupported:
        return _CHEAP // 2
    return sum(4 if name in _DEAR else 1 for name in calls)


def limit_at_zero(activation: Activation) -> Profile:
    """The limit of x ↦ σ(cx) as c → 0: constant on both sides of zero."""
    profile = profile_of(activation)
    (low, high), (low_slope, high_slope) = (
        _both_sides(function, function_jumps[profile.breaks == 0])
        for function, function_jumps in ((activation, profile.jumps), (activation.derivative, profile.slope_jumps))
    )
    return Profile(
        lambda x: np.where(x > 0, high, low),
        lambda x: np.where(x > 0, high_slope, low_slope),
        np.zeros(1),
        np.array([high - low]),
        np.array([high_slope - low_slope]),
        activation.parity,
        f"the limit of {activation} at deviation 0",
    )


def _both_sides(function: Function, jump_at_zero: Array) -> tuple[float, float]:
    """σ(0-) and σ(0+)."""
    left, middle, right = np.asarray(function(np.array([-1e-290, 0.0, 1e-290])), dtype=float)
    if np.any(jump_at_zero):
        return float(left), float(right)
    value = float(middle if np.isfinite(middle) else (left + right) / 2)
    return value, value


def _jump(function: Function, b: float) -> float:
    """σ(b+) - σ(b-), zero when it is not above the rounding of σ near b or when σ is infinite there."""
    step = max(4 * np.spacing(abs(b)), 1e-290)
    with np.errstate(all="ignore"):
        left, right = np.asarray(function(np.array([b - step, b + step])), dtype=float)
        far = np.asarray(function(np.array([b - 1e3 * step, b + 1e3 * step])), dtype=float)
    if not np.all(np.isfinite([left, right, *far])):
        return 0.0
    # a side that ends at zero moves by many times its own size, so that the other side measures it too
    if not np.allclose([left, right], far, rtol=0.1, atol=1e-9 * max(abs(left), abs(right))):
        return 0.0
    # Linear extrapolation from both sides removes the slope's share.
    jump = float((1e3 * right - far[1]) / 999 - (1e3 * left - far[0]) / 999)
    return jump if abs(jump) > 1e-13 * max(abs(left), abs(right)) else 0.0
