"""A function between its breaks as Chebyshev series on panels: whether it is smooth there, and its derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Line", "Rough"]

Array = NDArray[np.float64]

# coefficients of a panel; more would carry the noise of the function further into the derivative
_SIZE = 24
# the last coefficients of a resolved panel, relative to the values around it: below, only rounding is left
_RESOLVED = 2e-13
# a function that is not resolved on panels this narrow has a break that nobody named
_NARROWEST = 2.0**-24
# panels of one interval; a function that needs more oscillates too fast
_MOST_PANELS = 4000

# no simple number, so that no kink of somebody's function falls on an end of a panel and hides there
_SPLIT = 2027 / 4099

_ANGLES = np.pi * (np.arange(_SIZE) + 0.5) / _SIZE
_NODES = np.cos(_ANGLES)
_TO_COEFFICIENTS = 2.0 / _SIZE * np.cos(np.outer(np.arange(_SIZE), _ANGLES))
_TO_COEFFICIENTS[0] /= 2


class Rough(Exception):
    """Near this point the function is not smooth."""

    def __init__(self, point: float) -> None:
        super().__init__(point)
        self.point = point


class Line:
    """The function on [-reach, reach], resolved between the breaks.

    Raises
    ------
    Rough
        Where it is not smooth, or not finite.

    Examples
    --------
    >>> line = Line(np.sin, [], 4.0)
    >>> bool(abs(line.derivative(np.array([1.0])) - np.cos(1.0))[0] < 1e-11)
    True
    >>> Line(np.abs, [], 4.0)
    Traceback (most recent call last):
    ...
    holokern.activation.foreign.line.Rough: ...
    """

    def __init__(self, function: Callable[[Array], Any], breaks: Sequence[float], reach: float) -> None:
        self.function = function
        inner = [b for b in breaks if -reach < b < reach]
        self.panels: list[tuple[float, float, Array]] = []
        for low, high in pairwise([-reach, *sorted(inner), reach]):
            self._resolve(low, high)
        self.lows = np.array([panel[0] for panel in self.panels])
        self.highs = np.array([panel[1] for panel in self.panels])
        rows = [np.polynomial.chebyshev.chebder(panel[2]) * 2 / (panel[1] - panel[0]) for panel in self.panels]
        self.slopes = np.array(rows)

    def derivative(self, u: Array) -> Array:
        """The derivative inside the reach; at a break the one of the right side."""
        index = np.clip(np.searchsorted(self.lows, u, side="right") - 1, 0, len(self.lows) - 1)
        low, high = self.lows[index], self.highs[index]
        x = (2 * u - low - high) / (high - low)
        above, here = np.zeros_like(x), np.zeros_like(x)
        for column in self.slopes.T[:0:-1]:
            above, here = here, column[index] + 2 * x * here - above
        return np.asarray(self.slopes[index, 0] + x * here - above)

    def _resolve(self, low: float, high: float) -> None:
        stack = [(low, high)]
        count = 0
        while stack:
            a, b = stack.pop()
            values = np.asarray(self.function((a + b) / 2 + (b - a) / 2 * _NODES), dtype=float)
            coefficients = _TO_COEFFICIENTS @ values
            scale = max(float(np.max(np.abs(values))), np.finfo(float).tiny)
            count += 1
            if np.max(np.abs(coefficients[-3:])) <= _RESOLVED * scale:
                self.panels.append((a, b, coefficients))
            elif b - a < _NARROWEST or count > _MOST_PANELS or not np.isfinite(scale):
                raise Rough((a + b) / 2)
            else:
                middle = a + _SPLIT * (b - a)
                stack += [(middle, b), (a, middle)]
