"""Flint's working precision and length of series, changed by one thread at a time.

Flint keeps one precision for the whole process.  Two threads that change it in turn would compute with each other's
bits, and the last one to leave would restore what the first one had set.  So each block below holds a lock: a second
thread waits.  Nothing is lost by this, as flint keeps Python's own lock while it computes.

Code inside a block takes no other lock of the library, so threads never wait for each other in a circle.
"""

from __future__ import annotations

import threading

from flint import ctx

_lock = threading.RLock()


class _Setting:
    """One of flint's settings, changed for the length of a block."""

    __slots__ = ("before", "value")
    name = ""

    def __init__(self, value: int) -> None:
        self.value = value

    def __enter__(self) -> None:
        _lock.acquire()
        self.before: int = getattr(ctx, self.name)
        try:
            setattr(ctx, self.name, self.value)
        except BaseException:
            _lock.release()
            raise

    def __exit__(self, *error: object) -> None:
        setattr(ctx, self.name, self.before)
        _lock.release()


class working_precision(_Setting):  # noqa: N801 - used like a function, as flint's own ``workprec``
    """Let flint compute with so many bits inside the block, in this thread alone.

    Examples
    --------
    >>> from flint import arb
    >>> with working_precision(100):
    ...     print(arb(2).sqrt())
    [1.4142135623730950488016887242 +/- 1.08e-29]
    """

    __slots__ = ()
    name = "prec"


class series_length(_Setting):  # noqa: N801 - as above
    """Let flint's power series keep so many terms inside the block; its default silently cuts at ten.

    Examples
    --------
    >>> from flint import fmpq_series
    >>> with series_length(12):
    ...     fmpq_series([0, 1], prec=12).exp().prec
    12
    """

    __slots__ = ()
    name = "cap"
