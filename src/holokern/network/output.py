"""Where a kernel matrix goes: a new array, an array of the caller, or a ``.npy`` file written in place and renamed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from holokern.errors import ArchiveError, BadInput

__all__ = ["Target", "destination"]

Target = Any
"""None, an array, or the path of a ``.npy`` file."""


@contextmanager
def destination(out: Target, shape: tuple[int, int], dtype: Any) -> Iterator[list[Any]]:
    """A list that holds the array to fill, and afterwards the array to return.

    A file appears under its name only when it is complete; an interruption leaves nothing.
    """
    if out is None:
        yield [np.empty(shape, dtype)]
    elif isinstance(out, np.ndarray):
        _check(out, shape)
        yield [out]
    else:
        yield from _file(Path(out), shape, dtype)


def _check(out: Any, shape: tuple[int, int]) -> None:
    if out.shape != shape or out.dtype not in (np.float64, np.float32) or not out.flags.writeable:
        raise BadInput(
            f"out has shape {out.shape} and type {out.dtype}, and the kernel needs a writeable array of shape {shape} "
            "and type float64 or float32"
        )


def _file(path: Path, shape: tuple[int, int], dtype: Any) -> Iterator[list[Any]]:
    if path.suffix != ".npy":
        raise BadInput(f"out = {str(path)!r} does not end in .npy; name a .npy file, or pass an array")
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        mapped = np.lib.format.open_memmap(part, mode="w+", dtype=dtype, shape=shape)
    except OSError as error:
        part.unlink(missing_ok=True)
        reason = error.strerror or error
        raise ArchiveError(f"cannot write {str(path)!r}: {reason}; choose another place") from None
    try:
        holder = [mapped]
        yield holder
        mapped.flush()
        part.replace(path)
        holder[0] = np.load(path, mmap_mode="r+")
    except BaseException:
        part.unlink(missing_ok=True)
        raise
