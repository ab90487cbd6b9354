"""Inputs on their way through a network: with themselves, which records a tape for each side, and in pairs.

What a layer needs to know of one side (variances, and deviations when they enter an activation) is found once, when
inputs meet themselves, and written on a tape. Pairs of inputs read the tapes of their sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from types import ModuleType
from typing import Any

import array_api_compat.numpy as xp
import numpy as np

from holokern.dual import EVERYTHING, DualActivation
from holokern.network.architecture.inputs import Inputs
from holokern.network.architecture.runs import run_of
from holokern.network.architecture.sides import ActivationTable, NumpySide, activated, table_for
from holokern.network.layers.combine import Serial
from holokern.network.layers.layer import Context, Layer, Shape
from holokern.network.layers.pointwise import Activation
from holokern.network.layers.state import Layout, State
from holokern.network.layers.weights import Weighted
from holokern.network.layers.windows import side_sums
from holokern.numeric import AnyArray, Array, Range

Spans = dict[tuple[DualActivation, int], Range]
"""The range of log c that each activation meets; the number counts activations on the way through the network."""

_SAMPLES = 12
"""Deviations for each unit of log c at which norms are computed while the ranges are not known yet."""

_WIDER = 0.02
"""What a range found from some inputs is widened by in log c."""


@dataclass
class Tape:
    """What layers know of one side, in the order in which they ask."""

    entries: list[Array | NumpySide] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(entry.nbytes for entry in self.entries)

    def of_inputs(self, some: slice) -> Iterator[Any]:
        """The entries for some inputs."""
        for entry in self.entries:
            yield entry.of_inputs(some) if isinstance(entry, NumpySide) else entry[..., some]


class _NumpyWalk:
    """What all ways through a network share."""

    xp: ModuleType = xp
    is_bare = False  # whether only the variances that activations meet are of interest

    def __init__(self, is_standard: bool, spans: Spans, inputs: tuple[Inputs, Inputs]) -> None:
        self.is_standard = is_standard
        self.spans = spans
        self.inputs = inputs
        self.met = 0  # activations so far

    def activated(
        self, dual: DualActivation, sides: tuple[Any, Any], layout: Layout, gap: Any, tangent: Any
    ) -> tuple[AnyArray, AnyArray]:
        """G and Θ after the activation that was prepared last."""
        return activated(self._table(dual, self.met - 1), sides, layout, gap, tangent)

    def _table(self, dual: DualActivation, number: int) -> ActivationTable:
        """An activation on its range; on an arbitrary one if it meets nothing but zeros."""
        nothing = Range(0.0, 0.0)
        return table_for(dual, span_of(self.spans, dual) or nothing, self.spans.get((dual, number), nothing))

    def run(self, layers: tuple[Layer, ...], state: State, shape: Shape) -> tuple[int, State]:
        """Through machine code, as far as it goes; variances alone if nothing else counts."""
        is_start, layout = state.gap is None, state.layout
        if self.is_bare and layout.is_tied:
            return self._bare(layers, state, shape)
        channels, start = len(self.inputs[0].values) if is_start else 0, self.met
        straight = takewhile(lambda layer: isinstance(layer, Activation | Weighted), layers)
        active = [layer.dual for layer in straight if isinstance(layer, Activation)]
        tables = tuple(self._table(dual, number) for number, dual in enumerate(active, start))
        done, found = run_of(
            layers, state.positions, shape.width, layout.is_tied, self.is_standard, channels, self.nodes() is None,
            tuple(table.form for table in tables),
        )  # fmt: skip
        if done:
            waiting = iter(active)

            def check(met: Array) -> None:
                self.check(next(waiting), met)

            made = self.sides(lambda: found.sides(self.inputs[0], state.first, check))
            self.met = start + sum(isinstance(layer, Activation) for layer in layers[:done])
            return done, found(state, made)
        return 0, self.inputs[0].pairs(self.inputs[1], layout, state.tangent is not None) if is_start else state

    def _bare(self, layers: tuple[Layer, ...], state: State, shape: Shape) -> tuple[int, State]:
        """Layers with weights and activations; inputs with themselves stay at distance zero."""
        found, done = state.first, 0
        for layer in takewhile(lambda layer: isinstance(layer, Activation | Weighted), layers):
            if isinstance(layer, Activation):
                found = self.squares(layer.dual, found)
                self.met += 1
            elif isinstance(layer, Weighted):
                made = layer.weights(shape, self.is_standard)
                found = made.scale * side_sums(xp, found, made.windows) + made.bias
            after = layer.shape(shape)
            assert isinstance(after, Shape)
            shape, done = after, done + 1
        return done, State(state.layout, found, found, np.zeros(found.shape), None)

    def squares(self, dual: DualActivation, variances: Array) -> Array:
        """Variances after the next activation, which is not counted yet."""
        raise NotImplementedError

    def sides(self, make: Callable[[], Any]) -> tuple[Any, Any]:
        """An array for both sides."""
        raise NotImplementedError

    def check(self, dual: DualActivation, variances: Array) -> None:
        """Refuse variances outside of the range of the next activation, and count it."""
        key, self.met = (dual, self.met), self.met + 1
        positive = variances[variances > 0]
        if len(positive) and dual.homogeneity is None and dual.line_form is None:
            met = Range(float(np.log(positive.min())) / 2, float(np.log(positive.max())) / 2)
            if key not in self.spans or not self.spans[key].covers(met):
                raise OutOfSpan(key, met)

    def patterns(self) -> tuple[Any, Any]:
        """The matrices of the graphs of both sides."""
        return self.inputs[0].pattern, self.inputs[1].pattern

    def nodes(self) -> tuple[Any, Any] | None:
        """Which positions are nodes."""
        first, second = self.inputs[0].nodes, self.inputs[1].nodes
        return None if first is None or second is None else (first, second)


class _OwnWalk(_NumpyWalk):
    """Inputs with themselves; writes the tape."""

    def __init__(self, is_standard: bool, spans: Spans, inputs: Inputs) -> None:
        super().__init__(is_standard, spans, (inputs, inputs))
        self.tape = Tape()

    def sides(self, make: Callable[[], Any]) -> tuple[Any, Any]:
        """Compute and write down."""
        made = make()
        self.tape.entries.append(made)
        return made, made

    def squares(self, dual: DualActivation, variances: Array) -> Array:
        """Variances after the next activation."""
        self.check(dual, variances)
        self.met -= 1
        return self._table(dual, self.met).squares(variances)

    def prepare(self, dual: DualActivation, variances: Callable[[], Array]) -> tuple[Any, Any]:
        """The outputs when they enter an activation."""
        self.check(dual, variances())
        made = self._table(dual, self.met - 1).side(variances())
        self.tape.entries.append(made)
        return made, made


@dataclass(frozen=True)
class _Scouted:
    before: Array
    after: Array

    def at(self, some: slice) -> _Scouted:
        return _Scouted(self.before[some], self.after[some])


class OutOfSpan(Exception):
    """An activation met deviations outside of its range."""

    def __init__(self, key: tuple[DualActivation, int], met: Range) -> None:
        super().__init__(str(key[0].activation))
        self.key, self.met = key, met


def span_of(spans: Spans, dual: DualActivation) -> Range | None:
    """The range of all that an activation meets in a network, if it meets anything."""
    found = [span for (one, _), span in spans.items() if one is dual or one == dual]
    return Range(min(one.low for one in found), max(one.high for one in found)) if found else None


@lru_cache(maxsize=64)
def _rough_norms(dual: DualActivation, low: int, high: int) -> tuple[Array, Array]:
    """Logarithms of deviations between two whole numbers, and those of the norms there."""
    at = np.linspace(low, high, 1 + _SAMPLES * (high - low))
    return at, np.log(np.maximum(dual.moments_in_range(np.exp(at))[0], 1e-300))


class _Scout(_OwnWalk):
    """Finds the deviations that activations meet; norms are interpolated, and covariances only roughly right."""

    def squares(self, dual: DualActivation, variances: Array) -> Array:
        """Interpolated in log c, from a few deviations."""
        c = np.sqrt(variances)
        positive = c[c > 0]
        if not len(positive):
            return np.full_like(variances, dual.limits.norm**2)
        low, high, key = float(np.log(positive.min())), float(np.log(positive.max())), (dual, self.met)
        known = self.spans.get(key, Range(low, high))
        self.spans[key] = Range(min(low, known.low), max(high, known.high))
        at, norms = _rough_norms(dual, math.floor(low), math.ceil(high))
        found = np.exp(2 * np.interp(np.log(np.where(c > 0, c, 1.0)), at, norms))
        return np.where(c > 0, found, dual.limits.norm**2)

    def run(self, layers: tuple[Layer, ...], state: State, shape: Shape) -> tuple[int, State]:
        """Variances alone, or layer by layer."""
        if state.layout.is_tied:
            return self._bare(layers, state, shape)
        return 0, self.inputs[0].pairs(self.inputs[1], state.layout, False) if state.gap is None else state

    def prepare(self, dual: DualActivation, variances: Callable[[], Array]) -> tuple[Any, Any]:
        """Only the variances."""
        made = _Scouted(variances(), self.squares(dual, variances()))
        self.met += 1
        return made, made

    def activated(
        self, dual: DualActivation, sides: tuple[Any, Any], layout: Layout, gap: Any, tangent: Any
    ) -> tuple[AnyArray, AnyArray]:
        """Correlations stay as they are, which is between the truth and 1 for most activations."""
        (c, n), (d, m) = (
            (place(np.sqrt(side.before)), place(np.sqrt(side.after)))
            for place, side in zip((layout.rows, layout.columns), sides, strict=True)
        )
        both = np.where(c * d > 0, c * d, 1.0)
        return 0.5 * (n - m) ** 2 + n * m * np.clip((gap - 0.5 * (c - d) ** 2) / both, 0.0, 2.0), tangent


class _PairWalk(_NumpyWalk):
    """Pairs of inputs; reads the tapes of both sides."""

    def __init__(
        self, is_standard: bool, spans: Spans, inputs: tuple[Inputs, Inputs], tapes: tuple[Iterator[Any], Iterator[Any]]
    ) -> None:
        super().__init__(is_standard, spans, inputs)
        self.tapes = tapes

    def sides(self, make: Callable[[], Any]) -> tuple[Any, Any]:
        """Read."""
        return next(self.tapes[0]), next(self.tapes[1])

    def prepare(self, dual: DualActivation, variances: Callable[[], Array]) -> tuple[Any, Any]:
        """Read."""
        self.met += 1
        return next(self.tapes[0]), next(self.tapes[1])

    def squares(self, dual: DualActivation, variances: Array) -> Array:
        """Not asked for: the tapes have all variances."""
        raise AssertionError


def _context(layer: Layer, shape: Shape) -> tuple[Context, bool]:
    return Context(shape, False), layer.needs_pairs(False)


def _begin(
    layer: Layer,
    inputs: tuple[Inputs, Inputs],
    pairs: bool,
    is_paired: bool,
    with_tangent: bool,
    unwanted: int = EVERYTHING,
) -> State:
    """The state before the first layer. `Serial` asks for G when it needs it."""
    positions = inputs[0].positions
    layout = Layout(len(positions), not pairs or not positions, is_paired, unwanted)
    if not isinstance(layer, Serial) or not positions:
        return inputs[0].pairs(inputs[1], layout, with_tangent)
    return State(layout, inputs[0].variances, inputs[1].variances, None, np.empty(0) if with_tangent else None)


def check_spans(layer: Layer, shape: Shape, inputs: Inputs, spans: Spans, is_standard: bool) -> None:
    """Raise OutOfSpan if activations meet deviations outside of their ranges."""
    context, pairs = _context(layer, shape)
    walk = _OwnWalk(is_standard, spans, inputs)
    walk.is_bare = True
    layer.apply(walk, _begin(layer, (inputs, inputs), pairs, True, False), context)


def own_pass(
    layer: Layer, shape: Shape, inputs: Inputs, spans: Spans, is_standard: bool, with_tangent: bool
) -> tuple[State, Tape]:
    """Inputs with themselves: their Σ and Θ, and the tape for pairs."""
    context, pairs = _context(layer, shape)
    walk = _OwnWalk(is_standard, spans, inputs)
    state = layer.apply(walk, _begin(layer, (inputs, inputs), pairs, True, with_tangent), context)
    assert isinstance(state, State)
    return state, walk.tape


def pair_pass(
    layer: Layer,
    shape: Shape,
    inputs: tuple[Inputs, Inputs],
    tapes: tuple[Iterator[Any], Iterator[Any]],
    spans: Spans,
    is_standard: bool,
    with_tangent: bool,
    unwanted: int,
) -> State:
    """All pairs of inputs of two sides; those (i, j) with j < i + unwanted may be wrong."""
    context, pairs = _context(layer, shape)
    walk = _PairWalk(is_standard, spans, inputs, tapes)
    state = layer.apply(walk, _begin(layer, inputs, pairs, False, with_tangent, unwanted), context)
    assert isinstance(state, State)
    return state


def find_spans(layer: Layer, shape: Shape, inputs: Inputs, is_standard: bool) -> Spans:
    """The ranges of deviations that some inputs meet, roughly."""
    context, pairs = _context(layer, shape)
    walk = _Scout(is_standard, {}, inputs)
    layer.apply(walk, _begin(layer, (inputs, inputs), pairs, True, False), context)
    return {key: widened(span) for key, span in walk.spans.items()}


def widened(span: Range, other: Range | None = None) -> Range:
    """A little more than one range, or than two."""
    low, high = (span.low, span.high) if other is None else (min(span.low, other.low), max(span.high, other.high))
    return Range(low - _WIDER, high + _WIDER)
