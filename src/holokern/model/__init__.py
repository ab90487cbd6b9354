"""Learning with the kernels of infinitely wide networks: scikit-learn estimators and Gaussian-process kernels."""

from holokern.model.classifiers import NNGPClassifier, NTKClassifier
from holokern.model.ensemble import GradientDescentEnsemble
from holokern.model.gp_kernels import NNGPKernel, NTKKernel
from holokern.model.regressors import NNGPRegressor, NTKRegressor
from holokern.model.transformer import NTKTransformer

__all__ = [
    "GradientDescentEnsemble",
    "NNGPClassifier",
    "NNGPKernel",
    "NNGPRegressor",
    "NTKClassifier",
    "NTKKernel",
    "NTKRegressor",
    "NTKTransformer",
]
