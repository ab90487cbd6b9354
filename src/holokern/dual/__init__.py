"""Dual activations: k and k̇ with an error, by each method."""

from holokern.activation.function import serve
from holokern.dual.closed.formulas import ClosedForm, closed_form
from holokern.dual.dual import dual
from holokern.dual.enclosure.enclose import Enclosure, enclose
from holokern.dual.hermite.method import hermite_coefficients
from holokern.dual.hermite.recurrence import hermite_recurrence
from holokern.dual.methods import registered as _registered
from holokern.dual.methods.all_at_once import run_through
from holokern.dual.registry import Method, method_named, methods, register
from holokern.dual.value import DualValue

__all__ = [
    "ClosedForm",
    "DualValue",
    "Enclosure",
    "Method",
    "closed_form",
    "dual",
    "enclose",
    "hermite_coefficients",
    "hermite_recurrence",
    "method_named",
    "methods",
    "register",
    "run_through",
]

serve("closed_form", closed_form)
_registered.register_all()
