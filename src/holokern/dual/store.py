"""Compiled dual activations on disk, so that processes and sessions share them.

A file is named by a digest of what was asked and of the sources that answer. It is written to a temporary name and
moved into place, so that two processes that compile the same at once both end with a good file. One that is damaged, or
made by other code, is treated as absent. The folder and its switches are those of
:func:`holokern.pfaffian.cache.open_cache`.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from holokern.errors import ArchiveError, HolokernError
from holokern.files import prepare_folder, write_atomically
from holokern.pfaffian.cache import open_cache

__all__ = ["stored"]

T = TypeVar("T")

_OWN = "activation"


def stored(cls: type[T], activation: Any, numbers: tuple[float, ...], build: Callable[[], T]) -> T:
    """The stored answer for an activation and numbers, or build and store it.

    Parameters
    ----------
    cls
        A dataclass of numbers and arrays with a field ``activation``, which is not stored.
    activation, numbers
        What determines the answer. Activations without an expression are not stored.
    build
        Makes the answer; what it raises is passed on.
    """
    text = _identity(activation)
    cache = open_cache() if text is not None else None
    if cache is None:
        return build()
    request = json.dumps([cls.__name__, text, [n.hex() for n in numbers], _sources()])
    path = cache.folder / f"compiled-{hashlib.sha256(request.encode()).hexdigest()[:40]}.npz"
    found = _load(cls, activation, path, request)
    if found is not None:
        return found
    made = build()
    try:
        write_atomically(prepare_folder(cache.folder) / path.name, _bytes(made, request))
    except (OSError, ArchiveError) as error:
        if cache.demanded:
            raise ArchiveError(f"cannot store a compiled kernel in the cache folder {cache.folder}: {error}") from None
    return made


def _identity(activation: Any) -> str | None:
    try:
        return str(activation.expression)
    except HolokernError:
        return None


@lru_cache(maxsize=1)
def _sources() -> str:
    """A digest of the code that evaluates activations and compiles them, and of numpy's version."""
    package = Path(__file__).parent
    digest = hashlib.sha256(np.__version__.encode())
    for folder in (package, package.parent / "activation"):
        for source in sorted(folder.rglob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _bytes(made: Any, request: str) -> bytes:
    values = {field.name: getattr(made, field.name) for field in fields(made) if field.name != _OWN}
    stream = io.BytesIO()
    # None has no array; a field that is absent stands for it
    arrays = {name: np.asarray(value) for name, value in values.items() if value is not None}
    np.savez(stream, request=np.array(request), **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def _load(cls: type[T], activation: Any, path: Path, request: str) -> T | None:
    try:
        with np.load(path, allow_pickle=False) as archive:
            if str(archive["request"]) != request:
                return None
            found = {name: archive[name] for name in archive.files if name != "request"}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    names = [field.name for field in fields(cls) if field.name != _OWN]  # type: ignore[arg-type]
    values = {name: found.get(name) for name in names}
    plain = {name: v.item() if v is not None and v.ndim == 0 else v for name, v in values.items()}
    return cls(**{_OWN: activation}, **plain)
