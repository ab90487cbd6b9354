"""Activations: a name, an expression, a SymPy expression or an ODE becomes an :class:`Activation`."""

from holokern.activation.catalogue import REGISTRY
from holokern.activation.factory import activation, activations
from holokern.activation.function import Activation
from holokern.activation.named import read_rational
from holokern.activation.plot import curves
from holokern.activation.values.constants import ExactReal, Opaque, exact

__all__ = [
    "REGISTRY",
    "Activation",
    "ExactReal",
    "Opaque",
    "activation",
    "activations",
    "curves",
    "exact",
    "read_rational",
]
