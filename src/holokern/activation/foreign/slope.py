"""The derivative of a function that is known by its values alone, with what it may be off."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from holokern.activation.foreign.line import Line, Rough
from holokern.numeric import Array

# the step of difference quotients: a third of the digits for the rounding, two for the value
_DIFFERENCE = 1e-5
# the share of such a quotient that the step leaves out, for functions that change on lengths of 1 and more
_LEFT_OUT = 1e-9
# what a foreign function may be off, relative to its value: sixteen units in the last place
_EPS = 16 * float(np.finfo(float).eps)
# the line grows up to here; beyond, where nearly no network looks, a difference quotient is good enough
_FARTHEST = 2.0**16


class NumericalSlope:
    """The derivative of the Chebyshev series on panels; the line grows when points lie beyond its reach.

    Parameters
    ----------
    line
        The function between its breaks.
    breaks
        All breaks, those beyond the reach of the line too.

    Examples
    --------
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
        far = quotient_noise(function, lambda at: _EPS * np.abs(function(at)))
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
