"""The standard deviations of the weights and biases of a composition of layers, by name, to be chosen by learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from holokern.errors import BadInput
from holokern.network.layers.layer import Layer

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
