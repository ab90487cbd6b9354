"""Layers that follow each other, and that machine code takes pairs of inputs through in one go."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

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

_LONG = 8
"""Windows from this length on are summed by halves, elsewhere, which takes fewer additions."""

_MEANS = (Flatten, GlobalAvgPool)
"""Layers that need no more than the mean over all positions."""

_COLUMNS = 10
"""Numbers of a sum over a window in the machine code."""

_ROOM = 2**15
"""Numbers of a block of pairs: with Θ half a megabyte, which stays in the second cache."""


@dataclass(frozen=True, eq=False)
class _Step:
    """A step of a run.

    Attributes
    ----------
    what
        Weights, or the closed form of an activation.
    size
        The number of positions after it.
    place, after
        Where its numbers of an input begin, the variances before it for weights, and where the variances after it do.
    sums, taps
        Sums over windows as `Mixing` has them.
    """

    what: Weights | PairForm
    size: int
    place: int
    after: int
    sums: NDArray[np.int64]
    taps: NDArray[np.int64]


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
    def _written(self) -> tuple[tuple[_Step, ...], int, int, tuple[int, ...]]:
        """The steps, the most numbers of a pair, how many an input needs, and the positions after the layers."""
        steps, positions, size = list[_Step](), self.positions, math.prod(self.positions)
        variances, most = size * self.channels, size
        length = variances + size
        for step in self.steps:
            sums, taps, place = list[list[int]](), [np.zeros(0, dtype=np.int64)], variances
            if isinstance(step, PairForm):
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
            steps.append(_Step(step, size, place, length, table, np.concatenate(taps)))
            variances, length = length, length + size
        numbers = most if self.is_tied or not self.positions else (most + 1) * most
        return tuple(steps), numbers, length + self.is_mean, (1,) * len(positions) if self.is_mean else positions

    def sides(self, inputs: Inputs, variances: Array) -> Array:
        """What is known of inputs: one column for each, which ends with the variances after the last layer."""
        count, place = len(inputs), math.prod(self.positions) * (self.channels + 1)
        found = np.empty((count, self._written[2]))
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
        steps, _, _, positions = self._written
        layout, inputs = state.layout, (sides[0].shape[1], sides[1].shape[1])
        pairs = _Pairs(self, layout, sides)
        shape = *_shape(layout, inputs), *pairs.lines(math.prod(positions))
        gap, tangent = np.empty(shape), None if state.tangent is None else np.empty(shape)
        given = [
            a if a is None or self.channels else _lines(a, layout, inputs, pairs.lines(math.prod(self.positions)))
            for a in (state.gap, state.tangent)
        ]
        for some in pairs.blocks(shape):
            found = pairs.start(some, *given)
            pairs.advance(some, *found)
            for numbers, out in zip(found, (gap, tangent), strict=True):
                if out is not None:
                    lines = pairs.cut(numbers, some, steps[-1].size)
                    # Along one axis, so that numbers are added in the same order whatever the block.
                    flat = lines.reshape(*lines.shape[:2], -1)
                    out[some] = np.mean(flat, axis=2)[:, :, None, None] if self.is_mean else lines
        size = math.prod(positions)
        ends = [side[-size:].reshape(*positions, -1) for side in sides]
        return State(
            layout, *ends, *(None if a is None else _unlined(a, layout, positions, inputs) for a in (gap, tangent))
        )


Some = tuple[slice, slice]
"""A block of pairs: some of the first and some of the second inputs."""


class _Pairs:
    """Pairs of inputs that go through layers in blocks that fit into the cache.

    Numbers of a pair are kept in lines, as `mix_code` says. Without positions an input has one line with all others.
    """

    def __init__(self, run: Run, layout: Layout, sides: tuple[Array, Array]) -> None:
        self.run, self.is_paired, self.is_flat = run, layout.is_paired, _is_flat(layout)
        self.is_tied = layout.is_tied and not self.is_flat
        # The numbers of one input follow each other; without positions the same number of all inputs does.
        self.numbers = [np.ascontiguousarray(side if self.is_flat else side.T) for side in sides]
        self.units = (sides[0].shape[1], sides[1].shape[1]) if self.is_flat else (1, 1)
        self.size = run._written[1] * self.units[1]

    def lines(self, size: int) -> tuple[int, int]:
        """Lines of a pair, and numbers of a line, at so many positions."""
        return 1 if self.is_tied else size, size * self.units[1]

    def blocks(self, shape: tuple[int, ...]) -> Iterator[Some]:
        """All blocks."""
        count = max(1, _ROOM // self.size)
        width = min(math.isqrt(count), shape[1])
        height = count // width
        for i in range(0, shape[0], height):
            for j in range(0, shape[1], width):
                yield slice(i, min(i + height, shape[0])), slice(j, min(j + width, shape[1]))

    def cut(self, numbers: Array, some: Some, size: int) -> Array:
        """The numbers of a block in the shape (inputs, inputs, lines, numbers of a line)."""
        height, width = (part.stop - part.start for part in some)
        lines = self.lines(size)
        return numbers.reshape(-1, self.size)[:, : lines[0] * lines[1]].reshape(height, width, *lines)

    def _at(self, some: Some, place: int, size: int) -> tuple[Array, Array]:
        """Numbers of both sides at all positions, in a shape that goes together with that of `cut`."""
        if self.is_flat:
            first, second = (side[place] for side in self.numbers)
            return first[some[0], None, None, None], second
        rows, columns = some[0], some[0] if self.is_paired else some[1]
        first, second = self.numbers[0][rows, place : place + size], self.numbers[1][columns, place : place + size]
        return (
            first[:, None, None] if self.is_tied else first[:, None, :, None],
            second[:, None, None] if self.is_paired else second[None, :, None],
        )

    def start(self, some: Some, given: Array | None, before: Array | None) -> tuple[Array, Array]:
        """G and Θ of a block before the layers, flat; G of inputs is half the mean squared difference over channels."""
        size, count = math.prod(self.run.positions), math.prod(part.stop - part.start for part in some)
        gap, tangent = np.empty(count * self.size), np.zeros(0 if before is None else count * self.size)
        if given is not None and not self.run.channels:
            self.cut(gap, some, size)[...] = given[some]
            if before is not None:
                self.cut(tangent, some, size)[...] = before[some]
            return gap, tangent
        total: Array | float = 0.0
        for channel in range(self.run.channels):
            first, second = self._at(some, channel * size, size)
            apart = first - second
            total = total + apart * apart
        self.cut(gap, some, size)[...] = total * (0.5 / self.run.channels)
        return gap, tangent

    def advance(self, some: Some, gap: Array, tangent: Array) -> None:
        """G and Θ of a block after all layers, in place."""
        index, numbers = self._index(some), [side.reshape(-1) for side in self.numbers]
        for step, (code, has_zeros) in zip(self.run._written[0], self._codes, strict=True):
            code(index, *numbers, gap, tangent)
            if has_zeros and isinstance(step.what, PairForm):
                self._mend_zeros(some, step, step.what, gap, tangent)

    @cached_property
    def _codes(self) -> list[tuple[Callable[..., None], bool]]:
        """The machine code of each step, and whether it meets outputs that are zero."""
        from holokern.network.architecture.mix_code import Mixing, mix

        found, (u, v) = list[tuple[Callable[..., None], bool]](), self.units
        for step in self.run._written[0]:
            lines, what = self.lines(step.size), step.what
            if isinstance(what, PairForm):
                apart = step.size * u, step.size * v
                code = what.lines((step.place * u, step.place * v), *lines, self.is_tied, apart)
                zeros = [np.any(side == 0.0) for side in self._at((slice(None), slice(None)), step.place, step.size)]
                found.append((code, any(zeros)))
                continue
            # The covariance before the bias, which counts in Θ, is known from that after it.
            share = what.share / what.scale if what.share else 0.0
            scales = float(what.scale), float(share), float(what.more - share * what.bias)
            after = step.after * u, step.after * v
            layer = Mixing(step.sums, step.taps, self.size, *lines, self.is_tied, step.place, after, *scales)
            found.append((partial(mix, layer), False))
        return found

    def _index(self, some: Some) -> NDArray[np.int64]:
        """Where the numbers of the inputs and of the pairs of a block begin."""
        height, width = (part.stop - part.start for part in some)
        lengths = [1 if self.is_flat else side.shape[1] for side in self.numbers]
        index = np.empty((height, width, 3), dtype=np.int64)
        index[..., 0] = (np.arange(some[0].start, some[0].stop) * lengths[0])[:, None]
        index[..., 1] = index[..., 0] if self.is_paired else 0
        if not (self.is_paired or self.is_flat):
            index[..., 1] = np.arange(some[1].start, some[1].stop) * lengths[1]
        index[..., 2] = np.arange(0, height * width * self.size, self.size).reshape(height, width)
        return index.reshape(-1, 3)

    def _mend_zeros(self, some: Some, step: _Step, form: PairForm, gap: Array, tangent: Array) -> None:
        """Pairs with an output that is zero: the limit of small outputs; their Θ is zero."""
        first, second = (side == 0.0 for side in self._at(some, step.place, step.size))
        one, two = self._at(some, step.after, step.size)
        np.copyto(self.cut(gap, some, step.size), 0.5 * (one + two) - form.at_zero, where=first | second)
        if tangent.size:
            np.copyto(self.cut(tangent, some, step.size), 0.0, where=first | second)


def _is_flat(layout: Layout) -> bool:
    return not layout.dimensions and not layout.is_paired


def _shape(layout: Layout, inputs: tuple[int, int]) -> tuple[int, int]:
    return inputs[0], 1 if layout.is_paired or _is_flat(layout) else inputs[1]


def _lines(array: Array, layout: Layout, inputs: tuple[int, int], lines: tuple[int, int]) -> Array:
    """An array of a state in the order (inputs, inputs, lines, numbers of a line)."""
    height, width = _shape(layout, inputs)
    if _is_flat(layout):
        return array[:, None, None]
    if layout.is_paired:
        return np.moveaxis(array.reshape(*lines, height), -1, 0)[:, None]
    if layout.is_tied:
        return np.moveaxis(array.reshape(-1, height, width), 0, -1)[:, :, None]
    return array.reshape(lines[0], height, lines[1], width).transpose(1, 3, 0, 2)


def _unlined(array: Array, layout: Layout, positions: tuple[int, ...], inputs: tuple[int, int]) -> Array:
    """The inverse of `_lines`."""
    if _is_flat(layout):
        return array[:, 0, 0]
    if layout.is_paired:
        found = np.moveaxis(array[:, 0], 0, -1)
        return found.reshape(*positions, inputs[0]) if layout.is_tied else found.reshape(*positions * 2, inputs[0])
    if layout.is_tied:
        return np.moveaxis(array[:, :, 0], -1, 0).reshape(*positions, *inputs)
    return array.transpose(2, 0, 3, 1).reshape(*positions, inputs[0], *positions, inputs[1])


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
