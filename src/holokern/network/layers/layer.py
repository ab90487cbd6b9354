"""`Layer`: one piece of a network, the checks that pieces fit together, and all their standard deviations by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from types import ModuleType
from typing import Any, NoReturn, Protocol

from holokern.dual import DualActivation
from holokern.errors import BadInput
from holokern.network.layers.state import Layout, State
from holokern.numeric import AnyArray

Branches = State | tuple["Branches", ...]
"""A state, or the states of several branches."""


@dataclass(frozen=True)
class Shape:
    """What is known of the output of a layer before any data are seen."""

    # the numbers of positions along each axis; empty without positions, None if they are not known yet
    positions: tuple[int, ...] | None
    width: int | None = None  # the number of channels, None if it is not known
    is_gaussian: bool = False  # whether the channels are independent Gaussian variables, which activations need
    # the last layers with weights on the way here, or the input: outputs without a common source are independent
    sources: frozenset[object] = frozenset({"input"})
    has_positions: bool = False  # whether there are positions for sure, where their numbers are not known

    def __str__(self) -> str:
        if self.positions is None:
            return "(inputs, positions, channels)"
        return f"({', '.join(['inputs', *map(str, self.positions), str(self.width or 'channels')])})"


Output = Shape | tuple["Output", ...]
"""The shape of a state, or of several branches."""


@dataclass(frozen=True)
class Context:
    """The place of a layer: the shape before it, and whether pairs of different positions are needed after it."""

    shape: Output
    pairs: bool


class Side(Protocol):
    """The outputs of one side when they enter an activation."""

    @property
    def after(self) -> AnyArray:
        """The variances after it, of shape (positions, inputs)."""

    def at(self, some: slice) -> Side:
        """Some positions along the first axis."""


class Walk(Protocol):
    """What a layer may ask while inputs go through a network."""

    @property
    def xp(self) -> ModuleType:
        """The namespace of the arrays."""

    @property
    def is_standard(self) -> bool:
        """Whether the parametrisation is the standard one."""

    def sides(self, make: Callable[[], Any]) -> tuple[Any, Any]:
        """An array (positions, inputs) for both sides, which ``make`` computes when inputs meet themselves."""

    def squares(self, dual: DualActivation, variances: AnyArray) -> AnyArray:
        """Variances after an activation."""

    def prepare(self, dual: DualActivation, variances: Callable[[], Any]) -> tuple[Side, Side]:
        """Both sides when they enter an activation."""

    def activated(
        self, dual: DualActivation, sides: tuple[Side, Side], layout: Layout, gap: AnyArray, tangent: AnyArray
    ) -> tuple[AnyArray, AnyArray]:
        """G and Θ after an activation."""

    def run(self, layers: tuple[Layer, ...], state: State, shape: Shape) -> tuple[int, State]:
        """Take the first of some layers at once: how many, perhaps none, and the state after them."""

    def patterns(self) -> tuple[Any, Any]:
        """The matrices of the graphs of both sides, of shape (inputs, positions, positions)."""

    def nodes(self) -> tuple[Any, Any] | None:
        """Which positions of both sides are nodes, of shape (positions, inputs); None if all are."""


class Layer(ABC):
    """A piece of a network; layers are immutable and compare by their settings."""

    @abstractmethod
    def shape(self, shape: Output) -> Output:
        """The shape after the layer.

        Raises BadInput if the layer does not fit what comes before it.
        """

    @abstractmethod
    def apply(self, walk: Walk, state: Branches, context: Context) -> Branches:
        """The state after the layer."""

    def needs_pairs(self, after: bool) -> bool:
        """Whether its input must have pairs of different positions, given whether its output must have them."""
        return after

    def parts(self) -> tuple[Layer, ...]:
        """The layers that this one is made of."""
        return ()

    def leaves(self, shape: Output) -> Iterator[tuple[Layer, Output]]:
        """All layers inside that have no parts, in order, with the shapes after them."""
        yield self, self.shape(shape)

    def __repr__(self) -> str:
        shown = []
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            default = field.default if field.default_factory is MISSING else field.default_factory()
            if default is MISSING:
                shown.append(repr(value))
            elif value is not default and value != default:
                shown.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def one(self, shape: Output) -> Shape:
        """The shape before the layer, if that is not several branches."""
        if not isinstance(shape, Shape):
            self.refuse(f"it follows {len(shape)} branches; join them with Sum, Concat or Product first")
        return shape

    def refuse(self, reason: str) -> NoReturn:
        """Say that the layer does not fit."""
        raise BadInput(f"{self!r} does not fit: {reason}")


def per_dimension(layer: Layer, name: str, value: int | tuple[int, ...], dimensions: int) -> tuple[int, ...]:
    """One number for every axis of positions."""
    numbers = (value,) * dimensions if isinstance(value, int) else tuple(value)
    if len(numbers) != dimensions:
        layer.refuse(f"{name} = {value!r} has {len(numbers)} numbers, and its input has {dimensions} axes of positions")
    return numbers


_NAMES = ("W_std", "U_std", "b_std")


def deviations(layer: Layer) -> dict[str, float]:
    """All standard deviations that are not zero; a name has the places of its layer in what contains it.

    Examples
    --------
    >>> from holokern import layers as L
    >>> deviations(L.Serial(L.Dense(1.5, 0.1), L.Activation("gelu"), L.Dense()))
    {'0.W_std': 1.5, '0.b_std': 0.1, '2.W_std': 1.0}
    """
    found = {field: float(getattr(layer, field)) for field in _own(layer)}
    for place, part in enumerate(layer.parts()):
        found |= {f"{place}.{name}": value for name, value in deviations(part).items()}
    return found


def with_deviations(layer: Layer, values: Mapping[str, float]) -> Layer:
    """The layer with some of its standard deviations changed.

    Raises
    ------
    BadInput
        If a name is not one of `deviations`.

    Examples
    --------
    >>> from holokern import layers as L
    >>> with_deviations(L.Serial(L.Dense(1.5, 0.1), L.Activation("gelu"), L.Dense()), {"2.W_std": 3.0})
    Serial(Dense(W_std=1.5, b_std=0.1), Activation('gelu'), Dense(W_std=3.0))
    """
    known = deviations(layer)
    for name in values:
        if name not in known:
            raise BadInput(f"{layer!r} has no standard deviation {name!r}; it has {', '.join(map(repr, known))}")
    return _changed(layer, values)


def _own(layer: Layer) -> list[str]:
    names = {field.name for field in fields(layer)}  # type: ignore[arg-type]
    return [name for name in _NAMES if name in names and getattr(layer, name)]


def _changed(layer: Layer, values: Mapping[str, float]) -> Layer:
    parts = layer.parts()
    if parts:
        inner = [
            {name.split(".", 1)[1]: value for name, value in values.items() if name.split(".", 1)[0] == str(place)}
            for place in range(len(parts))
        ]
        make: Any = type(layer)
        return make(*(_changed(part, mine) for part, mine in zip(parts, inner, strict=True)))  # type: ignore[no-any-return]
    mine = {name: float(value) for name, value in values.items()}
    return replace(layer, **mine) if mine else layer  # type: ignore[type-var]
