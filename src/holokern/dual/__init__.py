"""Dual activations: k and k̇ with an error, by each method."""

from holokern.activation.function import serve
from holokern.dual import builtin, hermite
from holokern.dual.closed_form import ClosedForm, closed_form
from holokern.dual.dual import dual
from holokern.dual.enclose import Enclosure, enclose
from holokern.dual.registry import Method, method_named, methods, register
from holokern.dual.value import DualValue

__all__ = [
    "ClosedForm",
    "DualValue",
    "Enclosure",
    "Method",
    "builtin",
    "closed_form",
    "dual",
    "enclose",
    "hermite",
    "method_named",
    "methods",
    "register",
]

serve("closed_form", closed_form)
