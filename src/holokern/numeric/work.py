"""Limits of work and memory, so that no call runs for ever and none fills the machine.

Work is counted, not timed: the same question has the same answer on every machine.  A unit is about one value of an
activation on a ball of 100 bits, ten microseconds.  Rigorous integrals, recurrences and Taylor steps charge units.

Memory is counted in the same way, before it is taken: what grows with refinement or with the data asks how much fits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from holokern.errors import BadInput, HolokernError, PrecisionLost

_BITS_OF_A_UNIT = 400
"""So many bits double the work of a value, with what Python adds to it; a product takes the power 3/2 of the bits."""

_GIGABYTES = 4.0
"""The usual limit of memory: what a small machine has to spare."""

_left: ContextVar[list[float] | None] = ContextVar("units of work that are left", default=None)


def patience() -> float:
    """The factor ``HOLOKERN_PATIENCE`` by which limits of work differ from the usual ones.

    Examples
    --------
    >>> patience()
    1.0
    """
    return _setting("HOLOKERN_PATIENCE", 1.0, "10 allows ten times the usual work")


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

    Raises
    ------
    PrecisionLost
        Or another ``error``, when not even one part fits; ``hint`` is what one may try instead.

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
    limit = _setting("HOLOKERN_MEMORY", _GIGABYTES, "8 allows eight gigabytes")
    if size > limit * 1e9:
        raise error(
            f"{what} takes {size / 1e9:.2g} gigabytes, more than the limit of {limit:g}; set HOLOKERN_MEMORY to a "
            f"larger number, or {hint}"
        )
    return int(min(most, limit * 1e9 / max(size, 1.0)))


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
def limited_work(units: float) -> Iterator[None]:
    """A context in which so many units of work may be charged, times `patience`; an inner limit replaces an outer one.

    Examples
    --------
    >>> with limited_work(10.0):
    ...     charge(4)
    ...     units_left()
    6.0
    """
    token = _left.set([units * patience()])
    try:
        yield
    finally:
        _left.reset(token)


def units_left() -> float:
    """What is left of the limit; infinite without one."""
    meter = _left.get()
    return float("inf") if meter is None else meter[0]


def charge(count: float, bits: int = 0) -> None:
    """Charge so many operations on numbers of so many bits.

    Raises
    ------
    PrecisionLost
        When nothing is left.

    Examples
    --------
    >>> with limited_work(10.0):
    ...     charge(11)
    Traceback (most recent call last):
        ...
    holokern.errors.PrecisionLost: the limit of work is used up; ask for fewer digits, or set HOLOKERN_PATIENCE=10
    """
    meter = _left.get()
    if meter is None:
        return
    meter[0] -= count * cost(bits)
    if meter[0] < 0:
        raise PrecisionLost("the limit of work is used up; ask for fewer digits, or set HOLOKERN_PATIENCE=10")


def cost(bits: int) -> float:
    """The units of one operation on numbers of so many bits."""
    return float(1 + (bits / _BITS_OF_A_UNIT) ** 1.5)
