"""Layers that act on every position by itself: `Activation`, `LayerNorm` and `Dropout`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from holokern.activation import activation as as_activation
from holokern.dual import DualActivation, dual_activation
from holokern.errors import BadInput
from holokern.network.layers.layer import Branches, Context, Layer, Output, Walk
from holokern.network.layers.state import State


@dataclass(frozen=True, init=False, repr=False)
class Activation(Layer):
    """An activation function: anything that `holokern.activation` takes.

    Parameters
    ----------
    activation
        A name, an expression in u, an `Activation`, a torch module, a callable …
    parameters
        Parameters of a named activation.

    Examples
    --------
    >>> from holokern import layers as L
    >>> L.Activation("elu", alpha=1.5)
    Activation('elu', alpha='3/2')
    """

    dual: DualActivation

    def __init__(self, activation: object, **parameters: Any) -> None:
        made = as_activation(activation, **parameters)
        object.__setattr__(self, "dual", dual_activation(made))

    def __repr__(self) -> str:
        return repr(self.dual.activation).replace("activation", "Activation", 1)

    def shape(self, shape: Output) -> Output:
        """The same positions."""
        before = self.one(shape)
        if not before.is_gaussian:
            self.refuse(
                "it does not follow a Dense or Conv layer, so its input is not Gaussian; put Dense() or Conv(…) before"
            )
        return replace(before, is_gaussian=False)

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """C ← k, Θ ← Θ k′."""
        assert isinstance(state, State)
        if state.tangent is not None:
            self.dual.require_tangent()
        sides = walk.prepare(self.dual, lambda: state.first)
        pairs = walk.activated(self.dual, sides, state.layout, state.gap, state.tangent)
        return state.changed((sides[0].after, sides[1].after), *pairs)


@dataclass(frozen=True, repr=False)
class LayerNorm(Layer):
    """Division by the root of the mean square over channels, and over the positions along some axes.

    The mean over channels is zero in the limit of infinite width, so nothing is subtracted.

    Parameters
    ----------
    axes
        Axes of positions over which the mean is taken too: ``"all"``, or numbers, 0 for the first. None by default.
    eps
        A number that is added to the mean square.
    """

    axes: str | tuple[int, ...] = ()
    eps: float = 1e-12

    def __post_init__(self) -> None:
        known = self.axes == "all" or (
            isinstance(self.axes, tuple) and all(isinstance(axis, int) and axis >= 0 for axis in self.axes)
        )
        if not known:
            raise BadInput(
                f"LayerNorm: axes = {self.axes!r}; pass 'all' or a tuple of axes of positions such as (0, 1)"
            )
        if not isinstance(self.eps, (int, float)) or not self.eps >= 0:
            raise BadInput(f"LayerNorm: eps = {self.eps!r} is not a number >= 0")

    def shape(self, shape: Output) -> Output:
        """The same shape."""
        before = self.one(shape)
        if not before.is_gaussian:
            self.refuse("it does not follow a Dense or Conv layer; put one before it")
        if before.positions is not None and self.axes != "all":
            for axis in self.axes:
                if int(axis) >= len(before.positions):
                    self.refuse(f"its input of shape {before} has no axis {axis} of positions")
        return before

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """C ← C / √(s₁ s₂) with the mean squares s."""
        assert isinstance(state, State)
        xp, layout = walk.xp, state.layout
        axes = tuple(range(layout.dimensions)) if self.axes == "all" else tuple(map(int, self.axes))
        nodes = walk.nodes() if axes else None
        roots = []
        for side, variances in enumerate((state.first, state.second)):
            square = variances + self.eps
            if nodes is not None:
                share = nodes[side] / xp.sum(nodes[side], axis=0)
                square = xp.sum(square * share, axis=0, keepdims=True) + xp.zeros_like(square)
            elif axes:
                square = xp.mean(square, axis=axes, keepdims=True) + xp.zeros_like(square)
            roots.append(xp.sqrt(xp.where(square > 0, square, xp.ones_like(square))))
        sides = walk.sides(lambda: state.first / roots[0] ** 2)
        r1, r2 = layout.rows(roots[0]), layout.columns(roots[1])
        v1, v2 = layout.rows(state.first), layout.columns(state.second)
        gap = 0.5 * (1.0 / r1 - 1.0 / r2) * (v1 / r1 - v2 / r2) + state.gap / (r1 * r2)
        tangent = None if state.tangent is None else state.tangent / (r1 * r2)
        return state.changed(sides, gap, tangent)


@dataclass(frozen=True, repr=False)
class Dropout(Layer):
    """Sets random channels to zero and divides the others by the rate, as in training.

    Parameters
    ----------
    rate
        The share of channels that is kept, as in neural-tangents.

    Notes
    -----
    This is the limit of many channels, so put it after a wide layer and not after the input. Every input has a mask of
    its own: variances are multiplied by 1/rate, and covariances of different inputs do not change. An
    input of Y counts as different from all inputs of X, even if it has the same values.
    """

    rate: float

    def __post_init__(self) -> None:
        if isinstance(self.rate, bool) or not isinstance(self.rate, (int, float)) or not 0 < self.rate <= 1:
            raise BadInput(f"Dropout: rate = {self.rate!r}; pass the share of channels that is kept, between 0 and 1")

    def shape(self, shape: Output) -> Output:
        """The same shape."""
        return replace(self.one(shape), is_gaussian=False)

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """V ← V/rate."""
        assert isinstance(state, State)
        layout, more = state.layout, 1.0 / self.rate - 1.0
        sides = walk.sides(lambda: state.first / self.rate)
        gap = state.gap + 0.5 * more * (layout.rows(state.first) + layout.columns(state.second))
        tangent = state.tangent
        if layout.is_paired:
            gap, tangent = self._same(walk.xp, state, gap)
        return state.changed(sides, gap, tangent)

    def _same(self, xp: Any, state: State, gap: Any) -> tuple[Any, Any]:
        """An input with itself: at the same position it shares the mask."""
        tangent = state.tangent
        if state.layout.is_tied:
            return xp.zeros_like(gap), None if tangent is None else tangent / self.rate
        same = xp.eye(math.prod(state.positions), dtype=gap.dtype).reshape(*state.positions, *state.positions, 1)
        if tangent is not None:
            tangent = tangent * (1.0 + same * (1.0 / self.rate - 1.0))
        return gap * (1.0 - same), tangent
