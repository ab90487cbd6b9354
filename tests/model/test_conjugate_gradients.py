"""Conjugate gradients on tiles: products, preconditioning, convergence and its warning."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from holokern.model import NTKRegressor
from holokern.model.conjugate_gradients import NystromPreconditioner, TiledKernel, conjugate_gradients
from holokern.model.kernel import NetworkKernel
from holokern.network import Network


@pytest.fixture
def kernel():
    return NetworkKernel(Network("relu", 2, bias=0.1), "ntk")


@pytest.mark.parametrize("tile", [1, 5, 24, 100])
def test_tiles_multiply_like_the_matrix(kernel, tile, points):
    vectors = np.random.default_rng(1).normal(size=(24, 3))
    np.testing.assert_allclose(
        TiledKernel(kernel, points, tile) @ vectors, kernel(points) @ vectors, rtol=1e-11, atol=1e-11
    )


def test_preconditioner_with_all_landmarks_solves_in_one_or_two_steps(kernel, points, targets):
    preconditioner = NystromPreconditioner.of(kernel, points, points, 0.1)
    matrix = kernel(points) + 0.1 * np.eye(24)
    found = conjugate_gradients(lambda v: matrix @ v, targets[:, None], lambda v: preconditioner @ v)
    assert found.converged
    assert found.steps <= 2
    np.testing.assert_allclose(found.solution[:, 0], np.linalg.solve(matrix, targets), atol=1e-8)


def test_preconditioning_saves_steps():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 5))
    y = np.sin(X[:, 0])
    few, many = (
        NTKRegressor("relu", 2, alpha=1e-2, solver="cg", n_landmarks=n, random_state=0).fit(X, y) for n in (300, 1)
    )
    exact = NTKRegressor("relu", 2, alpha=1e-2).fit(X, y)
    assert few.n_iter_ < many.n_iter_ / 3
    assert few.residual_ < 1e-7
    np.testing.assert_allclose(few.predict(X), exact.predict(X), atol=1e-6)


def test_too_few_steps_are_warned_about(points, targets):
    with pytest.warns(ConvergenceWarning, match="relative residual"):
        NTKRegressor(alpha=1e-6, solver="cg", n_landmarks=2, max_iter=2, random_state=0).fit(points, targets)


def test_zero_right_hand_side_needs_no_step():
    found = conjugate_gradients(lambda v: v, np.zeros((3, 2)))
    assert (found.steps, found.residual, found.converged) == (0, 0.0, True)
