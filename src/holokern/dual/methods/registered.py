"""The methods that come with holokern, entered into the registry."""

from __future__ import annotations

from holokern.activation import Activation
from holokern.dual.closed.method import closed, has_no_closed_form, has_no_half_waves
from holokern.dual.hermite.method import hermite, serves_hermite
from holokern.dual.methods.all_at_once import all_at_once
from holokern.dual.methods.gauss_hermite import gauss_hermite
from holokern.dual.methods.hgm import hgm
from holokern.dual.methods.hie import hie
from holokern.dual.methods.polar import cannot_transport
from holokern.dual.methods.taylor import taylor
from holokern.dual.quadrature.method import quadrature
from holokern.dual.registry import Method, register
from holokern.dual.tables.method import cannot_compile, compiled


def _serves_all(activation: Activation) -> None:
    return None


# in the order of the documentation
_METHODS = (
    Method("closed", has_no_closed_form, closed, "formulas; polynomials, exponentials, erf, half-lines at 0"),
    Method("angular", has_no_half_waves, closed, "an integral over one angle; sines and cosines on half-lines at 0"),
    Method("quadrature", _serves_all, quadrature, "panels between the breaks of σ; every activation"),
    Method(
        "gauss_hermite",
        _serves_all,
        gauss_hermite,
        "the paper's baseline: product Gauss–Hermite rule, its degree doubled until it settles",
        options=("degree", "change", "most"),
    ),
    Method(
        "compiled",
        cannot_compile,
        compiled,
        "Chebyshev tensors over the range of deviations, for many points; no breaks but 0, or piecewise polynomials",
        aligned=True,
    ),
    Method(
        "hgm",
        cannot_transport,
        hgm,
        "transport of the Pfaffian system from independent u and v, all points at once",
        options=("solver", "coordinates", "rtol", "integrator", "precise"),
    ),
    Method("all_at_once", cannot_transport, all_at_once, "one path through all points by the HGM", options=("order",)),
    Method(
        "taylor",
        cannot_transport,
        taylor,
        "representatives by the HGM, their neighbours by Taylor expansion",
        options=("radius", "order"),
    ),
    Method(
        "hie",
        cannot_transport,
        hie,
        "least squares for the Pfaffian system in a basis of functions of the angle",
        options=("basis", "size", "mu", "ends"),
    ),
    Method(
        "hermite",
        serves_hermite,
        hermite,
        "Hermite coefficients by difference HGM; a proved bound of the tail",
        options=("terms",),
    ),
)


def register_all() -> None:
    """Enter every method of this folder into the registry."""
    for method in _METHODS:
        register(method)
