"""The parameter names of PyTorch and JAX, in ours."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from holokern.activation.named import read_rational
from holokern.errors import BadInput, Unsupported

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

    Examples
    --------
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
