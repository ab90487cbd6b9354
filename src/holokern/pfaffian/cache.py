"""Derived systems in the cache on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from holokern.cache import Cache, CacheChoice, code_digest, open_cache
from holokern.errors import TooLarge
from holokern.pfaffian.system import PfaffianSystem

# requests whose systems are too large, and why
_refused: dict[str, str] = {}
_MOST_REFUSED = 1000  # messages of a kilobyte each at most


@lru_cache(maxsize=1)
def code_version() -> str:
    """A digest of the sources that derive systems."""
    return code_digest(("pfaffian", "weyl"))


def cached(
    request: Mapping[str, object], build: Callable[[], PfaffianSystem], choice: CacheChoice = None
) -> PfaffianSystem:
    """Return the stored answer to ``request``, or build, store and return it.

    ``request``: a JSON object that determines the answer: annihilators, coordinates, basis.
    ``build``: makes (and checks) the system; what it raises is passed on and nothing is stored.  That a system is too
    large is remembered as long as the process lives.
    ``choice``: see :func:`holokern.cache.open_cache`.
    """
    from holokern.pfaffian.archive import from_json, to_json

    cache = open_cache(choice)
    if cache is None:
        return build()
    # as JSON gives it back: tuples become lists
    asked = {"request": json.loads(json.dumps(request)), "code": code_version()}

    def unpack(content: bytes) -> PfaffianSystem:
        envelope = json.loads(content)
        if {name: envelope[name] for name in asked} != asked:
            raise ValueError("an answer to another request")
        return from_json(envelope["system"])

    return cache.answer(
        path_of(cache, request),
        lambda: _built(json.dumps(request, sort_keys=True), build),
        lambda system: json.dumps({**asked, "system": to_json(system)}).encode(),
        unpack,
    )


def path_of(cache: Cache, request: Mapping[str, object]) -> Path:
    """The file for a request."""
    text = json.dumps({"request": request, "code": code_version()}, sort_keys=True, separators=(",", ":"))
    return cache.path("pfaffian", text, ".json")


def _built(key: str, build: Callable[[], PfaffianSystem]) -> PfaffianSystem:
    if key in _refused:
        raise TooLarge(_refused[key])
    try:
        return build()
    except TooLarge as refusal:
        # to find out that a system is too large may take ten seconds
        if len(_refused) >= _MOST_REFUSED:
            _refused.clear()
        _refused[key] = str(refusal)
        raise
