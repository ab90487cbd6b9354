"""Layers that follow each other, and that machine code takes pairs of inputs through in one go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import array_api_compat.numpy as xp
import numpy as np
from numpy.typing import NDArray

from holokern.dual import PairForm
from holokern.network.architecture.inputs import Inputs
from holokern.network.layers.layer import Layer, Shape
from holokern.network.layers.pointwise import Activation
from holokern.network.layers.pooling import Flatten, GlobalAvgPool
from holokern.network.layers.state import Layout, State
from holokern.network.layers.weights import Weighted
from holokern.network.layers.windows import Weights, Window, side_sums
from holokern.numeric import Array

if TYPE_CHECKING:
    from holokern.network.architecture.run_code import Program

_LONG = 8
"""Windows from this length on are summed by halves, elsewhere, which takes fewer additions."""

_MEANS = (Flatten, GlobalAvgPool)
"""Layers that need no more than the mean over all positions."""

_COLUMNS = 12
"""Numbers of a step of a program."""


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
        Layers with weights, and closed forms of activations.
    channels
        The number of channels of inputs, if these are the first layers; else 0.
    is_mean
        Whether only the mean over all positions is wanted after them.
    """

    positions: tuple[int, ...]
    is_tied: bool
    steps: tuple[Weights | PairForm, ...]
    channels: int
    is_mean: bool

    @cached_property
    def _written(self) -> tuple[Program, int, tuple[int, ...]]:
        """The program, how many numbers it needs of an input, and the positions after it."""
        from holokern.network.architecture.run_code import FORM, SUM, WEIGHT, Program

        rows, reals, tables, placed = list[list[int]](), list[list[float]](), list[NDArray[np.int64]](), 0
        positions, size = self.positions, math.prod(self.positions)
        variances, most = size * self.channels, size
        length = variances + size
        for step in self.steps:
            if isinstance(step, PairForm):
                rows.append([FORM, size, length, step.count])
                reals.append([*step.constants, step.at_zero])
                variances = length + step.count * size
                length = variances + size
                continue
            for dimension, window in enumerate(step.windows):
                if not window.moves:
                    continue
                mine, own = _tables(window, positions, dimension)
                tables += [mine, own]
                after = (*positions[:dimension], window.count, *positions[dimension + 1 :])
                behind, made = math.prod(positions[dimension + 1 :]), math.prod(after)
                stretch = _stretch(own, math.prod(positions[:dimension]) == 1 or window.count == positions[dimension])
                row = [SUM, size, made, positions[dimension], window.count, behind, window.size]
                rows.append([*row, placed, placed + mine.size, *stretch, variances])
                reals.append([])
                placed, positions, size, variances = placed + mine.size + own.size, after, made, -1
                most = max(most, size)
            rows.append([WEIGHT, size, length])
            # The covariance before the bias, which counts in Θ, is known from that after it.
            share = step.share / step.scale if step.share else 0.0
            reals.append([step.scale, share, step.more - share * step.bias])
            variances, length = length, length + size
        steps = np.array([row + [0] * (_COLUMNS - len(row)) for row in rows], dtype=np.int64)
        numbers = np.array([row + [0.0] * (5 - len(row)) for row in reals])
        places = np.concatenate([np.zeros(1, dtype=np.int64), *(table.reshape(-1) for table in tables)])[1:]
        program = Program(
            steps,
            places,
            numbers,
            most if self.is_tied and self.positions else (most + 1) * most,
            self.channels,
            self.is_mean,
        )
        return program, length + self.is_mean, (1,) * len(positions) if self.is_mean else positions

    def sides(self, inputs: Inputs, variances: Array) -> Array:
        """What is known of inputs: one column for each, which ends with the variances after the last layer."""
        count, place = len(inputs), math.prod(self.positions) * (self.channels + 1)
        found = np.empty((count, self._written[1]))
        found[:, :place] = np.concatenate([*inputs.values[: self.channels], variances]).reshape(-1, count).T
        for step in self.steps:
            if isinstance(step, PairForm):
                c = np.sqrt(variances)
                variances = step.norms(c) ** 2
                parts = [*step.numbers(c), variances]
            else:
                variances = step.scale * side_sums(xp, variances, step.windows) + step.bias
                parts = [variances]
            for part in parts:
                columns = part.reshape(-1, count)
                found[:, place : place + len(columns)] = columns.T
                place += len(columns)
        if self.is_mean:
            found[:, place] = np.mean(found[:, place - len(columns) : place], axis=1)
        return found.T

    def __call__(self, state: State, sides: tuple[Array, Array]) -> State:
        """The state after the layers."""
        from holokern.network.architecture.run_code import run

        program, _, positions = self._written
        layout, inputs = state.layout, (sides[0].shape[1], sides[1].shape[1])
        flat = not layout.dimensions and not layout.is_paired
        numbers = [
            np.ascontiguousarray(side if flat else side.T).reshape(1 if flat else count, -1)
            for side, count in zip(sides, inputs, strict=True)
        ]
        shape = (*positions, *inputs) if layout.is_tied else (*positions, inputs[0], *positions, inputs[1])
        if layout.is_paired:
            shape = (*positions, inputs[0]) if layout.is_tied else (*positions, *positions, inputs[0])
        nothing = np.empty((0, 0, 0, 0))
        gap, tangent = np.empty(shape), None if state.tangent is None else np.empty(shape)
        given, before = (
            nothing if a is None or self.channels else _lines(a, layout, self.positions, inputs)
            for a in (state.gap, state.tangent)
        )
        out, moved = (nothing if a is None else _lines(a, layout, positions, inputs) for a in (gap, tangent))
        units, is_tied = inputs if flat else (1, 1), layout.is_tied and not flat
        run(program, numbers[0], numbers[1], units, is_tied, layout.is_paired, given, before, out, moved)
        size = math.prod(positions)
        ends = [side[-size:].reshape(*positions, -1) for side in sides]
        return State(layout, ends[0], ends[1], gap, tangent)


def _lines(array: Array, layout: Layout, positions: tuple[int, ...], inputs: tuple[int, int]) -> Array:
    """An array of a state in the order (inputs, inputs, lines, numbers of a line)."""
    size, (rows, columns) = math.prod(positions), inputs
    if not layout.dimensions and not layout.is_paired:
        return array[None, None]
    if layout.is_tied and layout.is_paired:
        return array.reshape(size, rows).T[:, None, None]
    if layout.is_tied:
        return array.reshape(size, rows, columns).transpose(1, 2, 0)[:, :, None]
    if layout.is_paired:
        return array.reshape(size, size, rows).transpose(2, 0, 1)[:, None]
    return array.reshape(size, rows, size, columns).transpose(1, 3, 0, 2)


def _tables(window: Window, positions: tuple[int, ...], dimension: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The input of each output and tap, -1 outside: for all positions, and for places of the axis."""
    taps = window.stride * np.arange(window.count)[:, None] + window.dilation * np.arange(window.size)
    own = np.array(window.places, dtype=np.int64)[taps]
    at = np.arange(math.prod(positions)).reshape(positions)
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
    channels: int, are_images: bool,
) -> tuple[int, Run]:  # fmt: skip
    """How many layers machine code takes pairs through at once, and these."""
    steps, shape = list[Weights | PairForm](), Shape(positions, width, True)
    for layer in layers:
        if isinstance(layer, Activation) and layer.dual.pair_form is not None:
            steps.append(layer.dual.pair_form)
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
