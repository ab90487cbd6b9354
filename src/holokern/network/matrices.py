"""From data of any kind to kernel matrices in their places: arguments are checked, then the matrices are filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from holokern.errors import BadInput
from holokern.files import Target, destination
from holokern.network.architecture.kernels import SpanRange
from holokern.network.arguments import different_shapes
from holokern.network.arrays.dispatch import matrices_of_other_kind
from holokern.network.engine.fill import fill
from holokern.network.plan import ENGINES, Engine
from holokern.network.points import DataRange
from holokern.numeric import Array
from holokern.progress import display, note

if TYPE_CHECKING:
    from holokern.network.network import Network

# predicted seconds of a way that was asked for, before a word about a faster one
_SLOW = 20.0
# entries of a matrix that might take as long pair by pair
_MANY = 20_000


def matrices(
    network: Network,
    X: Any,
    Y: Any,
    outs: tuple[Target, Target],
    threads: int | None,
    wanted: tuple[bool, bool],
    engine: Engine,
    data: DataRange | SpanRange | None = None,
    single: bool = False,
) -> list[Any]:
    """[NNGP or None, NTK or None] of arrays of any kind, written to their places; bad input is refused first."""
    layers = network._by_layers
    if engine not in ENGINES:
        raise BadInput(f"engine = {engine!r}; choose one of {', '.join(map(repr, ENGINES))}")
    other = matrices_of_other_kind(network, X, Y, outs, wanted)
    if other is not None:
        return other
    if network._behind_flatten is not None:
        flat = rows_of(network, "X", X), None if Y is None else rows_of(network, "Y", Y)
        if Y is not None and np.shape(X)[1:] != np.shape(Y)[1:]:
            raise BadInput(different_shapes(np.shape(X), np.shape(Y)))
        return matrices(network._behind_flatten, *flat, outs, threads, wanted, engine, data, single)
    x = network._read("X", X)
    y = x if Y is None else network._read("Y", Y)
    if layers is not None and Y is not None:
        x, y = layers.alike(x, y)
    if x.shape[1:] != y.shape[1:]:
        raise BadInput(different_shapes(x.shape, y.shape))
    if wanted[1]:
        network.require_tangent()
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise BadInput(f"threads = {threads!r} is not a positive integer")
    shape, dtype = (len(x), len(y)), np.result_type(*(getattr(one, "dtype", float) for one in (x, y)))
    empty = np.empty((0, 0))
    with (
        destination(outs[0] if wanted[0] else empty, shape if wanted[0] else (0, 0), dtype) as nngp,
        destination(outs[1] if wanted[1] else empty, shape if wanted[1] else (0, 0), dtype) as ntk,
    ):
        results = [holder[0] if want else None for holder, want in zip((nngp, ntk), wanted, strict=True)]
        if shape[0] and shape[1]:
            _fill(network, x, None if Y is None else y, (results[0], results[1]), threads, data, engine, single)
    return [nngp[0] if wanted[0] else None, ntk[0] if wanted[1] else None]


def rows_of(network: Network, name: str, value: Any) -> Array:
    """Data for the fully connected network behind a first `Flatten`, one row for each input."""
    assert network.kernels is not None
    x = network.kernels.read(name, value)
    network.kernels.check_inputs(x)
    return np.asarray(x.reshape(len(x), -1))


def _fill(
    network: Network,
    x: Any,
    y: Any,
    outs: tuple[Array | None, Array | None],
    threads: int | None,
    data: DataRange | SpanRange | None,
    engine: Engine,
    single: bool,
) -> None:
    layers = network._by_layers
    with display():
        if layers is not None:
            layers.fill(x, y, outs, threads, data if isinstance(data, SpanRange) else None)
            return
        known = data if isinstance(data, DataRange) else None
        columns = None if y is None else network._points(y)
        _say_what_is_slow(network, x, y, engine)
        fill(network.hidden_layers, network._points(x), columns, outs, threads, known, engine, single)


def _say_what_is_slow(network: Network, x: Any, y: Any, engine: Engine) -> None:
    """A word before slow work: what it may cost, and what to do instead."""
    entries = len(x) * len(x if y is None else y)
    if engine == "pairs" and (seconds := network.plan(x, y, engine=engine).seconds["pairs"]) > _SLOW:
        note(f"engine='pairs' may take {seconds:.0f} s for {len(x)} points; engine='auto' makes tables instead")
    for dual in dict.fromkeys(layer.dual for layer in network.hidden_layers):
        if dual.is_rough and dual.hinges is None and entries > _MANY:
            note(
                f"{dual.activation} has a break other than zero or a root, so there are no tables for points with an "
                f"angle below {dual.smallest_angles[-1]} between them, and such pairs take 1 to 20 milliseconds each. "
                "Piecewise polynomials, and other activations whose only break is zero, do not have this problem"
            )
