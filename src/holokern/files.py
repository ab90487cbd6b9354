"""Files that a reader sees whole or not at all, and files that nobody else has written.

A sealed file ends with a line that only the holder of a secret key can write.  The key lies outside the folder of the
cache, so that whoever can write there cannot make us believe other numbers.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from holokern.errors import ArchiveError, BadInput

_KEY = 32  # bytes of the key of a sealed file
_SEAL = 65  # a line break and the digits of SHA-256
_PART = 1 << 16  # bytes that are read at a time beyond the size that a file says it has


def prepare_folder(folder: Path) -> Path:
    """Make ``folder`` if needed and prove that it can be written, before any work is done.

    Raises ArchiveError when the folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        reason = error.strerror or error
        raise ArchiveError(f"cannot write to the folder {str(folder)!r}: {reason}; choose another folder") from None


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write through a temporary file in the same folder and rename it; an interruption leaves no trace."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        with part.open("xb") as stream:  # not mkstemp: the file keeps the permissions that the user's umask gives
            stream.write(data)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read_regular(path: Path, largest: int) -> bytes | None:
    """The content of a regular file of at most so many bytes; None for anything else, such as a pipe or a device.

    >>> read_regular(Path("/dev/zero"), 100) is None
    True
    """
    try:
        # a pipe without a writer would wait for ever
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > largest:
            return None
        parts, left = [], largest + 1
        # As a rule in one part, which is not copied; the next one is empty.
        while left > 0 and (part := os.read(handle, min(left, max(found.st_size, _PART)))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts) if left > 0 else None
    except OSError:
        return None
    finally:
        os.close(handle)


def sealed(content: bytes) -> bytes:
    """The content and a line that `read_sealed` checks.

    >>> len(sealed(b"numbers"))
    72
    """
    return content + b"\n" + _signature(content)


def read_sealed(path: Path, largest: int) -> bytes | None:
    """The content that `sealed` was given, None if the file is absent, no regular file, too large, or not ours."""
    found = read_regular(path, largest)
    if found is None or len(found) < _SEAL or found[-_SEAL : 1 - _SEAL] != b"\n":
        return None
    content = found[:-_SEAL]
    return content if hmac.compare_digest(found[1 - _SEAL :], _signature(content)) else None


def _signature(content: bytes) -> bytes:
    return hmac.new(_key(_key_file()), content, hashlib.sha256).hexdigest().encode()


def _key_file() -> Path | None:
    """Where the key of this user is: in the platform's folder for the state of programs."""
    try:
        return user_folder("APPDATA", "Roaming", "Application Support", "XDG_STATE_HOME", ".local/state") / "cache.key"
    except RuntimeError:
        # no home directory
        return None


def user_folder(variable: str, windows: str, mac: str, xdg: str, plain: str) -> Path:
    """The folder of holokern among this user's files of one kind, by the customs of the platform.

    ``variable``, ``windows``: what names it on Windows, and the part of AppData where nothing does.
    ``mac``: the part of Library.
    ``xdg``, ``plain``: what names it elsewhere, and the place in the home directory where nothing does.
    """
    if sys.platform == "win32":
        base = os.environ.get(variable)
        return (Path(base) if base else Path.home() / "AppData" / windows) / "holokern"
    if sys.platform == "darwin":
        return Path.home() / "Library" / mac / "holokern"
    base = os.environ.get(xdg)
    # the XDG specification asks to ignore relative paths
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / plain) / "holokern"


@lru_cache(maxsize=8)
def _key(path: Path | None) -> bytes:
    """The key in a file, made if it is not there; one for this process alone if that is not possible."""
    fresh = secrets.token_bytes(_KEY)
    if path is None:
        return fresh
    for _ in range(2):
        found = read_regular(path, _KEY)
        if found is not None and len(found) == _KEY:
            return found
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(fresh)
            try:
                # unlike a renaming it fails if another process was first
                os.link(part, path)
            finally:
                part.unlink(missing_ok=True)
        except OSError:
            continue
    return fresh


# -- matrices -------------------------------------------------------------------------------------------------------

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

    Raises BadInput if the name does not end in .npy; ArchiveError if nothing can be written there.
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
