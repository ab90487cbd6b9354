"""Pfaffian systems of dual activations: derivation, checks, coordinates, restriction, archive."""

from holokern.pfaffian.derive import pfaffian
from holokern.pfaffian.restriction_route import pfaffian_by_restriction
from holokern.pfaffian.system import PfaffianSystem

__all__ = ["PfaffianSystem", "pfaffian", "pfaffian_by_restriction"]
