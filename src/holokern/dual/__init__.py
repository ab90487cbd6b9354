"""Dual activations: k and k̇ with an error, by each method."""

from holokern.dual import builtin
from holokern.dual.dual import dual
from holokern.dual.registry import Method, method_named, methods, register
from holokern.dual.value import DualValue

__all__ = ["DualValue", "Method", "builtin", "dual", "method_named", "methods", "register"]
