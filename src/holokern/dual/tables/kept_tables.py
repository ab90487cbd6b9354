"""Tables in memory, and in the cache on disk, so that processes and sessions share them."""

from __future__ import annotations

import io
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from holokern.activation import Activation
from holokern.cache import code_digest, open_cache
from holokern.dual.tables.dual_table import DualTable
from holokern.errors import HolokernError, PrecisionLost
from holokern.numeric import Array, Range, Series, Table, limits

_KEPT = 64
"""Tables that stay in memory: most take less than a megabyte."""


Made = TypeVar("Made")

Build = Callable[[], DualTable | None]
"""Makes a table, or finds that there is no short one."""

Answer = DualTable | PrecisionLost | None
"""The table, why there is none, or None if there is no short one."""


def stored_table(sigma: Activation, span: Range, smallest: float, build: Build, short: bool = False) -> Answer:
    """The table of an activation from disk, or build and store it. Activations without an expression are not stored.

    Of a table that is too long only this is stored, until somebody asks for it. A refusal is stored too: it takes as
    long to find out, and holds for the present limits of work and memory.
    """
    request = ["dual", identity(sigma), span.low.hex(), span.high.hex(), float(smallest).hex(), limits()]
    return stored(request, lambda: _attempt(build), _arrays, lambda arrays: _table(sigma, arrays, short))


def _attempt(build: Build) -> Answer:
    try:
        return build()
    except PrecisionLost as refusal:
        return refusal


class KeptTables:
    """Tables in memory, by what was asked alone, so that results do not depend on earlier calls.

    Threads that need the same table wait for it.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Activation, Range, float], Answer] = OrderedDict()
        self._lock = threading.RLock()

    def get(
        self, sigma: Activation, span: Range, smallest: float, build: Build, short: bool = False
    ) -> DualTable | None:
        """The table from memory or from disk, or build it; None if it must be short and is not."""
        key = sigma, span, smallest
        with self._lock:
            if key not in self._known or (self._known[key] is None and not short):
                self._known[key] = stored_table(sigma, span, smallest, build, short)
            found = self._known[key]
            self._known.move_to_end(key)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        if isinstance(found, PrecisionLost):
            raise found
        return None if short and found is not None and found.table.is_rough else found


def stored_number(question: str, sigma: Activation, compute: Callable[[], float]) -> float:
    """A number that belongs to an activation, from disk, or compute and store it."""
    request = [question, identity(sigma)]
    return stored(request, compute, lambda made: {"number": np.array(made)}, lambda arrays: float(arrays["number"]))


def identity(sigma: Activation) -> str | None:
    """What tells an activation from all others in a file's name, or None."""
    try:
        return str(sigma.expression)
    except HolokernError:
        return None


def _arrays(made: Answer) -> dict[str, Array]:
    if made is None:
        return {"none": np.ones(1)}
    if isinstance(made, PrecisionLost):
        return {"refusal": np.array(list(str(made).encode()), dtype=float)}
    homogeneity = np.nan if made.homogeneity is None else made.homogeneity
    return {
        **made.table.arrays(),
        "numbers": np.array([homogeneity, made.fold, made.power, made.error]),
        "log_norm": made.log_norm.coefficients,
        "log_slope": made.log_slope.coefficients,
        "mean": made.mean.coefficients,
    }


def _table(sigma: Activation, found: dict[str, Array], short: bool) -> Answer:
    if "none" in found and short:
        return None
    if "refusal" in found:
        return PrecisionLost(bytes(found["refusal"].astype(np.uint8)).decode())
    table = Table.from_arrays(found)
    homogeneity, fold, power, error = (float(v) for v in found["numbers"])
    series = [Series(table.range, found[name]) for name in ("log_norm", "log_slope", "mean")]
    if any(s.coefficients.ndim != 1 or not np.all(np.isfinite(s.coefficients)) for s in series):
        raise ValueError("a series is not a row of numbers")
    known = None if np.isnan(homogeneity) else homogeneity
    return DualTable(sigma, known, int(fold), int(power), series[0], series[1], series[2], table, error)


def stored(
    request: Sequence[str | None],
    make: Callable[[], Made],
    pack: Callable[[Made], dict[str, Array]],
    unpack: Callable[[dict[str, Array]], Made],
) -> Made:
    """The answer to a request from disk, or make it and write it; one with None in it belongs to no file.

    ``pack`` gives named arrays, and ``unpack`` raises if they are not as they should be.
    """
    cache = None if None in request else open_cache()
    if cache is None:
        return make()
    text = json.dumps([*request, _sources()])

    def write(made: Made) -> bytes:
        stream = io.BytesIO()
        np.savez(stream, request=np.array(text), **joined(pack(made)))  # type: ignore[arg-type]
        return stream.getvalue()

    def read(content: bytes) -> Made:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            if str(archive["request"]) != text:
                raise ValueError("an answer to another request")
            return unpack(parted(archive["layout"], archive["values"]))

    return cache.answer(cache.path("table", text, ".npz"), make, write, read)


def joined(arrays: dict[str, Array]) -> dict[str, Array]:
    """Named arrays as one, and their names and shapes: to open an entry of a file takes longer than to read it.

    Examples
    --------
    >>> both = joined({"a": np.eye(2), "b": np.array(3.0)})
    >>> both["values"].tolist(), {name: array.shape for name, array in parted(**both).items()}
    ([1.0, 0.0, 0.0, 1.0, 3.0], {'a': (2, 2), 'b': ()})
    """
    layout = json.dumps({name: array.shape for name, array in arrays.items()})
    return {"layout": np.array(layout), "values": np.concatenate([np.ravel(array) for array in arrays.values()])}


def parted(layout: Array, values: Array) -> dict[str, Array]:
    """The named arrays that `joined` was given."""
    shapes = json.loads(str(layout))
    parts = np.split(values, np.cumsum([int(np.prod(shape)) for shape in shapes.values()]))
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts[:-1], strict=True)}


@lru_cache(maxsize=1)
def _sources() -> str:
    """A digest of the code that evaluates activations and makes tables, and of numpy's version."""
    return code_digest(("numeric", "activation", "dual", "network"), np.__version__)
