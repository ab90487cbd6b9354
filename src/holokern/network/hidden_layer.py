"""A hidden layer, and what it does to the deviations of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation
from holokern.dual import DualActivation
from holokern.errors import PrecisionLost
from holokern.numeric import Array, Range, Series, chebyshev_matrix

_GRID = np.log(2) / 8
"""Scopes end at multiples of an eighth of an octave, so that similar data share a table."""

_NODES, _CLOSE, _ROOM = 33, 1e-4, 0.5
"""Terms of a series of norms in log c, the last coefficients that will do where ranges of layers are looked for (they
are widened by 0.02), and how much farther it goes: the ranges of layers differ little."""

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class HiddenLayer:
    """One hidden layer: Σ ← (Σ if residual) + weight·k + bias²."""

    dual: DualActivation
    weight: float
    bias: float
    residual: bool

    @property
    def activation(self) -> Activation:
        """The activation."""
        return self.dual.activation

    def variances(self, c: Array, norms: Array) -> Array:
        """Variances after the layer, of points with deviations c and norms E[σ(cz)²]^(1/2)."""
        return self.weight * norms**2 + self.bias**2 + (c**2 if self.residual else 0.0)


@dataclass(frozen=True, eq=False)
class LayerSide:
    """The points of one side of the matrix when they enter a layer."""

    numbers: Array  # log c, √w n, √w d and c, one row each
    # zero, safe: where the deviation is zero, and the deviations with another one there
    zero: NDArray[np.bool_]
    safe: Array
    means: Array  # √w E[σ(cz)]
    # By how much true deviations exceed these, relative to them, or zeros. Where σ jumps away from zero, points
    # that nearly coincide are √|c₁ - c₂| apart after the layer, so that a rounding of c counts in the first
    # layer. After it |c₁ - c₂| is small beside their angle.
    rounding: Array

    @classmethod
    def of(
        cls,
        layer: HiddenLayer,
        c: Array,
        norms: Function,
        slopes: Function,
        means: Function,
        rounding: Array | None = None,
    ) -> LayerSide:
        """Deviations with their norms, slopes and means by functions of positive deviations; zeros by the limit."""
        zero = c == 0
        positive = c[~zero]
        safe = np.where(zero, float(np.min(positive)) if len(positive) else 1.0, c)
        root = np.sqrt(layer.weight)
        norm, slope, mean = (function(safe) for function in (norms, slopes, means))
        if np.any(zero):
            limits = layer.dual.limits
            norm, mean, slope = np.where(zero, [[limits.norm], [limits.mean], [0.0]], [norm, mean, slope])
        numbers = np.ascontiguousarray(np.stack([np.log(safe), root * norm, root * slope, c]))
        return cls(numbers, zero, safe, root * mean, np.zeros(len(c)) if rounding is None else rounding)

    def after(self, layer: HiddenLayer) -> Array:
        """Variances that the layer hands on."""
        kept = self.numbers[3] ** 2 if layer.residual else 0.0
        return np.asarray(self.numbers[1] ** 2 + layer.bias**2 + kept)


def deviations_through(layers: tuple[HiddenLayer, ...], c: Array, zeros: bool) -> list[Array]:
    """Positive deviations when they enter each layer, and after the last one.

    With ``zeros`` those of zero vectors are among them from the layer on where they are not zero any more. Deviations
    that become too small for floats are those of zero vectors; where none is left, the ones before stand for them.
    All are right to four digits, and single ones to rounding.
    """
    found, known = [c], dict[DualActivation, Series]()
    waiting = zeros and not layers[0].bias
    for layer in layers:
        after = np.sqrt(layer.variances(found[-1], _norms(layer.dual, found[-1], known)))
        if waiting and layer.dual.limits.norm:
            after = np.append(after, np.sqrt(layer.weight) * layer.dual.limits.norm)
            waiting = False
        waiting = waiting or not np.all(after)
        found.append(after[after > 0] if np.any(after) else found[-1])
    return found


def _norms(dual: DualActivation, c: Array, known: dict[DualActivation, Series]) -> Array:
    """Norms of deviations by a series that layers share; ``known`` has the last one of each activation."""
    logs = np.log(c)
    low, high = float(np.min(logs)), float(np.max(logs))
    series = known.get(dual)
    if low < high and not (series and series.range.low <= low and high <= series.range.high):
        span = Range(low - _ROOM, high + _ROOM)
        try:
            norms = dual.moments_in_range(np.exp(span.nodes(_NODES)))[0]
        except PrecisionLost:
            norms = np.zeros(_NODES)
        with np.errstate(divide="ignore", invalid="ignore"):
            coefficients = chebyshev_matrix(_NODES) @ np.log(norms)
        series = Series(span, coefficients) if np.all(np.abs(coefficients[-3:]) <= _CLOSE) else None
        if series:
            known[dual] = series
    return np.exp(series(logs)) if series and low < high else dual.moments_in_range(c)[0]


def scale_free(layers: tuple[HiddenLayer, ...]) -> bool:
    """Whether the kernels of scaled points are scaled kernels."""
    if any(layer.bias for layer in layers):
        return False
    degrees = {layer.dual.homogeneity for layer in layers}
    return degrees == {1.0} if any(layer.residual for layer in layers) else None not in degrees


def scope_of(layers: tuple[HiddenLayer, ...], low: float, high: float) -> Range:
    """A little more than the logarithms of [low, high], so that similar data share a table."""
    if scale_free(layers) or not 0 < low <= high < np.inf:
        return Range(0.0, 0.0)
    if high <= low * (1 + 1e-12):
        return Range(float(np.log(low)), float(np.log(low)))
    bottom, top = np.floor(np.log(low) / _GRID - 0.05), np.ceil(np.log(high) / _GRID + 0.05)
    return Range(float(_GRID * bottom), float(_GRID * top))
