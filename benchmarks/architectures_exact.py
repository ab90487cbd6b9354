"""Kernels of small architectures by brute force with 40 digits: the slow truth beside holokern and neural-tangents.

Every covariance between all positions of all inputs is kept and every layer is written as its definition says, in
gmpy2; nothing is shared with holokern. An architecture is a nested list ``[name, *arguments, {keywords}]``, such as

    ["Serial", ["Conv", [3, 3], {"stride": [2, 1], "padding": "same", "W_std": 1.4, "b_std": 0.1}],
               ["Activation", "gelu"], ["GlobalAvgPool"], ["Dense", {"W_std": 1.0, "b_std": null}]]

Activations are relu, erf and gelu, which have closed forms.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import gmpy2 as mp
import numpy as np

DIGITS = 40
mp.get_context().precision = round(DIGITS * 3.33)
PI = mp.const_pi()

Spec = list[Any]


@dataclass(frozen=True)
class State:
    """Covariances ``sigma[m, p, n, q]`` of positions p, q of inputs m, n, the tangent kernel, positions and width."""

    sigma: np.ndarray
    theta: np.ndarray
    shape: tuple[int, ...]
    width: int

    def linear(self, change: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> State:
        """What changes both covariances alike."""
        return replace(self, sigma=change(self.sigma), theta=change(self.theta), shape=shape)


def number(value: float | None) -> Any:
    return mp.mpfr(0) if value is None else mp.mpfr(value)


def start(points: np.ndarray) -> State:
    """The input: products of channels over their number."""
    points = np.asarray(points, dtype=float)
    shape, width = points.shape[1:-1], points.shape[-1]
    exact = np.array([mp.mpfr(x) for x in points.ravel()], dtype=object).reshape(len(points), prod(shape), width)
    sigma = np.tensordot(exact, exact, (2, 2)) / width
    return State(sigma, sigma * 0, tuple(shape), width)


def gathered(matrix: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Entries at ``index`` of both position axes; -1 stands for a zero beyond the border."""
    outside = index < 0
    matrix = matrix[:, index][:, :, :, index]
    matrix[:, outside] = mp.mpfr(0)
    matrix[:, :, :, outside] = mp.mpfr(0)
    return matrix


def flat_taps(along: Sequence[list[np.ndarray]], shape: tuple[int, ...]) -> list[np.ndarray]:
    """Taps of a window from taps of each axis: for each, the flat input position of every output position."""
    taps = []
    for chosen in itertools.product(*along):
        grid = np.meshgrid(*chosen, indexing="ij")
        flat = np.ravel_multi_index([np.maximum(g, 0) for g in grid], shape)
        taps.append(np.where(np.any([g < 0 for g in grid], axis=0), -1, flat).ravel())
    return taps


def window_taps(size: int, length: int, stride: int, dilation: int, padding: str) -> list[np.ndarray]:
    """One axis of a convolution or pooling: the input position under each tap, -1 outside."""
    reach = (length - 1) * dilation + 1
    if padding == "valid":
        low, out = 0, (size - reach) // stride + 1
    else:
        out = -(-size // stride)
        low = max((out - 1) * stride + reach - size, 0) // 2
    places = [np.arange(out) * stride + tap * dilation - low for tap in range(length)]
    if padding == "circular":
        return [place % size for place in places]
    return [np.where((place >= 0) & (place < size), place, -1) for place in places]


def transposed_taps(size: int, length: int, stride: int, padding: str) -> list[np.ndarray]:
    """One axis of a transposed convolution; a circular one adds what falls beyond the border on the other side."""
    whole = size * stride + max(length - stride, 0)
    before, out, low = length - 1, whole, 0
    if padding == "same":
        before = length - 1 if stride > length - 1 else -(-(length + stride - 2) // 2)
        out = size * stride
    elif padding == "circular":
        out = size * stride
        low = (whole - out) // 2
    taps = []
    for tap in range(length):
        found = np.full(out, -1)
        for place in range(whole if padding == "circular" else out):
            source = place + tap - before
            if source >= 0 and source % stride == 0 and source // stride < size:
                found[(place - low) % out if padding == "circular" else place] = source // stride
        taps.append(found)
    return taps


def out_shape(along: Sequence[list[np.ndarray]]) -> tuple[int, ...]:
    return tuple(len(taps[0]) for taps in along)


def affine(state: State, average: Callable[[np.ndarray], np.ndarray], taps: int, keys: dict[str, Any]) -> State:
    """Dense layers and convolutions: Σ' = W² avg Σ + b²."""
    w, b = number(keys.get("W_std", 1.0)) ** 2, number(keys.get("b_std")) ** 2
    mean = average(state.sigma)
    sigma = w * mean + b
    if keys.get("parameterization", "ntk") == "ntk":
        theta = w * average(state.theta) + sigma
    else:
        into, _ = keys.get("s", (1, 1))
        theta = mean * mp.mpfr(state.width * taps) / into + w * average(state.theta)
        theta = theta + (0 if keys.get("b_std") is None else 1)
    width = keys.get("width", 1) * (keys.get("s", (1, 1))[1] if keys.get("parameterization") == "standard" else 1)
    return replace(state, sigma=sigma, theta=theta, width=width)


def dense(state: State, keys: dict[str, Any]) -> State:
    return affine(state, lambda matrix: matrix, 1, keys)


def each(value: int | Sequence[int], shape: tuple[int, ...]) -> list[int]:
    return [value] * len(shape) if isinstance(value, int) else list(value)


def conv(state: State, window: Sequence[int], keys: dict[str, Any], transposed: bool = False) -> State:
    window, stride = each(window, state.shape), each(keys.get("stride", 1), state.shape)
    dilation, padding = each(keys.get("dilation", 1), state.shape), keys.get("padding", "valid")
    if transposed:
        along = [transposed_taps(*three, padding) for three in zip(state.shape, window, stride, strict=True)]
    else:
        along = [window_taps(*four, padding) for four in zip(state.shape, window, stride, dilation, strict=True)]
    taps = flat_taps(along, state.shape)
    changed = affine(state, lambda m: sum(gathered(m, tap) for tap in taps) / mp.mpfr(len(taps)), len(taps), keys)
    return replace(changed, shape=out_shape(along))


def mapped(state: State, matrices: list[np.ndarray], shape: tuple[int, ...]) -> State:
    """A matrix on positions for each input (or one for all), on both sides."""

    def change(matrix: np.ndarray) -> np.ndarray:
        count = len(matrix)
        every = matrices * count if len(matrices) == 1 else matrices
        rows = [np.tensordot(every[m], matrix[m], (1, 0)) for m in range(count)]
        return np.stack(
            [
                np.stack([np.tensordot(rows[m][:, n], every[n], (1, 1)) for n in range(count)], axis=1)
                for m in range(count)
            ]
        )

    return state.linear(change, shape)


def exact_matrix(matrix: Any) -> np.ndarray:
    matrix = np.asarray(matrix, dtype=float)
    return np.array([mp.mpfr(x) for x in matrix.ravel()], dtype=object).reshape(matrix.shape)


def pool(state: State, window: Sequence[int], keys: dict[str, Any], average: bool) -> State:
    window, stride = each(window, state.shape), each(keys.get("stride", 1), state.shape)
    padding = keys.get("padding", "valid")
    along = [window_taps(n, f, s, 1, padding) for n, f, s in zip(state.shape, window, stride, strict=True)]
    matrix = np.full((prod(out_shape(along)), prod(state.shape)), mp.mpfr(0), dtype=object)
    for tap in flat_taps(along, state.shape):
        for out, source in enumerate(tap):
            if source >= 0:
                matrix[out, source] += 1
    if average:
        edges = keys.get("normalize_edges", False)
        matrix = matrix / (matrix.sum(axis=1, keepdims=True) if edges else mp.mpfr(prod(window)))
    return mapped(state, [matrix], out_shape(along))


def pooled(state: State, average: bool) -> State:
    count = prod(state.shape)
    matrix = np.full((1, count), mp.mpfr(1) / count if average else mp.mpfr(1), dtype=object)
    return mapped(state, [matrix], ())


def flatten(state: State) -> State:
    count = prod(state.shape)

    def trace(matrix: np.ndarray) -> np.ndarray:
        return (sum(matrix[:, p, :, p] for p in range(count)) / mp.mpfr(count))[:, None, :, None]

    return replace(state.linear(trace, ()), width=count * state.width)


def variances(state: State) -> np.ndarray:
    """Of every input and position."""
    every = range(len(state.sigma))
    return np.array([[state.sigma[m, p, m, p] for p in range(prod(state.shape))] for m in every], dtype=object)


def layer_norm(state: State, keys: dict[str, Any]) -> State:
    rank = len(state.shape) + 2
    axes = tuple(axis % rank for axis in keys.get("axis", [-1]) if axis % rank != rank - 1)
    spread = (variances(state) + mp.mpfr(keys.get("eps", 1e-12))).reshape(-1, *state.shape)
    for axis in axes:
        mean = spread.sum(axis=axis, keepdims=True) / mp.mpfr(state.shape[axis - 1])
        spread = mean + spread * 0
    root = np.vectorize(mp.sqrt, otypes=[object])(spread.reshape(len(spread), -1))
    return state.linear(lambda matrix: matrix / root[:, :, None, None] / root, state.shape)


def dropout(state: State, kept: float) -> State:
    def change(matrix: np.ndarray) -> np.ndarray:
        matrix = matrix.copy()
        for m, p in itertools.product(range(len(matrix)), range(matrix.shape[1])):
            matrix[m, p, m, p] /= mp.mpfr(kept)
        return matrix

    return state.linear(change, state.shape)


def relu_pair(a: Any, k: Any, b: Any) -> tuple[Any, Any]:
    root = mp.sqrt(max(a * b - k * k, mp.mpfr(0)))
    angle = mp.atan2(root, k) if root or k else PI / 2
    slope = mp.mpfr(1) / 2 - angle / (2 * PI)
    return root / (2 * PI) + slope * k, slope


def erf_pair(a: Any, k: Any, b: Any) -> tuple[Any, Any]:
    root = mp.sqrt((1 + 2 * a) * (1 + 2 * b) - 4 * k * k)
    return 2 / PI * mp.atan2(2 * k, root), 4 / (PI * root)


def gelu_pair(a: Any, k: Any, b: Any) -> tuple[Any, Any]:
    """E[u v Φ(u) Φ(v)] by integration by parts, and its derivative by k [Price]."""
    square = (1 + a) * (1 + b) - k * k
    delta = mp.sqrt(square)
    both = mp.mpfr(1) / 4 + mp.atan2(k, delta) / (2 * PI)  # E[Φ(u) Φ(v)]
    density = 1 / (2 * PI * delta)  # E[φ(u) φ(v)]
    left, right = k / (1 + a) * density, k / (1 + b) * density  # E[u φ(u) Φ(v)], E[Φ(u) v φ(v)]
    value = k * both + (a * b + k * k) * density - k * (a * left + b * right)
    return value, both + left + right + density * k / square


PAIRS = {"relu": relu_pair, "erf": erf_pair, "gelu": gelu_pair}


def activation(state: State, name: str) -> State:
    pair, spread = PAIRS[name], variances(state)
    sigma, theta = state.sigma.copy(), state.theta.copy()
    count, places = spread.shape
    for m, p in itertools.product(range(count), range(places)):
        for n, q in itertools.product(range(m, count), range(places)):
            k, slope = pair(spread[m, p], state.sigma[m, p, n, q], spread[n, q])
            sigma[m, p, n, q] = sigma[n, q, m, p] = k
            theta[m, p, n, q] = slope * state.theta[m, p, n, q]
            theta[n, q, m, p] = slope * state.theta[n, q, m, p]
    return replace(state, sigma=sigma, theta=theta)


def attention(state: State, keys: dict[str, Any]) -> State:
    """Global self-attention with tied keys and queries scaled by 1/width, or with identity scaled by its root."""
    inner = number(keys.get("W_query_std", 1.0)) * number(keys.get("W_key_std", 1.0))
    outer = number(keys.get("W_out_std", 1.0)) * number(keys.get("W_value_std", 1.0))
    b, every = number(keys.get("b_std")) ** 2, range(len(state.sigma))
    if not keys.get("linear_scaling", True):
        scale = (inner * outer) ** 2
        squares = (state.sigma**2).sum(axis=(1, 3), keepdims=True)
        mixed = (state.sigma * state.theta).sum(axis=(1, 3), keepdims=True)
        sigma = scale * squares * state.sigma + b
        theta = scale * (2 * mixed * state.sigma + squares * (state.theta + 4 * state.sigma)) + b
        return replace(state, sigma=sigma, theta=theta)
    exp = np.vectorize(mp.exp, otypes=[object])
    mechanisms: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "identity": lambda scores: scores,
        "relu": lambda scores: (scores + abs(scores)) / 2,
        "abs": abs,
        "softmax": lambda scores: exp(scores) / exp(scores).sum(axis=1, keepdims=True),
    }
    weights = [outer * mechanisms[keys["mechanism"]](inner * state.sigma[m, :, m]) for m in every]
    mixed_state = mapped(state, weights, state.shape)
    return replace(state, sigma=mixed_state.sigma + b, theta=mixed_state.theta + 2 * mixed_state.sigma + b)


def index(state: State, chosen: list[Any]) -> State:
    places = np.arange(prod(state.shape)).reshape(state.shape)
    places = places[tuple(c if isinstance(c, int) else slice(*c) for c in chosen)]
    return state.linear(lambda matrix: matrix[:, places.ravel()][:, :, :, places.ravel()], places.shape)


def neighbours(graph: np.ndarray, how: str = "sum") -> np.ndarray:
    """Row i holds the weights with which node i takes from the others."""
    return graph / graph.sum(axis=1, keepdims=True) if how == "mean" else graph


def along_axis(state: State, matrix: np.ndarray, axis: int) -> State:
    """A matrix on one axis of positions."""
    before, after = prod(state.shape[:axis]), prod(state.shape[axis + 1 :])
    one, other = (exact_matrix(np.eye(size)) for size in (before, after))
    shape = (*state.shape[:axis], len(matrix), *state.shape[axis + 1 :])
    return mapped(state, [np.kron(np.kron(one, matrix), other)], shape)


def concat(states: list[State], keys: dict[str, Any]) -> State:
    """Of channels: the average by widths. Of positions: blocks, independent of each other."""
    axis, rank = keys.get("axis", -1), len(states[0].shape) + 2
    if axis % rank == rank - 1:
        width = sum(state.width for state in states)
        sigma = sum(state.sigma * state.width for state in states) / mp.mpfr(width)
        theta = sum(state.theta * state.width for state in states) / mp.mpfr(width)
        return replace(states[0], sigma=sigma, theta=theta, width=width)
    count = len(states[0].sigma)
    starts = np.cumsum([0] + [prod(state.shape) for state in states])
    grids = [np.arange(a, b).reshape(s.shape) for a, b, s in zip(starts, starts[1:], states, strict=False)]
    order = np.concatenate(grids, axis=axis % rank - 1)
    blocks = []
    for which in ("sigma", "theta"):
        whole = np.full((count, starts[-1], count, starts[-1]), mp.mpfr(0), dtype=object)
        for a, b, state in zip(starts, starts[1:], states, strict=False):
            whole[:, a:b, :, a:b] = getattr(state, which)
        blocks.append(whole[:, order.ravel()][:, :, :, order.ravel()])
    return replace(states[0], sigma=blocks[0], theta=blocks[1], shape=order.shape)


def product(states: list[State]) -> State:
    sigma, theta = states[0].sigma, states[0].theta
    for state in states[1:]:
        sigma, theta = sigma * state.sigma, theta * state.sigma + sigma * state.theta
    return replace(states[0], sigma=sigma, theta=theta)


def apply(spec: Spec, state: Any, graphs: list[np.ndarray] | None) -> Any:
    """The state, or the list of states of branches, after a layer."""
    name, *rest = spec
    keys = rest.pop() if rest and isinstance(rest[-1], dict) else {}
    if name == "Serial":
        for layer in rest:
            state = apply(layer, state, graphs)
        return state
    if name == "Parallel":
        return [apply(layer, branch, graphs) for layer, branch in zip(rest, state, strict=True)]
    if name == "Aggregate":
        if graphs is None:
            raise ValueError("the architecture has an Aggregate layer, but no graphs were given")
        return mapped(state, [neighbours(exact_matrix(graph), *rest) for graph in graphs], state.shape)
    if name == "LinearMap":
        return along_axis(state, exact_matrix(rest[0]), keys.get("axis", 0))
    layers: dict[str, Callable[..., Any]] = {
        "Identity": lambda: state,
        "FanOut": lambda count: [state] * count,
        "Sum": lambda: replace(state[0], sigma=sum(s.sigma for s in state), theta=sum(s.theta for s in state)),
        "Concat": lambda: concat(state, keys),
        "Product": lambda: product(state),
        "Dense": lambda: dense(state, keys),
        "Conv": lambda window: conv(state, window, keys),
        "ConvTranspose": lambda window: conv(state, window, keys, transposed=True),
        "AvgPool": lambda window: pool(state, window, keys, average=True),
        "SumPool": lambda window: pool(state, window, keys, average=False),
        "GlobalAvgPool": lambda: pooled(state, average=True),
        "GlobalSumPool": lambda: pooled(state, average=False),
        "Flatten": lambda: flatten(state),
        "LayerNorm": lambda: layer_norm(state, keys),
        "Dropout": lambda kept: dropout(state, kept),
        "Activation": lambda which: activation(state, which),
        "Index": lambda chosen: index(state, chosen),
        "SelfAttention": lambda: attention(state, keys),
    }
    return layers[name](*rest)


def kernels(
    spec: Spec, points: np.ndarray, graphs: list[np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """NNGP and NTK of all pairs of inputs as float64, shape (N, N) or (N, P, N, P) where positions remain."""
    end = apply(spec, start(points), graphs)
    both = [matrix.astype(float) for matrix in (end.sigma, end.theta)]
    if not end.shape:
        both = [matrix[:, 0, :, 0] for matrix in both]
    return both[0], both[1], end.shape
