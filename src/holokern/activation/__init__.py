"""Activations: a name, an expression, a SymPy expression or an ODE becomes an :class:`Activation`."""

from holokern.activation.activation import Activation, activation, activations

__all__ = ["Activation", "activation", "activations"]
