"""Pairs of inputs that go through layers in blocks that fit into the cache.

`Lines` keep the numbers of one pair of inputs together: machine code runs along positions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.dual import BEYOND, LineForm, Places
from holokern.network.architecture.table_form.form import has_zeros
from holokern.network.layers.state import Layout
from holokern.network.layers.windows import Weights
from holokern.numeric import Array

_ROOM = 2**15
"""Numbers of a block of pairs in lines: with Θ half a megabyte, which stays in the second cache."""

Some = tuple[slice, slice]
"""A block of pairs: some of the first and some of the second inputs."""


def _rows_kept(taps: NDArray[np.int64], given: int, made: int) -> int:
    """How many rows of results wait until no later row needs the planes that they are written to."""
    first = np.where(taps >= 0, taps, len(taps) * made + np.max(taps)).min(axis=1) * given
    # The first plane that rows behind each row need, and the end of what the row is written to.
    needed = np.append(np.minimum.accumulate(first[::-1])[::-1], np.iinfo(np.int64).max)[1:]
    ends = made * np.arange(1, len(taps) + 1)
    return 1 + int(np.max(np.searchsorted(needed, ends) - np.arange(len(taps))))


@dataclass(frozen=True, eq=False)
class Step:
    """A step of a run.

    Attributes
    ----------
    what
        Weights, or the form of an activation.
    size
        The number of positions after it.
    place, after
        Where its numbers of an input begin, the variances before it for weights, and where the variances after it do.
    sums, taps
        Sums over windows as `Mixing` has them.
    """

    what: Weights | LineForm
    size: int
    place: int
    after: int
    sums: NDArray[np.int64]
    taps: NDArray[np.int64]

    @cached_property
    def by_rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
        """Sums over windows for one row of positions after the other: the places along the first axis.

        The result are the rows that each row is the sum of, the other sums, how many positions a row has before them,
        and how many rows of results are kept.
        """
        rows, sums, width = np.arange(self.size)[:, None], self.sums.copy(), 1
        if len(sums):
            given, _, axis, places, inner, count = sums[0, :6]
            if given == axis * inner:
                rows = self.taps[sums[0, 7] : sums[0, 7] + places * count].reshape(places, count)
                sums, width = sums[1:], int(inner)
            else:
                # Nothing moves along the first axes.
                width = int(axis * inner)
                rows = np.arange(given // width)[:, None]
            sums[:, :2] //= len(rows)
        return rows, sums, width, _rows_kept(rows, width, self.size // len(rows))


class Written(NamedTuple):
    """Layers as blocks of pairs go through them.

    Attributes
    ----------
    steps
        The steps.
    most
        The most numbers of a pair of inputs.
    length
        How many numbers an input needs.
    channels
        The number of channels of inputs, if these are the first layers; else 0.
    before, after
        The numbers of positions before and after the layers.
    is_mean
        Whether only the mean over all positions is wanted after them.
    """

    steps: tuple[Step, ...]
    most: int
    length: int
    channels: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    is_mean: bool


class Blocks(ABC):
    """What both kinds share.

    Attributes
    ----------
    numbers
        What is known of the inputs of both sides.
    inputs
        How many there are on each side.
    """

    def __init__(self, written: Written, layout: Layout, sides: tuple[Array, Array]) -> None:
        self.written, self.layout, self.is_paired = written, layout, layout.is_paired
        self.steps, self.most = written.steps, written.most
        self.inputs = sides[0].shape[1], sides[1].shape[1]

    @abstractmethod
    def blocks(self) -> Iterator[Some]:
        """All blocks."""

    @abstractmethod
    def cut(self, numbers: Array, some: Some, size: int) -> Array:
        """The numbers of a block at so many positions, in the shape that this kind has."""

    @abstractmethod
    def at(self, some: Some, place: int, size: int) -> tuple[Array, Array]:
        """Numbers of both sides at all positions, in a shape that goes together with that of `cut`."""

    @abstractmethod
    def deviations(self, some: Some, step: Step) -> tuple[Array, Array]:
        """The deviations that an activation meets: the first of its numbers."""

    @abstractmethod
    def code(self, number: int, some: Some) -> Callable[..., None]:
        """The machine code of a step for a block; its arguments are G and Θ."""

    @abstractmethod
    def arrange(self, array: Array) -> Array:
        """A view of an array of a state, in which `part` finds blocks."""

    @abstractmethod
    def part(self, arranged: Array, some: Some) -> Array:
        """The part of such a view that belongs to a block."""

    @abstractmethod
    def mean(self, block: Array) -> Array:
        """The mean of a block over all positions; numbers are added in the same order whatever the block."""

    def through(self, gap: Array | None, tangent: Array | None) -> tuple[Array, Array | None]:
        """G and Θ of all pairs after the layers."""
        layout, positions = self.layout, self.written.after
        (first, second), both = self.inputs, () if layout.is_tied else positions
        shape = (*positions, *both, first) if layout.is_paired else (*positions, first, *both, second)
        found = np.empty(shape), None if tangent is None else np.empty(shape)
        outs = [None if array is None else self.arrange(array) for array in found]
        given = [None if array is None or self.written.channels else self.arrange(array) for array in (gap, tangent)]
        size = self.steps[-1].size
        for some in self.blocks():
            block = self._start(some, given[0], given[1], tangent is not None)
            for number, step in enumerate(self.steps):
                self.code(number, some)(*block)
                if self._has_zeros[number]:
                    self._mend_zeros(some, step, *block)
            for numbers, out in zip(block, outs, strict=True):
                if out is not None:
                    made = self.cut(numbers, some, size)
                    self.part(out, some)[...] = self.mean(made) if self.written.is_mean else made
        return found

    def _start(self, some: Some, given: Array | None, before: Array | None, with_tangent: bool) -> tuple[Array, Array]:
        """G and Θ of a block before the layers, flat; G of inputs is half the mean squared difference over channels."""
        size, (height, width) = math.prod(self.written.before), (part.stop - part.start for part in some)
        room = height * width * self.most
        gap, tangent = np.empty(room + BEYOND), np.zeros(room + BEYOND if with_tangent else 0)
        if given is not None:
            self.cut(gap, some, size)[...] = self.part(given, some)
            if before is not None:
                self.cut(tangent, some, size)[...] = self.part(before, some)
            return gap, tangent
        total, channels = self.cut(gap, some, size), self.written.channels
        pairs = [[np.broadcast_to(one, total.shape) for one in self.at(some, k * size, size)] for k in range(channels)]
        length = max(1, 2 * _ROOM * len(total) // total.size)
        # Few numbers at a time, as they are touched more than once.
        for begin in range(0, len(total), length):
            part = total[begin : begin + length]
            for channel, (first, second) in enumerate(pairs):
                out = np.empty(part.shape) if channel else part
                apart = np.subtract(first[begin : begin + length], second[begin : begin + length], out=out)
                np.multiply(apart, apart, out=apart)
                if channel:
                    part += apart
            part *= 0.5 / channels
        return gap, tangent

    @cached_property
    def _has_zeros(self) -> list[bool]:
        """Whether activations meet outputs that are zero."""
        everything = slice(0, self.inputs[0]), slice(0, self.inputs[1])
        return [
            isinstance(step.what, LineForm) and any(has_zeros(side) for side in self.deviations(everything, step))
            for step in self.steps
        ]

    def _mend_zeros(self, some: Some, step: Step, gap: Array, tangent: Array) -> None:
        """Pairs with an output that is zero: the limit of small outputs; their Θ is zero."""
        form = step.what
        assert isinstance(form, LineForm)
        c, d = self.deviations(some, step)
        one, two = self.at(some, step.after, step.size)
        first, second = c == 0.0, d == 0.0
        value = np.where(first & second, np.sqrt(one) * np.sqrt(two), form.means(c) * form.means(d))
        np.copyto(self.cut(gap, some, step.size), 0.5 * (one + two) - value, where=first | second)
        if tangent.size:
            np.copyto(self.cut(tangent, some, step.size), 0.0, where=first | second)


def scales_of(weights: Weights) -> tuple[float, float, float]:
    """Those of `Mixing`. The covariance before the bias, which counts in Θ, is known from that after it."""
    share = weights.share / weights.scale if weights.share else 0.0
    return float(weights.scale), float(share), float(weights.more - share * weights.bias)


class Lines(Blocks):
    """The numbers of a pair of inputs follow each other in lines, as `mix_code` says."""

    def __init__(self, written: Written, layout: Layout, sides: tuple[Array, Array]) -> None:
        super().__init__(written, layout, sides)
        self.is_tied = layout.is_tied
        self.numbers = [np.ascontiguousarray(side.T) for side in sides]
        self.flat = [side.reshape(-1) for side in self.numbers]

    def _lines(self, size: int) -> tuple[int, int]:
        """Lines of a pair, and numbers of a line, at so many positions."""
        return 1 if self.is_tied else size, size

    def blocks(self) -> Iterator[Some]:
        """All blocks."""
        height, width = self.inputs[0], 1 if self.is_paired else self.inputs[1]
        count = max(1, _ROOM // self.most)
        columns = min(math.isqrt(count), width)
        rows = count // columns
        for i in range(0, height, rows):
            for j in range(0, width, columns):
                yield slice(i, min(i + rows, height)), slice(j, min(j + columns, width))

    def cut(self, numbers: Array, some: Some, size: int) -> Array:
        """The shape is (inputs, inputs, lines, numbers of a line)."""
        height, width = (part.stop - part.start for part in some)
        lines = self._lines(size)
        return (
            numbers[: height * width * self.most]
            .reshape(-1, self.most)[:, : lines[0] * lines[1]]
            .reshape(height, width, *lines)
        )

    def at(self, some: Some, place: int, size: int) -> tuple[Array, Array]:
        """Numbers of both sides at all positions."""
        rows, columns = some[0], some[0] if self.is_paired else some[1]
        first, second = self.numbers[0][rows, place : place + size], self.numbers[1][columns, place : place + size]
        return (
            first[:, None, None] if self.is_tied else first[:, None, :, None],
            second[:, None, None] if self.is_paired else second[None, :, None],
        )

    def deviations(self, some: Some, step: Step) -> tuple[Array, Array]:
        """The deviations that an activation meets."""
        return self.at(some, step.place, step.size)

    def code(self, number: int, some: Some) -> Callable[..., None]:
        """The machine code of a step for a block."""
        return partial(self._codes[number], self._index(some), *self.flat)

    @cached_property
    def _codes(self) -> list[Callable[..., None]]:
        from holokern.network.architecture.mix_code import Mixing, mix

        found = list[Callable[..., None]]()
        for step in self.steps:
            lines, what = self._lines(step.size), step.what
            if isinstance(what, LineForm):
                found.append(what.code(Places((step.place,) * 2, *lines, self.is_tied, (step.size,) * 2)))
                continue
            places = step.place, step.after
            layer = Mixing(step.sums, step.taps, self.most, *lines, self.is_tied, *places, *scales_of(what))
            found.append(partial(mix, layer))
        return found

    def _index(self, some: Some) -> NDArray[np.int64]:
        """Where the numbers of the inputs and of the pairs of a block begin."""
        height, width = (part.stop - part.start for part in some)
        lengths = [side.shape[1] for side in self.numbers]
        index = np.empty((height, width, 3), dtype=np.int64)
        index[..., 0] = (np.arange(some[0].start, some[0].stop) * lengths[0])[:, None]
        index[..., 1] = index[..., 0] if self.is_paired else np.arange(some[1].start, some[1].stop) * lengths[1]
        index[..., 2] = np.arange(0, height * width * self.most, self.most).reshape(height, width)
        return index.reshape(-1, 3)

    def arrange(self, array: Array) -> Array:
        """In the order (inputs, inputs, lines, numbers of a line)."""
        height, width = self.inputs
        if self.is_paired:
            flat = array.reshape(-1, height)
            lines = 1 if self.is_tied else math.isqrt(len(flat))
            return np.moveaxis(flat.reshape(lines, -1, height), -1, 0)[:, None]
        if self.is_tied:
            return np.moveaxis(array.reshape(-1, height, width), 0, -1)[:, :, None]
        size = math.isqrt(array.size // (height * width)) if array.size else 1
        return array.reshape(size, height, -1, width).transpose(1, 3, 0, 2)

    def part(self, arranged: Array, some: Some) -> Array:
        """The pairs of a block."""
        return arranged[some]

    def mean(self, block: Array) -> Array:
        """Along one axis."""
        return np.asarray(np.mean(block.reshape(*block.shape[:2], -1), axis=2)[:, :, None, None])
