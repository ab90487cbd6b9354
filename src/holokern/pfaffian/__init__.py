"""Pfaffian systems of dual activations: derivation, checks, coordinates, restriction, archive."""

from holokern.pfaffian.derive import pfaffian
from holokern.pfaffian.exponents import local_exponents, singular_points
from holokern.pfaffian.rational_solutions import rational_solutions
from holokern.pfaffian.restriction_route import pfaffian_by_restriction
from holokern.pfaffian.scalar_ode import CurveSystem, restrict, scalar_ode
from holokern.pfaffian.system import PfaffianSystem

__all__ = [
    "CurveSystem",
    "PfaffianSystem",
    "local_exponents",
    "pfaffian",
    "pfaffian_by_restriction",
    "rational_solutions",
    "restrict",
    "scalar_ode",
    "singular_points",
]
