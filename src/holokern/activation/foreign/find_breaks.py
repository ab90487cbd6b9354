"""The kinks and jumps of a function that is known by its values alone, found by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holokern.activation.foreign.line import RESOLVED, ROUNDING, Line, Rough, resolve

Function = Callable[[NDArray[np.float64]], Any]

MOST_BREAKS = 8  # a function with more breaks than this has them periodically, so that more lie beyond the reach
# next to a break the function must be smooth this far on either side; shorter ones see what lies next to it
_WINDOWS = 2.0 ** np.arange(-6.0, -31.0, -6.0)
_SUSPICIOUS = 2.0**-10  # a panel this narrow may hide a break of a higher derivative
# parts of an interval that overlap, since a break next to an end, before the first node, is not seen
_PARTS = ((0.0, 0.55), (0.225, 0.775), (0.45, 1.0))
_CLEAR = 1e-7  # this far from a kink that is known to some digits it is surely on one side
_SIMPLE = 1000  # breaks are written down as simple numbers; a denominator up to this is simple


class TooManyBreaks(Exception):
    """The function has more breaks than are looked for."""


def resolved_line(function: Function, breaks: Sequence[Fraction], reach: float) -> tuple[Line, tuple[Fraction, ...]]:
    """The function between its breaks, and the breaks: the given ones and those that were found.

    A break that was found is kept only where the function is smooth on either side of it.

    Raises Rough where the function is not smooth on either side of any point, or not finite; TooManyBreaks when more
    than ``MOST_BREAKS`` were found.

    >>> resolved_line(lambda u: np.maximum(u, 0.3), [], 4.0)[1]
    (Fraction(3, 10),)
    """
    places = set(breaks)
    while True:
        try:
            line = Line(function, [float(b) for b in places], reach)
        except Rough as rough:
            found = _break_between(function, rough.low, rough.high)
            if found is None or found in places:
                raise
        else:
            found = _hidden(line)
            if found is None or found in places:
                return line, tuple(sorted(places))
        places.add(found)
        if len(places) - len(breaks) > MOST_BREAKS:
            raise TooManyBreaks


def _hidden(line: Line) -> Fraction | None:
    """A break of a higher derivative in the narrowest panel, which is so small there that it looks like rounding."""
    narrowest = int(np.argmin(line.widths))
    if line.widths[narrowest] > _SUSPICIOUS:
        return None
    return _break_between(line.function, float(line.lows[narrowest]), float(line.highs[narrowest]))


def _break_between(function: Function, low: float, high: float) -> Fraction | None:
    """The break in a short interval: a simple number if one will do, else a float, or None if there is none."""
    panel = resolve(function, low, high)
    rounding = ROUNDING * resolve(function, low - _WINDOWS[0], high + _WINDOWS[0]).scale
    while panel.tail > rounding and panel.high - panel.low > 4 * np.spacing(max(abs(panel.low), abs(panel.high))):
        panel = max((panel.part(function, *shares) for shares in _PARTS), key=lambda part: part.tail)
    middle = (panel.low + panel.high) / 2
    simple = Fraction(middle).limit_denominator(_SIMPLE)
    near = abs(float(simple) - middle) <= max(high - low, 1e-9)
    places: list[Fraction] = [simple] if near else []
    places += [Fraction(_crossing(function, middle)), Fraction(middle)]
    return next((place for place in places if _splits(function, float(place))), None)


def _crossing(function: Function, near: float) -> float:
    """Where the functions of the two sides meet, next to a kink that is known to some digits."""
    gap, width = _CLEAR * max(abs(near), 1.0), float(_WINDOWS[0])
    left, right = resolve(function, near - width, near - gap), resolve(function, near + gap, near + width)
    if not (left.is_smooth and right.is_smooth):
        return near
    at = near
    for _ in range(3):
        step, turn = (right.at(at, order) - left.at(at, order) for order in (0, 1))
        if not abs(step) < abs(turn) * gap:  # no kink, or not here
            return near
        at -= step / turn
    return at


def _splits(function: Function, at: float) -> bool:
    """Whether the function is smooth on either side of the point."""
    sides = [resolve(function, *ends) for width in _WINDOWS for ends in ((at - width, at), (at, at + width))]
    largest = max(side.scale for side in sides)
    # next to a zero the values are small, and their rounding is not: it is measured by the values around
    return bool(np.isfinite(largest)) and all(side.tail <= RESOLVED * largest for side in sides)
