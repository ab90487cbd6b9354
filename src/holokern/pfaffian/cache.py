"""The cache on disk: derived systems, addressed by what was asked and by the code that answered.

A file is written to a temporary name and moved into place, so readers see all of it or nothing, and two processes
that derive the same system at once both end with a good file.  Files are signed with a key that lies elsewhere.  One
that is damaged, foreign, altered or made by other code is treated as absent.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from holokern.errors import ArchiveError, BadInput, TooLarge
from holokern.files import prepare_folder, read_sealed, sealed, write_atomically
from holokern.pfaffian.system import PfaffianSystem

CacheChoice = bool | str | os.PathLike[str] | None

_OFF = {"off", "0", "false", "no"}  # what the variable HOLOKERN_CACHE may say for no
_LARGEST = 1 << 29  # bytes of a file that is read; the largest systems take some megabytes
_KEY_LENGTH = 40  # 160 bits of the digest: no two requests share them, and file names stay short


def default_folder() -> Path:
    r"""The platform's cache folder for holokern; the environment is read at every call.

    ``$XDG_CACHE_HOME/holokern`` or ``~/.cache/holokern``, ``~/Library/Caches/holokern`` on macOS and
    ``%LOCALAPPDATA%\holokern\cache`` on Windows.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "holokern" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "holokern"
    base = os.environ.get("XDG_CACHE_HOME")
    # the XDG specification asks to ignore relative paths
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache") / "holokern"


@lru_cache(maxsize=1)
def code_version() -> str:
    """A digest of the sources that derive systems; another digest means another cache entry."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for folder in (package, package.parent / "weyl"):
        for source in sorted(folder.rglob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Cache:
    """A folder of JSON files."""

    folder: Path  # where the files are
    # whether the user named the folder; then failing to write is an error and not a missing convenience
    demanded: bool = False

    def path(self, request: Mapping[str, object]) -> Path:
        """The file for a request (any JSON object)."""
        text = json.dumps({"request": request, "code": code_version()}, sort_keys=True, separators=(",", ":"))
        return self.folder / f"pfaffian-{hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]}.json"

    def load(self, request: Mapping[str, object]) -> PfaffianSystem | None:
        """The stored system, or None when there is none that can be trusted."""
        from holokern.pfaffian.archive import from_json

        found = read_sealed(self.path(request), _LARGEST)
        if found is None:
            return None
        try:
            envelope = json.loads(found)
            if envelope["request"] != _plain(request) or envelope["code"] != code_version():
                return None
            return from_json(envelope["system"])
        except (ValueError, KeyError, TypeError, ArchiveError, RecursionError):
            return None

    def store(self, request: Mapping[str, object], system: PfaffianSystem) -> bool:
        """Write ``system``; return whether it was possible."""
        from holokern.pfaffian.archive import to_json

        envelope = {"request": _plain(request), "code": code_version(), "system": to_json(system)}
        path = self.path(request)
        if path.is_dir():
            # it cannot be replaced, and nothing is lost but time
            return False
        try:
            write_atomically(prepare_folder(self.folder) / path.name, sealed(json.dumps(envelope).encode()))
        except OSError as error:
            if self.demanded:
                raise ArchiveError(f"cannot store the system in the cache folder {self.folder}: {error}") from None
            return False
        return True


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


# requests whose systems are too large, and why
_refused: dict[str, str] = {}
_MOST_REFUSED = 1000  # messages of a kilobyte each at most


def cached(
    request: Mapping[str, object], build: Callable[[], PfaffianSystem], choice: CacheChoice = None
) -> PfaffianSystem:
    """Return the stored answer to ``request``, or build, store and return it.

    ``request``: a JSON object that determines the answer: annihilators, coordinates, basis.
    ``build``: makes (and checks) the system; what it raises is passed on and nothing is stored.  That a system is too
    large is remembered as long as the process lives.
    ``choice``: see :func:`open_cache`.
    """
    cache = open_cache(choice)
    if cache is None:
        return build()
    found = cache.load(request)
    if found is not None:
        return found
    key = json.dumps(request, sort_keys=True)
    if key in _refused:
        raise TooLarge(_refused[key])
    try:
        system = build()
    except TooLarge as refusal:
        # to find out that a system is too large may take ten seconds
        if len(_refused) >= _MOST_REFUSED:
            _refused.clear()
        _refused[key] = str(refusal)
        raise
    cache.store(request, system)
    return system


def _plain(request: Mapping[str, object]) -> object:
    """The request as JSON gives it back: tuples become lists."""
    plain: object = json.loads(json.dumps(request))
    return plain
