"""What a layer acts on: variances of the outputs of a network, and for pairs of inputs how far apart the outputs are.

A network maps an input to one Gaussian vector at every position of an image, a sequence or a graph. For outputs f(x, p)
and f(y, q) with covariance C and variances V₁, V₂ the state keeps the half squared distance

    G = E[(f(x, p) - f(y, q))²] / 2 = (V₁ + V₂)/2 - C

instead of C. Convolutions average G just like C, and an angle computed from G keeps its digits when two outputs nearly
coincide, as black borders of images do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from holokern.dual import EVERYTHING
from holokern.numeric import AnyArray


@dataclass(frozen=True)
class Layout:
    """The axes of the arrays of a state.

    Notes
    -----
    With positions P of one side and Q of the other, and n and m inputs, the shapes are

        (P, n, m) tied,    (P, n, Q, m) not tied,    (P, n) tied and paired,    (P, Q, n) paired.
    """

    dimensions: int  # the number of axes of positions: 2 for images
    is_tied: bool  # whether only pairs of outputs at the same position are kept
    is_paired: bool  # whether input i meets itself only, instead of all inputs of the other side
    unwanted: int = EVERYTHING  # pairs (i, j) with j < i + unwanted need not be computed: the matrix is symmetric

    def axes(self, dimension: int) -> tuple[int, ...]:
        """The axes along which the positions of both sides run in one dimension."""
        if self.is_tied:
            return (dimension,)
        return dimension, dimension + self.dimensions + (0 if self.is_paired else 1)

    def rows(self, side: AnyArray) -> AnyArray:
        """An array (positions, inputs) of the first side, with axes of length one where the second side runs."""
        if self.is_tied:
            return side if self.is_paired else side[..., None]
        positions, ones = tuple(side.shape[:-1]), (1,) * self.dimensions
        return side.reshape((*positions, *ones, -1) if self.is_paired else (*positions, side.shape[-1], *ones, 1))

    def columns(self, side: AnyArray) -> AnyArray:
        """An array (positions, inputs) of the second side, likewise."""
        return side[..., None, :] if self.is_tied and not self.is_paired else side

    def with_dimensions(self, dimensions: int) -> Layout:
        """The same for another number of axes of positions."""
        return replace(self, dimensions=dimensions)


@dataclass(frozen=True)
class State:
    """Outputs of a network for some inputs of two sides."""

    layout: Layout  # the axes of ``gap`` and ``tangent``
    # first, second: the variances of both sides, of shape (positions, inputs)
    first: AnyArray
    second: AnyArray
    # gap, tangent: G and Θ for pairs; Θ is None if it is not wanted
    gap: AnyArray
    tangent: AnyArray

    @property
    def positions(self) -> tuple[int, ...]:
        """The numbers of positions along each axis."""
        return tuple(self.first.shape[:-1])

    def covariance(self) -> AnyArray:
        """C = (V₁ + V₂)/2 - G."""
        return 0.5 * (self.layout.rows(self.first) + self.layout.columns(self.second)) - self.gap

    def changed(self, sides: tuple[Any, Any], gap: Any, tangent: Any) -> State:
        """With other variances, gaps and tangents, in the same layout."""
        return State(self.layout, sides[0], sides[1], gap, tangent)


def same_positions(xp: ModuleType, array: AnyArray, count: int) -> AnyArray:
    """Entries (P, …) of the same position of an array (P, P, …), with so many positions."""
    places = xp.arange(count)
    return array.reshape(count, count, -1)[places, places]


def tied(xp: ModuleType, state: State) -> State:
    """Keep only the pairs of the same position."""
    layout = state.layout
    if layout.is_tied:
        return state
    count, rows, columns = math.prod(state.positions), state.first.shape[-1], state.second.shape[-1]

    def diagonal(array: AnyArray) -> AnyArray:
        if array is None or layout.is_paired:
            return None if array is None else same_positions(xp, array, count).reshape(*state.positions, -1)
        flat = xp.moveaxis(array.reshape(count, rows, count, columns), 2, 1)
        return same_positions(xp, flat, count).reshape(*state.positions, rows, columns)

    kept = replace(layout, is_tied=True)
    return State(kept, state.first, state.second, diagonal(state.gap), diagonal(state.tangent))
