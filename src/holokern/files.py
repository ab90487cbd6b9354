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
from functools import lru_cache
from pathlib import Path

from holokern.errors import ArchiveError

__all__ = ["prepare_folder", "read_regular", "read_sealed", "sealed", "write_atomically"]

# bytes of the key of a sealed file
_KEY = 32
# a line break and the digits of SHA-256
_SEAL = 65


def prepare_folder(folder: Path) -> Path:
    """Make ``folder`` if needed and prove that it can be written, before any work is done.

    Raises
    ------
    ArchiveError
        When the folder cannot be made or written.
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

    Examples
    --------
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
        while left > 0 and (part := os.read(handle, min(left, 1 << 24))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts) if left > 0 else None
    except OSError:
        return None
    finally:
        os.close(handle)


def sealed(content: bytes) -> bytes:
    """The content and a line that `read_sealed` checks.

    Examples
    --------
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
        if sys.platform == "win32":
            base = os.environ.get("APPDATA")
            folder = Path(base) if base else Path.home() / "AppData" / "Roaming"
        elif sys.platform == "darwin":
            folder = Path.home() / "Library" / "Application Support"
        else:
            base = os.environ.get("XDG_STATE_HOME")
            folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        # no home directory
        return None
    return folder / "holokern" / "cache.key"


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
