"""How layers are put together: one after another, in branches, and branches joined again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

from holokern.errors import BadInput
from holokern.network.layers.layer import Branches, Context, Layer, Output, Shape, Walk
from holokern.network.layers.state import State, tied


@dataclass(frozen=True, init=False, repr=False)
class _Several(Layer):
    """A layer that is made of others."""

    _layers: tuple[Layer, ...]

    def __init__(self, *layers: Layer) -> None:
        given: tuple[object, ...] = layers
        for layer in given:
            if not isinstance(layer, Layer):
                hint = f"; write Activation({layer!r})" if isinstance(layer, str) else ""
                raise BadInput(f"{type(self).__name__}: {layer!r} is not a layer of holokern.layers{hint}")
        object.__setattr__(self, "_layers", layers)

    def parts(self) -> tuple[Layer, ...]:
        """The layers, in order."""
        return self._layers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._layers))})"


@dataclass(frozen=True, init=False, repr=False)
class Serial(_Several):
    """Layers one after another.

    Examples
    --------
    >>> from holokern import layers as L
    >>> L.Serial(L.Dense(1.5, 0.1), L.Activation("gelu"), L.Dense())
    Serial(Dense(W_std=1.5, b_std=0.1), Activation('gelu'), Dense())
    """

    def shape(self, shape: Output) -> Output:
        """The shape after the last layer."""
        for shapes in self.shapes(shape):
            shape = shapes
        return shape

    def shapes(self, shape: Output) -> Iterator[Output]:
        """The shape after each layer."""
        for number, layer in enumerate(self._layers):
            try:
                shape = layer.shape(shape)
            except BadInput as error:
                raise BadInput(f"layer {number} of {len(self._layers)}: {error}") from None
            yield shape

    def leaves(self, shape: Output) -> Iterator[tuple[Layer, Output]]:
        """Those of all layers."""
        for layer in self._layers:
            yield from layer.leaves(shape)
            shape = layer.shape(shape)

    def needs_pairs(self, after: bool) -> bool:
        """From the last layer to the first."""
        return reduce(lambda needed, layer: layer.needs_pairs(needed), reversed(self._layers), after)

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """Layer by layer, without pairs of different positions once they are not needed any more."""
        later = [context.pairs]
        for layer in reversed(self._layers):
            later.append(layer.needs_pairs(later[-1]))
        later.reverse()
        state, shape = _without(walk, state, later[0]), context.shape
        taken = 0
        for number, (layer, pairs) in enumerate(zip(self._layers, later[1:], strict=True)):
            if number >= taken and isinstance(state, State) and isinstance(shape, Shape):
                done, state = walk.run(self._layers[number:], state, shape)
                taken = number + done
            if number >= taken:
                state = _without(walk, layer.apply(walk, state, Context(shape, pairs)), pairs)
            shape = layer.shape(shape)
        return state


def _without(walk: Walk, state: Branches, pairs: bool) -> Branches:
    if pairs:
        return state
    return tied(walk.xp, state) if isinstance(state, State) else tuple(_without(walk, one, pairs) for one in state)


@dataclass(frozen=True, repr=False)
class Identity(Layer):
    """No change: the shortcut of a residual block."""

    def shape(self, shape: Output) -> Output:
        """The same shape."""
        return shape

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """The same state."""
        return state


@dataclass(frozen=True, repr=False)
class FanOut(Layer):
    """Copies of what comes in, one for each branch of the `Parallel` that follows."""

    count: int

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise BadInput(f"FanOut({self.count!r}): pass the number of branches, a positive whole number")

    def shape(self, shape: Output) -> Output:
        """As many shapes as branches."""
        return (self.one(shape),) * self.count

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """As many states."""
        return (state,) * self.count


@dataclass(frozen=True, init=False, repr=False)
class Parallel(_Several):
    """One layer for each branch."""

    def shape(self, shape: Output) -> Output:
        """The shapes of the branches."""
        return tuple(
            self._branch(number, layer, one)
            for number, (layer, one) in enumerate(zip(self._layers, self._branches(shape), strict=True))
        )

    def _branch(self, number: int, layer: Layer, shape: Output) -> Output:
        try:
            return layer.shape(shape)
        except BadInput as error:
            raise BadInput(f"branch {number}: {error}") from None

    def _branches(self, shape: Output) -> tuple[Output, ...]:
        if isinstance(shape, Shape) or len(shape) != len(self._layers):
            count = 1 if isinstance(shape, Shape) else len(shape)
            self.refuse(f"it has {len(self._layers)} branches and its input {count}; put FanOut before it")
        return shape

    def leaves(self, shape: Output) -> Iterator[tuple[Layer, Output]]:
        """Those of all branches."""
        for layer, one in zip(self._layers, self._branches(shape), strict=True):
            yield from layer.leaves(one)

    def needs_pairs(self, after: bool) -> bool:
        """If one of the branches does."""
        return any(layer.needs_pairs(after) for layer in self._layers)

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """Every branch by itself."""
        assert isinstance(state, tuple)
        shapes = self._branches(context.shape)
        return tuple(
            _without(
                walk,
                layer.apply(walk, _without(walk, one, layer.needs_pairs(context.pairs)), Context(shape, context.pairs)),
                context.pairs,
            )
            for layer, one, shape in zip(self._layers, state, shapes, strict=True)
        )


@dataclass(frozen=True, repr=False)
class _Join(Layer):
    """Several branches into one."""

    def _joined(self, shape: Output) -> tuple[Shape, ...]:
        if isinstance(shape, Shape):
            shape = (shape,)
        branches = tuple(self.one(one) for one in shape)
        positions = {one.positions for one in branches} - {None}
        if len(positions) > 1 or (() in positions and any(one.has_positions for one in branches)):
            self.refuse(f"its branches have the shapes {', '.join(map(str, branches))}; they must be the same")
        return branches

    def _independent(self, branches: tuple[Shape, ...]) -> frozenset[object]:
        """The sources of all branches, which must not share one."""
        for (i, one), (j, other) in combinations(enumerate(branches), 2):
            if one.sources & other.sources:
                self.refuse(
                    f"branches {i} and {j} come from the same weights or both from the input, so they are not "
                    "independent; put a Dense or Conv layer into one of them"
                )
        return _sources(branches)

    def _states(self, state: Branches) -> list[State]:
        branches = state if isinstance(state, tuple) else (state,)
        assert all(isinstance(one, State) for one in branches)
        return list(branches)  # type: ignore[arg-type]


@dataclass(frozen=True, repr=False)
class Sum(_Join):
    """The sum of the branches, which must have weights of their own: their covariances add up."""

    def shape(self, shape: Output) -> Output:
        """The shape of the branches."""
        branches = self._joined(shape)
        if len(branches) == 1:
            return branches[0]
        for number, one in enumerate(branches):
            if not one.is_gaussian:
                self.refuse(
                    f"branch {number} does not come from a Dense or Conv layer, so it is not independent of the "
                    "others; begin the block after such a layer, or put one into the branch"
                )
        widths = {one.width for one in branches if one.width is not None}
        if len(widths) > 1:
            self.refuse(
                f"its branches have {' and '.join(map(str, sorted(widths)))} channels; give them the same width"
            )
        return replace(branches[0], positions=_known(branches), sources=self._independent(branches))

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """G ← ΣG, Θ ← ΣΘ."""
        states = self._states(state)
        if len(states) == 1:
            return states[0]
        sides = walk.sides(lambda: sum(one.first for one in states))
        tangents = [one.tangent for one in states]
        tangent = None if tangents[0] is None else sum(tangents)
        return states[0].changed(sides, sum(one.gap for one in states), tangent)


@dataclass(frozen=True, repr=False)
class Concat(_Join):
    """The channels of all branches side by side: a mean of covariances, weighted by the widths of the branches.

    Parameters
    ----------
    weights
        The shares of the branches. By default they follow the widths if all layers before have them, else are equal.
    """

    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.weights is not None and not all(isinstance(w, (int, float)) and w > 0 for w in self.weights):
            raise BadInput(f"Concat: weights = {self.weights!r}; pass positive numbers, one for each branch")

    def shape(self, shape: Output) -> Output:
        """As many channels as all branches together."""
        branches = self._joined(shape)
        if self.weights is not None and len(self.weights) != len(branches):
            self.refuse(f"it has {len(self.weights)} weights and {len(branches)} branches")
        widths = [one.width for one in branches]
        known = [width for width in widths if width is not None]
        return Shape(_known(branches), sum(known) if len(known) == len(widths) else None, False, _sources(branches))

    def shares(self, shape: Output) -> list[float]:
        """The share of each branch."""
        shapes = shape if isinstance(shape, tuple) else (shape,)
        widths = [one.width for one in shapes if isinstance(one, Shape) and one.width is not None]
        given = self.weights or (widths if len(widths) == len(shapes) else [1.0] * len(shapes))
        return [weight / sum(given) for weight in given]

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """C ← Σ wC / Σ w."""
        states, shares = self._states(state), self.shares(context.shape)

        def mean(parts: list[Any]) -> Any:
            return sum(share * part for share, part in zip(shares, parts, strict=True))

        sides = walk.sides(lambda: mean([one.first for one in states]))
        tangent = None if states[0].tangent is None else mean([one.tangent for one in states])
        return states[0].changed(sides, mean([one.gap for one in states]), tangent)


@dataclass(frozen=True, repr=False)
class Product(_Join):
    """The product of the branches, channel by channel: covariances multiply."""

    def shape(self, shape: Output) -> Output:
        """The shape of the branches."""
        branches = self._joined(shape)
        if len(branches) == 1:
            return branches[0]
        return Shape(_known(branches), branches[0].width, False, self._independent(branches))

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """C ← ΠC, and Θ by the product rule."""
        first, *others = self._states(state)
        for other in others:
            first = _product(walk, first, other)
        return first


def _product(walk: Walk, a: State, b: State) -> State:
    layout = a.layout
    sides = walk.sides(lambda: a.first * b.first)
    (a1, b1), (a2, b2) = (map(layout.rows, (a.first, b.first))), (map(layout.columns, (a.second, b.second)))
    # (a1 b1 + a2 b2)/2 - C_a C_b without cancellation.
    gap = 0.25 * (a1 - a2) * (b1 - b2) + 0.5 * (a1 + a2) * b.gap + 0.5 * (b1 + b2) * a.gap - a.gap * b.gap
    tangent = None if a.tangent is None else a.tangent * b.covariance() + a.covariance() * b.tangent
    return a.changed(sides, gap, tangent)


def _sources(branches: tuple[Shape, ...]) -> frozenset[object]:
    return frozenset().union(*(one.sources for one in branches))


def _known(branches: tuple[Shape, ...]) -> tuple[int, ...] | None:
    return next((one.positions for one in branches if one.positions is not None), None)
