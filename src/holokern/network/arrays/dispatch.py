"""Which way a kernel takes for the arrays it is given: dask, another array library, or None for numpy.

Arrays of other libraries that hold plain numbers in memory go through the numpy engine and come back in their own
kind. Those that are traced (``jax.jit``), differentiated, or on a device go through `ArrayKernel`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from holokern.errors import BadInput
from holokern.network.architecture.kernels import SpanRange
from holokern.network.arrays.kernel import ArrayKernel
from holokern.network.arrays.layers import ArrayLayers
from holokern.network.engine.fill import Diagonals
from holokern.numeric import AnyArray

if TYPE_CHECKING:
    from holokern.network.network import Network

_GRID = 4


def matrices_of_other_kind(
    network: Network, X: AnyArray, Y: AnyArray, given: tuple[AnyArray, AnyArray], wanted: tuple[bool, bool]
) -> list[Any] | None:
    """[NNGP or None, NTK or None] for arrays that are not numpy's, or None if they are numpy's.

    ``given`` are the targets of the caller, which only numpy arrays can have.
    """
    kind = _kind(X, Y)
    if kind is None:
        return None
    if any(target is not None for target in given):
        raise BadInput("out is for numpy arrays; JAX, torch and dask arrays give new arrays, so leave it out")
    if kind == "dask":
        from holokern.network.arrays.dask import dask_matrices

        return dask_matrices(network, X, Y, wanted)
    method = {(True, False): "nngp", (False, True): "ntk", (True, True): "both"}[wanted]
    found = _through(network, method, X, Y)
    found = found if isinstance(found, tuple) else (found,)
    return [found[sum(wanted[:index])] if want else None for index, want in enumerate(wanted)]


def diagonals_of_other_kind(network: Network, X: AnyArray) -> Diagonals | None:
    """The diagonals for an array that is not numpy's, or None if it is."""
    kind = _kind(X, None)
    if kind is None:
        return None
    if kind == "dask":
        from holokern.network.arrays.dask import dask_diagonals

        return dask_diagonals(network, X)
    nngp, ntk = _through(network, "diagonals", X, None)
    return Diagonals(nngp, ntk)


def _kind(X: AnyArray, Y: AnyArray) -> str | None:
    given = [array for array in (X, Y) if array is not None]
    if all(isinstance(array, (np.ndarray, list, tuple)) for array in given):
        return None
    from array_api_compat import is_array_api_obj, is_dask_array, is_numpy_array

    if any(is_dask_array(array) for array in given):
        return "dask"
    return "other" if any(is_array_api_obj(array) and not is_numpy_array(array) for array in given) else None


def _through(network: Network, method: str, X: AnyArray, Y: AnyArray) -> AnyArray:
    from array_api_compat import array_namespace, is_jax_namespace

    given = [X] if Y is None else [X, Y]
    try:
        xp = array_namespace(*given)
    except TypeError:
        kinds = " and ".join(type(array).__name__ for array in given)
        raise BadInput(f"X and Y are of different kinds, {kinds}; pass arrays of one library") from None
    plain = _plain_numbers(xp, given)
    if plain is not None:
        return _back(xp, X, _call(network, method, plain))
    kernel = _kernel_for(network, xp, given)
    if is_jax_namespace(xp):
        return _jitted(kernel, method)(*given)
    return _call(kernel, method, given)


def _call(owner: Any, method: str, given: list[Any]) -> Any:
    found = getattr(owner, method)(*given)
    return (found.nngp, found.ntk) if isinstance(found, Diagonals) else found


@lru_cache(maxsize=64)
def _jitted(kernel: ArrayKernel | ArrayLayers, method: str) -> Callable[..., Any]:
    """Compiled by XLA once for each shape, also when the caller only differentiates."""
    import jax

    return jax.jit(lambda *given: _call(kernel, method, list(given)))


def _plain_numbers(xp: ModuleType, given: list[Any]) -> list[Any] | None:
    """The arrays as numpy's, unless they are traced, differentiated or not in this machine's memory."""
    from array_api_compat import device, is_jax_namespace, is_torch_namespace

    if is_jax_namespace(xp):
        import jax

        if any(isinstance(array, jax.core.Tracer) or device(array).platform != "cpu" for array in given):
            return None
    elif is_torch_namespace(xp):
        import torch

        if torch.is_grad_enabled() and any(array.requires_grad for array in given):
            return None
        # Inside torch.func transforms a tensor has no storage of its own.
        if any(type(array) is not torch.Tensor or str(device(array)) != "cpu" for array in given):
            return None
        try:
            return [array.detach().numpy() for array in given]
        except RuntimeError:
            return None
    return [np.asarray(array) for array in given]


def _back(xp: ModuleType, like: AnyArray, found: AnyArray) -> AnyArray:
    from array_api_compat import device

    if isinstance(found, tuple):
        return tuple(_back(xp, like, part) for part in found)
    return xp.asarray(found, device=device(like))


def _kernel_for(network: Network, xp: ModuleType, given: list[Any]) -> ArrayKernel | ArrayLayers:
    """Compiled for the norms of the points, if they are known."""
    if not network.hidden_layers:
        return _layers_for(network, xp, given)
    ends = []
    try:
        for array in (_without_derivative(xp, array) for array in given):
            square = xp.sum(array * array, axis=1)
            positive = xp.where(square > 0, square, float("inf"))
            ends += [float(xp.min(positive)), float(xp.max(square))]
    except (TypeError, RuntimeError) as error:
        if all(layer.dual.homogeneity is not None for layer in network.hidden_layers):
            return ArrayKernel(network, 1.0, 1.0)
        raise BadInput(
            f"the norms of the points are unknown while a function is traced, and {network} is compiled for a range of "
            "them; trace the methods of net.compile(low, high) instead, with the smallest and the largest norm of a row"
        ) from error
    known = [float(np.sqrt(end)) for end in ends if 0 < end < np.inf]
    low, high = (min(known), max(known)) if known else (1.0, 1.0)
    # On a grid, so that later calls meet what is compiled.
    first, last = np.floor(_GRID * np.log2(low)), np.ceil(_GRID * np.log2(high))
    return ArrayKernel(network, float(2.0 ** (first / _GRID)), float(2.0 ** (last / _GRID)))


def _layers_for(network: Network, xp: ModuleType, given: list[Any]) -> ArrayLayers:
    """A composition of layers, for the deviations that these inputs meet if they are known."""
    assert network.kernels is not None
    try:
        known = [np.asarray(_without_derivative(xp, array)) for array in given]
    except (TypeError, RuntimeError) as error:
        if network.kernels.is_homogeneous:
            return ArrayLayers(network.kernels, SpanRange(()))
        raise BadInput(
            "the inputs are unknown while a function is traced, and activations are compiled for a range of "
            "deviations; trace the methods of net.compile(like=X) instead, with inputs like those that will come"
        ) from error
    return ArrayLayers(network.kernels, network.kernels.data_range(*known))


def _without_derivative(xp: ModuleType, array: AnyArray) -> AnyArray:
    from array_api_compat import is_jax_namespace, is_torch_namespace

    if is_jax_namespace(xp):
        from jax.lax import stop_gradient

        return stop_gradient(array)
    return array.detach() if is_torch_namespace(xp) else array
