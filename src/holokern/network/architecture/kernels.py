"""Kernels of a network that is given by layers: checks of its inputs, and the matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holokern.dual import DualActivation
from holokern.errors import BadInput
from holokern.network.architecture.fill import Architecture, Outs, duals_of
from holokern.network.architecture.inputs import Graphs, Inputs
from holokern.network.architecture.walks import Spans
from holokern.network.engine.fill import Diagonals
from holokern.network.hidden_layer import HiddenLayer
from holokern.network.layers import (
    Activation,
    Aggregate,
    AvgPool,
    Conv,
    ConvTranspose,
    Dense,
    Flatten,
    Index,
    Layer,
    LinearMap,
    Recurrent,
    Serial,
    SumPool,
)
from holokern.network.layers.layer import Context, Output, Shape
from holokern.network.layers.weights import Weighted
from holokern.numeric import AnyArray, Range


@dataclass(frozen=True)
class SpanRange:
    """The data that a matrix is a part of: the ranges of deviations that its activations meet.

    Attributes
    ----------
    spans
        Activations, with their numbers on the way through the network, and the ranges of log c.
    """

    spans: tuple[tuple[tuple[DualActivation, int], Range], ...]

    @staticmethod
    def union(parts: list[SpanRange], shape: tuple[int, int]) -> SpanRange:
        """The data of a matrix, from parts of it."""
        found: Spans = {}
        for part in parts:
            for key, span in part.spans:
                known = found.get(key, span)
                found[key] = Range(min(known.low, span.low), max(known.high, span.high))
        return SpanRange(tuple(found.items()))


@dataclass(frozen=True)
class LayerKernels:
    """The kernels of a composition of layers.

    Attributes
    ----------
    layer
        The layers.
    is_standard
        Whether the parametrisation is the standard one.
    input_shape
        The shape of one input, channels last; None if it is not known before the data are seen.
    """

    layer: Layer
    is_standard: bool
    input_shape: tuple[int, ...] | None

    def check(self) -> None:
        """Refuse layers that do not fit together, as far as that can be seen without data."""
        given = self.input_shape
        shape = Shape(None) if given is None else Shape(given[:-1], given[-1])
        self._ends(self.layer.shape(shape))
        if self.is_standard:
            _check_standard(self.layer, shape, given is not None)

    def _ends(self, shape: Output) -> None:
        if not isinstance(shape, Shape):
            raise BadInput(f"the network ends with {len(shape)} branches; join them with Sum, Concat or Product")
        if shape.positions or shape.has_positions:
            raise BadInput(
                f"the network ends with outputs of shape {shape}, one for every position; put Flatten(), "
                "GlobalAvgPool() or Index(…) before its last Dense layer"
            )

    def require_tangent(self) -> None:
        """Refuse networks without a tangent kernel.

        Raises
        ------
        Unsupported
            If an activation jumps, or is as steep as a root.
        """
        for dual in duals_of(self.layer):
            dual.require_tangent()

    @property
    def is_homogeneous(self) -> bool:
        """Whether all activations are homogeneous, so that ranges of deviations do not matter."""
        return all(dual.homogeneity is not None for dual in duals_of(self.layer))

    @property
    def needs_ranges(self) -> bool:
        """Whether the machine code must know ranges of deviations: closed forms do not."""
        return any(dual.homogeneity is None and dual.line_form is None for dual in duals_of(self.layer))

    def read(self, name: str, value: AnyArray) -> AnyArray:
        """Data as an array (inputs, positions, channels), or graphs."""
        if isinstance(value, Graphs):
            return value
        try:
            array = np.asarray(value)
            if array.dtype.kind in "cSUVMmO":
                raise TypeError
            array = array if array.dtype in (np.float64, np.float32) else array.astype(float)
        except (TypeError, ValueError):
            raise BadInput(f"{name} is not an array of real numbers; pass (inputs, positions, channels)") from None
        if array.ndim < 2 or 0 in array.shape[1:]:
            raise BadInput(f"{name} has shape {array.shape}; pass (inputs, positions, channels), channels last")
        if not np.all(np.isfinite(array)):
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise BadInput(f"{name}{list(place)} = {array[place]} is not finite; remove or impute it first")
        if array.size and float(np.max(np.abs(array))) > _LARGEST:
            raise BadInput(f"{name} has entries above {_LARGEST:g}, whose squares overflow; rescale the data")
        return array

    @cached_property
    def dense_behind_flatten(self) -> Layer | None:
        """What follows a first `Flatten` if those are dense layers only, else None."""
        parts = self.layer.parts() if isinstance(self.layer, Serial) and not self.is_standard else ()
        rest = Serial(*parts[1:]) if len(parts) > 1 and isinstance(parts[0], Flatten) else None
        return None if rest is None or dense_layers(rest) is None else rest

    def check_inputs(self, x: AnyArray) -> Shape:
        """The shape of the inputs; refuse those that do not fit."""
        shape = tuple(int(size) for size in x.shape[1:])
        if self.input_shape is not None and shape != self.input_shape:
            raise BadInput(f"X has inputs of shape {shape}, and the network was made for {self.input_shape}")
        before = Shape(shape[:-1], shape[-1])
        self._ends(self.layer.shape(before))
        if isinstance(x, Graphs):
            for one, _ in self.layer.leaves(before):
                if isinstance(one, _NOT_FOR_GRAPHS):
                    raise BadInput(
                        f"{one!r} does not fit: nodes of a graph have no order, and graphs have different sizes; use "
                        "Dense, Aggregate and global pooling"
                    )
        elif any(isinstance(one, Aggregate) for one, _ in self.layer.leaves(before)):
            raise BadInput("Aggregate needs to know who is whose neighbour; pass Graphs.of(features, adjacency) as X")
        return before

    def _architecture(self, x: AnyArray) -> Architecture:
        return Architecture(self.layer, self.check_inputs(x), self.is_standard)

    @staticmethod
    def alike(*data: Any) -> list[Any]:
        """Data with graphs filled up to the same size."""
        sizes = [one.shape[1] for one in data if isinstance(one, Graphs)]
        return [one.filled(max(sizes)) if isinstance(one, Graphs) else one for one in data]

    def data_range(self, *data: AnyArray) -> SpanRange:
        """The ranges of deviations for these data."""
        read = self.alike(*(self.read("X", x) for x in data))
        spans = self._architecture(read[0]).spans(tuple(Inputs.of(x) for x in read))
        return SpanRange(tuple(spans.items()))

    def diagonals(self, x: AnyArray) -> Diagonals:
        """Σ and Θ of every input with itself; Θ is infinite where an activation jumps."""
        made, inputs = self._architecture(x), Inputs.of(x)
        if not len(inputs):
            return Diagonals(np.empty(0), np.empty(0))
        jumps = any(dual.jumps for dual in duals_of(self.layer))
        return made.diagonals(inputs, made.spans((inputs,)) if self.needs_ranges else {}, not jumps)

    def fill(self, x: AnyArray, y: AnyArray, outs: Outs, threads: int | None, data: SpanRange | None) -> None:
        """Write the matrices."""
        made = self._architecture(x)
        rows, columns = Inputs.of(x), None if y is None else Inputs.of(y)
        spans = None if data is None and self.needs_ranges else {} if data is None else dict(data.spans)
        made.fill(rows, columns, outs, threads, spans)

    def summary(self, shape: tuple[int, ...] | None) -> str:
        """One line for each layer: the shape after it, and the numbers that are kept for one pair of inputs."""
        given = shape or self.input_shape
        before: Output = Shape(None) if given is None else Shape(tuple(given[:-1]), given[-1])
        pairs = self.layer.needs_pairs(False)
        lines = [("layer", "shape after it", "numbers per pair"), ("input", str(before), _numbers(before, pairs))]
        for layer, after in self.layer.leaves(before):
            shown = after if isinstance(after, Shape) else after[0]
            lines.append((repr(layer), str(shown), _numbers(shown, pairs)))
        widths = [max(len(line[k]) for line in lines) for k in range(3)]
        return "\n".join(
            "  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )


_NOT_FOR_GRAPHS = (AvgPool, Conv, ConvTranspose, Flatten, Index, LinearMap, Recurrent, SumPool)
"""Layers that would see how smaller graphs are filled up."""

_LARGEST = 1e150
"""Entries beyond have squares that are no floats."""


def _check_standard(layer: Layer, shape: Output, is_known: bool) -> None:
    """Refuse layers that the standard parametrisation does not have, or whose fan-in is unknown."""
    if isinstance(layer, Recurrent):
        layer.refuse("parameterization='standard' is not defined for recurrent layers; use parameterization='ntk'")
    if isinstance(layer, Weighted) and is_known:
        layer.fan_in(Context(shape, False))
    branches = shape if isinstance(shape, tuple) else (shape,) * len(layer.parts())
    for part, before in zip(layer.parts(), branches, strict=False):
        _check_standard(part, shape if isinstance(layer, Serial) else before, is_known)
        if isinstance(layer, Serial):
            shape = part.shape(shape)


def _numbers(shape: Output, pairs: bool) -> str:
    if not isinstance(shape, Shape) or shape.positions is None:
        return "?"
    return str(math.prod(shape.positions) ** (2 if pairs else 1))


def dense_layers(layer: Layer) -> tuple[float, float, tuple[HiddenLayer, ...]] | None:
    """W² and b of the first layer and the hidden layers, if all are dense layers with one bias and trained weights."""
    parts = layer.parts() if isinstance(layer, Serial) else ()
    dense, active = parts[0::2], parts[1::2]
    if len(parts) < 3 or len(parts) % 2 == 0:
        return None
    if not all(isinstance(one, Dense) and one.trainable for one in dense):
        return None
    if not all(isinstance(one, Activation) for one in active):
        return None
    biases = {one.b_std or 0.0 for one in dense}  # type: ignore[attr-defined]
    if len(biases) > 1 or any(not one.W_std for one in dense):  # type: ignore[attr-defined]
        return None
    bias = float(biases.pop())
    hidden = tuple(
        HiddenLayer(one.dual, float(after.W_std) ** 2, bias, False)  # type: ignore[attr-defined]
        for one, after in zip(active, dense[1:], strict=True)
    )
    return float(dense[0].W_std) ** 2, bias, hidden  # type: ignore[attr-defined]
