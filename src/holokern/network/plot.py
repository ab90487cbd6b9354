"""Drawings of networks by matplotlib: kernel matrices, and what depth does."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from holokern.errors import BadInput, Unsupported
from holokern.numeric import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from holokern.network.network import Network

# characters: longer titles leave a figure of usual width
_TITLE = 50


def heat_map(network: Network, X: Any, kind: str = "ntk", ax: Axes | None = None) -> Axes:
    """Draw the kernel matrix of the rows of X as a heat map."""
    import matplotlib.pyplot as plt

    if kind not in ("ntk", "nngp"):
        raise BadInput(f"kind = {kind!r}; choose 'ntk' or 'nngp'")
    axes = plt.subplots(layout="constrained")[1] if ax is None else ax
    image = axes.imshow(np.asarray(network.ntk(X) if kind == "ntk" else network.nngp(X)))
    axes.figure.colorbar(image, ax=axes)
    axes.set(title=fill(f"{kind.upper()} of {network}", _TITLE), xlabel="point", ylabel="point")
    return axes


def by_depth(network: Network, correlations: Sequence[float]) -> tuple[Array, Array]:
    """Correlations and NTKs of unit vectors with the first of them, after each hidden layer: one row for each layer.

    The NTK is divided by that of the first vector with itself; it is NaN where an activation jumps.
    """
    if not network.hidden_layers:
        raise Unsupported("depth_plot is for fully connected networks; a composition of layers has no single depth")
    r = np.asarray(correlations, dtype=float)
    if r.ndim != 1 or not np.all(np.abs(r) <= 1):
        raise BadInput(f"correlations = {correlations!r}; pass numbers from -1 to 1")
    points = np.stack([np.append(1.0, r), np.append(0.0, np.sqrt(1 - r**2))], axis=1)
    if network.weight_variance is not None:
        # the first layer divides by the dimension
        points = points * np.sqrt(2)
    scale = 1.0 if network.weight_variance is None else network.weight_variance / points.shape[1]
    tangent = start = np.asarray(scale * points @ points.T + network.bias**2)
    rows, tangents = [_correlation(start)], [tangent[0, 1:] / tangent[0, 0]]
    for layer, (sigma, slope) in zip(network.hidden_layers, network.layers(points), strict=True):
        if slope.size == 0:
            tangent = np.full_like(sigma, np.nan)
        elif layer.residual:
            tangent = tangent + tangent * slope + sigma - start
        else:
            tangent = tangent * slope + sigma
        start = sigma
        rows.append(_correlation(sigma))
        tangents.append(tangent[0, 1:] / tangent[0, 0])
    return np.array(rows), np.array(tangents)


def _correlation(sigma: Array) -> Array:
    return np.asarray(sigma[0, 1:] / np.sqrt(sigma[0, 0] * np.diag(sigma)[1:]))


def depth_plot(
    network: Network, correlations: Sequence[float], axes: Sequence[Axes] | None = None
) -> tuple[Axes, Axes]:
    """Draw the correlations and the NTK of unit vectors against the number of hidden layers."""
    import matplotlib.pyplot as plt

    left, right = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")[1] if axes is None else axes
    found = by_depth(network, correlations)
    titles = ("correlation of the outputs", "NTK Θ, relative to the diagonal")
    for ax, values, title in zip((left, right), found, titles, strict=True):
        for r, column in zip(correlations, values.T, strict=True):
            ax.plot(np.arange(len(column)), column, marker=".", label=f"r = {r:g}")
        ax.set(xlabel="hidden layers", title=title)
        ax.grid(alpha=0.3)
        ax.legend()
    return left, right
