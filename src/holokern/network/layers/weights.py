"""Layers with weights: `Dense`, `Conv` and `ConvTranspose`.

They average covariances over a window, C ← W²·mean(C) + b², and train their weights, Θ ← W²·mean(Θ) + C, in the
parametrisation where weights have variance W²/fan-in [Jacot2018], [Arora2019]. In the standard parametrisation
[SohlDickstein2020] the trained part of Θ is fan-in·mean(C) + 1 instead, with the widths of the finite network.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from holokern.errors import BadInput
from holokern.network.layers.layer import Branches, Context, Layer, Output, Shape, Walk, per_dimension
from holokern.network.layers.state import State
from holokern.network.layers.windows import Padding, Weights, Window, side_sums, weighted

_PADDINGS = ("same", "valid", "circular")


class Weighted(Layer):
    """A linear map with random weights, the same at all positions."""

    W_std: float
    b_std: float | None
    width: int | None
    trainable: bool

    def __post_init__(self) -> None:
        check_deviations(self, "W_std", "b_std")
        width = self.width
        if width is not None and (isinstance(width, bool) or not isinstance(width, int) or width < 1):
            raise BadInput(f"{type(self).__name__}: width = {width!r} is not a positive number of channels")

    def windows(self, positions: tuple[int, ...]) -> tuple[Window, ...]:
        """The window along each axis of positions."""
        raise NotImplementedError

    def shape(self, shape: Output) -> Output:
        """One position for every window."""
        before = self.one(shape)
        if before.positions is None:
            return Shape(None, self.width, True, frozenset({object()}), before.has_positions)
        windows = self.windows(before.positions)
        positions = tuple(window.count for window in windows)
        if any(count < 1 for count in positions):
            self.refuse(f"no position is left of an input of shape {before}; use padding='same' or a smaller kernel")
        return Shape(positions, self.width, True, frozenset({object()}))

    def weights(self, shape: Shape, is_standard: bool) -> Weights:
        """What the layer does to an input of this shape, in the standard parametrisation or in that of the NTK."""
        assert shape.positions is not None
        windows = self.windows(shape.positions)
        scale, bias = self.W_std**2 / math.prod(window.size for window in windows), (self.b_std or 0.0) ** 2
        share, more = scale, bias
        if is_standard and self.trainable:
            share, more = self.fan_in(Context(shape, False)), 0.0 if self.b_std is None else 1.0
        return Weights(windows, scale, bias, share if self.trainable else 0.0, more if self.trainable else 0.0)

    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """C ← W² mean(C) + b²."""
        assert isinstance(state, State)
        made, xp = self.weights(self.one(context.shape), walk.is_standard), walk.xp
        sides = walk.sides(lambda: made.scale * side_sums(xp, state.first, made.windows) + made.bias)
        return weighted(xp, state, sides, made)

    def fan_in(self, context: Context) -> float:
        """The number of channels before the layer.

        Raises BadInput if it is not known.
        """
        width = self.one(context.shape).width
        if width is None:
            self.refuse(
                "parameterization='standard' needs the width of the layer before it; pass width=… there, or use "
                "parameterization='ntk'"
            )
        return float(width)


@dataclass(frozen=True, repr=False)
class Dense(Weighted):
    """A fully connected layer, applied to the channels of every position.

    Parameters
    ----------
    W_std, b_std
        Standard deviations: weights have variance W_std² / fan-in, biases b_std². None means no bias.
    width
        The number of channels of the finite network, for ``parameterization="standard"`` only.
    trainable
        Whether its weights take part in training, and so in the NTK.
    """

    W_std: float = 1.0
    b_std: float | None = None
    width: int | None = None
    trainable: bool = True

    def windows(self, positions: tuple[int, ...]) -> tuple[Window, ...]:
        """Every position by itself."""
        return tuple(Window(tuple(range(count)), 1, 1, 1) for count in positions)


class _Convolution(Weighted):
    """A linear map of windows that move over positions."""

    padding: Padding
    _numbers: ClassVar[tuple[str, ...]]  # what has one number for each axis of positions
    _window: ClassVar[Callable[..., Window]]  # the window along an axis, from the count of positions and these numbers

    def __post_init__(self) -> None:
        super().__post_init__()
        check_windows(self, self._numbers, self.padding)

    def windows(self, positions: tuple[int, ...]) -> tuple[Window, ...]:
        """The window along each axis."""
        numbers = (per_dimension(self, name, getattr(self, name), len(positions)) for name in self._numbers)
        return tuple(self._window(*axis, self.padding) for axis in zip(positions, *numbers, strict=True))

    def shape(self, shape: Output) -> Output:
        """One position for every window."""
        return super().shape(require_positions(self, shape))


@dataclass(frozen=True, repr=False)
class Conv(_Convolution):
    """A convolution over any number of axes of positions.

    Parameters
    ----------
    kernel
        The size of the kernel: one number for all axes, or one for each.
    W_std, b_std
        Standard deviations: weights have variance W_std² / (channels · kernel size), biases b_std². None means no bias.
    stride, dilation
        The distance between windows, and between the positions inside a window.
    padding
        ``"same"`` (zeros outside, as many outputs as inputs / stride), ``"valid"`` or ``"circular"``.
    width
        The number of channels of the finite network, for ``parameterization="standard"`` only.
    trainable
        Whether its weights take part in training, and so in the NTK.
    """

    kernel: int | tuple[int, ...]
    W_std: float = 1.0
    b_std: float | None = None
    stride: int | tuple[int, ...] = 1
    padding: Padding = "same"
    dilation: int | tuple[int, ...] = 1
    width: int | None = None
    trainable: bool = True
    _numbers: ClassVar[tuple[str, ...]] = ("kernel", "stride", "dilation")
    _window: ClassVar[Callable[..., Window]] = Window.convolution


@dataclass(frozen=True, repr=False)
class ConvTranspose(_Convolution):
    """A transposed convolution: it puts ``stride`` - 1 zeros between the positions, then does a convolution.

    The parameters are those of `Conv`; there is no dilation.
    """

    kernel: int | tuple[int, ...]
    W_std: float = 1.0
    b_std: float | None = None
    stride: int | tuple[int, ...] = 1
    padding: Padding = "same"
    width: int | None = None
    trainable: bool = True
    _numbers: ClassVar[tuple[str, ...]] = ("kernel", "stride")
    _window: ClassVar[Callable[..., Window]] = Window.transposed


def check_deviations(layer: Layer, *names: str) -> None:
    """Refuse standard deviations that are not numbers from 0 up; None counts as 0."""
    for name in names:
        value = getattr(layer, name)
        value = 0.0 if value is None else value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise BadInput(f"{type(layer).__name__}: {name} = {value!r} is not a number >= 0")


def check_windows(layer: Layer, names: tuple[str, ...], padding: str) -> None:
    """Refuse sizes that are not positive whole numbers, and unknown paddings."""
    for name in names:
        value = getattr(layer, name)
        numbers = value if isinstance(value, tuple) else (value,)
        if not numbers or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in numbers):
            raise BadInput(
                f"{type(layer).__name__}: {name} = {value!r}; pass a positive whole number, or a tuple of them, one "
                "for each axis of positions"
            )
    if padding not in _PADDINGS:
        raise BadInput(f"{type(layer).__name__}: padding = {padding!r}; choose one of {', '.join(_PADDINGS)}")


def require_positions(layer: Layer, shape: Output) -> Shape:
    """Refuse an input without positions; what is known of the input then."""
    before = layer.one(shape)
    if before.positions == ():
        layer.refuse(
            f"its input of shape {before} has no positions; give it images (inputs, height, width, channels) or "
            "sequences (inputs, length, channels), and put it before Flatten and global pooling"
        )
    return replace(before, has_positions=before.positions is None)
