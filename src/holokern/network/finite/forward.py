"""What every layer of a finite network does to data, and to derivatives on their way back, in one recorded pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from holokern.errors import BadInput, Unsupported
from holokern.network import layers
from holokern.network.finite.taps import gathered, scattered, taps_of
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


class Place(NamedTuple):
    """Where a layer stands."""

    is_last: bool  # whether outputs can be computed one by one after it, so that it need not be wide
    shape: Any  # the shape of its input, as far as the layers say it


Rule = Callable[[Any, Any, Record, Place], tuple[Any, Pull]]
"""From a layer, its input (an array, or a tuple of them for branches), a record and its place to the output and the
way back."""


def forward(layer: layers.Layer, x: Any, record: Record, place: Place) -> tuple[Any, Pull]:
    """The output of a layer for (inputs, positions, channels), and the way back."""
    for kind in type(layer).__mro__:
        if kind in _RULES:
            return _RULES[kind](layer, x, record, place)
    raise Unsupported(f"{layer!r} has no finite network; leave it out, or use nngp and ntk of the infinite network")


def _serial(layer: layers.Serial, x: Any, record: Record, place: Place) -> tuple[Any, Pull]:
    pulls, parts, shape = [], layer.parts(), place.shape
    for number, part in enumerate(parts):
        is_last = place.is_last and all(map(_keeps_channels_apart, parts[number + 1 :]))
        x, pull = forward(part, x, record, Place(is_last, shape))
        shape = part.shape(shape)
        pulls.append(pull)

    def back(change: Any) -> Any:
        for pull in reversed(pulls):
            change = pull(change)
        return change

    return x, back


def _keeps_channels_apart(layer: layers.Layer) -> bool:
    """Whether outputs can be computed one by one after it."""
    if isinstance(layer, layers.Serial):
        return all(map(_keeps_channels_apart, layer.parts()))
    mixing = (
        layers.Dense,
        layers.Conv,
        layers.ConvTranspose,
        layers.Recurrent,
        layers.LayerNorm,
        layers.FanOut,
        layers.Parallel,
        layers.Sum,
        layers.Concat,
        layers.Product,
    )
    return not isinstance(layer, mixing)


def _identity(layer: layers.Identity, x: Any, record: Record, place: Place) -> tuple[Any, Pull]:
    return x, lambda change: change


def _fan_out(layer: layers.FanOut, x: Any, record: Record, place: Place) -> tuple[Any, Pull]:
    return (x,) * layer.count, sum


def _parallel(layer: layers.Parallel, x: Any, record: Record, place: Place) -> tuple[Any, Pull]:
    pairs = [
        forward(part, one, record, Place(False, shape))
        for part, one, shape in zip(layer.parts(), x, place.shape, strict=True)
    ]
    return tuple(y for y, _ in pairs), lambda changes: tuple(
        pull(change) for (_, pull), change in zip(pairs, changes, strict=True)
    )


def _branches(layer: layers.Layer, x: Any, same_width: bool) -> tuple[Array, ...]:
    branches = x if isinstance(x, tuple) else (x,)
    widths = sorted({one.shape[-1] for one in branches})
    if same_width and len(widths) > 1:
        raise BadInput(f"{layer!r}: its branches have {' and '.join(map(str, widths))} channels; they must be the same")
    return branches


def _sum(layer: layers.Sum, x: Any, record: Record, place: Place) -> tuple[Any, Pull]:
    branches = _branches(layer, x, True)
    return sum(branches), lambda change: (change,) * len(branches) if isinstance(x, tuple) else change


def _product(layer: layers.Product, x: Any, record: Record, place: Place) -> tuple[Any, Pull]:
    branches = _branches(layer, x, True)

    def back(change: Array) -> Any:
        changes = tuple(
            change * math.prod(other for j, other in enumerate(branches) if j != i) for i in range(len(branches))
        )
        return changes if isinstance(x, tuple) else changes[0]

    return math.prod(branches), back


def _concat(layer: layers.Concat, x: Any, record: Record, place: Place) -> tuple[Any, Pull]:
    """Channels side by side; branches whose share is not their number of channels are scaled to have that share."""
    branches = _branches(layer, x, False)
    widths = np.array([one.shape[-1] for one in branches], dtype=float)
    factors = np.sqrt(np.array(layer.shares(place.shape)) * widths.sum() / widths)
    ends = np.cumsum(widths).astype(int)[:-1]

    def back(change: Array) -> Any:
        parts = tuple(factor * part for factor, part in zip(factors, np.split(change, ends, axis=-1), strict=True))
        return parts if isinstance(x, tuple) else parts[0]

    return np.concatenate([f * one for f, one in zip(factors, branches, strict=True)], axis=-1), back


def _channels(layer: Any, record: Record, place: Place) -> int:
    return int(layer.width or (record.outputs if place.is_last else record.width))


def _dense(layer: layers.Dense, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    channels = _channels(layer, record, place)
    flat = x.reshape(len(x), -1, x.shape[-1])
    y, pull = record.linear(flat, channels, layer.W_std, layer.b_std, layer.trainable)
    return y.reshape(*x.shape[:-1], channels), lambda change: pull(change.reshape(y.shape)).reshape(x.shape)


def _convolution(
    layer: layers.Conv | layers.ConvTranspose, x: Array, record: Record, place: Place
) -> tuple[Array, Pull]:
    windows = layer.windows(x.shape[1:-1])
    taps = taps_of(windows, x.shape[1:-1])
    channels = _channels(layer, record, place)
    seen = gathered(x, taps)
    patches = seen.reshape(len(x), len(taps), -1)
    y, pull = record.linear(patches, channels, layer.W_std, layer.b_std, layer.trainable)

    def back(change: Array) -> Array:
        return scattered(pull(change.reshape(y.shape)).reshape(seen.shape), taps, x.shape[1:-1])

    return y.reshape(len(x), *(window.count for window in windows), channels), back


def _recurrent(layer: layers.Recurrent, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    """h_t = σ(W h_{t-1} + U x_t + b)."""
    steps, width, rows = layer.steps or x.shape[1], record.width, x.shape[-1]
    trainable = layer.trainable
    number, W = record.weight((width, width), layer.W_std / np.sqrt(width), trainable)
    given, U = record.weight((rows, width), layer.U_std / np.sqrt(rows), trainable)
    added = None if layer.b_std is None else record.weight((width,), layer.b_std, trainable)
    sigma = layer.activation.dual.activation
    states, sums = [np.zeros((len(x), width))], []
    for t in range(steps):
        sums.append(states[-1] @ W + x[:, t] @ U + (0.0 if added is None else added[1]))
        states.append(sigma(sums[-1]))

    def back(change: Array) -> Array:
        changes, later = np.empty((len(x), steps, width)), np.zeros((len(x), width))
        for t in reversed(range(steps)):
            changes[:, t] = (change[:, t] + later) * _slope(layer.activation, sums[t])
            later = changes[:, t] @ W.T
        record.gradients[number] = np.stack(states[:-1], axis=1), changes
        record.gradients[given] = x[:, :steps], changes
        if added is not None:
            record.gradients[added[0]] = np.ones((len(x), steps, 1)), changes
        before = np.zeros(x.shape)
        before[:, :steps] = changes @ U.T
        return before

    return np.stack(states[1:], axis=1), back


def _activation(layer: layers.Activation, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    sigma = layer.dual.activation
    return sigma(x), lambda change: change * _slope(layer, x)


def _slope(layer: layers.Activation, x: Array) -> Array:
    if layer.dual.activation.jump_order == 0:
        raise Unsupported(f"{layer!r} jumps, so the network has no gradients; use its outputs only")
    return np.asarray(layer.dual.activation.derivative(x))


def _dropout(layer: layers.Dropout, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    mask = (record.masks.random(x.shape) < layer.rate) / layer.rate
    return x * mask, lambda change: change * mask


def _layer_norm(layer: layers.LayerNorm, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    """(x - mean)/√(variance + eps) over the channels, and over the positions along some axes."""
    axes = tuple(range(x.ndim - 2)) if layer.axes == "all" else tuple(map(int, layer.axes))
    over = (*(axis + 1 for axis in axes), x.ndim - 1)
    share = np.ones(x.shape) if record.nodes is None or not axes else record.nodes[:, :, None] * np.ones(x.shape)
    share /= share.sum(axis=over, keepdims=True)

    def total(array: Array) -> Array:
        return np.asarray(np.sum(array, axis=over, keepdims=True))

    centred = x - total(share * x)
    root = np.sqrt(total(share * centred**2) + layer.eps)
    root = np.where(root > 0, root, 1.0)
    y = centred / root
    return y, lambda change: (change - share * (total(change) + y * total(change * y))) / root


def _pool(layer: layers.SumPool | layers.AvgPool, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    windows = layer.windows(x.shape[1:-1])
    taps = taps_of(windows, x.shape[1:-1])
    share = np.ones(len(taps))
    if isinstance(layer, layers.AvgPool):
        share /= np.sum(taps >= 0, axis=1) if layer.normalize_edges else taps.shape[1]

    def back(change: Array) -> Array:
        spread = change.reshape(len(x), len(taps), 1, -1) * share[:, None, None]
        return scattered(
            np.broadcast_to(spread, (*spread.shape[:2], *taps.shape[1:], x.shape[-1])), taps, x.shape[1:-1]
        )

    y = gathered(x, taps).sum(axis=2) * share[:, None]
    return y.reshape(len(x), *(window.count for window in windows), x.shape[-1]), back


def _global_pool(layer: layers.GlobalSumPool, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    share = np.ones(x.shape[:-1]) if record.nodes is None else record.nodes
    places = tuple(range(1, x.ndim - 1))
    if isinstance(layer, layers.GlobalAvgPool):
        share = share / share.sum(axis=places, keepdims=True)

    def back(change: Array) -> Array:
        return np.asarray(change.reshape(len(x), *(1 for _ in places), -1) * share[..., None])

    return np.asarray(np.sum(x * share[..., None], axis=places)), back


def _flatten(layer: layers.Flatten, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    return x.reshape(len(x), -1), lambda change: change.reshape(x.shape)


def _linear_map(layer: layers.LinearMap, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    def along(matrix: Array, array: Array) -> Array:
        return np.moveaxis(np.tensordot(matrix, array, (1, layer.axis + 1)), 0, layer.axis + 1)

    return along(layer.matrix, x), lambda change: along(layer.matrix.T, change)


def _index(layer: layers.Index, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    some = (slice(None), *layer.picks)

    def back(change: Array) -> Array:
        whole = np.zeros(x.shape)
        whole[some] = change
        return whole

    return x[some], back


def _aggregate(layer: layers.Aggregate, x: Array, record: Record, place: Place) -> tuple[Array, Pull]:
    assert record.adjacency is not None
    matrix = layer.matrices(np, record.adjacency)
    return matrix @ x, lambda change: matrix.transpose(0, 2, 1) @ change


_RULES: dict[type, Rule] = {
    layers.Activation: _activation,
    layers.Aggregate: _aggregate,
    layers.AvgPool: _pool,
    layers.Concat: _concat,
    layers.Conv: _convolution,
    layers.ConvTranspose: _convolution,
    layers.Dense: _dense,
    layers.Dropout: _dropout,
    layers.FanOut: _fan_out,
    layers.Flatten: _flatten,
    layers.GlobalSumPool: _global_pool,
    layers.Identity: _identity,
    layers.Index: _index,
    layers.LayerNorm: _layer_norm,
    layers.LinearMap: _linear_map,
    layers.Parallel: _parallel,
    layers.Product: _product,
    layers.Recurrent: _recurrent,
    layers.Serial: _serial,
    layers.Sum: _sum,
    layers.SumPool: _pool,
}
