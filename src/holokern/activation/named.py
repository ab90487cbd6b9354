"""Entries of the registry of activations by name, whose parameters are read exactly and checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from math import isfinite
from numbers import Integral, Rational, Real
from typing import TypeAlias

from holokern.activation.tree.constructors import MAX_EXPONENT
from holokern.activation.tree.nodes import Node
from holokern.errors import BadInput, TooLarge, UnknownName

Value: TypeAlias = Fraction | int | tuple[Fraction, ...]
Parameters: TypeAlias = tuple[tuple[str, Value], ...]

# an exact number: a fraction, or decimals with an exponent of three digits at most
_RATIONAL = re.compile(r"[+-]?(\d+/0*[1-9]\d*|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?)", re.ASCII)
_MAX_RATIONAL_TEXT = 200  # characters: nobody types more


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a named activation.

    ``kind`` is ``number`` (an exact rational), ``count`` (an integer from 0 to ``MAX_EXPONENT``) or ``coefficients``
    (a sequence of rationals, constant term first).  A ``default`` of None means that the caller must give it.
    """

    name: str
    default: Value | None = None
    kind: str = "number"
    positive: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One named activation: what it is, and its formula: text in u and the parameters, or what makes a tree of them."""

    name: str
    summary: str
    formula: str | Callable[..., Node]
    parameters: tuple[Parameter, ...] = ()


def read_rational(value: object, what: str) -> Fraction:
    """Read a number exactly; a float stands for the decimal that it prints as.

    Raises BadInput for NaN, infinities and whatever is not a real number.

    >>> read_rational(0.1, "the slope")
    Fraction(1, 10)
    >>> read_rational("2/3", "the slope")
    Fraction(2, 3)
    """
    if isinstance(value, bool):
        raise BadInput(f"{what} must be a number, got {value}")
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _MAX_RATIONAL_TEXT or not _RATIONAL.fullmatch(text):
            raise BadInput(f"{what} must be a rational number such as 3, '2/3' or 0.25, got {value[:40]!r}")
        return Fraction(text)
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Real | Decimal):
        if not isfinite(value):
            raise BadInput(f"{what} must be finite, got {value}")
        # str gives the shortest decimal of this very type, also for numpy scalars
        return Fraction(str(value))
    if hasattr(value, "p") and hasattr(value, "q"):
        return Fraction(int(value.p), int(value.q))
    raise BadInput(f"{what} must be a rational number such as 3, '2/3' or 0.25, got {type(value).__name__}")


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint about the known names closest to ``name``, or the empty text."""
    spelled = {item.lower(): item for item in known}
    close = get_close_matches(name.lower()[:60], list(spelled), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(spelled[item]) for item in close)}?" if close else ""


def read_parameters(entry: Entry, given: Mapping[str, object]) -> Parameters:
    """The parameters of a named activation, read exactly.

    Raises UnknownName for a parameter that this activation does not have; BadInput for a missing parameter or one
    outside its domain.
    """
    valid = [parameter.name for parameter in entry.parameters]
    for name in given:
        if name not in valid:
            has = f"its parameters are {', '.join(valid)}" if valid else "it has no parameters"
            raise UnknownName(f"the activation {entry.name!r} has no parameter {name[:60]!r}; {has}")
    values: dict[str, Value] = {}
    for parameter in entry.parameters:
        what = f"the parameter {parameter.name!r} of {entry.name!r}"
        if parameter.name in given:
            values[parameter.name] = _read(parameter, given[parameter.name], what)
        elif parameter.default is not None:
            values[parameter.name] = parameter.default
        else:
            raise BadInput(f"{what} is missing; write activation({entry.name!r}, {parameter.name}=...)")
    return tuple(values.items())


def _read(parameter: Parameter, value: object, what: str) -> Value:
    if parameter.kind == "coefficients":
        return _coefficients(value, what)
    exact = read_rational(value, what)
    if parameter.kind == "count":
        if exact.denominator != 1 or exact < 0:
            raise BadInput(f"{what} must be an integer from 0 to {MAX_EXPONENT}, got {value!s:.40}")
        if exact > MAX_EXPONENT:
            raise TooLarge(f"{what} must be at most {MAX_EXPONENT}, got {value!s:.40}")
        return int(exact)
    if parameter.positive and exact <= 0:
        raise BadInput(f"{what} must be positive, got {value!s:.40}")
    return exact


def _coefficients(value: object, what: str) -> tuple[Fraction, ...]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise BadInput(f"{what} must be a sequence of numbers, constant term first, got {type(value).__name__}")
    result: list[Fraction] = []
    for place, item in enumerate(value):
        if place > MAX_EXPONENT:
            raise TooLarge(f"{what} must have at most {MAX_EXPONENT + 1} entries")
        result.append(read_rational(item, f"entry {place} of {what}"))
    if not result:
        raise BadInput(f"{what} is empty; give at least the constant term, for example [0, 1]")
    return tuple(result)
