"""scikit-learn's own battery, without exclusions, for every estimator and every solver."""

from __future__ import annotations

import warnings

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from holokern.model import (
    GradientDescentEnsemble,
    NetworkFeatures,
    NNGPClassifier,
    NNGPRegressor,
    NTKClassifier,
    NTKRegressor,
    NTKTransformer,
)

# every class as it is made by default; with other solvers and options they are slow
ESTIMATORS = [
    NTKRegressor(),
    NNGPRegressor(),
    NTKClassifier(),
    NNGPClassifier(),
    NTKTransformer(),
    pytest.param(NTKTransformer(kernel="nngp"), marks=pytest.mark.slow),
    GradientDescentEnsemble(),
    pytest.param(GradientDescentEnsemble(bias=0.1, time=1e6, trained="last"), marks=pytest.mark.slow),
    NetworkFeatures(n_components=50),
    pytest.param(
        NetworkFeatures(kernel="nngp", method="leverage", n_components=20, tolerance=0.5, random_state=0),
        marks=pytest.mark.slow,
    ),
    pytest.param(NetworkFeatures(method="harmonics", n_components=50, random_state=0), marks=pytest.mark.slow),
    pytest.param(NNGPRegressor(bias=0.2, fit_parameters=("alpha", "bias")), marks=pytest.mark.slow),
    pytest.param(NTKRegressor(solver="harmonics", n_landmarks=60, random_state=0), marks=pytest.mark.slow),
    pytest.param(NTKRegressor(depth=2, bias=0.2, solver="eigh"), marks=pytest.mark.slow),
    pytest.param(NTKRegressor(solver="nystrom", n_landmarks=30, random_state=0), marks=pytest.mark.slow),
    pytest.param(NTKRegressor(solver="cg", random_state=0), marks=pytest.mark.slow),
    pytest.param(NTKRegressor(alpha=(0.01, 0.1)), marks=pytest.mark.slow),
    pytest.param(NNGPClassifier(solver="nystrom", n_landmarks=30, random_state=0), marks=pytest.mark.slow),
    pytest.param(NTKClassifier(solver="cg", random_state=0), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_check_estimator(estimator):
    with warnings.catch_warnings():
        # checks for packages that are not installed (pandas, array API) are skipped with a warning
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(estimator, on_skip=None, on_fail="raise")
    assert not [r["check_name"] for r in results if r["status"] not in {"passed", "skipped"}]
