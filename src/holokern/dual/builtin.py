"""The methods that come with holokern, entered into the registry."""

from __future__ import annotations

from typing import Any

from holokern.dual.closed import closed, has_no_closed_form
from holokern.dual.compiled import cannot_compile, compiled
from holokern.dual.gauss_hermite import gauss_hermite
from holokern.dual.quadrature import quadrature
from holokern.dual.registry import Method, register


def _serves_all(activation: Any) -> None:
    return None


register(Method("closed", has_no_closed_form, closed, "formulas; polynomials, exponentials, erf, half-lines at 0"))
register(Method("quadrature", _serves_all, quadrature, "panels between the breaks of σ; every activation"))
register(
    Method(
        "gauss_hermite",
        _serves_all,
        gauss_hermite,
        "the paper's baseline: product Gauss–Hermite rule, its degree doubled until it settles",
        options=("degree", "change", "most"),
    )
)
register(
    Method(
        "compiled",
        cannot_compile,
        compiled,
        "Chebyshev tensors over the range of deviations; breaks at 0 only; for many points",
        aligned=True,
    )
)
