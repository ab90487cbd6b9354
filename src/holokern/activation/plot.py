"""An activation as a curve: points that know its jumps, and a drawing by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from holokern.numeric import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from holokern.activation.function import Activation

_POINTS = 321  # points of a curve that looks smooth on a screen
_REACH, _BEYOND = 4.0, 1.4  # the curve reaches this far, and this many times as far as a break
_FAR = 20.0  # breaks further away than this are not shown
_SIDE = 1e-7  # the distance from a break at which its two sides are shown


def curves(sigma: Activation) -> tuple[Array, Array, Array]:
    """Points u with σ(u) and σ′(u); NaN where one of them jumps, so that a drawing has a gap there.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> u, value, slope = curves(activation("relu"))
    >>> u[[0, -1]].tolist(), bool(np.isnan(value).any()), int(np.isnan(slope).sum())
    ([-4.0, 4.0], False, 1)
    """
    breaks = sorted(float(b) for b in sigma.breaks)
    reach = max([_REACH, *(_BEYOND * abs(b) for b in breaks if abs(b) <= _FAR)])
    u = np.linspace(-reach, reach, _POINTS)
    u = u[np.min(np.abs(u[:, None] - np.array([*breaks, np.inf])), axis=1) > 1e-6 * reach]
    sides = np.array([b + step for b in breaks if abs(b) < reach for step in (-_SIDE, 0.0, _SIDE)])
    u = np.sort(np.concatenate([u, sides]))
    at_break = np.isin(u, breaks)
    value, slope = (np.asarray(f(u), dtype=float) for f in (sigma, sigma.derivative))
    if sigma.jump_order == 0:
        value = np.where(at_break, np.nan, value)
    if sigma.jump_order in (0, 1):
        slope = np.where(at_break, np.nan, slope)
    return u, value, slope


def plot(sigma: Activation, ax: Axes | None = None) -> Axes:
    """Draw σ and σ′ into ``ax``, or into a new figure."""
    import matplotlib.pyplot as plt

    axes = plt.subplots(layout="constrained")[1] if ax is None else ax
    u, value, slope = curves(sigma)
    axes.plot(u, value, label="σ(u)")
    axes.plot(u, slope, label="σ′(u)", linestyle="--")
    axes.set(xlabel="u", title=str(sigma))
    axes.grid(alpha=0.3)
    axes.legend()
    return axes
