"""A limit of work: rigorous integrals, recurrences and Taylor steps charge it, so that no proof runs for ever.

Work is counted, not timed: the same question has the same answer on every machine.  A unit is about one value of an
activation on a ball of 100 bits, ten microseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from holokern.errors import BadInput, PrecisionLost

__all__ = ["charge", "cost", "limited_work", "patience", "units_left"]

_BITS_OF_A_UNIT = 400
"""So many bits double the work of a value, with what Python adds to it; a product takes the power 3/2 of the bits."""

_left: ContextVar[list[float] | None] = ContextVar("units of work that are left", default=None)


def patience() -> float:
    """The factor ``HOLOKERN_PATIENCE`` by which limits of work differ from the usual ones.

    Examples
    --------
    >>> patience()
    1.0
    """
    text = os.environ.get("HOLOKERN_PATIENCE", "1")
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise BadInput(f"HOLOKERN_PATIENCE = {text!r} is not a positive number; 10 allows ten times the usual work")
    return factor


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
