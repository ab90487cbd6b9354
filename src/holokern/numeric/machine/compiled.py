"""How machine code is compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

FAST = ("contract", "nsz")
"""Fused multiply-add, and no care for the sign of zero: vector instructions without a change of the order of sums."""

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": set(FAST),
    "error_model": "numpy",
    # Only Python and other machine code call it; a wrapper for C takes about as long to compile as the function.
    "no_cfunc_wrapper": True,
}


_LINE = 64
"""Bytes of a line of the cache: arrays on the stack begin with one, so that no vector lies across two."""


WIDE = '"prefer-vector-width"="512"'
"""Functions with arrays on the stack are long loops without branches: where vectors of 512 bits exist they take three
quarters of the time, while the compiler would choose shorter ones."""


class _Kept(FunctionCache):
    """Machine code on disk. Where it cannot be read, as after an update that moved a class, it is made anew.

    So it is when any file of the function's folder or of this one changes: instructions come from several files, while
    numba looks at that of the function alone.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        folders = dict.fromkeys((Path(function.__code__.co_filename).parent, Path(__file__).parent))
        found = [file.stat() for folder in folders for file in sorted(folder.glob("*.py"))]
        self._cache_file._source_stamp = tuple((one.st_mtime_ns, one.st_size) for one in found)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for some types of arguments, or None."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # a damaged file can raise whatever unpickling raises
            self.flush()  # type: ignore[no-untyped-call]
            return None


def _kept(compiled: Any, function: Function) -> Function:
    # Without a compiler (NUMBA_DISABLE_JIT) it is the function itself.
    if compiled is not function:
        compiled._cache = _Kept(function)
    return compiled  # type: ignore[no-any-return]


def entry(function: Function) -> Function:
    """Compile a function that Python calls, and keep the machine code on disk."""
    return _kept(numba.njit(**_OPTIONS)(function), function)


def bare_entry(function: Function) -> Function:
    """An `entry` that makes no arrays: without counts of references to them it takes a tenth less time to compile."""
    return _kept(numba.njit(_nrt=False, **_OPTIONS)(function), function)  # type: ignore[call-overload]


def called(function: Function) -> Function:
    """Compile a function that only machine code calls."""
    return numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)  # type: ignore[call-overload, no-any-return]


def inlined(function: Function) -> Function:
    """Compile a function that becomes part of its callers: calls count references to arrays, which takes time."""
    return numba.njit(no_cpython_wrapper=True, forceinline=True, **_OPTIONS)(function)  # type: ignore[call-overload, no-any-return]


def instructions(function: Callable[..., Any]) -> Any:
    """A function for machine code whose instructions are written by hand: numba has nothing to compile."""
    return intrinsic(function)


@instructions
def _floats_on_stack(_: Any, count: Any) -> Any:
    def code(_context: Any, builder: Any, signature: Any, _arguments: Any) -> Any:
        found = cgutils.alloca_once(builder, ir.DoubleType(), size=signature.args[0].literal_value)  # type: ignore[no-untyped-call]
        found.align = _LINE
        # Attributes of functions that llvmlite does not list, it refuses to add by its own method.
        set.add(builder.function.attributes, WIDE)
        return found

    if isinstance(count, types.IntegerLiteral):
        return types.CPointer(types.float64)(count), code  # type: ignore[no-untyped-call]
    return None


def read_ahead(builder: Any, pointer: Any) -> None:
    """Write the instruction that begins to read the line of the cache with a number, which is wanted soon."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    read = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")  # type: ignore[no-untyped-call]
    # To read, from all caches, data.
    builder.call(read, [builder.bitcast(pointer, byte), number(0), number(3), number(1)])


@instructions
def prefetch(_: Any, array: Any, place: Any) -> Any:
    """Begin to read a number of an array, as `read_ahead` says."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        read_ahead(builder, builder.gep(pointer, [context.cast(builder, arguments[1], signature.args[1], types.int64)]))
        return context.get_dummy_value()

    return types.void(array, place), code


@numba.njit(inline="always")
def on_stack(count: Any) -> Any:
    """An array of floats on the stack, of a constant size: nothing else overlaps it, and the compiler knows."""
    return numba.carray(_floats_on_stack(count), count)  # type: ignore[attr-defined]


@numba.njit(inline="always")
def aligned(count: Any) -> Any:
    """Zeros that begin with a line of the cache: vectors that lie on two lines take twice as long to read."""
    room = np.zeros(count + _LINE // 8)
    begin = (-(room.ctypes.data // 8)) % (_LINE // 8)
    return room[begin : begin + count]
