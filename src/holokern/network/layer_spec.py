"""A hidden layer, and the deviations of the points of one side of the matrix when they enter it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holokern.dual.quadrature.profile import limit_at_zero as germ
from holokern.numeric.panels import Array

__all__ = ["LayerSpec", "Side", "side_of"]


@dataclass(frozen=True)
class LayerSpec:
    """One hidden layer: Σ ← (Σ if residual) + weight·k + bias²."""

    activation: Any
    weight: float
    bias: float
    residual: bool


@dataclass(frozen=True)
class Side:
    """The points of one side of the matrix at one layer: log c, √w n, √w d and c, and the place of log c in a range.

    ``zero`` marks deviations that are zero, ``safe`` has another deviation there; ``means`` is √w E[σ(cz)].
    """

    numbers: Array
    place: Array
    zero: NDArray[np.bool_]
    safe: Array
    means: Array

    @property
    def after(self) -> Array:
        """Variance that the layer hands on, without the bias."""
        return np.asarray(self.numbers[1] ** 2)


def side_of(spec: LayerSpec, c: Array, low: float, place: Any, functions: tuple[Any, ...]) -> Side:
    """Deviations with their norms, slopes and means by three functions of a positive deviation; zeros by the limit."""
    zero = c == 0
    safe = np.where(zero, low, c)
    root = np.sqrt(spec.weight)
    norm, slope, mean = (function(safe) for function in functions)
    if np.any(zero):
        right, left = np.asarray(germ(spec.activation).value(np.array([1.0, -1.0])))
        norm = np.where(zero, np.sqrt((right**2 + left**2) / 2), norm)
        mean = np.where(zero, (right + left) / 2, mean)
        slope = np.where(zero, 0.0, slope)
    numbers = np.ascontiguousarray(np.stack([np.log(safe), root * norm, root * slope, c]))
    return Side(numbers, place(safe), zero, safe, root * mean)
