"""Layers that follow each other, and that machine code takes pairs of inputs through in one go."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import array_api_compat.numpy as xp
import numpy as np
from numpy.typing import NDArray

from holokern.dual import LineForm
from holokern.network.architecture.blocks import Lines, Step, Written
from holokern.network.architecture.inputs import Inputs
from holokern.network.architecture.planes import Planes
from holokern.network.architecture.table_form.form import TableForm
from holokern.network.layers.layer import Layer, Shape
from holokern.network.layers.pointwise import Activation
from holokern.network.layers.pooling import Flatten, GlobalAvgPool
from holokern.network.layers.state import State
from holokern.network.layers.weights import Weighted
from holokern.network.layers.windows import Weights, Window, side_sums
from holokern.numeric import Array

_LONG = 8
"""Windows from this length on are summed by halves, elsewhere, which takes fewer additions."""

_MEANS = (Flatten, GlobalAvgPool)
"""Layers that need no more than the mean over all positions."""

_COLUMNS = 10
"""Numbers of a sum over a window in the machine code."""


@dataclass(frozen=True)
class Run:
    """Layers in a row.

    Attributes
    ----------
    positions
        The numbers of positions before them.
    is_tied
        Whether only pairs of equal positions are kept.
    steps
        Layers with weights, and forms of activations.
    channels
        The number of channels of inputs, if these are the first layers; else 0.
    is_mean
        Whether only the mean over all positions is wanted after them.
    """

    positions: tuple[int, ...]
    is_tied: bool
    steps: tuple[Weights | LineForm, ...]
    channels: int
    is_mean: bool

    @cached_property
    def written(self) -> Written:
        """The layers as blocks of pairs go through them."""
        steps, positions, size = list[Step](), self.positions, math.prod(self.positions)
        variances, most = size * self.channels, size
        length = variances + size
        for step in self.steps:
            sums, taps, place = list[list[int]](), [np.zeros(0, dtype=np.int64)], variances
            if isinstance(step, LineForm):
                place, length = length, length + step.count * size
            else:
                for dimension, window in enumerate(step.windows):
                    if window.moves:
                        mine, own = _tables(window, positions, dimension)
                        after = (*positions[:dimension], window.count, *positions[dimension + 1 :])
                        is_regular = math.prod(positions[:dimension]) == 1 or window.count == positions[dimension]
                        placed, behind = sum(map(len, taps)), math.prod(positions[dimension + 1 :])
                        row = [size, math.prod(after), positions[dimension], window.count, behind, window.size]
                        sums.append([*row, placed, placed + mine.size, *_stretch(own, is_regular)])
                        taps += [mine.reshape(-1), own.reshape(-1)]
                        positions, size = after, math.prod(after)
                        most = max(most, size)
            table = np.array(sums, dtype=np.int64).reshape(-1, _COLUMNS)
            steps.append(Step(step, size, place, length, table, np.concatenate(taps)))
            variances, length = length, length + size
        numbers = most if self.is_tied or not self.positions else (most + 1) * most
        ends = (1,) * len(positions) if self.is_mean else positions
        return Written(tuple(steps), numbers, length + self.is_mean, self.channels, self.positions, ends, self.is_mean)

    def sides(self, inputs: Inputs, variances: Array, check: Callable[[Array], None]) -> Array:
        """What is known of inputs: one column for each, which ends with the variances after the last layer.

        ``check`` may refuse variances before an activation, which tables are not made for.
        """
        count, place = len(inputs), math.prod(self.positions) * (self.channels + 1)
        length = self.written.length
        found = np.empty((length, count)) if self.by_planes else np.empty((count, length)).T
        found[:place] = np.concatenate([*inputs.values[: self.channels], variances]).reshape(-1, count)
        for step in self.steps:
            if isinstance(step, LineForm):
                check(variances)
                numbers = step.numbers(np.sqrt(variances))
                variances = step.norms_of(numbers) ** 2
                known = numbers.reshape(step.count, -1, count)
                # In planes the numbers of a position follow each other, as they are read together.
                parts = [known.swapaxes(0, 1) if self.by_planes else known, variances]
            else:
                variances = step.scale * side_sums(xp, variances, step.windows) + step.bias
                parts = [variances]
            for part in parts:
                rows = part.reshape(-1, count)
                found[place : place + len(rows)] = rows
                place += len(rows)
        if self.is_mean:
            found[place] = np.mean(np.ascontiguousarray(found[place - len(rows) : place].T), axis=1)
        return found

    @cached_property
    def by_planes(self) -> bool:
        """Whether numbers of one position are kept together, and not those of one input."""
        return self.is_tied and (not self.positions or any(isinstance(step, TableForm) for step in self.steps))

    def __call__(self, state: State, sides: tuple[Array, Array]) -> State:
        """The state after the layers."""
        layout, positions = state.layout, self.written.after
        pairs = (Planes if self.by_planes else Lines)(self.written, layout, sides)
        size = math.prod(positions)
        gap, tangent = pairs.through(state.gap, state.tangent)
        first, second = (side[-size:].reshape(*positions, -1) for side in sides)
        return State(layout, first, second, gap, tangent)


def _tables(window: Window, positions: tuple[int, ...], dimension: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The input of each output and tap, -1 outside: for all positions, and for places of the axis."""
    own, at = window.taps(), np.arange(math.prod(positions)).reshape(positions)
    found = np.where(own.reshape(-1) < 0, -1, np.moveaxis(np.take(at, own.reshape(-1), axis=dimension), dimension, -1))
    shape = [size for axis, size in enumerate(positions) if axis != dimension]
    mine = np.moveaxis(found.reshape(*shape, window.count, window.size), -2, dimension)
    return np.ascontiguousarray(mine), own


def _stretch(own: NDArray[np.int64], is_regular: bool) -> tuple[int, int]:
    """The longest stretch of outputs whose taps see inputs one after the other."""
    inside = np.all(own >= 0, axis=1)
    follows = np.append(np.all(np.diff(own, axis=0) == 1, axis=1) & inside[1:] & inside[:-1], False)
    best, start = (0, 0), 0
    for place in range(len(own) if is_regular else 0):
        if not follows[place]:
            if inside[place] and place + 1 - start > best[1] - best[0]:
                best = start, place + 1
            start = place + 1
    return best


@lru_cache(maxsize=64)
def run_of(
    layers: tuple[Layer, ...], positions: tuple[int, ...], width: int | None, is_tied: bool, is_standard: bool,
    channels: int, are_images: bool, forms: tuple[LineForm | None, ...],
) -> tuple[int, Run]:  # fmt: skip
    """How many layers machine code takes pairs through at once, and these; the forms are those of the activations."""
    steps, shape, waiting = list[Weights | LineForm](), Shape(positions, width, True), iter(forms)
    for layer in layers:
        if isinstance(layer, Activation):
            form = next(waiting)
            if form is None:
                break
            steps.append(form)
        elif isinstance(layer, Weighted):
            made = layer.weights(shape, is_standard)
            if any(window.moves and window.size >= _LONG for window in made.windows) or not made.scale:
                break
            steps.append(made)
        else:
            break
        after = layer.shape(shape)
        assert isinstance(after, Shape)
        shape = after
    is_mean = (
        bool(positions) and are_images and type(layers[len(steps)]) in _MEANS if len(steps) < len(layers) else False
    )
    return len(steps), Run(positions, is_tied, tuple(steps), channels, is_mean)
