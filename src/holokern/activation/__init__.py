"""Activations: a name, an expression, a SymPy expression or an ODE becomes an :class:`Activation`."""

from holokern.activation.factory import activation, activations
from holokern.activation.function import Activation
from holokern.activation.plot import curves
from holokern.activation.values.constants import ExactReal, Opaque, exact

__all__ = ["Activation", "ExactReal", "Opaque", "activation", "activations", "curves", "exact"]
