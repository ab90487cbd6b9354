"""Learning with the kernels of infinitely wide networks: scikit-learn estimators and Gaussian-process kernels."""

from holokern.model.estimators.classifiers import NNGPClassifier, NTKClassifier
from holokern.model.estimators.ensemble import GradientDescentEnsemble
from holokern.model.estimators.regressors import NNGPRegressor, NTKRegressor
from holokern.model.features.transformer import NetworkFeatures, NTKTransformer
from holokern.model.gaussian_process.kernels import NNGPKernel, NTKKernel
from holokern.model.gaussian_process.learnable import LearnableKernel

__all__ = [
    "GradientDescentEnsemble",
    "LearnableKernel",
    "NNGPClassifier",
    "NNGPKernel",
    "NNGPRegressor",
    "NTKClassifier",
    "NTKKernel",
    "NTKRegressor",
    "NTKTransformer",
    "NetworkFeatures",
]
