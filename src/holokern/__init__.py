"""holokern: exact infinite-width kernels of holonomic activation functions.

Examples
--------
>>> import holokern as hk
>>> hk.pfaffian("relu", cache=False).rank
2
"""

from typing import TYPE_CHECKING

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
from holokern.later import later
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

# numba and scikit-learn take seconds to import
__getattr__ = later(
    __name__,
    {
        **dict.fromkeys(("Network", "critical", "layers"), "holokern.network"),
        **dict.fromkeys(
            (
                "GradientDescentEnsemble",
                "NNGPClassifier",
                "NNGPKernel",
                "NNGPRegressor",
                "NTKClassifier",
                "NTKKernel",
                "NTKRegressor",
                "NTKTransformer",
                "NetworkFeatures",
            ),
            "holokern.model",
        ),
    },
)


def __dir__() -> list[str]:
    """The public names, those that are imported later among them, and no other: what ``hk.<TAB>`` shows."""
    return sorted(__all__)
