"""The Weyl algebra over Q: operators, Gröbner bases, restriction and integration; usable on its own."""

from holokern.weyl.algebra import WeylAlgebra, weyl_algebra
from holokern.weyl.operator import Operator

__all__ = ["Operator", "WeylAlgebra", "weyl_algebra"]
