"""Where a kernel matrix goes: a new array, an array of the caller, or a ``.npy`` file that appears when complete."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from holokern.errors import ArchiveError, BadInput

__all__ = ["Target", "check_writable", "destination"]

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


def check_writable(path: Path) -> None:
    """Prove that a ``.npy`` file can be made there, before any work is done.

    Raises
    ------
    BadInput
        If the name does not end in .npy.
    ArchiveError
        If nothing can be written there.
    """
    if path.suffix != ".npy":
        raise BadInput(f"out = {str(path)!r} does not end in .npy; name a .npy file, or pass an array")
    if path.is_dir():
        raise ArchiveError(f"cannot write {str(path)!r}: it is a folder; choose another name")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: OSError) -> ArchiveError:
    return ArchiveError(f"cannot write {str(path)!r}: {error.strerror or error}; choose another place")


def _file(path: Path, shape: tuple[int, int], dtype: Any) -> Iterator[list[Any]]:
    check_writable(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with _nameless(path.parent, part) as stream:
            mapped = _mapped(stream, shape, dtype)
            holder = [mapped]
            yield holder
            if isinstance(mapped, np.memmap):
                mapped.flush()
            if not part.exists():
                # With a folder given, Python asks the system to follow the link to the open file.
                os.link(f"/proc/self/fd/{stream.fileno()}", part, src_dir_fd=folder, follow_symlinks=True)
            part.replace(path)
        holder[0] = np.load(path, mmap_mode="r+")
    except OSError as error:
        raise _refused(path, error) from None
    finally:
        os.close(folder)
        part.unlink(missing_ok=True)


def _nameless(folder: Path, part: Path) -> Any:
    """A new file without a name, which vanishes even when the process is killed; with one where there are no such."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is not None:
        with suppress(OSError):
            return os.fdopen(os.open(folder, flag | os.O_RDWR, 0o666), "w+b")
    return part.open("x+b")


def _mapped(stream: Any, shape: tuple[int, int], dtype: Any) -> Any:
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(stream, header)
    start = stream.tell()
    if 0 in shape:
        return np.empty(shape, dtype)
    # Blocks are reserved now: a full disk is an error here and not a crash while the map is written.
    os.posix_fallocate(stream.fileno(), 0, start + shape[0] * shape[1] * np.dtype(dtype).itemsize)
    return np.memmap(stream, dtype=dtype, mode="r+", offset=start, shape=shape)
