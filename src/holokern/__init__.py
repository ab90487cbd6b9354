"""holokern: exact infinite-width kernels of holonomic activation functions.

Examples
--------
>>> import holokern as hk
>>> hk.pfaffian("relu", cache=False).rank
2
"""

from typing import TYPE_CHECKING, Any

from holokern import errors, hgm, weyl
from holokern.activation import Activation, activation, activations
from holokern.dual import (
    ClosedForm,
    DualActivation,
    DualValue,
    Enclosure,
    closed_form,
    dual,
    dual_activation,
    enclose,
    methods,
)
from holokern.pfaffian import PfaffianSystem, pfaffian

__version__ = "0.1.0"

__all__ = [
    "Activation",
    "ClosedForm",
    "DualActivation",
    "DualValue",
    "Enclosure",
    "GradientDescentEnsemble",
    "NNGPClassifier",
    "NNGPKernel",
    "NNGPRegressor",
    "NTKClassifier",
    "NTKKernel",
    "NTKRegressor",
    "NTKTransformer",
    "Network",
    "NetworkFeatures",
    "PfaffianSystem",
    "__version__",
    "activation",
    "activations",
    "closed_form",
    "critical",
    "dual",
    "dual_activation",
    "enclose",
    "errors",
    "hgm",
    "layers",
    "methods",
    "pfaffian",
    "weyl",
]

# numba and scikit-learn take seconds to import, so these come when they are first asked for
_LATER = {
    "GradientDescentEnsemble": "holokern.model",
    "NNGPClassifier": "holokern.model",
    "NNGPKernel": "holokern.model",
    "NNGPRegressor": "holokern.model",
    "NTKClassifier": "holokern.model",
    "NTKKernel": "holokern.model",
    "NTKRegressor": "holokern.model",
    "NTKTransformer": "holokern.model",
    "Network": "holokern.network",
    "critical": "holokern.network",
    "layers": "holokern.network",
    "NetworkFeatures": "holokern.model",
}

if TYPE_CHECKING:
    from holokern.model import (
        GradientDescentEnsemble,
        NetworkFeatures,
        NNGPClassifier,
        NNGPKernel,
        NNGPRegressor,
        NTKClassifier,
        NTKKernel,
        NTKRegressor,
        NTKTransformer,
    )
    from holokern.network import Network, critical, layers


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'holokern' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    """The public names, those that are imported later among them, and no other: what ``hk.<TAB>`` shows."""
    return sorted(__all__)
