"""Activations: a name, an expression, a SymPy expression or an ODE becomes an :class:`Activation`."""

from holokern.activation.factory import activation, activations
from holokern.activation.function import Activation

__all__ = ["Activation", "activation", "activations"]
