"""How machine code is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    # Fused multiply-add, and no care for the sign of zero: vector instructions without a change of the order of sums.
    "fastmath": {"contract", "nsz"},
    "error_model": "numpy",
    # Only Python and other machine code call it; a wrapper for C takes about as long to compile as the function.
    "no_cfunc_wrapper": True,
}


def entry(function: Function) -> Function:
    """Compile a function that Python calls, and keep the machine code on disk."""
    return numba.njit(cache=True, **_OPTIONS)(function)  # type: ignore[no-any-return]


def called(function: Function) -> Function:
    """Compile a function that only machine code calls."""
    return numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)  # type: ignore[call-overload, no-any-return]
