"""Pairs of inputs in planes, which go through layers like those of `blocks`.

`Planes` keep the numbers of one position together: machine code runs along the second inputs, so that a first one is
prepared once for many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from holokern.dual import LineForm, Places
from holokern.network.architecture.blocks import Blocks, Some, Step, Written, scales_of
from holokern.network.layers.state import Layout
from holokern.network.layers.windows import Weights
from holokern.numeric import Array

_STRIP = 2**17
"""Numbers of a strip of planes: long strips count more than a cache that holds them, as reading ahead hides memory."""

_FLOAT, _EIGHT = 8, 8
"""Bytes of a number, and numbers of a vector."""


def _flat(side: Array, apart: int) -> Array:
    """The numbers from the first to the last one, with those between columns."""
    return np.lib.stride_tricks.as_strided(side, ((len(side) - 1) * apart + side.shape[1],), (_FLOAT,))


class Planes(Blocks):
    """One plane of pairs of inputs for each position; inputs with themselves are one line of it."""

    def __init__(self, written: Written, layout: Layout, sides: tuple[Array, Array]) -> None:
        super().__init__(written, layout, sides)
        self.numbers = sides
        # Sides may be some columns of an array: their numbers are not copied, but have the distances that they have.
        self.apart = sides[0].strides[0] // _FLOAT, sides[1].strides[0] // _FLOAT
        self.flat = [_flat(side, apart) for side, apart in zip(sides, self.apart, strict=True)]

    def blocks(self) -> Iterator[Some]:
        """All pairs: what is known of rows and columns of planes serves as many as possible."""
        yield slice(0, 1 if self.is_paired else self.inputs[0]), slice(0, self.inputs[1])

    def cut(self, numbers: Array, some: Some, size: int) -> Array:
        """The shape is (positions, inputs, inputs)."""
        shape = size, *(part.stop - part.start for part in some)
        return numbers[: math.prod(shape)].reshape(shape)

    def at(self, some: Some, place: int, size: int) -> tuple[Array, Array]:
        """Numbers of both sides at all positions."""
        return self._of(some, slice(place, place + size))

    def deviations(self, some: Some, step: Step) -> tuple[Array, Array]:
        """The deviations that an activation meets; the numbers of a position follow each other."""
        assert isinstance(step.what, LineForm)
        return self._of(some, slice(step.place, step.place + step.size * step.what.count, step.what.count))

    def _of(self, some: Some, rows: slice) -> tuple[Array, Array]:
        first, second = (side[rows] for side in self.numbers)
        columns = second[:, None, some[1]]
        return first[:, None, some[1]] if self.is_paired else first[:, some[0], None], columns

    def code(self, number: int, some: Some) -> Callable[..., None]:
        """The machine code of a step for a block."""
        step, (height, width) = self.steps[number], (part.stop - part.start for part in some)
        if self.is_paired and isinstance(step.what, LineForm):
            return partial(self._own, step, step.what, some)
        if not isinstance(step.what, LineForm):
            return self._mixing(step, step.what, height, width)
        (u, v), count = self.apart, step.what.count
        index = np.arange(step.size)[:, None] * np.array([count * u, count * v, height * width])
        places = Places((step.place * u, step.place * v), height, width, False, (u, v), self.layout.unwanted)
        return partial(step.what.code(places), index, *self.flat)

    def _mixing(self, step: Step, weights: Weights, height: int, width: int) -> Callable[..., None]:
        """The machine code of a layer with weights."""
        from holokern.network.architecture.mix_code import Mixing
        from holokern.network.architecture.mix_planes import PlaneMixing, mix_planes

        # Strips as equal as possible: their pairs are one more axis behind positions, along which nothing moves.
        parts = -(-height * width // max(_EIGHT, _STRIP // self.most))
        strip = -(-height * width // (parts * _EIGHT)) * _EIGHT
        taps, sums, given, kept = step.by_rows
        made, most = step.size // len(taps), int(max([given, *sums[:, 0], *sums[:, 1]]))
        sums = sums.copy()
        sums[:, [0, 1, 4]] *= strip
        layer = Mixing(sums, step.taps, most * strip, height, width, True, step.place, step.after, *scales_of(weights))
        planes = PlaneMixing(layer, taps, kept, given, made, strip, self.layout.unwanted, self.is_paired, self.apart)
        return partial(mix_planes, planes, *self.flat)

    def _own(self, step: Step, form: LineForm, some: Some, gap: Array, tangent: Array) -> None:
        """Inputs with themselves: coinciding outputs stay so, whatever rounding left of their distance."""
        self.cut(gap, some, step.size)[...] = 0.0
        if tangent.size:
            known = self.numbers[0][step.place : step.place + step.size * form.count, some[1]]
            numbers = known.reshape(step.size, form.count, 1, -1).swapaxes(0, 1)
            self.cut(tangent, some, step.size)[...] *= form.slope_norms_of(numbers) ** 2

    def arrange(self, array: Array) -> Array:
        """In the order (positions, inputs, inputs)."""
        return array.reshape(-1, 1 if self.is_paired else self.inputs[0], self.inputs[1])

    def part(self, arranged: Array, some: Some) -> Array:
        """The pairs of a block."""
        return arranged[:, some[0], some[1]]

    def mean(self, block: Array) -> Array:
        """Plane by plane."""
        # A single pair would be added up in another order, as its numbers follow each other.
        pairs = np.repeat(block, 2, axis=2) if block[0].size == 1 else block
        return np.asarray(np.mean(pairs, axis=0, keepdims=True)[..., : block.shape[2]])
