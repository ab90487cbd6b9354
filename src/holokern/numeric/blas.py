"""One thread of BLAS: many small products gain little from more, and wait for each other when the machine is busy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


def one_thread() -> Any:
    """A context in which BLAS uses one thread.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     np.ones((2, 2)) @ np.ones(2)
    array([2., 2.])
    """
    return _controller().limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
