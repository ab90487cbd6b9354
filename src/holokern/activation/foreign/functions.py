"""Functions and modules of PyTorch, JAX, NumPy, SciPy and ``math``, recognised by their names, and their parameters.

Nothing is imported here: what an object is, its module says, and a library whose object was given is loaded already.
A function that is recognised is compared with ours at a few points, since wrappers keep the name of what they wrap.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from holokern.activation.named import read_rational
from holokern.errors import BadInput, Unsupported

Recognised = tuple[str, dict[str, object]]
"""A name or an expression in u, and parameters in the spelling of the library."""

#: Names that mean the same in every library, beside those of :data:`_COMMON` that are ours too.
_SYNONYMS = {
    "absolute": "abs",
    "arcsinh": "asinh(u)",
    "arctan": "atan(u)",
    "asinh": "asinh(u)",
    "atan": "atan(u)",
    "cosh": "cosh(u)",
    "erfc": "erfc(u)",
    "erfi": "erfi(u)",
    "expit": "sigmoid",
    "expm1": "expm1(u)",
    "fabs": "abs",
    "hard_sigmoid": "hardsigmoid",
    "hard_silu": "hardswish",
    "hard_swish": "hardswish",
    "hard_tanh": "hardtanh",
    "j0": "besselj(0, u)",
    "j1": "besselj(1, u)",
    "log": "log(u)",
    "log1p": "log1p(u)",
    "log_expit": "logsigmoid",
    "log_sigmoid": "logsigmoid",
    "ndtr": "(1 + erf(u/sqrt(2)))/2",
    "negative": "-u",
    "positive": "identity",
    "reciprocal": "1/u",
    "sgn": "sign",
    "sinc": "sinc(pi*u)",
    "sinh": "sinh(u)",
    "soft_sign": "softsign",
    "sqrt": "sqrt(u)",
    "square": "u^2",
    "squareplus": "(u + sqrt(u^2 + 4))/2",
    "tan": "tan(u)",
    "tanhshrink": "u - tanh(u)",
}
# names that other libraries share with us
_COMMON = (
    "abs celu cos elu erf exp gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish "
    "relu relu6 selu sigmoid sign silu sin softplus softshrink softsign swish tanh"
)
_NAMES = {**{name: name for name in _COMMON.split()}, **_SYNONYMS}  # all names of other libraries, in ours

# modules of torch.nn without parameters, under our names in capitals
_PLAIN_MODULES = "Hardsigmoid Hardswish Identity LogSigmoid Mish PReLU ReLU ReLU6 SELU SiLU Sigmoid Softsign Tanh"
#: Modules of torch.nn: our name and the attributes that hold parameters.
_MODULES: dict[str, tuple[str, tuple[str, ...]]] = {
    **{name: (name.lower(), ()) for name in _PLAIN_MODULES.split()},
    "CELU": ("celu", ("alpha",)),
    "ELU": ("elu", ("alpha",)),
    "GELU": ("gelu", ("approximate",)),
    "Hardshrink": ("hardshrink", ("lambd",)),
    "Hardtanh": ("hardtanh", ("min_val", "max_val")),
    "LeakyReLU": ("leaky_relu", ("negative_slope",)),
    "Softplus": ("softplus", ("beta", "threshold")),
    "Softshrink": ("softshrink", ("lambd",)),
    "Tanhshrink": ("u - tanh(u)", ()),
    "Threshold": ("threshold", ("threshold", "value")),
}
#: Functions whose value depends on more than u, and what to write instead.
_REFUSED = {
    "heaviside": "it takes two arguments; write hk.activation('step')",
    "maximum": "it takes two arguments; write an expression such as hk.activation('Max(u, 0)')",
    "minimum": "it takes two arguments; write an expression such as hk.activation('Min(u, 1)')",
    "prelu": "its slope is learned; write hk.activation('prelu', slope=...)",
    **dict.fromkeys(
        ("GLU", "glu"), "it multiplies one half of the features by the other; it is not a function of one number"
    ),
    **dict.fromkeys(
        ("RReLU", "rrelu"), "its slope is random; write hk.activation('leaky_relu', slope=...) with the mean slope"
    ),
    **dict.fromkeys(
        ("LogSoftmax", "Softmax", "Softmax2d", "Softmin", "log_softmax", "softmax", "softmin"),
        "it mixes the features; it is not a function of one number",
    ),
}

# on both sides of every break of the functions above, and with digits that nobody chooses as a threshold
_PROBES = np.array(
    [-7.3071, -3.2093, -1.7239, -0.8117, -0.3083, 0.2071, 0.4519, 0.9157, 1.6363, 2.4373, 3.7091, 6.5201]
)
_ROUNDING = 2e-5  # JAX computes in float32 unless told otherwise, and so do modules of torch


def library_of(source: object) -> str | None:
    """The library that an object comes from: torch, jax, numpy, scipy, math, or None for all others.

    >>> library_of(np.tanh), library_of(print)
    ('numpy', None)
    """
    if isinstance(source, np.ufunc):
        return "numpy"
    owner = getattr(source, "__objclass__", None)  # a method such as torch.Tensor.tanh
    homes = [getattr(source, "__module__", None), type(source).__module__, getattr(owner, "__module__", None)]
    roots = [str(home).partition(".")[0] for home in homes if home]
    return next((root for root in roots if root in ("torch", "jax", "numpy", "scipy", "math")), None)


def recognised(source: object) -> Recognised | None:
    """What a foreign function or module is in our words, or None.

    Raises Unsupported for functions of a library that are known and cannot be activations; the message says why.

    >>> recognised(np.absolute)
    ('abs', {})
    """
    if isinstance(source, functools.partial):
        inner = recognised(source.func)
        if inner is None or source.args:
            return None
        return inner[0], {**inner[1], **source.keywords}
    library = library_of(source)
    if library is None:
        return None
    name = _name_of(source)
    if name in _REFUSED:
        raise Unsupported(f"{library}'s {name} is no activation: {_REFUSED[name]}")
    if type(source).__module__.startswith("torch.nn.") and name in _MODULES:
        return _module(source, name)
    if library == "torch" and name == "threshold":
        return "threshold", {}
    if library in ("torch", "jax") and name in ("identity", "square"):
        return _NAMES.get(name, name), {}
    if library == "numpy" and name in ("Polynomial", "poly1d"):
        return _polynomial(source)
    text = _NAMES.get(name)
    if text is None or (isinstance(source, np.ufunc) and source.nin != 1):
        return None
    # JAX alone approximates gelu by default
    return text, {"approximate": "tanh"} if library == "jax" and text == "gelu" else {}


def _name_of(source: object) -> str:
    if type(source).__module__.startswith("torch.nn.modules"):
        return type(source).__name__
    name = str(getattr(source, "__name__", type(source).__name__))
    return name.removeprefix("special_").strip("_")


def _module(source: Any, name: str) -> Recognised:
    text, attributes = _MODULES[name]
    if name != "PReLU":
        return text, {attribute: getattr(source, attribute) for attribute in attributes}
    if source.weight.numel() != 1:
        raise Unsupported(
            f"torch's PReLU has {source.weight.numel()} slopes, one for each channel; an activation has one: write "
            "hk.activation('prelu', slope=...)"
        )
    return text, {"slope": float(source.weight.detach().reshape(-1)[0])}


def _polynomial(source: Any) -> Recognised | None:
    """A polynomial of NumPy; one that is shifted and scaled (``domain`` is not ``window``) is left to its values."""
    if isinstance(source, np.poly1d):
        return "polynomial", {"coefficients": source.coef[::-1].tolist()}
    if not np.array_equal(source.domain, source.window):
        return None
    return "polynomial", {"coefficients": source.coef.tolist()}


def values_of(source: object) -> Callable[[Any], Any]:
    """The function on float64 arrays, whatever arrays it takes itself."""
    function: Any = source
    libraries = {library_of(source)} | {str(kind.__module__).partition(".")[0] for kind in type(source).__mro__}
    if isinstance(source, functools.partial):
        libraries.add(library_of(source.func))
    if "torch" in libraries:
        torch = sys.modules["torch"]

        def on_tensors(u: Any) -> Any:
            with torch.no_grad():
                weight = next(iter(function.parameters()), None) if hasattr(function, "parameters") else None
                kind = torch.float64 if weight is None else weight.dtype
                return function(torch.asarray(u, dtype=kind)).to(torch.float64).numpy()

        return on_tensors
    if "math" in libraries:
        return np.vectorize(function, otypes=[float])
    return lambda u: np.asarray(function(u), dtype=float)


def differs(source: object, ours: Callable[[Any], Any]) -> float | None:
    """A point at which the values of a foreign function are not ours, or None.

    Raises BadInput when the function cannot be called on an array of numbers.
    """
    expected = ours(_PROBES)
    real = np.isfinite(expected)
    try:
        with np.errstate(all="ignore"):
            found = values_of(source)(_PROBES[real])
    except Exception as error:
        raise BadInput(f"{source!s:.80} cannot be called on an array of numbers: {error!s:.200}") from None
    far = ~(np.abs(found - expected[real]) <= _ROUNDING * (1 + np.abs(expected[real])))
    return float(_PROBES[real][far][0]) if far.any() else None


#: For each activation, what other libraries call its parameters.
_SPELLINGS = {
    "hardshrink": {"lambd": "lam"},
    "hardtanh": {"min_val": "low", "max_val": "high"},
    "leaky_relu": {"negative_slope": "slope"},
    "prelu": {"init": "slope", "negative_slope": "slope"},
    "softshrink": {"lambd": "lam"},
}
# Above β·u = 20 PyTorch's softplus is u itself, which differs from log(1 + exp(βu))/β by at most 2.1e-9/β; a smaller
# threshold makes another function.
_SOFTPLUS_THRESHOLD = 20


def respelled(name: str, given: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """The name and the parameters as the registry has them.

    >>> respelled("leaky_relu", {"negative_slope": 0.2})
    ('leaky_relu', {'slope': 0.2})
    >>> respelled("gelu", {"approximate": "tanh"})
    ('gelu_tanh', {})
    """
    found = dict(given)
    if name == "gelu" and "approximate" in found:
        return _gelu(found.pop("approximate")), found
    if name == "softplus" and "threshold" in found:
        _check_softplus(found.pop("threshold"), found.get("beta", 1))
    for theirs, ours in _SPELLINGS.get(name, {}).items():
        if theirs in found:
            if ours in found:
                raise BadInput(f"the parameters {ours!r} and {theirs!r} of {name!r} are the same; give one of them")
            found[ours] = found.pop(theirs)
    return name, found


def _gelu(approximate: object) -> str:
    if approximate in ("tanh", True):
        return "gelu_tanh"
    if approximate in ("none", None, False):
        return "gelu"
    raise BadInput(f"the parameter 'approximate' of 'gelu' is 'tanh' or 'none', got {approximate!s:.40}")


def _check_softplus(threshold: object, beta: object) -> None:
    limit = read_rational(threshold, "the parameter 'threshold' of 'softplus'")
    if limit < _SOFTPLUS_THRESHOLD:
        rate = read_rational(beta, "the parameter 'beta' of 'softplus'") or Fraction(1)
        smooth = "log(1 + exp(u))" if rate == 1 else f"log(1 + exp({rate}*u))/({rate})"
        raise Unsupported(
            f"softplus with threshold = {limit} jumps at u = {limit / rate}, where PyTorch switches to u; write "
            f"'Piecewise((u, u > {limit / rate}), ({smooth}, True))', or leave the threshold at "
            f"{_SOFTPLUS_THRESHOLD} or above for the smooth function"
        )
