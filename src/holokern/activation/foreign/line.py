"""A function between its breaks as Chebyshev series on panels: whether it is smooth there, and its derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from holokern.activation.values.evaluate import UNITS
from holokern.numeric import Array, chebyshev_matrix, chebyshev_nodes

_SIZE = 24  # coefficients of a panel; more would carry the noise of the function further into the derivative
# the last coefficients of a resolved panel, relative to the values around it: above, something is not smooth
RESOLVED = 2e-13
ROUNDING = 8 * float(np.finfo(float).eps)  # below, only rounding is left: a few units in the last place
_NARROWEST = 2.0**-24  # a function that is not resolved on panels this narrow has a break that nobody named
_MOST_PANELS = 4000  # panels of one interval; a function that needs more oscillates too fast

_AROUND = 2.0**-5  # how far around a panel values count for the size of its rounding
_SMALLEST = 1e-150  # values below have squares that underflow, so their digits do not count
# no simple number, so that no kink of somebody's function falls on an end of a panel and hides there
_SPLIT = 2027 / 4099

_NODES = chebyshev_nodes(_SIZE)  # of a panel [-1, 1]
_TO_COEFFICIENTS = chebyshev_matrix(_SIZE)  # from values at them

_INNERMOST = 1.0137  # no panel reaches from within this distance of zero to beyond it
# how far neighbours may differ where they meet, relative to the values, and for slopes to the values over the width
_JOINT = 1e-9
_FIRST_NODE = float(1 - _NODES[-1])  # twice the way from the end of a panel to its first node, as a share of its width


class Rough(Exception):
    """Between these points the function is not smooth."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__(low, high)
        self.low, self.high = low, high


class Line:
    """The function on [-reach, reach], resolved between the breaks.

    Raises Rough where it is not smooth, or not finite.

    >>> line = Line(np.sin, [], 4.0)
    >>> bool(abs(line.derivative(np.array([1.0])) - np.cos(1.0))[0] < 1e-11)
    True
    >>> Line(np.abs, [], 4.0)
    Traceback (most recent call last):
    ...
    holokern.activation.foreign.line.Rough: ...
    """

    def __init__(self, function: Callable[[Array], Array], breaks: Sequence[float], reach: float) -> None:
        self.function = function
        self.breaks = sorted(b for b in breaks if -reach < b < reach)
        self.reach = reach
        self.panels: list[Panel] = []
        for low, high in pairwise(sorted({-reach, *self.breaks, reach, *self._marks()})):
            self._resolve(low, high)
        self.lows = np.array([panel.low for panel in self.panels])
        self.highs = np.array([panel.high for panel in self.panels])
        self.widths = self.highs - self.lows
        self.slopes = np.array([np.polynomial.chebyshev.chebder(panel.coefficients) for panel in self.panels])
        self.tails = np.array([panel.tail for panel in self.panels])
        self.scales = np.array([panel.scale * bool(np.any(panel.coefficients[1:])) for panel in self.panels])
        self.turns = self._turns()

    def derivative(self, u: Array) -> Array:
        """The derivative inside the reach; at a break the one of the right side."""
        index, x = self._place(u)
        above, here = np.zeros_like(x), np.zeros_like(x)
        for column in self.slopes.T[:0:-1]:
            above, here = here, column[index] + 2 * x * here - above
        return np.asarray((self.slopes[index, 0] + x * here - above) * 2 / self.widths[index])

    def noise(self, u: Array) -> Array:
        """How far ``derivative`` may be off: each coefficient by rounding, those left out by their size."""
        index, x = self._place(u)
        # |T_k'| is at most k² and at most k/√(1 - x²): the largest of them, and the root of the sum of their squares
        inner = 1 / np.sqrt(np.maximum(1 - x * x, 1e-30))
        most = np.minimum(_SIZE**2, _SIZE * inner)
        spread = np.minimum(_SIZE**2.5 / 5**0.5, _SIZE**1.5 / 3**0.5 * inner)
        off = ROUNDING / 4 * self.scales[index] * spread + 4 * self.tails[index] * most
        return np.asarray(np.maximum(off * 2 / self.widths[index], self.turns[index]))

    def _marks(self) -> list[float]:
        """Ends of panels towards zero, so that values far out do not set the noise of the slopes next to it."""
        marks = [_INNERMOST * 2.0**k for k in range(max(int(np.ceil(np.log2(self.reach / _INNERMOST))), 0))]
        return [
            sign * mark for mark in marks if mark < 0.9 * self.reach for sign in (-1, 1) if not self._near(sign * mark)
        ]

    def _near(self, mark: float) -> bool:
        """Whether a break is so near that a panel between would be short."""
        return any(abs(mark - b) < 0.25 * abs(mark) for b in self.breaks)

    def _turns(self) -> Array:
        """How far the slopes of each panel are from those of its neighbours where they meet.

        Raises Rough where values or slopes do not agree: a break between an end and the first node shows only there.
        """
        turns = np.zeros(len(self.panels))
        for left, right in pairwise(range(len(self.panels))):
            joint = self.highs[left]
            if joint in self.breaks:
                continue
            step, turn = (
                abs(self.panels[left].at(joint, order) - self.panels[right].at(joint, order)) for order in (0, 1)
            )
            scale = max(self.scales[left], self.scales[right])
            narrow, wide = sorted((self.widths[left], self.widths[right]))
            if step > _JOINT * scale or turn > _JOINT * scale / narrow * _SIZE:
                raise Rough(joint - _FIRST_NODE * wide, joint + _FIRST_NODE * wide)
            turns[left : right + 1] = np.maximum(turns[left : right + 1], turn)
        return turns

    def _place(self, u: Array) -> tuple[NDArray[np.intp], Array]:
        """The panel of each point, and where it lies there between -1 and 1."""
        index = np.clip(np.searchsorted(self.lows, u, side="right") - 1, 0, len(self.lows) - 1)
        return index, (2 * u - self.lows[index] - self.highs[index]) / self.widths[index]

    def _resolve(self, low: float, high: float) -> None:
        stack = [resolve(self.function, low, high)]
        count = 0
        while stack:
            panel = stack.pop()
            count += 1
            if panel.tail <= ROUNDING * panel.scale:
                self.panels.append(panel)
                continue
            if panel.high - panel.low < _NARROWEST or count > _MOST_PANELS or not np.isfinite(panel.scale):
                raise Rough(panel.low, panel.high)
            # next to a zero the values are small, but their rounding need not be: the values around tell its size
            floor = panel.scale if panel.high - panel.low < _AROUND else 0.0
            left = panel.part(self.function, 0, _SPLIT, floor)
            right = panel.part(self.function, _SPLIT, 1, floor)
            if panel.is_smooth and max(left.tail, right.tail) > panel.tail / 4:
                self.panels.append(panel)  # its tail is the noise of the function, which no splitting removes
            else:
                stack += [right, left]


@dataclass(frozen=True)
class Panel:
    """The function on one interval: Chebyshev coefficients, the largest of the last ones, the size of the values."""

    low: float
    high: float
    coefficients: Array
    tail: float
    scale: float

    @property
    def is_smooth(self) -> bool:
        """Whether the series represents the function to nearly all digits."""
        return self.tail <= RESOLVED * self.scale

    def at(self, u: float, order: int = 0) -> float:
        """The series, or its derivative, at a point."""
        factor = 2 / (self.high - self.low)
        x = (u - self.low) * factor - 1
        coefficients = np.polynomial.chebyshev.chebder(self.coefficients, order) * factor**order
        return float(np.polynomial.chebyshev.chebval(x, coefficients))

    def part(self, function: Callable[[Array], Array], first: float, last: float, floor: float = 0.0) -> Panel:
        """The function on a part of the interval, given by two shares of its width."""
        width = self.high - self.low
        high = self.high if last == 1 else self.low + last * width
        return resolve(function, self.low + first * width, high, floor)


def resolve(function: Callable[[Array], Array], low: float, high: float, floor: float = 0.0) -> Panel:
    """The function on the interval, by its values at Chebyshev points, which round like values of size ``floor``."""
    values = np.asarray(function((low + high) / 2 + (high - low) / 2 * _NODES), dtype=float)
    coefficients = _TO_COEFFICIENTS @ values
    if np.all(values == values[0]):  # a constant has no noise, and its slope is zero
        coefficients[1:] = 0
        return Panel(low, high, coefficients, 0.0, abs(float(values[0])))
    # the rounding of the points counts too: it moves a value by the slope times the point
    moved = max(abs(low), abs(high)) * float(np.ptp(values)) / (high - low) / 4
    scale = max(float(np.max(np.abs(values))) + moved, floor, _SMALLEST)
    return Panel(low, high, coefficients, float(np.max(np.abs(coefficients[-3:]))), scale)


_DIFFERENCE = 1e-5  # the step of difference quotients: a third of the digits for the rounding, two for the value
# the share of such a quotient that the step leaves out, for functions that change on lengths of 1 and more
_LEFT_OUT = 1e-9
# the line grows up to here; beyond, where nearly no network looks, a difference quotient is good enough
_FARTHEST = 2.0**16


class NumericalSlope:
    """The derivative of the Chebyshev series on panels; the line grows when points lie beyond its reach.

    ``line``: the function between its breaks.
    ``breaks``: all breaks, those beyond the reach of the line too.

    >>> slope = NumericalSlope(Line(np.sin, [], 4.0), [])
    >>> u = np.array([1.0, 30.0])
    >>> bool(np.all(np.abs(slope(u) - np.cos(u)) <= slope.noise(u))), bool(np.all(slope.noise(u) < 1e-11))
    (True, True)
    """

    def __init__(self, line: Line, breaks: list[float]) -> None:
        self._line, self._breaks, self._grows = line, breaks, True

    def __call__(self, u: Array) -> Array:
        """The derivative at the points."""
        return self._served(u, lambda line, at: line.derivative(at), quotient(self._line.function))

    def noise(self, u: Array) -> Array:
        """How far the derivative may be off."""
        function = self._line.function
        far = quotient_noise(function, lambda at: UNITS * np.abs(function(at)))
        return self._served(u, lambda line, at: line.noise(at), far)

    def _served(self, u: Array, near: Callable[[Line, Array], Array], far: Callable[[Array], Array]) -> Array:
        u = np.asarray(u, dtype=float)
        distance = np.abs(u)
        line = self._reaching(float(np.max(distance, initial=0.0, where=distance < _FARTHEST)))
        inside = distance < line.reach
        found = np.full(u.shape, np.nan)
        with np.errstate(all="ignore"):
            for chosen, rule in ((inside, partial(near, line)), (~inside, far)):
                if np.any(chosen):  # not every function takes an empty array
                    found[chosen] = rule(u[chosen])
        return found

    def _reaching(self, distance: float) -> Line:
        """The line, made longer if need be and if the function is smooth so far out."""
        while self._grows and distance >= self._line.reach:
            try:
                with np.errstate(all="ignore"):
                    self._line = Line(self._line.function, self._breaks, 2 * self._line.reach)
            except Rough:
                self._grows = False
        return self._line


def quotient(values: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A difference quotient of about ten digits."""

    def slope(u: Array) -> Array:
        step = _step(u)
        return (values(u + step) - values(u - step)) / (2 * step)

    return slope


def quotient_noise(values: Callable[[Array], Array], noise: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """How far that quotient may be off, for values with this noise."""
    slope = quotient(values)
    return lambda u: noise(u) / _step(u) + _LEFT_OUT * np.abs(slope(u))


def _step(u: Array) -> Array:
    return _DIFFERENCE * np.maximum(1.0, np.abs(u))
