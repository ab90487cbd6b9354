"""The arguments of a network and its methods, checked before any work is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from holokern.dual import DualActivation, dual_activation
from holokern.errors import BadInput
from holokern.numeric import Array

_MOST_LAYERS = 10_000
"""More layers are a slip of the keyboard."""


def different_shapes(x: tuple[int, ...], y: tuple[int, ...]) -> str:
    """What to say when the inputs of both sides differ."""
    if len(x) == len(y) == 2:
        return f"X has {x[1]} columns and Y has {y[1]}; they must live in the same space"
    return f"the inputs of X have shape {x[1:]} and those of Y {y[1:]}; they must be the same"


def duals(activation: object, depth: int | None) -> tuple[DualActivation, ...]:
    """The dual activation of each hidden layer."""
    several = None if isinstance(activation, str) or not isinstance(activation, Sequence) else activation
    if depth is None:
        if several is None:
            raise BadInput("a network needs a depth; pass depth=…, the number of hidden layers")
        depth = len(several)
    if isinstance(depth, bool) or not isinstance(depth, (int, np.integer)) or not 1 <= depth <= _MOST_LAYERS:
        raise BadInput(f"depth = {depth!r} is not a whole number from 1 to {_MOST_LAYERS}")
    if several is None:
        return (dual_activation(activation),) * int(depth)
    if len(several) != depth:
        raise BadInput(f"{len(several)} activations were given for depth {depth}; give one for each hidden layer")
    return tuple(map(dual_activation, several))


def normalisation(dual: DualActivation) -> float:
    """c_σ = 1/E[σ(z)²]."""
    norm = dual.unit_norm
    if not norm > 0:
        raise BadInput(f"E[σ(z)²] is zero for {dual.activation}, so c_σ does not exist; pass weight_variance=…")
    return 1 / norm**2


def either(name: str, value: Any, other: str, second: Any, default: Any) -> Any:
    """The value of the spelling that was used."""
    if value is not None and second is not None:
        raise BadInput(f"{name} and {other} say the same thing; pass only one of them")
    return value if value is not None else second if second is not None else default


def number(name: str, value: Any) -> float:
    """A finite number, or an error that names it."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise BadInput(f"{name} = {value!r} is not a number") from None
    if not np.isfinite(found):
        raise BadInput(f"{name} = {value!r} is not finite")
    return found


def matrix(name: str, value: Any) -> Array:
    """Data as a matrix of finite numbers, one row for each point."""
    try:
        array = np.asarray(value)
        if array.dtype.kind in "cSUVMmO":
            raise TypeError
        array = array if array.dtype in (np.float64, np.float32) else array.astype(float)
    except (TypeError, ValueError):
        raise BadInput(f"{name} is not an array of real numbers; pass one row for each point") from None
    if array.ndim != 2:
        raise BadInput(f"{name} has shape {array.shape}; pass one row for each point, for one feature x[:, None]")
    if not np.all(np.isfinite(array)):
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise BadInput(f"{name}[{row}, {column}] = {array[row, column]} is not finite; remove or impute it first")
    return array
