"""The weights of a finite network while data go through it, and what the gradients need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from holokern.numeric import Array

Pull = Callable[[Any], Any]
"""From derivatives with respect to the output of a layer to those with respect to its input."""


class Weight(NamedTuple):
    """An array of weights; the network uses scale · values, and training changes the values."""

    values: Array
    scale: float
    trainable: bool


@dataclass
class Record:
    """One pass of data through a network."""

    # width, outputs: channels of layers that do not say how many they have, and of the last one
    width: int
    outputs: int
    is_standard: bool  # whether weights are drawn as they are used, instead of with variance 1
    random: np.random.Generator | None  # where weights come from; None if they have been drawn before
    masks: np.random.Generator  # where the masks of dropout come from
    weights: list[Weight]  # the weights, in the order in which layers ask for them
    # adjacency, nodes: for graphs: the weights of the neighbours (inputs, nodes, nodes) and which nodes exist (inputs,
    # nodes)
    adjacency: Array | None
    nodes: Array | None
    # for each weight arrays a (inputs, places, rows) and d (inputs, places, columns): the derivative with respect to
    # scale · values is Σ a dᵀ over the places where the weight is used
    gradients: dict[int, tuple[Array, Array]] = field(default_factory=dict)
    _asked: int = 0

    def weight(self, shape: tuple[int, ...], deviation: float, trainable: bool) -> tuple[int, Array]:
        """The number of the next weight, and what it is in use."""
        number = self._asked
        self._asked += 1
        if self.random is not None:
            scale, spread = (1.0, deviation) if self.is_standard else (deviation, 1.0)
            self.weights.append(Weight(spread * self.random.standard_normal(shape), scale, trainable))
        found = self.weights[number]
        return number, found.scale * found.values

    def linear(self, x: Array, channels: int, W_std: float, b_std: float | None, trainable: bool) -> tuple[Array, Pull]:
        """X W + b at every place, for x of shape (inputs, places, rows)."""
        rows = x.shape[-1]
        number, matrix = self.weight((rows, channels), W_std / np.sqrt(rows), trainable)
        added = None if b_std is None else self.weight((channels,), b_std, trainable)

        def pull(change: Array) -> Array:
            self.gradients[number] = x, change
            if added is not None:
                self.gradients[added[0]] = np.ones((*x.shape[:2], 1)), change
            back: Array = change @ matrix.T
            return back

        return x @ matrix + (0.0 if added is None else added[1]), pull
