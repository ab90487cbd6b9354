"""Pfaffian systems of dual activations: derivation, checks, coordinates, restriction, archive."""

from holokern.pfaffian.derivation.by_restriction import pfaffian_by_restriction
from holokern.pfaffian.derive import pfaffian
from holokern.pfaffian.evaluation import tabulated
from holokern.pfaffian.ideal import ideal_of
from holokern.pfaffian.scalar.exponents import (
    coefficient_polynomials,
    local_exponents,
    rational_solutions,
    singular_points,
)
from holokern.pfaffian.scalar.scalar_ode import CurveSystem, restrict, scalar_ode
from holokern.pfaffian.system import PfaffianSystem
from holokern.pfaffian.typeset import latex_element, latex_entry, latex_polynomial
from holokern.pfaffian.unexpanded import UnexpandedSystem, unexpanded
from holokern.weyl import RationalFunction

__all__ = [
    "CurveSystem",
    "PfaffianSystem",
    "RationalFunction",
    "UnexpandedSystem",
    "coefficient_polynomials",
    "ideal_of",
    "latex_element",
    "latex_entry",
    "latex_polynomial",
    "local_exponents",
    "pfaffian",
    "pfaffian_by_restriction",
    "rational_solutions",
    "restrict",
    "scalar_ode",
    "singular_points",
    "tabulated",
    "unexpanded",
]
