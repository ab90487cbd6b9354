"""`Network`: an infinitely wide network, and its NNGP and NTK matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from holokern.activation import Activation
from holokern.errors import BadInput
from holokern.files import Target
from holokern.network.architecture.kernels import LayerKernels, SpanRange, dense_layers
from holokern.network.arguments import duals, either, matrix, normalisation, number
from holokern.network.arrays.dispatch import diagonals_of_other_kind
from holokern.network.arrays.kernel import ArrayKernel
from holokern.network.arrays.layers import ArrayLayers
from holokern.network.engine.fill import Diagonals, diagonals, layer_matrices
from holokern.network.finite import FiniteNetwork
from holokern.network.hidden_layer import HiddenLayer, scale_free
from holokern.network.layers import Layer
from holokern.network.matrices import matrices, rows_of
from holokern.network.plan import Engine, Plan, plan_for
from holokern.network.plot import depth_plot, heat_map
from holokern.network.points import DataRange, Points
from holokern.network.text import table_of, text_of
from holokern.network.tiled_product import KernelProduct
from holokern.numeric import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, init=False, repr=False)
class Network:
    """A network of infinite width: fully connected with ``depth`` hidden layers, or any composition of layers.

    ``Network("gelu", depth=3)`` is fully connected. With Σ⁰ = x·x' + β² and, for h = 1, …, depth,

        Σʰ = w k(Σʰ⁻¹) + β²,    Σ′ʰ = w k′(Σʰ⁻¹),    Θ ← Θ Σ′ʰ + Σʰ,   from Θ = Σ⁰,

    the NNGP kernel is the last Σ, and the NTK the last Θ [SakodaTakayama2024], [Arora2019].

    Parameters
    ----------
    activation
        An activation (or a name, an expression …) for all layers, or a sequence of them, one for each layer. Or a
        composition from `holokern.layers`, such as ``layers.Serial(…)``, which has weights and biases of its own.
    depth
        The number of hidden layers; may be left out with a sequence.
    bias
        The standard deviation β of the biases.
    weight_variance
        None for the paper's normalisation w = c_σ = 1/E[σ(z)²] with Σ⁰ = x·x' + β². A number W_std² for the usual
        parametrisation: w = W_std² in every layer and Σ⁰ = W_std² x·x'/d + β², d the dimension of x.
    residual
        Whether every hidden layer is added to its own input, f ← f + Wσ(f) + b. Then Σʰ = Σʰ⁻¹ + w k + β² and
        Θ ← Θ + Θ Σ′ʰ + w k + β².
    W_std, b_std
        Other spellings, as in neural-tangents: ``W_std`` is the root of ``weight_variance``, ``b_std`` is ``bias``.
    parameterization
        For layers: ``"ntk"`` (weights of variance 1, scaled by W_std/√fan-in) or ``"standard"`` (weights of variance
        W_std²/fan-in, trained as they are), which needs the ``width`` of every layer.
    input_shape
        For layers: the shape of one input, channels last. Layers that do not fit are then refused at once, not only
        when the first data arrive.

    Notes
    -----
    Without bias, a zero vector counts as orthogonal to all other points. This is the limit of small vectors that are
    orthogonal to them.

    Examples
    --------
    >>> import numpy as np
    >>> net = Network("relu", depth=2)
    >>> x = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> net.nngp(x).round(6).tolist()
    [[1.0, 0.733434], [0.733434, 1.0]]
    >>> net.ntk(x).round(6).tolist()
    [[3.0, 1.544416], [1.544416, 3.0]]

    Images have the shape (inputs, height, width, channels):

    >>> from holokern import layers as L
    >>> net = Network(L.Serial(L.Conv(3), L.Activation("gelu"), L.GlobalAvgPool(), L.Dense()))
    >>> net.nngp(np.ones((1, 4, 4, 3))).round(6).tolist()
    [[0.203334]]
    """

    hidden_layers: tuple[HiddenLayer, ...]
    bias: float
    weight_variance: float | None
    residual: bool
    kernels: LayerKernels | None

    def __init__(
        self,
        activation: Any,
        depth: int | None = None,
        bias: float = 0.0,
        weight_variance: float | None = None,
        residual: bool = False,
        *,
        W_std: float | None = None,
        b_std: float | None = None,
        parameterization: Literal["ntk", "standard"] = "ntk",
        input_shape: tuple[int, ...] | None = None,
    ) -> None:
        if isinstance(activation, Layer):
            if depth is not None or bias or weight_variance is not None or residual or W_std is not None or b_std:
                raise BadInput("layers have weights and biases of their own; leave out depth, bias, W_std and residual")
            self._of_layers(activation, parameterization, input_shape)
            return
        if parameterization != "ntk" or input_shape is not None:
            raise BadInput("parameterization and input_shape are for networks of layers: Network(layers.Serial(…), …)")
        found = duals(activation, depth)
        bias = either("bias", bias if bias != 0 else None, "b_std", b_std, bias)
        if W_std is not None:
            root = number("W_std", W_std)
            if root <= 0:
                raise BadInput(f"W_std = {W_std!r} is not positive; it is the standard deviation of the weights")
            weight_variance = either("weight_variance", weight_variance, "W_std", root**2, None)
        spread = number("bias", bias)
        if spread < 0:
            raise BadInput(f"bias = {bias!r} is negative; it is a standard deviation, pass a number >= 0")
        weight = None if weight_variance is None else number("weight_variance", weight_variance)
        if weight is not None and weight <= 0:
            raise BadInput(f"weight_variance = {weight_variance!r} is not positive; pass W_std², or None for c_σ")
        weights = {one: weight if weight is not None else normalisation(one) for one in dict.fromkeys(found)}
        layers = tuple(HiddenLayer(one, weights[one], spread, bool(residual)) for one in found)
        self.__dict__.update(
            hidden_layers=layers, bias=spread, weight_variance=weight, residual=bool(residual), kernels=None
        )

    def _of_layers(self, layer: Layer, parameterization: str, input_shape: tuple[int, ...] | None) -> None:
        if parameterization not in ("ntk", "standard"):
            raise BadInput(f"parameterization = {parameterization!r}; choose 'ntk' or 'standard'")
        shape = None if input_shape is None else tuple(map(int, input_shape))
        kernels = LayerKernels(layer, parameterization == "standard", shape)
        kernels.check()
        dense = dense_layers(layer) if parameterization == "ntk" else None
        # Networks of dense layers only have tables of their own, so `kernels` serves the others.
        weight, bias, hidden = (None, 0.0, ()) if dense is None else dense
        self.__dict__.update(hidden_layers=hidden, bias=bias, weight_variance=weight, residual=False, kernels=kernels)

    @property
    def depth(self) -> int:
        """The number of hidden layers."""
        return len(self.hidden_layers)

    @property
    def activations(self) -> tuple[Activation, ...]:
        """The activation of each hidden layer."""
        return tuple(layer.activation for layer in self.hidden_layers)

    @property
    def _by_layers(self) -> LayerKernels | None:
        """The kernels of a composition that is not fully connected, else None."""
        return None if self.hidden_layers else self.kernels

    @cached_property
    def _behind_flatten(self) -> Network | None:
        """The fully connected network that follows a first `Flatten`, whose engines are faster; else None."""
        rest = None if self._by_layers is None else self._by_layers.dense_behind_flatten
        return None if rest is None else Network(rest)

    def require_tangent(self) -> None:
        """Raise Unsupported if an activation jumps or is as steep as a root: the NTK is infinite on the diagonal."""
        if self._by_layers is not None:
            self._by_layers.require_tangent()
        for layer in self.hidden_layers:
            layer.dual.require_tangent()

    def summary(self, input_shape: tuple[int, ...] | None = None) -> str:
        """A table of the layers: the shape after each, and how many numbers are kept for one pair of inputs.

        Examples
        --------
        >>> from holokern import layers as L
        >>> print(Network(L.Serial(L.Conv(3), L.Activation("relu"), L.Flatten(), L.Dense())).summary((8, 8, 1)))
        layer               shape after it            numbers per pair
        input               (inputs, 8, 8, 1)         64
        Conv(3)             (inputs, 8, 8, channels)  64
        Activation('relu')  (inputs, 8, 8, channels)  64
        Flatten()           (inputs, channels)        1
        Dense()             (inputs, channels)        1
        """
        if self.kernels is None:
            raise BadInput(f"{self} is fully connected, and its summary is its text; pass layers for a table")
        return self.kernels.summary(input_shape)

    def nngp(
        self, X: Any, Y: Any = None, *, out: Target = None, threads: int | None = None, engine: Engine = "auto"
    ) -> Array:
        """The NNGP kernel between the rows of X and of Y (of X itself without Y).

        Parameters
        ----------
        X, Y
            Arrays with one row for each point, or (inputs, positions, channels) for layers; float32 gives float32. JAX,
            torch and dask arrays give arrays of their kind: JAX and torch can differentiate, dask is lazy and
            blockwise. For ``jax.jit`` see `compile`.
        out
            None for a new array, an array to fill, or the path of a ``.npy`` file, which is memory-mapped and filled.
        threads
            How many threads share the rows; as many as there are processors by default.
        engine
            ``"pairs"``, ``"layers"`` or ``"network"`` forces a way of computing; `plan` says which is chosen otherwise.
        """
        matrix: Array = matrices(self, X, Y, (out, None), threads, (True, False), engine)[0]
        return matrix

    def ntk(
        self, X: Any, Y: Any = None, *, out: Target = None, threads: int | None = None, engine: Engine = "auto"
    ) -> Array:
        """The neural tangent kernel; the parameters are those of `nngp`.

        Raises
        ------
        Unsupported
            If an activation jumps: its derivative is not a function and the NTK is infinite on the diagonal.
        """
        matrix: Array = matrices(self, X, Y, (None, out), threads, (False, True), engine)[1]
        return matrix

    def both(
        self,
        X: Any,
        Y: Any = None,
        *,
        out: tuple[Target, Target] = (None, None),
        threads: int | None = None,
        engine: Engine = "auto",
    ) -> tuple[Array, Array]:
        """(NNGP, NTK) in one pass; ``out`` is a pair."""
        nngp, ntk = matrices(self, X, Y, out, threads, (True, True), engine)
        return nngp, ntk

    def last_layer(
        self, X: Any, Y: Any = None, *, out: Target = None, threads: int | None = None, engine: Engine = "auto"
    ) -> Array:
        """The tangent kernel when only the last layer is trained. Its gradients are the features, so it is the NNGP."""
        return self.nngp(X, Y, out=out, threads=threads, engine=engine)

    def diagonals(self, X: Any) -> Diagonals:
        """Σ and Θ of every point with itself, without the matrices; Θ is infinite where an activation jumps.

        Examples
        --------
        >>> Network("erf", depth=1).diagonals([[1.0], [2.0]]).nngp.round(6).tolist()
        [1.0, 1.500442]
        """
        other = diagonals_of_other_kind(self, X)
        if other is not None:
            return other
        if self._behind_flatten is not None:
            return self._behind_flatten.diagonals(rows_of(self, "X", X))
        if self._by_layers is not None:
            return self._by_layers.diagonals(self._read("X", X))
        return diagonals(self.hidden_layers, self._points(self._read("X", X)))

    def layers(self, X: Any) -> list[tuple[Array, Array]]:
        """(Σʰ, Σ′ʰ) for every hidden layer h, for inspection; Σ′ʰ is empty where the activation jumps."""
        if not self.hidden_layers:
            raise BadInput("layers(X) is for fully connected networks; make the first layers a network of their own")
        return layer_matrices(self.hidden_layers, self._points(self._read("X", X)))

    def compile(
        self, low: float | None = None, high: float | None = None, *, like: Any = None
    ) -> ArrayKernel | ArrayLayers:
        """The kernels for functions that are traced before the data are known.

        Parameters
        ----------
        low, high
            The range of the norms of the rows, for fully connected networks.
        like
            Data like those that will come, for compositions of layers.

        Examples
        --------
        ``jax.jit(net.compile(0.5, 20.0).ntk)`` traces; ``jax.jit(net.ntk)`` does so only for networks whose
        activations are all homogeneous, such as ReLU, which need no range.

        >>> Network("relu", depth=2).compile(0.5, 2.0).ntk(np.eye(2)).round(6).tolist()
        [[3.0, 0.685709], [0.685709, 3.0]]
        """
        if self._by_layers is not None:
            if like is None:
                raise BadInput("compositions of layers are compiled for data like those that will come; pass like=X")
            return ArrayLayers(self._by_layers, self._by_layers.data_range(like))
        if low is None or high is None:
            if like is None:
                raise BadInput("pass the smallest and the largest norm of a row, or data like those that will come")
            norms = np.linalg.norm(self._read("like", like), axis=1)
            low, high = float(np.min(norms[norms > 0], initial=np.inf)), float(np.max(norms))
        return ArrayKernel(self, float(low), float(high))

    def matvec(self, X: Any, v: Any, kernel: Literal["ntk", "nngp"] = "ntk", *, threads: int | None = None) -> Array:
        """The product of the kernel matrix of X with a vector or with the columns of a matrix, tile by tile.

        The matrix is never stored: the memory is that of one tile, whatever the number of points.

        Examples
        --------
        >>> Network("relu", depth=1).matvec(np.eye(3), np.ones(3), "nngp").round(6).tolist()
        [1.63662, 1.63662, 1.63662]
        """
        return KernelProduct(self, self._read("X", X), kernel).times(v, threads)

    def sample(self, width: int, seed: int = 0, *, outputs: int = 1) -> FiniteNetwork:
        """A random network of this architecture with ``width`` channels in every layer that does not say its own.

        Its empirical NTK tends to that of the infinite network like width^(-1/2). So does its empirical NNGP, a mean
        over outputs, if the outputs are as many as the width. The last layer has ``outputs`` channels, or ``width`` if
        nothing mixes channels after a sum of branches, a recurrent layer or `LayerNorm`.

        Examples
        --------
        >>> net, X = Network("relu", depth=2), np.eye(2)
        >>> finite = net.sample(512, seed=0)
        >>> finite(X).shape, [weight.shape for weight in finite.weights]
        ((2, 1), [(2, 512), (512, 512), (512, 1)])
        >>> bool(abs(finite.ntk(X) / net.ntk(X) - 1).max() < 0.25)
        True
        >>> bool(abs(net.sample(512, outputs=512).nngp(X) / net.nngp(X) - 1).max() < 0.25)
        True
        """
        if self.kernels is not None:
            return FiniteNetwork.of_layers(self.kernels, width, seed, outputs)
        return FiniteNetwork.fully_connected(self.hidden_layers, self.weight_variance, width, seed, outputs)

    def plot(self, X: Any, kind: str = "ntk", ax: Axes | None = None) -> Axes:
        """Draw the NTK or, with ``kind="nngp"``, the NNGP matrix of the rows of X as a heat map with matplotlib."""
        return heat_map(self, X, kind, ax)

    def depth_plot(
        self, correlations: Sequence[float] = (0.0, 0.5, 0.9), axes: Sequence[Axes] | None = None
    ) -> tuple[Axes, Axes]:
        """Draw how correlations and the NTK of unit vectors change from layer to layer, into two axes or a new figure.

        Raises
        ------
        Unsupported
            For a composition of layers that is not fully connected.
        """
        return depth_plot(self, correlations, axes)

    def _read(self, name: str, value: Any) -> Any:
        return matrix(name, value) if self._by_layers is None else self._by_layers.read(name, value)

    def __repr__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        """A table of the hidden layers for notebooks."""
        return table_of(self)

    def _points(self, x: Array) -> Points:
        scale = 1.0 if self.weight_variance is None else float(np.sqrt(self.weight_variance / max(1, x.shape[1])))
        return Points.of(x, scale, self.bias, sort=not scale_free(self.hidden_layers))

    def plan(self, X: Any, Y: Any = None, *, engine: Engine = "auto") -> Plan:
        """What the methods will do with these data, and why.

        Examples
        --------
        >>> net = Network("tanh", depth=3)
        >>> x = np.geomspace(0.001, 1000.0, 3000)[:, None]
        >>> net.plan(x[::600]).engine, net.plan(x[::30]).engine, net.plan(x).engine
        ('pairs', 'layers', 'network')
        """
        if self._behind_flatten is not None:
            columns = None if Y is None else rows_of(self, "Y", Y)
            return self._behind_flatten.plan(rows_of(self, "X", X), columns, engine=engine)
        data = self.data_range(*([X] if Y is None else [X, Y]))
        if isinstance(data, SpanRange):
            return Plan("layers", {}, "compositions of layers are computed layer by layer, from tables of activations")
        return plan_for(self.hidden_layers, data, engine)

    def data_range(self, *data: Any) -> DataRange | SpanRange:
        """What all parts of a matrix share: the range of the norms and the size of the whole data."""
        if self._behind_flatten is not None:
            return self._behind_flatten.data_range(*(rows_of(self, "X", x) for x in data))
        if self._by_layers is not None:
            return self._by_layers.data_range(*data)
        return DataRange.of(*(self._points(matrix("X", x)).length for x in data))

    def part(
        self,
        X: Any,
        Y: Any,
        data: DataRange | SpanRange,
        wanted: tuple[bool, bool],
        *,
        out: tuple[Target, Target] = (None, None),
        threads: int | None = 1,
        engine: Engine = "auto",
        single: bool = False,
    ) -> list[Any]:
        """[NNGP or None, NTK or None] of a part, bit by bit as in the whole; with ``single`` to single precision."""
        return matrices(self, X, Y, out, threads, wanted, engine, data, single)
