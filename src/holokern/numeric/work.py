"""Limits of work and memory, so that no call runs for ever and none fills the machine.

Work is counted, not timed: the same question has the same answer on every machine.  A unit is about one value of an
activation on a ball of 100 bits, ten microseconds.  Rigorous integrals, recurrences and Taylor steps charge units, and
so do Gröbner bases and what is made of them.

Memory is counted in the same way, before it is taken: what grows with refinement or with the data asks how much fits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

from holokern.errors import BadInput, HolokernError, PrecisionLost, TooLarge

_BITS_OF_A_UNIT = 400
"""So many bits double the work of a value, with what Python adds to it; a product takes the power 3/2 of the bits."""

_GIGABYTES = 4.0
"""The usual limit of memory: what a small machine has to spare."""

_EXACT_UNITS = 6e7
"""The usual limit of one exact computation: about ten minutes."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(slots=True)
class _Meter:
    """The units that are left, and whether the work is exact algebra, where fewer digits are no way out."""

    left: float
    exact: bool = False


_meter: ContextVar[_Meter | None] = ContextVar("what is left of the limit of work", default=None)


def patience() -> float:
    """The factor ``HOLOKERN_PATIENCE`` by which limits of work differ from the usual ones.

    Examples
    --------
    >>> patience()
    1.0
    """
    return _setting("HOLOKERN_PATIENCE", 1.0, "10 allows ten times the usual work")


def limits() -> str:
    """The limits of work and memory as text, for what is kept: more may succeed with larger ones.

    Examples
    --------
    >>> limits()
    'patience 1, memory 4'
    """
    return f"patience {patience():g}, memory {_memory():g}"


def how_many_fit(
    size: float,
    most: int,
    what: str,
    *,
    hint: str = "use smaller deviations",
    error: type[HolokernError] = PrecisionLost,
) -> int:
    """How many parts of so many bytes may be in memory at a time, at most ``most``.

    The limit is ``HOLOKERN_MEMORY`` gigabytes, usually 4, beside the input and the result of a call.

    Raises PrecisionLost or another ``error``, when not even one part fits; ``hint`` is what one may try instead.

    Examples
    --------
    >>> how_many_fit(1e9, 100, "tiles")
    4
    >>> how_many_fit(1e12, 1, "a mesh of 1e9 nodes")
    Traceback (most recent call last):
        ...
    holokern.errors.PrecisionLost: a mesh of 1e9 nodes takes 1e+03 gigabytes, more than the limit of 4; set \
HOLOKERN_MEMORY to a larger number, or use smaller deviations
    """
    limit = _memory()
    if size > limit * 1e9:
        raise error(
            f"{what} takes {size / 1e9:.2g} gigabytes, more than the limit of {limit:g}; set HOLOKERN_MEMORY to a "
            f"larger number, or {hint}"
        )
    return int(min(most, limit * 1e9 / max(size, 1.0)))


def _memory() -> float:
    return _setting("HOLOKERN_MEMORY", _GIGABYTES, "8 allows eight gigabytes")


def _setting(name: str, usual: float, hint: str) -> float:
    """A positive number from the environment."""
    text = os.environ.get(name, str(usual))
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise BadInput(f"{name} = {text!r} is not a positive number; {hint}")
    return value


@contextmanager
def limited_work(units: float, *, exact: bool = False) -> Iterator[None]:
    """A context in which so many units of work may be charged, times `patience`; an inner limit replaces an outer one.

    With ``exact`` this is a limit of exact computations: what is `bounded` inside keeps to it.

    Examples
    --------
    >>> with limited_work(10.0):
    ...     charge(4)
    ...     units_left()
    6.0
    """
    token = _meter.set(_Meter(units * patience(), exact))
    try:
        yield
    finally:
        _meter.reset(token)


def bounded(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator of exact computations: all that one call does, together, may take about ten minutes.

    A limit of numbers round it does not count, as what is derived is derived once and kept.

    Examples
    --------
    >>> @bounded
    ... def search(tries):
    ...     charge(1e6 * tries)
    >>> search(59)
    >>> search(61)
    Traceback (most recent call last):
        ...
    holokern.errors.TooLarge: the exact computation is longer than the limit of work, about ten minutes; set \
HOLOKERN_PATIENCE=10 for ten times as much, or try fewer variables, lower degrees or another order
    """

    @wraps(function)
    def limited(*args: P.args, **options: P.kwargs) -> R:
        meter = _meter.get()
        if meter is not None and meter.exact:
            return function(*args, **options)
        with limited_work(_EXACT_UNITS, exact=True):
            return function(*args, **options)

    return limited


def units_left() -> float:
    """What is left of the limit; infinite without one."""
    meter = _meter.get()
    return float("inf") if meter is None else meter.left


def charge(count: float, bits: int = 0) -> None:
    """Charge so many operations on numbers of so many bits.

    Raises PrecisionLost when nothing is left; in exact computations `TooLarge`.

    Examples
    --------
    >>> with limited_work(10.0):
    ...     charge(11)
    Traceback (most recent call last):
        ...
    holokern.errors.PrecisionLost: the limit of work is used up; ask for fewer digits, or set HOLOKERN_PATIENCE=10
    """
    meter = _meter.get()
    if meter is None:
        return
    meter.left -= count * cost(bits)
    if meter.left < 0:
        more = f"HOLOKERN_PATIENCE={10 * patience():g}"
        if meter.exact:
            raise TooLarge(
                f"the exact computation is longer than the limit of work, about ten minutes; set {more} for ten times "
                "as much, or try fewer variables, lower degrees or another order"
            )
        raise PrecisionLost(f"the limit of work is used up; ask for fewer digits, or set {more}")


def cost(bits: int) -> float:
    """The units of one operation on numbers of so many bits."""
    return float(1 + (bits / _BITS_OF_A_UNIT) ** 1.5)
