"""A drawing of k and k′ against the correlation by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from holokern.dual.dual import dual

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from holokern.activation import Activation

# points of a curve that looks smooth on a screen
_POINTS = 181


def plot(sigma: Activation, c1: float = 1.0, c2: float = 1.0, ax: Axes | None = None) -> Axes:
    """Draw k and k′ for deviations c1, c2 against the correlation into ``ax``, or into a new figure."""
    import matplotlib.pyplot as plt

    axes = plt.subplots(layout="constrained")[1] if ax is None else ax
    theta = np.linspace(0, np.pi, _POINTS)
    found = dual(sigma, c1, c2, theta=theta)
    axes.plot(np.cos(theta), found.k, label="k = E[σ(u)σ(v)]")
    slope = np.where(np.isfinite(found.kdot), found.kdot, np.nan)
    axes.plot(np.cos(theta), slope, label="k′ = E[σ′(u)σ′(v)]", linestyle="--")
    axes.set(xlabel="correlation r", title=f"{sigma}, c₁ = {c1:g}, c₂ = {c2:g}")
    axes.grid(alpha=0.3)
    axes.legend()
    return axes
