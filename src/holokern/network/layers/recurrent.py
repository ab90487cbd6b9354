"""`Recurrent`: a recurrent network, with the same weights at every step of a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from holokern.errors import BadInput
from holokern.network.layers.layer import Branches, Context, Layer, Output, Shape, Walk
from holokern.network.layers.pointwise import Activation
from holokern.network.layers.state import Layout, State
from holokern.network.layers.weights import check_deviations, require_positions
from holokern.numeric import AnyArray


@dataclass(frozen=True, repr=False)
class Recurrent(Layer):
    """Hidden states h_t = σ(W h_{t-1} + U x_t + b) from h_0 = 0, with the same weights at every step.

    The covariances at steps t and t′ follow from those at t - 1 and t′ - 1 [Alemohammad2021]. The output is the
    sequence of hidden states; `Index(-1)` keeps the last one, `GlobalAvgPool()` takes the mean.

    Parameters
    ----------
    activation
        An `Activation` layer.
    W_std, U_std, b_std
        Standard deviations of the weights of the hidden state and of the input, times √fan-in, and of the biases.
    steps
        The number of steps, from the first; all by default.
    trainable
        Whether its weights take part in training, and so in the NTK.
    """

    activation: Activation
    W_std: float = 1.0
    U_std: float = 1.0
    b_std: float | None = None
    steps: int | None = None
    trainable: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.activation, Activation):
            raise BadInput(
                f"Recurrent: {self.activation!r} is not a layer Activation; write Activation({self.activation!r})"
            )
        check_deviations(self, "W_std", "U_std", "b_std")
        if self.steps is not None and (not isinstance(self.steps, int) or self.steps < 1):
            raise BadInput(f"Recurrent: steps = {self.steps!r} is not a positive whole number")

    def shape(self, shape: Output) -> Output:
        """One hidden state for every step."""
        before = require_positions(self, shape)
        if before.positions is None:
            return Shape(None, sources=frozenset({object()}), has_positions=True)
        if len(before.positions) != 1:
            self.refuse(f"its input has shape {before}; a sequence has one axis of positions, the steps")
        if self.steps is not None and self.steps > before.positions[0]:
            self.refuse(f"its input has {before.positions[0]} steps and {self.steps} are wanted")
        return Shape((self.steps or before.positions[0],), sources=frozenset({object()}))

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """Step by step."""
        assert isinstance(state, State)
        if walk.is_standard:
            self.refuse("parameterization='standard' is not defined for recurrent layers; use parameterization='ntk'")
        steps = self.steps or state.positions[0]
        dual = self.activation.dual
        hidden, given, bias = self.W_std**2, self.U_std**2, (self.b_std or 0.0) ** 2
        xp, layout = walk.xp, state.layout

        def variances() -> AnyArray:
            """The variances before the activation, from step to step."""
            found, last = [], 0.0
            for t in range(steps):
                found.append(given * state.first[t : t + 1] + hidden * last + bias)
                last = walk.squares(dual, found[-1])
            return xp.concat(found, axis=0)

        before = walk.sides(variances)
        sides = walk.prepare(dual, lambda: before[0])
        after = [side.after for side in sides]
        gap, tangent = _first(xp, state, layout, after[1], steps)
        gaps, tangents = [], []
        for t in range(steps):
            root = after[0][t - 1 : t] if t else xp.zeros_like(after[0][:1])
            gap = given * _row(state.gap, layout, t, steps) + hidden * _later(xp, gap, layout, 0.5 * layout.rows(root))
            if tangent is not None:
                tangent = given * _row(state.tangent, layout, t, steps) + hidden * _later(xp, tangent, layout, 0.0)
                if self.trainable:
                    here = before[0][t : t + 1], before[1] if not layout.is_tied else before[1][t : t + 1]
                    tangent = tangent + State(layout, *here, gap, None).covariance()
            pair = sides[0].at(slice(t, t + 1)), sides[1].at(slice(t, t + 1) if layout.is_tied else slice(None))
            gap, tangent = walk.activated(dual, pair, layout, gap, tangent)
            gaps.append(gap)
            tangents.append(tangent)
        joined = [None if parts[0] is None else xp.concat(parts, axis=0) for parts in (gaps, tangents)]
        return State(layout, after[0], after[1], joined[0], joined[1])


def _row(array: AnyArray, layout: Layout, step: int, steps: int) -> AnyArray:
    """The pairs of one step of the first side with the steps of the second."""
    if layout.is_tied:
        return array[step : step + 1]
    index: list[slice] = [slice(None)] * array.ndim
    index[0], index[layout.axes(0)[1]] = slice(step, step + 1), slice(0, steps)
    return array[tuple(index)]


def _later(xp: ModuleType, array: AnyArray, layout: Layout, outside: AnyArray) -> AnyArray:
    """What the steps of the second side meet one step later; the first one meets a hidden state that is zero."""
    if layout.is_tied:
        return array
    axis = layout.axes(0)[1]
    index: list[slice] = [slice(None)] * array.ndim
    index[axis] = slice(0, 1)
    first = xp.zeros_like(array[tuple(index)]) + outside
    index[axis] = slice(0, array.shape[axis] - 1)
    return xp.concat([first, array[tuple(index)]], axis=axis)


def _first(xp: ModuleType, state: State, layout: Layout, after: AnyArray, steps: int) -> tuple[AnyArray, AnyArray]:
    """G and Θ of the first side's hidden state 0 with the hidden states of the second side."""
    empty = xp.zeros_like(_row(state.gap, layout, 0, steps))
    gap = empty if layout.is_tied else empty + 0.5 * layout.columns(after)
    return gap, None if state.tangent is None else empty
