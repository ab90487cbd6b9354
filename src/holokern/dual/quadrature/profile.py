"""A function on the line as quadrature sees it: where it breaks, where it is smooth, how fast it grows."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from holokern.activation import DEAR, PRICE, Activation, unbounded_sides
from holokern.dual.quadrature.smoothness import Function, Smoothness, smooth_panels
from holokern.errors import PrecisionLost, Unsupported
from holokern.numeric import EPS, Array

HALF_RANGE = 9.0
"""Beyond nine standard deviations the normal density is below 1e-18 of its peak."""

# deviations; exp(au) at deviation c has its mass about 2ac out, so farther means an infinite moment or overflow
_FARTHEST = 60.0
# deviations from which on σ is in the tails of the normal law
_FAR_OUT = 6.0
# where panels tell how σ varies next to zero: a smooth one has room for about so many turns, nearer ends are roots
_NEARBY, _CLOSEST = 16.0, 1e-4
# limits beyond which panels are made for a quarter of an octave more at most
_FAR = 128.0
# calls of functions in σ and σ′ up to which both are cheap
_CHEAP = 4
# binary digits of what may be left out, and how often a panel is halved at most, before squares underflow
_BITS, _DEEPEST = 54.0, 500.0
# points of a grid, and ends of panels beside it, at which errors are estimated: a few percent is enough
_SAMPLES = 160


@dataclass
class Profile:
    """σ and its classical derivative, with break points, jumps, and panels on which both are smooth."""

    # value, slope: σ and σ′, vectorised
    value: Function
    slope: Function
    breaks: Array  # break points in increasing order
    # jumps, slope_jumps: σ(b+) - σ(b-) and σ′(b+) - σ′(b-) at each break point
    jumps: Array
    slope_jumps: Array
    parity: str | None  # "even", "odd" or None
    label: str  # what error messages call the function
    # the second derivative between the breaks, where there is one: it tells how σ′ magnifies rounding errors
    curvature: Function | None = None
    # noise, slope_noise: bounds of the rounding errors of σ and σ′, where they are known
    noise: Function | None = None
    slope_noise: Function | None = None
    price: float = 1.0  # what values of σ and σ′ cost, in units of cheap ones
    exponent: float = 1.0  # the least e when σ′ grows like |u - b|^(e-1) at breaks b, 1 when it is bounded
    _panels: dict[float, Smoothness | PrecisionLost] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def panels(self, limit: float) -> Smoothness:
        """Where σ and σ′ are smooth inside [-limit, limit]."""
        if self._finite(2 * limit):
            # Far out a function that oscillates has many panels, so that powers of 2 are too coarse.
            steps = 1 if limit <= _FAR else 4
            limit = float(2.0 ** (np.ceil(steps * np.log2(max(limit, 1e-300))) / steps))
        with self._lock:
            if limit not in self._panels:
                try:
                    self._panels[limit] = smooth_panels(self, limit)
                except PrecisionLost as refusal:
                    # the next method asks for the same panels
                    self._panels[limit] = refusal
            found = self._panels[limit]
        if isinstance(found, PrecisionLost):
            raise PrecisionLost(*found.args)
        return found

    @cached_property
    def scale(self) -> float:
        """How close to zero σ must be looked at to see how it varies there: a part of the nearest smooth panel.

        Examples
        --------
        >>> from holokern.activation import activation
        >>> [round(profile_of(activation(name)).scale, 4) for name in ("gelu_tanh", "tanh(100*u)", "relu")]
        [0.25, 0.002, 1.0]
        """
        try:
            ends = np.abs(self.panels(_NEARBY).ends)
        except PrecisionLost:
            ends = np.empty(0)
        return float(np.min(ends[ends > _CLOSEST], initial=_NEARBY)) / _NEARBY

    @cached_property
    def deep_ends(self) -> Array:
        """Ends of panels that halve towards zero until squares of an unbounded σ′ have no mass left; else none.

        Two integrals on a line need them. Next to other breaks floats are too coarse.
        """
        power = 2 * self.exponent - 1 if self.exponent > 0.5 else self.exponent
        if power >= 1 or power <= 0 or not np.any(self.breaks == 0):
            return np.empty(0)
        ends = 2.0 ** -np.arange(1.0, min(_DEEPEST, np.ceil(_BITS / power)))
        return np.concatenate([-ends[::-1], ends])

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

        Raises PrecisionLost if the second moment of σ(cx) is infinite, or σ overflows where its mass is.
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
                    own = mass[overflow], peak[overflow], x, c[some][overflow]
                    far_left[overflow], far_right[overflow] = self._finite_reach(*own)
                if np.any(beyond & ~overflow):
                    self._refuse(c[some][beyond & ~overflow][0])
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
        # a point where σ may be infinite has no mass
        step[np.isin(u, self.breaks)] = np.nan
        factors = np.zeros((6, len(c)))
        for row, (function, rate, noise) in enumerate(
            ((self.value, self.slope, self.noise), (self.slope, self.curvature, self.slope_noise))
        ):
            with np.errstate(all="ignore"):
                # Logarithms, as the squares of a fast growing σ overflow.
                size = np.where(np.isnan(step), -np.inf, 2 * np.log(np.abs(function(u))) - x * x / 2)
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
                    own = 2 * np.log(np.where(np.isfinite(off), off, 0.0) / EPS) - x * x / 2
                    ratio = np.nansum(step * np.exp(own - peak), axis=1) / whole
                    # no error of a value was seen to be above half of its bound
                    factors[row + 2] += np.sqrt(np.nan_to_num(ratio, posinf=0.0)) / 2
        return factors

    def _finite_reach(self, mass: Array, peak: Array, x: Array, c: Array) -> tuple[Array, Array]:
        reach = []
        for half in (mass[:, : len(x)][:, ::-1], mass[:, len(x) :]):
            finite = np.isfinite(half) | (half == -np.inf)
            first_bad = np.where(np.all(finite, axis=1), len(x), np.argmin(finite, axis=1))
            usable = np.arange(len(x)) < first_bad[:, None]
            heavy = usable & (half > peak - 40.0)
            last = np.max(np.where(heavy, np.arange(len(x)), -1), axis=1)
            # also where the very first value is none
            cut = last + 1 >= first_bad
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
        exponent=float(min((side.exponent for side in unbounded_sides(activation)), default=1)),
    )


def _calls(activation: Activation) -> float:
    """Calls of functions that a value takes, as many as a cheap function has where they are not known."""
    try:
        calls = activation.calls
    except Unsupported:
        return _CHEAP // 2
    return sum(PRICE if name in DEAR else 1.0 for name in calls)


@dataclass(frozen=True)
class Limits:
    """The limits of n, d, E[σ(cz)] and E[σ′(cz)] as c → 0."""

    norm: float
    slope: float
    mean: float
    mean_slope: float


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
