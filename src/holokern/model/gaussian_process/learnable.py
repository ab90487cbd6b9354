"""`LearnableKernel`: NNGP and NTK as functions of points, weight variances and biases, for JAX and torch.

Everything is arithmetic on arrays of the caller's kind, so derivatives go to the points and to the variances. Angles
come from chords and gaps that keep their digits, hence nothing is clamped: where two points coincide or are antipodal,
values are exact and first derivatives are right; where the kernel has a tip there, they are the mean over directions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from holokern.dual import DualActivation
from holokern.errors import BadInput
from holokern.model.kernel import Kind
from holokern.network import ArrayLayer, HiddenLayer, Network, pair_matrices, point_diagonals, require_tangent

# Deviations are followed through the layers at so many places of the range, with a margin at its ends.
_SAMPLES, _MARGIN = 65, 1.01
_DROPPED = 2e-14  # Terms of the tables below this are dropped: what rounding leaves of sums of them anyway.

Interval = tuple[float, float]


@dataclass(frozen=True)
class LearnableKernel:
    """The kernel of a network of dense layers, for a range of norms and of variances.

    Attributes
    ----------
    network
        The network; its activations, its residual connections and, unless other ones are given, its variances.
    kind
        ``"nngp"`` or ``"ntk"``.
    norms
        The smallest and the largest norm of the points. Zero vectors are always allowed; outside, values are NaN.
    weights, biases
        Ranges of the weight variances and of the standard deviations of the biases; None for those of the network.

    Examples
    --------
    ``jax.jit(kernel)``, ``jax.grad``, ``jax.vmap`` and ``torch.func`` go through a call; so do second derivatives.

    >>> kernel = LearnableKernel(Network("erf", 2, bias=0.5, weight_variance=1.0), "ntk", (0.5, 3.0), (0.5, 4.0))
    >>> x = np.array([[1.0, 2.0], [0.5, -1.0]])
    >>> exact = Network("erf", 2, bias=0.5, weight_variance=2.0).ntk(x)
    >>> bool(np.allclose(kernel(x, weight=np.float64(2.0)), exact, rtol=1e-12))
    True
    """

    network: Network
    kind: Kind
    norms: Interval
    weights: Interval | None = None
    biases: Interval | None = None

    def __post_init__(self) -> None:
        if not 0 < self.norms[0] <= self.norms[1] < np.inf:
            raise BadInput(f"norms = {self.norms} is not a range; pass (low, high) with 0 < low <= high")
        if self.weights is not None and self.network.weight_variance is None:
            raise BadInput(f"{self.network} is normalised by c_σ; give it a weight_variance to make it learnable")
        if self.kind == "ntk":
            require_tangent(self.network.hidden_layers)

    def __call__(self, X: Any, Y: Any = None, *, weight: Any = None, bias: Any = None) -> Any:
        """The kernel between the rows of X and of Y, or of X itself.

        ``weight`` and ``bias`` are scalars, or have one entry for the input and one for each hidden layer; None
        stands for those of the network.
        """
        xp, scale, offset, layers = self._at(X, weight, bias)
        columns = None if Y is None else Y * scale
        pairs = pair_matrices(xp, X * scale, columns, offset, layers)
        return pairs.sigma if self.kind == "nngp" else pairs.tangent

    def diagonal(self, X: Any, *, weight: Any = None, bias: Any = None) -> Any:
        """The kernel of each point with itself."""
        xp, scale, offset, layers = self._at(X, weight, bias)
        return point_diagonals(xp, X * scale, offset, layers)[self.kind == "ntk"]

    def pair(self, x: Any, y: Any, *, weight: Any = None, bias: Any = None) -> Any:
        """The kernel of two points, given as vectors; this is the function that GPJax calls."""
        return self(x[None, :], y[None, :], weight=weight, bias=bias)[0, 0]

    def _at(self, X: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any, tuple[ArrayLayer, ...]]:
        """The namespace, the scale and the bias of the points, and the layers with their weights and biases."""
        from array_api_compat import array_namespace

        network, count = self.network, len(self.network.hidden_layers)
        dimension = max(1, X.shape[1])
        weights = [one.weight for one in network.hidden_layers]
        scale: Any = 1.0
        if network.weight_variance is not None:
            first, *weights = _entries(network.weight_variance if weight is None else weight, count + 1)
            scale = (first / dimension) ** 0.5
        offset, *biases = _entries(network.bias if bias is None else bias, count + 1)
        tables = _tables(self, dimension)
        made: dict[tuple[int, int, int], ArrayLayer] = {}
        layers = []
        for table, own, shift in zip(tables, weights, biases, strict=True):
            key = id(table), id(own), id(shift)
            if key not in made:
                made[key] = replace(table, layer=replace(table.layer, weight=own, bias=shift))
            layers.append(made[key])
        return array_namespace(X), scale, offset, tuple(layers)


def _entries(value: Any, count: int) -> list[Any]:
    """One entry for each place; a scalar stands for all."""
    if getattr(value, "ndim", 0) == 0:
        return [value] * count
    if value.shape[0] != count:
        raise BadInput(f"{value.shape[0]} variances were given; pass one, or {count}: the input and each hidden layer")
    return [value[place] for place in range(count)]


@lru_cache(maxsize=64)
def _tables(kernel: LearnableKernel, dimension: int) -> tuple[ArrayLayer, ...]:
    """The layers on all deviations that points and variances in the ranges lead to; equal layers share one table."""
    network = kernel.network
    fixed = network.weight_variance
    biases = kernel.biases or (network.bias, network.bias)
    scales = (1.0, 1.0) if fixed is None else tuple(np.sqrt(w / dimension) for w in kernel.weights or (fixed, fixed))
    smallest = 0.0 if biases[0] > 0 else kernel.norms[0]
    low, high = (float(np.hypot(s * n, b)) for s, n, b in zip(scales, (smallest, kernel.norms[1]), biases, strict=True))
    c = np.geomspace(low, high, _SAMPLES)
    waiting = biases[0] == 0
    ranges: dict[tuple[DualActivation, bool], Interval] = {}
    for layer in network.hidden_layers:
        key = layer.dual, layer.residual
        before = ranges.get(key, (np.inf, 0.0))
        ranges[key] = min(before[0], float(np.min(c)) / _MARGIN), max(before[1], float(np.max(c)) * _MARGIN)
        norms = layer.dual.moments_in_range(c)[0]
        ends = kernel.weights or (layer.weight, layer.weight)
        after = [replace(layer, weight=w, bias=b).variances(c, norms) for w, b in zip(ends, biases, strict=True)]
        if waiting and layer.dual.limits.norm:
            after += [np.array([w * layer.dual.limits.norm**2]) for w in ends]
            waiting = False
        c = np.sqrt(np.concatenate(after))
        c = np.geomspace(float(np.min(c)), float(np.max(c)), _SAMPLES)
    made = {
        (dual, residual): ArrayLayer.of(HiddenLayer(dual, 1.0, 0.0, residual), ends, _DROPPED)
        for (dual, residual), ends in ranges.items()
    }
    return tuple(made[layer.dual, layer.residual] for layer in network.hidden_layers)
