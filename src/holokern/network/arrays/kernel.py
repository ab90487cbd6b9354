"""`ArrayKernel`: kernels on arrays of any kind by the array API standard, through which jit and autograd go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from holokern.dual import DualActivation
from holokern.errors import BadInput
from holokern.network.arguments import different_shapes
from holokern.network.arrays.layer import ArrayLayer, Pairs, array_layer, as_floats, is_given, safe_root
from holokern.network.engine.fill import Diagonals
from holokern.network.hidden_layer import HiddenLayer
from holokern.numeric import AnyArray

if TYPE_CHECKING:
    from holokern.network.network import Network

Interval = tuple[float, float]

# Deviations are followed through the layers at so many places of the range, with a margin at its ends.
_SAMPLES, _MARGIN = 129, 1.001


@dataclass(frozen=True)
class ArrayKernel:
    """The kernels of a network for points whose norms lie in [low, high], zero vectors included.

    Made by `Network.compile`. The arrays may be of JAX, torch, numpy or of any library that follows the array API
    standard; everything is plain arithmetic, so ``jax.jit``, ``jax.grad`` and torch's autograd go through it.

    Attributes
    ----------
    network
        The network.
    low, high
        The range of norms of the rows of X and Y, as they are given. Entries with a point outside it are NaN, because
        traced values cannot be refused. A network whose activations are all homogeneous needs no range.
    weights, biases
        Ranges of the weight variances and of the standard deviations of the biases that the methods may be given in
        place of those of the network; None for those of the network alone.

    Notes
    -----
    Where two points coincide or are antipodal the angle counts as constant. First derivatives are right wherever they
    exist; where the kernel has a tip (the NTK of ReLU on the diagonal) the result is the mean over all directions.
    Second derivatives are not right exactly at such points.

    Examples
    --------
    >>> from holokern.network import Network
    >>> kernel = Network("erf", depth=1).compile(0.5, 2.0)
    >>> kernel.nngp(np.array([[1.0, 0.0], [0.0, 2.0]])).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.500442]]
    """

    network: Network
    low: float
    high: float
    weights: Interval | None = None
    biases: Interval | None = None

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high < np.inf:
            raise BadInput(
                f"[{self.low}, {self.high}] is not a range of norms; pass 0 < low <= high (zero vectors are always in)"
            )
        if self.weights is not None and self.network.weight_variance is None:
            raise BadInput(f"{self.network} is normalised by c_σ; give it a weight_variance to make it learnable")

    def nngp(self, X: AnyArray, Y: AnyArray = None, *, weight: AnyArray = None, bias: AnyArray = None) -> AnyArray:
        """The NNGP kernel between the rows of X and of Y (of X itself without Y), an array of the caller's kind.

        ``weight`` and ``bias`` are weight variances and deviations of biases: one, or one for the input and for each
        hidden layer.
        """
        return self._pairs(X, Y, weight, bias).sigma

    def ntk(self, X: AnyArray, Y: AnyArray = None, *, weight: AnyArray = None, bias: AnyArray = None) -> AnyArray:
        """The neural tangent kernel."""
        self.network.require_tangent()
        return self._pairs(X, Y, weight, bias).tangent

    def both(self, X: AnyArray, Y: AnyArray = None) -> tuple[AnyArray, AnyArray]:
        """(NNGP, NTK) in one pass."""
        self.network.require_tangent()
        pairs = self._pairs(X, Y, None, None)
        return pairs.sigma, pairs.tangent

    def diagonals(self, X: AnyArray, *, weight: AnyArray = None, bias: AnyArray = None) -> Diagonals:
        """Σ and Θ of every point with itself; Θ is infinite where an activation jumps."""
        xp, x, _ = _arrays(X, None)
        scale, offset, layers = self._at(xp, x, weight, bias)
        c = _norms(xp, x * scale, offset)
        square = tangent = c**2
        for layer in layers:
            side = layer.side(xp, c)
            new = side.norm**2 + layer.layer.bias**2
            moved = tangent * side.slope**2 + new
            square, tangent = (square + new, tangent + moved) if layer.layer.residual else (new, moved)
            c = safe_root(xp, layer.next_variances(side))
        jumps = any(layer.dual.jumps for layer in self.network.hidden_layers)
        return Diagonals(square, xp.full_like(square, float("inf")) if jumps else tangent)

    def _pairs(self, X: AnyArray, Y: AnyArray, weight: AnyArray, bias: AnyArray) -> Pairs:
        """θ, Σ and Θ after all layers; a symmetric matrix is symmetric to the last bit."""
        xp, x, y = _arrays(X, Y)
        scale, offset, layers = self._at(xp, x, weight, bias)
        rows, same = x * scale, y is None
        columns = rows if same else y * scale
        c = _norms(xp, rows, offset)
        d = c if same else _norms(xp, columns, offset)
        sigma = rows @ columns.T + offset**2
        unit = _units(xp, rows, c, offset)
        theta = _angles(xp, unit, unit if same else _units(xp, columns, d, offset), same)
        state = theta, sigma, sigma, c, d
        for layer, group in groupby(layers):
            state = _repeated(xp, layer, state, len(list(group)), same)
        theta, sigma, tangent, *_ = state
        return Pairs(theta, *((0.5 * (part + part.T) if same else part) for part in (sigma, tangent)))

    def _at(
        self, xp: ModuleType, x: AnyArray, weight: AnyArray, bias: AnyArray
    ) -> tuple[AnyArray, AnyArray, tuple[ArrayLayer, ...]]:
        """The scale and the bias of the points, and the layers with their weights and biases."""
        network, count = self.network, self.network.depth
        dimension = max(1, x.shape[1])
        weights: list[AnyArray] = [one.weight for one in network.hidden_layers]
        scale: AnyArray = 1.0
        if network.weight_variance is not None:
            first, *weights = _entries(network.weight_variance if weight is None else weight, count + 1)
            scale = (first / dimension) ** 0.5
        offset, *biases = _entries(network.bias if bias is None else bias, count + 1)
        tables = _tables(self, dimension, float(xp.finfo(x.dtype).eps))
        made: dict[tuple[object, ...], ArrayLayer] = {}
        layers = []
        for table, own, shift in zip(tables, weights, biases, strict=True):
            # equal layers that follow each other are one loop, so they must be one object
            key = id(table), *(value if isinstance(value, float) else id(value) for value in (own, shift))
            if key not in made:
                made[key] = replace(table, layer=replace(table.layer, weight=own, bias=shift))
            layers.append(made[key])
        return scale, offset, tuple(layers)


def _entries(value: AnyArray, count: int) -> list[AnyArray]:
    """One entry for each place; a scalar stands for all."""
    if getattr(value, "ndim", 0) == 0:
        return [value] * count
    if value.shape[0] != count:
        raise BadInput(f"{value.shape[0]} variances were given; pass one, or {count}: the input and each hidden layer")
    return [value[place] for place in range(count)]


@lru_cache(maxsize=64)
def _tables(kernel: ArrayKernel, dimension: int, eps: float) -> tuple[ArrayLayer, ...]:
    """The layers on all deviations that points and variances in the ranges lead to; equal layers share one table."""
    network = kernel.network
    fixed = network.weight_variance
    biases = kernel.biases or (network.bias, network.bias)
    scales = (1.0, 1.0) if fixed is None else tuple(np.sqrt(w / dimension) for w in kernel.weights or (fixed, fixed))
    smallest = 0.0 if biases[0] > 0 else kernel.low
    low, high = (float(np.hypot(s * n, b)) for s, n, b in zip(scales, (smallest, kernel.high), biases, strict=True))
    c = np.geomspace(low, high, _SAMPLES)
    # A zero vector leaves zero at the first layer with σ(0) ≠ 0; a bias is part of the deviations from the start.
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
        (dual, residual): array_layer(HiddenLayer(dual, 1.0, 0.0, residual), ends, eps)
        for (dual, residual), ends in ranges.items()
    }
    return tuple(made[layer.dual, layer.residual] for layer in network.hidden_layers)


def _arrays(X: AnyArray, Y: AnyArray) -> tuple[ModuleType, AnyArray, AnyArray]:
    """The namespace and the arrays, as floating-point numbers of one type."""
    xp, given = as_floats(X, Y)
    for name, array in zip("XY", given, strict=False):
        if array.ndim != 2:
            raise BadInput(
                f"{name} has shape {tuple(array.shape)}; pass one row for each point, for one feature x[:, None]"
            )
    if Y is not None and X.shape[1] != Y.shape[1]:
        raise BadInput(different_shapes(X.shape, Y.shape))
    return xp, given[0], given[1] if Y is not None else None


def _norms(xp: ModuleType, rows: AnyArray, bias: AnyArray) -> AnyArray:
    square = xp.sum(rows * rows, axis=1) + bias**2
    return xp.sqrt(square) if is_given(bias) else safe_root(xp, square)


def _units(xp: ModuleType, rows: AnyArray, c: AnyArray, bias: AnyArray) -> AnyArray:
    """Directions, the bias included as one more coordinate; zero rows stay zero."""
    if is_given(bias):
        return xp.concat([rows, 0.0 * rows[:, :1] + bias], axis=1) / c[:, None]
    return rows / xp.where(c > 0, c, 1.0)[:, None]


def _angles(xp: ModuleType, u: AnyArray, v: AnyArray, same: bool) -> AnyArray:
    """Angles between unit vectors from |u - v|² and |u + v|², without the products of all pairs and coordinates.

    Heads of the coordinates, rounded to half of the digits, have exact inner products; so what is subtracted from
    |u|² + |v|² leaves an error far below the rounding of u·v.
    """
    half = float(2 ** int(-np.log2(float(xp.finfo(u.dtype).eps)) // 2))
    (head, tail), (other, rest) = ((a, x - a) for x in (u, v) for a in [xp.round(x * half) / half])
    coarse = 0.5 * (xp.sum(head * head, axis=1)[:, None] + xp.sum(other * other, axis=1)[None, :])
    fine = 0.5 * (xp.sum((head + u) * tail, axis=1)[:, None] + xp.sum((other + v) * rest, axis=1)[None, :])
    inner, inner_fine = head @ other.T, head @ rest.T + tail @ v.T
    near = (coarse - inner) + (fine - inner_fine)
    away = (coarse + inner) + (fine + inner_fine)
    # Below this the difference is rounding, and the points coincide; its root would have a random derivative.
    noise = 8.0 * float(xp.finfo(u.dtype).eps) / half
    near, away = (xp.where(part > noise, part, 0.0) for part in (near, away))
    if same:
        near = xp.where(xp.eye(u.shape[0], dtype=xp.bool), 0.0, near)
    # Two zero vectors count as parallel.
    away = xp.where(near + away > 0, away, 1.0)
    return 2.0 * xp.atan2(safe_root(xp, near), safe_root(xp, away))


def _repeated(
    xp: ModuleType, layer: ArrayLayer, state: tuple[AnyArray, ...], times: int, same: bool
) -> tuple[AnyArray, ...]:
    """A layer several times over; its many matrices are computed again for the derivative instead of being kept.

    The state holds θ, Σ, Θ and the deviations of both sides. In JAX the layers are a loop, compiled once.
    """
    from array_api_compat import is_jax_namespace, is_torch_namespace

    def step(theta: AnyArray, sigma: AnyArray, tangent: AnyArray, c: AnyArray, d: AnyArray) -> tuple[AnyArray, ...]:
        rows = layer.side(xp, c)
        columns = rows if same else layer.side(xp, d)
        after = layer(xp, rows, columns, Pairs(theta, sigma, tangent))
        c = safe_root(xp, layer.next_variances(rows))
        d = c if same else safe_root(xp, layer.next_variances(columns))
        return after.theta, after.sigma, after.tangent, c, d

    if is_jax_namespace(xp):
        import jax

        once = jax.checkpoint(step)
        return tuple(once(*state) if times == 1 else jax.lax.fori_loop(0, times, lambda _, now: once(*now), state))
    again = is_torch_namespace(xp) and state[0].requires_grad and _hooks_allowed()
    for _ in range(times):
        if again:
            from torch.utils.checkpoint import checkpoint

            state = checkpoint(step, *state, use_reentrant=False)
        else:
            state = step(*state)
    return state


def _hooks_allowed() -> bool:
    """Whether torch can forget what it would need for the derivative; its function transforms cannot."""
    import torch

    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept, lambda kept: kept):
            return True
    except RuntimeError:
        return False
