"""Breaks where σ or its derivative is unbounded, and what that does to k and k′ at r = ±1.

Beside a break b let σ have a term C |u-b|^e with e < 1 that is no constant, or its like with logarithms.  Then σ′ grows
like |u-b|^(e-1), and where two such points meet, E[σ′(c1 x) σ′(±c2 x)] is infinite if and only if e + e' ≤ 1.  In the
same way E[σ(cx)²] is infinite if 2e ≤ -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from holokern.activation import Activation
from holokern.activation.ring.expansions import LocalSeries
from holokern.activation.ring.pieces import pieces_of
from holokern.errors import HolokernError
from holokern.numeric.panels import Array

__all__ = ["UnboundedSide", "infinite_slope_sign", "not_square_integrable", "unbounded_sides"]


@dataclass(frozen=True, slots=True)
class UnboundedSide:
    """One side of a break where σ′ is unbounded.

    Attributes
    ----------
    point : float
    side : int
        1 for the right side, -1 for the left one.
    exponent : Fraction
        e, when σ′ grows like |u-b|^(e-1).
    sign : int
        The sign of σ′ there.
    """

    point: float
    side: int
    exponent: Fraction
    sign: int


@lru_cache(maxsize=128)
def unbounded_sides(activation: Activation) -> tuple[UnboundedSide, ...]:
    """All sides of breaks where σ′ is unbounded; none for an activation without exact pieces.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> [(g.side, str(g.exponent), g.sign) for g in unbounded_sides(activation("Abs(u)^(1/2)"))]
    [(-1, '1/2', -1), (1, '1/2', 1)]
    >>> unbounded_sides(activation("relu"))
    ()
    """
    try:
        pieces = pieces_of(activation.tree)
    except HolokernError:
        # without exact pieces the singular powers that the grammar has do not occur
        return ()
    found = []
    for index, point in enumerate(pieces.breaks):
        place = float(activation.breaks[index])
        for side, series in zip((-1, 1), pieces.expansions(index, 1), strict=True):
            term = _steepest(series)
            if term is not None:
                found.append(UnboundedSide(place, side, term[0], side * term[1]))
        assert np.isclose(place * float(pieces.scale), float(point))
    return tuple(found)


def _steepest(series: LocalSeries) -> tuple[Fraction, int] | None:
    """The exponent and the sign of the slope in s = |u-b| of the term whose derivative grows fastest."""
    steep = [(e, -k, k) for (e, k), value in series.items() if (e < 1 and (e or k)) and value]
    if not steep:
        return None
    e, _, k = min(steep)
    # the derivatives of s^e (log s)^k and of (log s)^k as s → 0+
    slope = (1 if e > 0 else -1) * (-1) ** k if e else (-1) ** (k - 1)
    return e, slope * series[e, k].sign()


def not_square_integrable(activation: Activation) -> str | None:
    """Why E[σ(cx)²] is infinite for every c, or None."""
    for side in unbounded_sides(activation):
        if 2 * side.exponent <= -1:
            return f"it grows like |u - ({side.point:g})|^({side.exponent}) at u = {side.point:g}"
    return None


def infinite_slope_sign(activation: Activation, c1: Array, c2: Array, sign: Array) -> Array:
    """The sign of an infinite E[σ′(c1 x) σ′(±c2 x)], 0 where it is finite; ``sign`` holds ±1."""
    total = np.zeros(len(c1))
    lowest = np.full(len(c1), np.inf)
    sides = unbounded_sides(activation)
    for one in sides:
        for other in sides:
            power = float(one.exponent + other.exponent)
            # decided on products, which are exact for the usual breaks and deviations
            meet = (one.point * c2 == sign * other.point * c1) & (other.side == sign * one.side) & (power <= 1)
            steeper = meet & (power < lowest)
            total[steeper], lowest[steeper] = 0.0, power
            total += np.where(meet & (power == lowest), one.sign * other.sign, 0.0)
    return np.sign(total)
