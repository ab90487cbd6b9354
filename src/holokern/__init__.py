"""holokern: exact infinite-width kernels of holonomic activation functions.

Examples
--------
>>> import holokern as hk
>>> hk.pfaffian("relu", cache=False).rank
2
"""

from holokern import errors, weyl
from holokern.activation import Activation, activation, activations
from holokern.dual import ClosedForm, DualValue, Enclosure, closed_form, dual, enclose, methods
from holokern.pfaffian import PfaffianSystem, pfaffian

__version__ = "0.1.0"

__all__ = [
    "Activation",
    "ClosedForm",
    "DualValue",
    "Enclosure",
    "PfaffianSystem",
    "__version__",
    "activation",
    "activations",
    "closed_form",
    "dual",
    "enclose",
    "errors",
    "methods",
    "pfaffian",
    "weyl",
]
