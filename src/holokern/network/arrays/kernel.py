"""`ArrayKernel`: kernels on arrays of any kind by the array API standard, through which jit and autograd go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from holokern.errors import BadInput, Unsupported
from holokern.network.arrays.layer import ArrayLayer, Pairs, is_given, safe_root
from holokern.network.engine.fill import Diagonals
from holokern.network.hidden_layer import HiddenLayer
from holokern.network.tangent import jumping, require_tangent
from holokern.numeric import AnyArray

if TYPE_CHECKING:
    from holokern.network.network import Network

_SAMPLES = 65
_MARGIN = 1.001
_DROPPED = 2e-14


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

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high < np.inf:
            raise BadInput(
                f"[{self.low}, {self.high}] is not a range of norms; pass 0 < low <= high (zero vectors are always in)"
            )

    def nngp(self, X: AnyArray, Y: AnyArray = None) -> AnyArray:
        """The NNGP kernel between the rows of X and of Y (of X itself without Y), an array of the caller's kind."""
        return self.matrices(X, Y, False).sigma

    def ntk(self, X: AnyArray, Y: AnyArray = None) -> AnyArray:
        """The neural tangent kernel."""
        return self.matrices(X, Y, True).tangent

    def both(self, X: AnyArray, Y: AnyArray = None) -> tuple[AnyArray, AnyArray]:
        """(NNGP, NTK) in one pass."""
        pairs = self.matrices(X, Y, True)
        return pairs.sigma, pairs.tangent

    def diagonals(self, X: AnyArray) -> Diagonals:
        """Σ and Θ of every point with itself; Θ is infinite where an activation jumps."""
        xp, x, _ = _arrays(X, None)
        square, tangent = point_diagonals(xp, self._scaled(x), self.network.bias, self._layers(xp, x))
        return Diagonals(square, xp.full_like(square, float("inf")) if jumping(self.network.hidden_layers) else tangent)

    def matrices(self, X: AnyArray, Y: AnyArray, with_tangent: bool) -> Pairs:
        """Σ and Θ; a symmetric matrix is symmetric to the last bit."""
        if with_tangent:
            require_tangent(self.network.hidden_layers)
        xp, x, y = _arrays(X, Y)
        columns = None if y is None else self._scaled(y)
        return pair_matrices(xp, self._scaled(x), columns, self.network.bias, self._layers(xp, x))

    def _scaled(self, x: AnyArray) -> AnyArray:
        weight = self.network.weight_variance
        return x if weight is None else x * float(np.sqrt(weight / max(1, x.shape[1])))

    def _layers(self, xp: ModuleType, x: AnyArray) -> tuple[ArrayLayer, ...]:
        eps = float(xp.finfo(x.dtype).eps)
        weight = self.network.weight_variance
        scale = 1.0 if weight is None else float(np.sqrt(weight / max(1, x.shape[1])))
        bias = self.network.bias
        ends = [float(np.hypot(scale * norm, bias)) for norm in (0.0 if bias else self.low, self.high)]
        return _layers(self.network.hidden_layers, ends[0], ends[1], max(_DROPPED, eps / 8))


def pair_matrices(
    xp: ModuleType, rows: AnyArray, columns: AnyArray, bias: AnyArray, layers: tuple[ArrayLayer, ...]
) -> Pairs:
    """θ, Σ and Θ after all layers, of scaled points; ``columns`` is None for those of ``rows`` with themselves.

    Weights and biases may be numbers or arrays that an optimiser moves.
    """
    same = columns is None
    c = _norms(xp, rows, bias)
    d = c if same else _norms(xp, columns, bias)
    sigma = rows @ (rows if same else columns).T + bias**2
    unit = _units(xp, rows, c, bias)
    theta = _angles(xp, unit, unit if same else _units(xp, columns, d, bias), same)
    state = theta, sigma, sigma, c, d
    for layer, group in groupby(layers):
        state = _repeated(xp, layer, state, len(list(group)), same)
    theta, sigma, tangent, *_ = state
    return Pairs(theta, *((0.5 * (part + part.T) if same else part) for part in (sigma, tangent)))


def point_diagonals(
    xp: ModuleType, rows: AnyArray, bias: AnyArray, layers: tuple[ArrayLayer, ...]
) -> tuple[AnyArray, AnyArray]:
    """Σ and Θ of every scaled point with itself."""
    c = _norms(xp, rows, bias)
    square = tangent = c**2
    for layer in layers:
        side = layer.side(xp, c)
        new = side.norm**2 + layer.layer.bias**2
        moved = tangent * side.slope**2 + new
        square, tangent = (square + new, tangent + moved) if layer.layer.residual else (new, moved)
        c = safe_root(xp, layer.next_variances(side))
    return square, tangent


@lru_cache(maxsize=64)
def _layers(layers: tuple[HiddenLayer, ...], low: float, high: float, dropped: float) -> tuple[ArrayLayer, ...]:
    """The layers for deviations in [low, high] before the first; equal layers share one object."""
    c = np.geomspace(low, high, _SAMPLES)
    # A zero vector leaves zero at the first layer with σ(0) ≠ 0; a bias is part of the deviations from the start.
    origin = 0.0 if layers[0].bias == 0 else None
    ranges: dict[HiddenLayer, tuple[float, float]] = {}
    for layer in layers:
        before = ranges.get(layer, (np.inf, 0.0))
        ranges[layer] = min(before[0], float(np.min(c)) / _MARGIN), max(before[1], float(np.max(c)) * _MARGIN)
        c = np.sqrt(layer.variances(c, layer.dual.moments_in_range(c)[0]))
        if origin == 0.0:
            origin = float(np.sqrt(layer.weight)) * layer.dual.limits.norm
            c = np.append(c, origin) if origin else c
    made = {}
    for layer, ends in ranges.items():
        try:
            made[layer] = ArrayLayer.of(layer, ends, dropped)
        except Unsupported as error:
            raise Unsupported(
                f"{layer.activation} cannot be traced or differentiated ({error}); pass numpy arrays, or arrays "
                "outside of jit and without derivatives"
            ) from None
    return tuple(made[layer] for layer in layers)


def _arrays(X: AnyArray, Y: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The namespace and the arrays, as floating-point numbers of one type."""
    from array_api_compat import array_namespace

    given = [X] if Y is None else [X, Y]
    xp = array_namespace(*given)
    for name, array in zip("XY", given, strict=False):
        if array.ndim != 2:
            raise BadInput(
                f"{name} has shape {tuple(array.shape)}; pass one row for each point, for one feature x[:, None]"
            )
    if Y is not None and X.shape[1] != Y.shape[1]:
        raise BadInput(f"X has {X.shape[1]} columns and Y has {Y.shape[1]}; they must live in the same space")
    dtype = xp.result_type(*(array.dtype for array in given), xp.float32)
    if dtype not in (xp.float32, xp.float64):
        raise BadInput(f"the points are of type {dtype}; pass float32 or float64")
    x, *rest = (xp.astype(array, dtype) for array in given)
    return xp, x, rest[0] if rest else None


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
