"""Writing files so that a reader sees the old content or the new one, never a half."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from holokern.errors import ArchiveError

__all__ = ["prepare_folder", "write_atomically"]


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
