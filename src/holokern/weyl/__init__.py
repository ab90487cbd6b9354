"""The Weyl algebra over Q: operators, Gröbner bases, restriction and integration; usable on its own."""

from holokern.weyl.algebra import WeylAlgebra, weyl_algebra
from holokern.weyl.ideal import LeftIdeal
from holokern.weyl.operator import Operator
from holokern.weyl.orders import Order
from holokern.weyl.symbols import SymbolIdeal

__all__ = ["LeftIdeal", "Operator", "Order", "SymbolIdeal", "WeylAlgebra", "weyl_algebra"]
