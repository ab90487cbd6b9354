"""Dual activations: k and k′ with an error, by each method."""

from holokern.activation import serve
from holokern.dual.closed.formulas import ClosedForm, closed_form
from holokern.dual.closed.wedge import HingeSide
from holokern.dual.dual import dual
from holokern.dual.dual_activation import DualActivation, dual_activation
from holokern.dual.enclosure.enclose import Enclosure, enclose
from holokern.dual.forms.form import BEYOND, EVERYTHING, Code, LineForm, Places
from holokern.dual.forms.pair_form import PairForm
from holokern.dual.hermite.method import hermite_coefficients
from holokern.dual.hermite.recurrence import hermite_recurrence
from holokern.dual.hermite.spectrum import series_values, spectrum
from holokern.dual.methods import registered as _registered
from holokern.dual.methods.all_at_once import run_through
from holokern.dual.registry import Method, method_named, methods, register
from holokern.dual.tables import kept_tables as table_file
from holokern.dual.tables.dual_table import DualTable
from holokern.dual.value import DualValue

__all__ = [
    "BEYOND",
    "EVERYTHING",
    "ClosedForm",
    "Code",
    "DualActivation",
    "DualTable",
    "DualValue",
    "Enclosure",
    "HingeSide",
    "LineForm",
    "Method",
    "PairForm",
    "Places",
    "closed_form",
    "dual",
    "dual_activation",
    "enclose",
    "hermite_coefficients",
    "hermite_recurrence",
    "method_named",
    "methods",
    "register",
    "run_through",
    "series_values",
    "spectrum",
    "table_file",
]

serve("closed_form", closed_form)
_registered.register_all()
