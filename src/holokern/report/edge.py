"""The edge of chaos of an activation in the plane of σ_w and σ_b.

The variance q = c² of a layer becomes σ_w² E[σ(cz)²] + σ_b², and nearby points separate at the rate
χ = σ_w² E[σ′(cz)²] [Poole2016], [Schoenholz2017].  So every c is the fixed point of exactly one network on the edge
χ = 1, the one with σ_w² = 1/E[σ′(cz)²] and σ_b² = c² - E[σ(cz)²]/E[σ′(cz)²], unless the latter is negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holokern.numeric.panels import Array
from holokern.paper import Json
from holokern.report.value_tables import Sigma

__all__ = ["EdgePart", "edge_of_chaos"]

# a curve that looks smooth on a screen
_POINTS = 400
# relative; c² - E[σ²]/E[σ′²] loses some digits where it vanishes, as for relu
_ROUNDING = 1e-9
# the derivative is a difference quotient of 400 points, which is off by less
_SLACK = 1e-3


@dataclass(frozen=True)
class EdgePart:
    """A connected part of the edge: σ_w and σ_b, and whether the variance returns to its fixed point."""

    weight: Array
    bias: Array
    stable: bool

    def data(self) -> dict[str, Json]:
        """Plain data for JSON."""
        weight, bias = (np.round(part, 6).tolist() for part in (self.weight, self.bias))
        return {"weight": weight, "bias": bias, "stable": self.stable}


def edge_of_chaos(sigma: Sigma, limits: tuple[float, float]) -> list[EdgePart]:
    """The parts of the edge whose fixed points lie in ``limits``; none where χ is infinite, as for σ with jumps.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> from holokern.report.value_tables import read_sigma
    >>> part, = edge_of_chaos(read_sigma(activation("relu")), (0.5, 2.0))
    >>> part.weight.round(6).tolist(), part.bias.round(6).tolist()
    ([1.414214], [0.0])
    """
    if sigma.steep:
        return []
    c = np.geomspace(*limits, _POINTS)
    square, slope_square = sigma.norms(c) ** 2, sigma.slope_norms(c) ** 2
    variance = c**2 - square / slope_square
    variance = np.where(np.abs(variance) <= _ROUNDING * c**2, 0.0, variance)
    stable = np.gradient(square, c**2) / slope_square <= 1 + _SLACK
    kind = np.where(variance < 0, 0, np.where(stable, 1, 2))
    starts = np.flatnonzero(np.diff(kind, prepend=-1))
    parts = []
    for start, stop in zip(starts, [*starts[1:], len(c)], strict=True):
        if kind[start]:
            # one point more, so that parts meet
            some = slice(start, min(stop + 1, len(c)) if stop < len(c) and kind[stop] else stop)
            parts.append(_part(1 / np.sqrt(slope_square[some]), np.sqrt(variance[some]), bool(kind[start] == 1)))
    return parts


def _part(weight: Array, bias: Array, stable: bool) -> EdgePart:
    """A part; a single point for a homogeneous σ, where all c belong to the same network."""
    if np.ptp(weight) <= _ROUNDING * weight[0] and np.ptp(bias) <= _ROUNDING:
        weight, bias = weight[:1], bias[:1]
    return EdgePart(weight, bias, stable)
