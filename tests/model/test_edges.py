"""What practitioners meet: constant targets, one sample, duplicates, NaN, wide data, extreme scales, string labels."""

from __future__ import annotations

import numpy as np
import pytest

from holokern.errors import BadInput
from holokern.model import (
    GradientDescentEnsemble,
    NNGPClassifier,
    NNGPRegressor,
    NTKClassifier,
    NTKRegressor,
    NTKTransformer,
)

REGRESSORS = [NTKRegressor, NNGPRegressor, GradientDescentEnsemble]
CLASSIFIERS = [NTKClassifier, NNGPClassifier]
SOLVERS = ["cholesky", "eigh", "nystrom", "cg"]


@pytest.mark.parametrize("cls", REGRESSORS)
def test_constant_targets(cls, points):
    model = cls(bias=1.0, alpha=1e-8).fit(points, np.full(len(points), 7.0))
    np.testing.assert_allclose(model.predict(points), 7.0, atol=1e-4)
    np.testing.assert_array_equal(cls().fit(points, np.zeros(len(points))).predict(points), 0.0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_sample(solver):
    model = NTKRegressor("relu", depth=1, alpha=0.0, solver=solver).fit([[3.0, 4.0]], [2.0])
    mean, std = model.predict([[3.0, 4.0], [6.0, 8.0]], return_std=True)
    # the kernel of relu is homogeneous
    np.testing.assert_allclose(mean, [2.0, 4.0], rtol=1e-12)
    np.testing.assert_allclose(std, 0.0, atol=1e-6)


def test_one_sample_for_the_others():
    mean, std = GradientDescentEnsemble("relu", depth=1).fit([[3.0, 4.0]], [2.0]).predict([[6.0, 8.0]], return_std=True)
    np.testing.assert_allclose(mean, 4.0, rtol=1e-12)
    np.testing.assert_allclose(std, 0.0, atol=1e-6)
    np.testing.assert_allclose(NTKTransformer("relu", depth=1).fit_transform([[3.0, 4.0]]) ** 2, 50.0, rtol=1e-12)


@pytest.mark.parametrize("cls", [*REGRESSORS, *CLASSIFIERS])
def test_no_sample_and_targets_that_do_not_fit(cls, points):
    with pytest.raises(ValueError, match="minimum of 1"):
        cls().fit(np.empty((0, 4)), [])
    with pytest.raises(ValueError, match="inconsistent"):
        cls().fit(points, [0, 1])
    with pytest.raises(ValueError, match="NaN"):
        cls().fit(points, np.full(len(points), np.nan))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_one_class(cls):
    with pytest.raises(BadInput, match="one class"):
        cls().fit([[1.0], [2.0]], ["a", "a"])


@pytest.mark.parametrize("cls", [NTKRegressor, NNGPRegressor])
def test_duplicated_rows_without_ridge_average_their_targets(cls, points, targets):
    twice = np.vstack([points, points])
    both = np.concatenate([targets - 1, targets + 1])
    with pytest.warns(UserWarning, match="singular within rounding"):
        model = cls("relu", depth=2, bias=0.5, alpha=0.0).fit(twice, both)
    np.testing.assert_allclose(model.predict(points), targets, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_duplicated_rows_with_ridge(solver, points, targets):
    twice, both = np.vstack([points, points]), np.concatenate([targets - 1, targets + 1])
    model = NTKRegressor("relu", depth=2, bias=0.5, alpha=0.2, solver=solver, tol=1e-12).fit(twice, both)
    # two equal rows weigh as one row with half the ridge
    once = NTKRegressor("relu", depth=2, bias=0.5, alpha=0.1).fit(points, targets)
    np.testing.assert_allclose(model.predict(points), once.predict(points), atol=1e-7)


@pytest.mark.parametrize("cls", [*REGRESSORS, *CLASSIFIERS, NTKTransformer])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite(cls, bad, points):
    broken = points.copy()
    broken[2, 1] = bad
    y = np.arange(len(points)) % 2
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        cls().fit(broken, y)
    fitted = cls().fit(points, y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        (fitted.transform if cls is NTKTransformer else fitted.predict)(broken)


@pytest.mark.parametrize("solver", SOLVERS)
def test_more_features_than_samples(solver):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 300)), rng.normal(size=8)
    model = NTKRegressor("relu", depth=1, alpha=1e-9, solver=solver, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "erf"])
@pytest.mark.parametrize("cls", [*REGRESSORS, *CLASSIFIERS, NTKTransformer])
def test_huge_features_raise_before_they_overflow(cls, activation, points):
    with pytest.raises(ValueError, match="StandardScaler"):
        cls(activation).fit(points * 1e300, np.arange(len(points)) % 2)


@pytest.mark.parametrize("activation", ["relu", "erf"])
@pytest.mark.parametrize("cls", [*REGRESSORS, NTKTransformer])
def test_tiny_features_count_as_zero(cls, activation, points, targets):
    model = cls(activation, bias=0.5).fit(points * 1e-300, targets)
    made = (model.transform if cls is NTKTransformer else model.predict)(points * 1e-300)
    assert np.all(np.isfinite(made))
    # only the bias is left, so all points look alike
    np.testing.assert_allclose(made - made[0], 0.0, atol=1e-6)
    assert np.all(np.isfinite(NTKRegressor(activation).fit(points * 1e-300, targets).predict(points * 1e-300)))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_tiny_features_of_a_classifier_leave_the_frequent_class(cls, points):
    labels = np.where(np.arange(len(points)) % 3 == 0, "rare", "frequent")
    made = cls("relu", bias=0.5).fit(points * 1e-300, labels).predict(points * 1e-300)
    assert set(made) == {"frequent"}


def test_a_scaled_relu_problem_is_the_same_problem(points, targets):
    plain = NTKRegressor("relu", alpha=0.1).fit(points, targets).predict(points)
    scaled = NTKRegressor("relu", alpha=0.1 * 2.0**200).fit(points * 2.0**100, targets).predict(points * 2.0**100)
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("names", [["no", "yes"], ["ant", "bee", "cat"]])
@pytest.mark.parametrize("solver", SOLVERS)
def test_string_labels(cls, names, solver, points):
    labels = np.array(names)[np.argmax(points[:, : len(names)], axis=1)]
    model = cls("relu", depth=2, alpha=1e-3, solver=solver, random_state=0).fit(points, labels)
    assert model.classes_.tolist() == names
    assert model.predict(points).tolist() == labels.tolist()
    assert model.decision_function(points).shape == ((24,) if len(names) == 2 else (24, 3))


def test_zero_rows(points, targets):
    with_zero = np.vstack([points, np.zeros(4)])
    model = NTKRegressor("relu", depth=2, alpha=0.1).fit(with_zero, np.append(targets, 5.0))
    # a network of relus without biases is zero at zero, whatever the data say
    np.testing.assert_allclose(model.predict(np.zeros((1, 4))), 0.0, atol=1e-12)
