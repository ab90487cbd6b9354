"""`FiniteNetwork`: a random network of finite width, its outputs, and its empirical NNGP and NTK."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from holokern.errors import BadInput
from holokern.network import layers
from holokern.network.architecture.inputs import Graphs
from holokern.network.architecture.kernels import LayerKernels
from holokern.network.finite.forward import Place, Pull, Record, Weight, forward
from holokern.network.hidden_layer import HiddenLayer
from holokern.network.layers.layer import Shape
from holokern.numeric import Array


class FiniteNetwork:
    """A random network of finite width; `Network.sample` makes it.

    Weights are drawn when the shape of the inputs is known: with the first data, unless the network was made with
    ``input_shape``. They depend on the seed and on that shape only.

    Notes
    -----
    `LayerNorm` subtracts the mean over the channels, as usual; in wide networks that changes nothing. `Dropout` draws
    new masks in every call, one for each input. `Concat` scales branches whose share is not their number of channels.

    Examples
    --------
    >>> import numpy as np
    >>> from holokern import Network, layers as L
    >>> net = Network(L.Serial(L.Conv(3), L.Activation("relu"), L.Flatten(), L.Dense()))
    >>> finite = net.sample(256, seed=0)
    >>> images = np.random.default_rng(0).standard_normal((2, 4, 4, 1))
    >>> finite(images).shape, [weight.shape for weight in finite.weights]
    ((2, 1), [(9, 256), (4096, 1)])
    >>> bool(np.abs(finite.ntk(images) - net.ntk(images)).max() < 0.1)
    True
    """

    def __init__(
        self, compose: Callable[[int], layers.Layer], width: int, seed: int, outputs: int, is_standard: bool
    ) -> None:
        for name, value, least in (("width", width, 1), ("outputs", outputs, 1), ("seed", seed, 0)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise BadInput(f"sample: {name} = {value!r} is not a whole number >= {least}")
        self.width, self.outputs, self.seed = int(width), int(outputs), int(seed)
        self._compose, self._is_standard = compose, is_standard
        self._input_shape: tuple[int, ...] | None = None
        self._weights: list[Weight] = []
        self._masks = np.random.default_rng([self.seed, 1])

    @classmethod
    def of_layers(cls, kernels: LayerKernels, width: int, seed: int, outputs: int) -> FiniteNetwork:
        """From a composition of layers."""
        made = cls(partial(_the_same, kernels.layer), width, seed, outputs, kernels.is_standard)
        if kernels.input_shape is not None:
            made._draw(np.zeros((1, *kernels.input_shape)))
        return made

    @classmethod
    def fully_connected(
        cls, hidden_layers: tuple[HiddenLayer, ...], weight_variance: float | None, width: int, seed: int, outputs: int
    ) -> FiniteNetwork:
        """From the hidden layers of a fully connected network."""
        return cls(partial(_dense_layers, hidden_layers, weight_variance), width, seed, outputs, False)

    @property
    def weights(self) -> tuple[Array, ...]:
        """The trained numbers: a matrix (fan-in, channels) for each layer, followed by its biases if it has them.

        With ``parameterization="ntk"`` they have variance 1, and the network multiplies them by W_std/√fan-in and
        b_std. A recurrent layer has W, U and the biases.
        """
        if self._input_shape is None:
            raise BadInput("the weights are not drawn yet, as the number of channels is not known; call the network")
        return tuple(weight.values for weight in self._weights)

    def with_weights(self, weights: Sequence[Array]) -> FiniteNetwork:
        """The same network with other weights, given as in `weights`; it goes on with the same masks of dropout."""
        own = self.weights
        given = [np.array(one, dtype=float) for one in weights]
        if [one.shape for one in given] != [one.shape for one in own]:
            raise BadInput(
                f"the weights have the shapes {[one.shape for one in given]}, and those of the network "
                f"{[one.shape for one in own]}; they must be the same"
            )
        made = FiniteNetwork(self._compose, self.width, self.seed, self.outputs, self._is_standard)
        made._input_shape, made._masks = self._input_shape, deepcopy(self._masks)
        made._weights = [old._replace(values=_frozen(new)) for old, new in zip(self._weights, given, strict=True)]
        return made

    def __call__(self, X: Any) -> Array:
        """The outputs, of shape (inputs, outputs)."""
        return self._run(X)[0]

    def nngp(self, X: Any, Y: Any = None) -> Array:
        """The mean over outputs of f(x) f(y); it is close to the NNGP kernel only if there are many outputs."""
        x = self._run(X)[0]
        y = x if Y is None else self._run(Y)[0]
        return np.asarray(x @ y.T / x.shape[1])

    def ntk(self, X: Any, Y: Any = None, *, outputs: int | None = None) -> Array:
        """The sum over trained weights of ∂f(x)·∂f(y): the mean over all outputs, or over the first ``outputs``."""
        x = self._run(X)
        count = x[0].shape[1] if outputs is None else min(outputs, x[0].shape[1])
        y = x if Y is None else self._run(Y)
        total = np.zeros((len(x[0]), len(y[0])))
        for output in range(count):
            first = self._gradients(x, output)
            second = first if y is x else self._gradients(y, output)
            for number, (a, d) in first.items():
                weight = self._weights[number]
                if weight.trainable:
                    total += weight.scale**2 * _products(a, d, *second[number])
        return np.asarray(total / count)

    def gradients(self, X: Any, output: int = 0) -> tuple[Array, ...]:
        """The derivatives of one output with respect to all weights, of shape (inputs, shape of the weights)."""
        run = self._run(X)
        if not -run[0].shape[1] <= output < run[0].shape[1]:
            raise BadInput(f"output = {output!r}; the network has {run[0].shape[1]} outputs")
        found = self._gradients(run, output)
        return tuple(
            weight.scale * np.einsum("npa,npd->nad", *found[number]).reshape(-1, *weight.values.shape)
            for number, weight in enumerate(self._weights)
        )

    def __repr__(self) -> str:
        shape = "" if self._input_shape is None else f", input_shape={self._input_shape}"
        return f"<FiniteNetwork of width {self.width}, seed={self.seed}, outputs={self.outputs}{shape}>"

    def _run(self, X: Any) -> tuple[Array, Pull, Record]:
        x = LayerKernels(layers.Identity(), self._is_standard, None).read("X", X)
        if self._input_shape is None:
            return self._draw(x)
        if tuple(x.shape[1:]) != self._input_shape and not isinstance(x, Graphs):
            raise BadInput(f"X has inputs of shape {tuple(x.shape[1:])}, and the network is for {self._input_shape}")
        return self._forward(x, None)

    def _draw(self, x: Any) -> tuple[Array, Pull, Record]:
        run = self._forward(x, np.random.default_rng(self.seed))
        self._weights = [weight._replace(values=_frozen(weight.values)) for weight in run[2].weights]
        self._input_shape = tuple(int(size) for size in x.shape[1:])
        return run

    def _forward(self, x: Any, random: np.random.Generator | None) -> tuple[Array, Pull, Record]:
        layer, shape = self._compose(x.shape[-1]), Shape(tuple(x.shape[1:-1]), x.shape[-1])
        after = layer.shape(shape)
        if not isinstance(after, Shape) or after.positions:
            raise BadInput("a network must end with one vector of outputs for each input; use Flatten or a global pool")
        graphs = x if isinstance(x, Graphs) else None
        if graphs is None and any(isinstance(one, layers.Aggregate) for one, _ in layer.leaves(shape)):
            raise BadInput("Aggregate needs to know who is whose neighbour; pass Graphs.of(features, adjacency) as X")
        record = Record(
            self.width,
            self.outputs,
            self._is_standard,
            random,
            self._masks,
            [] if random is not None else self._weights,
            None if graphs is None else graphs.adjacency,
            None if graphs is None else graphs.nodes,
        )
        values = np.asarray(x if graphs is None else graphs.features, dtype=float)
        y, pull = forward(layer, values, record, Place(True, shape))
        return y, pull, record

    def _gradients(self, run: tuple[Array, Pull, Record], output: int) -> dict[int, tuple[Array, Array]]:
        y, pull, record = run
        change = np.zeros(y.shape)
        change[:, output] = 1.0
        record.gradients = {}
        pull(change)
        return record.gradients


def _products(a: Array, d: Array, b: Array, e: Array) -> Array:
    """The products of Σ a dᵀ of each input of one side with Σ b eᵀ of each input of the other."""
    rows = []
    for one, change in zip(a, d, strict=True):
        both = (b.reshape(-1, b.shape[-1]) @ one.T) * (e.reshape(-1, e.shape[-1]) @ change.T)
        rows.append(both.reshape(len(b), -1).sum(axis=1))
    return np.array(rows).reshape(len(a), len(b))


def _frozen(values: Array) -> Array:
    values.flags.writeable = False
    return values


def _the_same(layer: layers.Layer, channels: int) -> layers.Layer:
    return layer


def _dense_layers(hidden_layers: tuple[HiddenLayer, ...], weight_variance: float | None, channels: int) -> layers.Layer:
    """The layers of `Network("relu", depth=3)`: its inputs are divided by √channels only with a weight variance."""
    bias = hidden_layers[0].bias or None
    parts: list[layers.Layer] = [layers.Dense(sqrt(channels if weight_variance is None else weight_variance), bias)]
    for one in hidden_layers:
        step = layers.Serial(layers.Activation(one.activation), layers.Dense(sqrt(one.weight), bias))
        parts += (
            [layers.FanOut(2), layers.Parallel(layers.Identity(), step), layers.Sum()] if one.residual else step.parts()
        )
    return layers.Serial(*parts)
