"""Kernel matrices of any composition of layers, tile by tile.

Inputs are taken in blocks. What layers know of the inputs of a block is computed once; then tiles of pairs, small
enough for the cache, go through all layers. When X = Y only tiles on one side of the diagonal are computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product, zip_longest

import numpy as np

from holokern.dual import EVERYTHING, DualActivation
from holokern.errors import PrecisionLost, TooLarge
from holokern.network.architecture.inputs import Inputs
from holokern.network.architecture.walks import (
    OutOfSpan,
    Spans,
    Tape,
    check_spans,
    find_spans,
    own_pass,
    pair_pass,
    widened,
)
from holokern.network.engine.fill import Diagonals, spread
from holokern.network.layers.combine import Serial
from holokern.network.layers.layer import Layer, Output, Shape
from holokern.network.layers.pointwise import Activation
from holokern.network.layers.state import State
from holokern.numeric import Array, how_many_fit
from holokern.progress import report

_SCOUTS = 32
"""Inputs that are followed first to find the ranges of deviations."""

_ARRAYS = 4
"""Covariances, Θ and what a layer makes of them, for one pair of inputs."""

_TILE, _LARGE = 2**22, 3 * 2**23
"""Bytes of one array of a tile: few enough for the third cache, and enough rows and columns that share numbers; or more
where functions of the deviations of rows and columns are computed for each tile, which costs more than slow memory."""

_TAPES = 128 * 2**20
"""Bytes of what is known of the inputs of one block."""

_KNOWN = 12
"""More numbers than a layer keeps of an output."""

_PAIRED = 256 * 2**20
"""Bytes of one array of inputs with themselves."""

_WIDE, _WIDEST = 64, 128
"""Columns of a tile: enough for vector instructions, and few enough that several rows share them; or as many as the
machine code of tables takes at a time, as the columns share the preparation of a row."""

_STRIPS, _LARGE_STRIPS = (4, 16, 1), (24, 4, 4)
"""Rows of a tile of a symmetric matrix, however small that is, tiles below each other, and what rows are a multiple of:
what a tile computes below the diagonal is thrown away, so that few rows are better, while rows share what is known of
columns. Machine code of tables leaves pairs below the diagonal out, and takes four rows together."""

_MOST = 4096
"""Inputs of a block, however small they are."""

Outs = tuple[Array | None, Array | None]

_TRIES = 40
"""How often ranges may grow; each time they grow by what was met."""


@dataclass(frozen=True, eq=False)
class Architecture:
    """Layers for inputs of one shape.

    Attributes
    ----------
    layer
        The layers.
    shape
        The shape of the inputs.
    is_standard
        Whether the parametrisation is the standard one.
    """

    layer: Layer
    shape: Shape
    is_standard: bool

    @cached_property
    def _sizes(self) -> list[int]:
        """The numbers of positions at all layers."""
        shapes = [one for _, after in self.layer.leaves(self.shape) for one in _flat(after)]
        return [math.prod(one.positions or ()) for one in (self.shape, *shapes)]

    @cached_property
    def _size(self) -> int:
        """The most numbers that an array of one pair has at any layer."""
        return max(self._sizes) ** (2 if self.layer.needs_pairs(False) else 1)

    @cached_property
    def _few(self) -> int:
        """So many inputs are a block, whatever layers know of them."""
        return min(_TAPES // (8 * _KNOWN * sum(self._sizes)), _PAIRED // (8 * self._size))

    @cached_property
    def _active(self) -> Layer:
        """The layers up to the last activation, or until its branches are joined.

        What follows, such as pooling, has no part in what activations meet.
        """
        parts = self.layer.parts() if isinstance(self.layer, Serial) else ()
        shape: Output = self.shape
        for number, part in enumerate(parts, start=1):
            shape = part.shape(shape)
            if isinstance(shape, Shape) and not any(duals_of(later) for later in parts[number:]):
                return Serial(*parts[:number])
        return self.layer

    def _parts(self, inputs: Inputs) -> Iterator[slice]:
        """Inputs, few enough that what they have with themselves fits into memory."""
        height = max(1, _PAIRED // (8 * self._size))
        for start in range(0, len(inputs), height):
            yield slice(start, min(start + height, len(inputs)))

    def spans(self, inputs: tuple[Inputs, ...]) -> Spans:
        """The ranges of deviations that activations meet for these inputs."""
        return self._settled(inputs, ())[0]

    def _settled(self, inputs: tuple[Inputs, ...], with_tangent: tuple[bool, ...]) -> tuple[Spans, list[_Block | None]]:
        """The ranges, and what is known of sides that are one block and wanted, with or without Θ."""
        spans: Spans = {}
        for side in inputs:
            if len(side):
                some = side.part(slice(0, None, max(1, len(side) // _SCOUTS)))
                for key, span in find_spans(self._active, self.shape, some, self.is_standard).items():
                    spans[key] = widened(span, spans.get(key))
        for _ in range(_TRIES):
            try:
                return spans, [self._seen(*side, spans) for side in zip_longest(inputs, with_tangent)]
            except OutOfSpan as error:
                spans[error.key] = widened(error.met, spans.get(error.key))
        raise PrecisionLost("the deviations that the activations meet do not settle in a range; rescale the data")

    def _seen(self, inputs: Inputs, with_tangent: bool | None, spans: Spans) -> _Block | None:
        """Raise OutOfSpan if activations meet other deviations; the whole side if it is one block and wanted."""
        count = len(inputs)
        if with_tangent is not None and count > 0 and (count <= self._few or count <= self._block(inputs, spans)):
            return self._own(inputs, 0, count, spans, with_tangent)
        for part in self._parts(inputs):
            check_spans(self._active, self.shape, inputs.part(part), spans, self.is_standard)
        return None

    def _own(self, inputs: Inputs, start: int, stop: int, spans: Spans, with_tangent: bool) -> _Block:
        part = inputs.part(slice(start, stop))
        state, tape = own_pass(self.layer, self.shape, part, spans, self.is_standard, with_tangent)
        return _Block(start, part, state, tape)

    def diagonals(self, inputs: Inputs, spans: Spans, with_tangent: bool) -> Diagonals:
        """Σ and Θ of every input with itself."""
        nngp, ntk = np.empty(len(inputs)), np.full(len(inputs), np.inf)
        for some in self._parts(inputs):
            block = self._own(inputs, some.start, some.stop, spans, with_tangent)
            nngp[some] = block.state.first
            if with_tangent:
                ntk[some] = block.state.tangent
        return Diagonals(nngp, ntk)

    def fill(self, rows: Inputs, columns: Inputs | None, outs: Outs, threads: int | None, spans: Spans | None) -> None:
        """Write the matrices; without columns they are the rows, and the matrices symmetric.

        Without ranges they are found first.
        """
        others, known = rows if columns is None else columns, list[_Block | None]([None, None])
        if spans is None:
            given = (rows,) if columns is None else (rows, columns)
            spans, known[: len(given)] = self._settled(given, (outs[1] is not None, False)[: len(given)])
        blocks = (known[0], known[0 if columns is None else 1])
        size = 0 if all(blocks) else self._block(rows, spans)
        sizes = [size if block is None else len(block) for block in blocks]
        starts = [range(0, len(side), size) for side, size in zip((rows, others), sizes, strict=True)]
        pairs = [(a, b) for a, b in product(*starts) if columns is not None or a <= b]
        kept = -1
        for done, (a, b) in enumerate(pairs):
            if a != kept:
                first, kept = known[0] or self._own(rows, a, a + sizes[0], spans, outs[1] is not None), a
                if columns is None:
                    _write_diagonal(first, outs)
            is_own = columns is None and a == b
            second = first if is_own else known[1] or self._own(others, b, b + sizes[1], spans, False)
            (height, width), is_looked_up = self._tile_for(len(second), spans), self._is_looked_up(spans)
            if second is first:
                low, strips, whole = _LARGE_STRIPS if is_looked_up else _STRIPS
                height = min(height, -(-max(low, len(first) // strips) // whole) * whole)
            tiles = [
                (slice(i, min(i + height, len(first))), slice(j, min(j + width, len(second))))
                for i in range(0, len(first), height)
                # The diagonal is known from inputs with themselves; tables prepare rows and columns together.
                for j in range(i + (not is_looked_up) if second is first else 0, len(second), width)
            ]
            work = partial(self._write, first, second, outs, spans, columns is None)
            for count, _ in enumerate(spread(work, tiles, threads), start=1):
                report("kernel tiles", done * len(tiles) + count, len(pairs) * len(tiles))

    def _block(self, inputs: Inputs, spans: Spans) -> int:
        """How many inputs are known at a time."""
        how_many_fit(
            8.0 * _ARRAYS * self._size,
            1,
            f"a pair of inputs with {self._size} pairs of positions",
            hint="shrink the inputs, by a stride or by pooling before positions are mixed",
            error=TooLarge,
        )
        tape = self._own(inputs, 0, 1, spans, False).tape
        return int(np.clip(min(_TAPES // max(1, tape.size), _PAIRED // (8 * self._size)), 1, _MOST))

    def _tile_for(self, columns: int, spans: Spans) -> tuple[int, int]:
        """Rows and columns of a tile."""
        is_looked_up = self._is_looked_up(spans)
        # Pairs of positions share numbers already, so that half of the memory is enough.
        size = _LARGE if is_looked_up else _TILE
        pairs = max(1, size // (16 if self.layer.needs_pairs(False) else 8) // self._size)
        width = max(1, min(pairs, _WIDEST if is_looked_up else _WIDE, columns))
        return max(1, pairs // width), width

    def _is_looked_up(self, spans: Spans) -> bool:
        """Whether one position is looked up after the other, in tables."""
        return not self.layer.needs_pairs(False) and any(dual.line_form is None for dual, _ in spans)

    def _write(
        self, first: _Block, second: _Block, outs: Outs, spans: Spans, same: bool, parts: tuple[slice, slice]
    ) -> None:
        tapes = first.tape.of_inputs(parts[0]), second.tape.of_inputs(parts[1])
        inputs = first.inputs.part(parts[0]), second.inputs.part(parts[1])
        rows, columns = (
            slice(block.start + part.start, block.start + part.stop)
            for block, part in zip((first, second), parts, strict=True)
        )
        unwanted = rows.start - columns.start + 1 if same else EVERYTHING
        state = pair_pass(self.layer, self.shape, inputs, tapes, spans, self.is_standard, outs[1] is not None, unwanted)
        # Only pairs above the diagonal are written, and mirrored, so that the matrix is symmetric to the last bit.
        above = np.arange(rows.start, rows.stop)[:, None] < np.arange(columns.start, columns.stop) if same else True
        for out, found in zip(outs, (None if outs[0] is None else state.covariance(), state.tangent), strict=True):
            if out is not None:
                np.copyto(out[rows, columns], found, where=above, casting="same_kind")
                if same:
                    np.copyto(out[columns, rows], found.T, where=np.transpose(above), casting="same_kind")


def _write_diagonal(block: _Block, outs: Outs) -> None:
    where = np.arange(block.start, block.start + len(block))
    for out, own in zip(outs, (block.state.first, block.state.tangent), strict=True):
        if out is not None:
            out[where, where] = own


def duals_of(layer: Layer) -> list[DualActivation]:
    """The activations of a layer and of all layers inside, each once."""
    found = [dual for part in layer.parts() for dual in duals_of(part)]
    active = layer if isinstance(layer, Activation) else getattr(layer, "activation", None)
    if isinstance(active, Activation):
        found.append(active.dual)
    return list(dict.fromkeys(found))


def _flat(shape: Output) -> list[Shape]:
    return [shape] if isinstance(shape, Shape) else [part for one in shape for part in _flat(one)]


@dataclass(frozen=True, eq=False)
class _Block:
    """Some inputs, how they meet themselves, and their tape."""

    start: int
    inputs: Inputs
    state: State
    tape: Tape

    def __len__(self) -> int:
        return len(self.inputs)
