"""Compositions of layers on arrays of any kind, through which jit and autograd go.

The layers are those of `holokern.network.layers`; only activations differ from the numpy engine. All pairs are computed
at once, so this is for as many inputs as a derivative can hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from holokern.dual import DualActivation
from holokern.errors import BadInput, Unsupported
from holokern.network.architecture.kernels import LayerKernels, SpanRange
from holokern.network.architecture.walks import span_of
from holokern.network.arrays.layer import ArrayLayer, Pairs, angle_of_gap, array_layer, as_floats, safe_root
from holokern.network.engine.fill import Diagonals
from holokern.network.hidden_layer import HiddenLayer
from holokern.network.layers.layer import Context, Layer, Shape
from holokern.network.layers.state import Layout, State
from holokern.numeric import AnyArray

_MARGIN = 0.05
"""What ranges of log c are widened by, so that points may move a little."""


@dataclass(frozen=True)
class ArrayLayers:
    """The kernels of a composition of layers for inputs like those that it was made for.

    Made by `Network.compile`. Entries with deviations outside of the ranges are NaN.
    """

    kernels: LayerKernels  # the layers
    data: SpanRange  # the ranges of deviations that activations meet

    def nngp(self, X: AnyArray, Y: AnyArray = None) -> AnyArray:
        """The NNGP kernel between the inputs of X and of Y (of X itself without Y), an array of the caller's kind."""
        return self._matrices(X, Y, False)[0]

    def ntk(self, X: AnyArray, Y: AnyArray = None) -> AnyArray:
        """The neural tangent kernel."""
        return self._matrices(X, Y, True)[1]

    def both(self, X: AnyArray, Y: AnyArray = None) -> tuple[AnyArray, AnyArray]:
        """(NNGP, NTK) in one pass."""
        return self._matrices(X, Y, True)

    def diagonals(self, X: AnyArray) -> Diagonals:
        """Σ and Θ of every input with itself."""
        xp, (x,) = as_floats(X)
        state, _ = self._own(xp, x, True)
        return Diagonals(state.first, state.tangent)

    def _matrices(self, X: AnyArray, Y: AnyArray, with_tangent: bool) -> tuple[AnyArray, AnyArray]:
        if with_tangent:
            self.kernels.require_tangent()
        xp, given = as_floats(X, Y)
        own = [self._own(xp, array, with_tangent and Y is None) for array in given]
        tapes = iter(own[0][1]), iter(own[-1][1])
        layer, shape = self.kernels.layer, _shape(given[0])
        walk = _ArrayWalk(xp, self, tapes)
        start = _start(xp, given[0], given[-1], not layer.needs_pairs(False), False, with_tangent)
        state = layer.apply(walk, start, Context(shape, False))
        assert isinstance(state, State)
        found = [state.covariance(), state.tangent]
        if Y is None:
            same = xp.eye(given[0].shape[0], dtype=xp.bool)
            parts = zip(found, (own[0][0].first, own[0][0].tangent), strict=True)
            found = [a if a is None else xp.where(same, diagonal[:, None], 0.5 * (a + a.T)) for a, diagonal in parts]
        return found[0], found[1]

    def _own(self, xp: ModuleType, x: Any, with_tangent: bool) -> tuple[State, list[Any]]:
        """Inputs with themselves, and what they leave for pairs."""
        layer = self.kernels.layer
        walk = _ArrayWalk(xp, self, None)
        start = _start(xp, x, x, not layer.needs_pairs(False), True, with_tangent)
        state = layer.apply(walk, start, Context(_shape(x), False))
        assert isinstance(state, State)
        return state, walk.tape


@dataclass(frozen=True)
class _ArraySide:
    c: AnyArray
    after: AnyArray

    def at(self, some: slice) -> _ArraySide:
        return _ArraySide(self.c[some], self.after[some])


class _ArrayWalk:
    """Inputs with themselves, or pairs of inputs that read what their sides left."""

    def __init__(self, xp: ModuleType, owner: ArrayLayers, tapes: tuple[Any, Any] | None) -> None:
        self.xp, self.owner, self.tapes = xp, owner, tapes
        self.is_standard = owner.kernels.is_standard
        self.tape: list[Any] = []

    def sides(self, make: Callable[[], Any]) -> tuple[Any, Any]:
        """What ``make`` gives for inputs with themselves; for pairs what it gave for both sides."""
        if self.tapes is not None:
            return next(self.tapes[0]), next(self.tapes[1])
        made = make()
        self.tape.append(made)
        return made, made

    def _layer(self, dual: DualActivation, like: AnyArray) -> ArrayLayer:
        span = span_of(dict(self.owner.data.spans), dual)
        if span is not None:
            ends = float(np.exp(span.low - _MARGIN)), float(np.exp(span.high + _MARGIN))
        elif dual.homogeneity is not None:
            ends = 1.0, 1.0
        else:
            raise BadInput(f"the deviations that {dual.activation} meets are unknown; use net.compile(like=X)")
        return array_layer(HiddenLayer(dual, 1.0, 0.0, False), ends, float(self.xp.finfo(like.dtype).eps))

    def squares(self, dual: DualActivation, variances: AnyArray) -> AnyArray:
        """Variances after an activation."""
        c = safe_root(self.xp, variances)
        side = self._layer(dual, c).side(self.xp, c.reshape(-1))
        return (side.norm**2).reshape(variances.shape)

    def prepare(self, dual: DualActivation, variances: Callable[[], Any]) -> tuple[Any, Any]:
        """Both sides when they enter an activation."""

        def make() -> _ArraySide:
            found = variances()
            return _ArraySide(safe_root(self.xp, found), self.squares(dual, found))

        return self.sides(make)

    def activated(
        self, dual: DualActivation, sides: tuple[Any, Any], layout: Layout, gap: Any, tangent: Any
    ) -> tuple[AnyArray, AnyArray]:
        """G and Θ after an activation."""
        xp, layer = self.xp, self._layer(dual, gap)
        if layout.is_paired and layout.is_tied:
            slope = layer.side(xp, sides[0].c.reshape(-1)).slope.reshape(sides[0].c.shape)
            return xp.zeros_like(gap), None if tangent is None else tangent * slope**2
        ends = [side.c for side in sides]
        if layout.is_paired:
            ends = [xp.moveaxis(end, -1, 0) for end in ends]
        tiles = gap.shape[-1] if layout.is_paired else 1
        if layout.is_tied:
            tiles = int(np.prod(gap.shape[: layout.dimensions]))
        ends = [end.reshape(tiles, -1) for end in ends]
        shape = (tiles, ends[0].shape[1], ends[1].shape[1])

        def cut(array: AnyArray) -> AnyArray:
            return (xp.moveaxis(array, -1, 0) if layout.is_paired else array).reshape(shape)

        def joined(array: AnyArray) -> AnyArray:
            if layout.is_paired:
                return xp.moveaxis(array.reshape(tiles, *gap.shape[:-1]), 0, -1)
            return array.reshape(gap.shape)

        given = cut(gap), cut(xp.zeros_like(gap) if tangent is None else tangent)
        after, moved = _by_tiles(xp, layer, ends[0], ends[1], *given)
        return joined(after), None if tangent is None else joined(moved)

    def run(self, layers: tuple[Layer, ...], state: State, shape: Shape) -> tuple[int, State]:
        """Layer by layer."""
        return 0, state

    def patterns(self) -> tuple[Any, Any]:
        """Graphs are served by numpy only."""
        raise Unsupported("graphs cannot be traced or differentiated; pass Graphs of numpy arrays")

    def nodes(self) -> tuple[Any, Any] | None:
        """All positions."""
        return None


def _by_tiles(
    xp: ModuleType, layer: ArrayLayer, c: AnyArray, d: AnyArray, gap: AnyArray, tangent: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """One tile after another, or all at once where the library can."""

    def one(c: AnyArray, d: AnyArray, gap: AnyArray, tangent: AnyArray) -> tuple[AnyArray, AnyArray]:
        rows, columns = layer.side(xp, c), layer.side(xp, d)
        both = c[:, None] * d[None, :]
        lost = (gap - 0.5 * (c[:, None] - d[None, :]) ** 2) / xp.where(both > 0, both, 1.0)
        theta = angle_of_gap(xp, xp.clip(lost, 0.0, 2.0))
        after = layer(xp, rows, columns, Pairs(theta, both * (1.0 - lost), tangent))
        half = 0.5 * (rows.norm[:, None] ** 2 + columns.norm[None, :] ** 2)
        return half - after.sigma, after.tangent - after.sigma

    if c.shape[0] == 1:
        found = one(c[0], d[0], gap[0], tangent[0])
        return found[0][None], found[1][None]
    from array_api_compat import is_jax_namespace

    if is_jax_namespace(xp):
        import jax

        mapped = jax.vmap(one)(c, d, gap, tangent)
        return mapped[0], mapped[1]
    parts = [one(c[t], d[t], gap[t], tangent[t]) for t in range(c.shape[0])]
    return xp.stack([part[0] for part in parts]), xp.stack([part[1] for part in parts])


def _shape(x: AnyArray) -> Shape:
    return Shape(tuple(x.shape[1:-1]), int(x.shape[-1]))


def _start(xp: ModuleType, x: AnyArray, y: AnyArray, is_tied: bool, is_paired: bool, with_tangent: bool) -> State:
    """The state before the first layer."""
    layout = Layout(x.ndim - 2, is_tied or x.ndim == 2, is_paired)
    first, second = (xp.moveaxis(array, 0, -2) for array in (x, y))
    sides = [xp.mean(array**2, axis=-1) for array in (first, second)]
    gap: AnyArray = 0.0
    for channel in range(x.shape[-1]):
        gap = gap + (layout.rows(first[..., channel]) - layout.columns(second[..., channel])) ** 2
    gap = gap / (2 * x.shape[-1])
    return State(layout, sides[0], sides[1], gap, xp.zeros_like(gap) if with_tangent else None)
