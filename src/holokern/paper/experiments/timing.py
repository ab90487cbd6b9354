"""Seconds of a computation: the first run, and the best of a few more."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# runs: more do not make the best one better
_MOST = 20
# seconds of repetition
_PATIENCE = 1.0


def best_of(work: Callable[[], T], *, least: int = 1) -> tuple[T, float, float]:
    """The result, the seconds of the first run and those of the best run.

    The first run may derive a system or compile a kernel, so ``least`` is 2 where that matters. Quick work is
    repeated more often, because other programs disturb it.

    Examples
    --------
    >>> result, first, best = best_of(lambda: 6 * 7)
    >>> result, 0 <= best <= first
    (42, True)
    """
    seconds: list[float] = []
    while len(seconds) < least or (len(seconds) < _MOST and sum(seconds) <= _PATIENCE):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return result, seconds[0], min(seconds)
