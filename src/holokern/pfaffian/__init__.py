"""Pfaffian systems of dual activations: derivation, checks, coordinates, restriction, archive."""

from holokern.pfaffian.derive import pfaffian
from holokern.pfaffian.system import PfaffianSystem

__all__ = ["PfaffianSystem", "pfaffian"]
