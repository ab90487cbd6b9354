"""Nyström features: exact with all points, the Nyström formula otherwise, and useful in a pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from holokern.model import NTKRegressor, NTKTransformer
from holokern.network import Network


@pytest.mark.parametrize("kernel", ["ntk", "nngp"])
def test_inner_products_are_nystroms(kernel, points, others):
    model = NTKTransformer("relu", 2, 0.1, n_components=6, kernel=kernel, random_state=1).fit(points)
    matrix = getattr(Network("relu", 2, bias=0.1), kernel)
    left, right = matrix(others, model.landmarks_), matrix(model.landmarks_, points)
    expected = left @ np.linalg.solve(matrix(model.landmarks_), right)
    np.testing.assert_allclose(model.transform(others) @ model.transform(points).T, expected, atol=1e-9)
    assert model.get_feature_names_out().tolist() == [f"ntktransformer{i}" for i in range(6)]


def test_landmarks_are_rows_and_follow_the_seed(points):
    first, again = (NTKTransformer(n_components=5, random_state=2).fit(points).landmarks_ for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert {tuple(row) for row in first} <= {tuple(row) for row in points}
    assert len({tuple(row) for row in first}) == 5


def test_linear_ridge_on_all_landmarks_is_kernel_ridge(points, targets, others):
    linear = make_pipeline(NTKTransformer("relu", 2, n_components=99), Ridge(alpha=0.1, fit_intercept=False))
    direct = NTKRegressor("relu", 2, alpha=0.1).fit(points, targets)
    np.testing.assert_allclose(linear.fit(points, targets).predict(others), direct.predict(others), atol=1e-8)


def test_duplicated_landmarks(points):
    twice = np.vstack([points, points])
    model = NTKTransformer("relu", 2, n_components=48).fit(twice)
    features = model.transform(points)
    np.testing.assert_allclose(features @ features.T, Network("relu", 2).ntk(points), atol=1e-8)
