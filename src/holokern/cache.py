"""The cache on disk: answers, addressed by what was asked and by the code that answered.

A file is written to a temporary name and moved into place, so readers see all of it or nothing, and two processes
that find the same answer at once both end with a good file.  Files are signed with a key that lies elsewhere.  One
that is damaged, foreign, altered or made by other code is treated as absent.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from holokern.errors import ArchiveError, BadInput
from holokern.files import prepare_folder, read_sealed, sealed, user_folder, write_atomically

CacheChoice = bool | str | os.PathLike[str] | None

Made = TypeVar("Made")

_OFF = {"off", "0", "false", "no"}  # what the variable HOLOKERN_CACHE may say for no
_LARGEST = 1 << 29  # bytes of a file that is read: no answer comes near, and a larger file is not one of ours
_KEY_LENGTH = 40  # 160 bits of the digest: no two requests share them, and file names stay short


def default_folder() -> Path:
    r"""The platform's cache folder for holokern; the environment is read at every call.

    ``$XDG_CACHE_HOME/holokern`` or ``~/.cache/holokern``, ``~/Library/Caches/holokern`` on macOS and
    ``%LOCALAPPDATA%\holokern\cache`` on Windows.
    """
    folder = user_folder("LOCALAPPDATA", "Local", "Caches", "XDG_CACHE_HOME", ".cache")
    return folder / "cache" if sys.platform == "win32" else folder


def code_digest(folders: Iterable[str], more: str = "") -> str:
    """A digest of the sources in some folders of the package; another digest means other cache entries."""
    digest = hashlib.sha256(more.encode())
    for folder in folders:
        for source in sorted((Path(__file__).parent / folder).rglob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Cache:
    """A folder of files."""

    folder: Path  # where the files are
    # whether the user named the folder; then failing to write is an error and not a missing convenience
    demanded: bool = False

    def path(self, kind: str, request: str, suffix: str) -> Path:
        """The file for a request: a text that determines the answer."""
        return self.folder / f"{kind}-{hashlib.sha256(request.encode()).hexdigest()[:_KEY_LENGTH]}{suffix}"

    def answer(
        self, path: Path, make: Callable[[], Made], pack: Callable[[Made], bytes], unpack: Callable[[bytes], Made]
    ) -> Made:
        """What the file holds, or make it and write it; ``unpack`` raises if that is no answer to the request."""
        content = read_sealed(path, _LARGEST)
        if content is not None:
            # the readers of JSON and of zip files raise what they like for a file that other versions wrote
            with suppress(Exception):
                return unpack(content)
        made = make()
        # a folder of that name cannot be replaced, and nothing is lost but time
        if not path.is_dir():
            try:
                write_atomically(prepare_folder(self.folder) / path.name, sealed(pack(made)))
            except OSError as error:
                if self.demanded:
                    raise ArchiveError(f"cannot store {path.name} in the cache folder {self.folder}: {error}") from None
        return made


def open_cache(choice: CacheChoice = None) -> Cache | None:
    """Turn the user's choice and the environment into a cache, or None for no cache.

    ``choice``: False: none.  A path: that folder.  True or None: as the environment says, that is none when
    ``HOLOKERN_CACHE`` is off, the folder ``HOLOKERN_CACHE_DIR`` when it is set, else :func:`default_folder`.
    Raises ArchiveError when a folder that the user named cannot be written.

    >>> open_cache(False) is None
    True
    """
    if choice is False:
        return None
    if isinstance(choice, (str, os.PathLike)):
        if not os.fspath(choice):
            raise BadInput("expected a cache folder, got an empty path; use cache=False for no cache")
        cache = Cache(Path(choice).expanduser(), demanded=True)
    elif choice is None or choice is True:
        if os.environ.get("HOLOKERN_CACHE", "").strip().lower() in _OFF:
            return None
        named = os.environ.get("HOLOKERN_CACHE_DIR")
        try:
            cache = Cache(Path(named).expanduser(), demanded=True) if named else Cache(default_folder())
        except RuntimeError:
            # no home directory: there is no place for a cache
            return None
    else:
        raise BadInput(f"expected cache to be True, False or a folder, got {choice!r}")
    if cache.demanded:
        prepare_folder(cache.folder)
    return cache
