"""The methods that come with holokern, entered into the registry."""

from __future__ import annotations

from typing import Any

from holokern.dual.all_at_once import all_at_once
from holokern.dual.closed import closed, has_no_closed_form
from holokern.dual.compiled import cannot_compile, compiled
from holokern.dual.gauss_hermite import gauss_hermite
from holokern.dual.hgm import hgm
from holokern.dual.hie import hie
from holokern.dual.polar import cannot_transport
from holokern.dual.quadrature import quadrature
from holokern.dual.registry import Method, register
from holokern.dual.taylor import taylor


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
register(
    Method(
        "hgm",
        cannot_transport,
        hgm,
        "transport of the Pfaffian system from independent u and v, all points at once",
        options=("solver", "coordinates", "rtol", "integrator", "precise"),
    )
)
register(
    Method("all_at_once", cannot_transport, all_at_once, "one path through all points by the HGM", options=("order",))
)
register(
    Method(
        "taylor",
        cannot_transport,
        taylor,
        "representatives by the HGM, their neighbours by Taylor expansion",
        options=("radius", "order"),
    )
)
register(
    Method(
        "hie",
        cannot_transport,
        hie,
        "least squares for the Pfaffian system in a basis of functions of the angle",
        options=("basis", "size", "mu", "ends"),
    )
)
