"""Conjugate gradients on tiles: products, preconditioning, convergence and its warning."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from holokern.model import NTKRegressor
from holokern.model.kernel import NetworkKernel
from holokern.model.solvers.conjugate_gradients import NystromPreconditioner, conjugate_gradients
from holokern.network import KernelProduct, Network
from holokern.progress import listen


@pytest.fixture
def kernel():
    return NetworkKernel(Network("relu", 2, bias=0.1), "ntk")


def test_products_are_those_of_the_matrix(kernel, points):
    vectors = np.random.default_rng(1).normal(size=(24, 3))
    np.testing.assert_allclose(
        KernelProduct(kernel.network, points, kernel.kind).times(vectors),
        kernel(points) @ vectors,
        rtol=1e-11,
        atol=1e-11,
    )


def test_preconditioner_with_all_landmarks_solves_in_one_or_two_steps(kernel, points, targets):
    preconditioner = NystromPreconditioner.of(kernel, points, points, 0.1)
    matrix = kernel(points) + 0.1 * np.eye(24)
    found = conjugate_gradients(lambda v: matrix @ v, targets[:, None], lambda v: preconditioner @ v)
    assert found.converged
    assert found.steps <= 2
    np.testing.assert_allclose(found.solution[:, 0], np.linalg.solve(matrix, targets), atol=1e-8)


@pytest.mark.parametrize("count", [1, 7, 24])
def test_preconditioner_is_the_inverse_of_its_formula(kernel, count, points):
    landmarks = points[:count]
    cross, matrix = kernel(points, landmarks), kernel(points)
    nystrom = cross @ np.linalg.solve(kernel(landmarks), cross.T)
    exact = nystrom + np.diag(np.diag(matrix - nystrom)) + 0.1 * np.eye(24)
    inverse = NystromPreconditioner.of(kernel, landmarks, points, 0.1) @ np.eye(24)
    np.testing.assert_allclose(inverse @ exact, np.eye(24), atol=1e-9)


def test_blocks_of_points_do_not_change_the_preconditioner(kernel, points, monkeypatch):
    whole = NystromPreconditioner.of(kernel, points[:6], points, 0.1) @ np.eye(24)
    monkeypatch.setattr("holokern.model.kernel._BLOCK_ENTRIES", 6 * 5)
    np.testing.assert_allclose(
        NystromPreconditioner.of(kernel, points[:6], points, 0.1) @ np.eye(24), whole, atol=1e-11
    )


def test_landmarks_that_coincide_and_no_ridge(kernel, points):
    """A singular kernel matrix of landmarks, and copies of points that only the least ridge keeps apart."""
    twice = np.concatenate([points, points])
    preconditioner = NystromPreconditioner.of(kernel, twice[12:36], twice, 0.0)
    inverse = preconditioner @ np.eye(48)
    assert np.all(np.linalg.eigvalsh((inverse + inverse.T) / 2) > 0)


def test_every_step_reports_its_residual(kernel, points, targets):
    matrix = kernel(points) + 0.1 * np.eye(24)
    seen = []
    with listen(lambda stage, done, total: seen.append((stage, done, total))):
        found = conjugate_gradients(lambda v: matrix @ v, targets[:, None], tolerance=1e-6, max_steps=40)
    assert [done for _, done, _ in seen] == list(range(1, found.steps + 1))
    for (stage, _, _), residual in zip(seen, found.residuals, strict=True):
        assert stage.startswith(f"conjugate gradients, residual {residual:.1e}")
    assert "more steps in" in seen[-2][0]
    assert found.residuals[-1] < 1e-6 <= found.residuals[-2]
    assert found.residual == pytest.approx(found.residuals[-1], rel=1e-3)


def test_a_small_ridge_needs_few_steps():
    """What the landmarks miss of the diagonal counts as ridge: the steps do not grow as the root of 1/α."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(700, 8)) / np.sqrt(8)
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=700)
    model = NTKRegressor("relu", 1, bias=0.1, alpha=1e-3, solver="cg", n_landmarks=150, tol=1e-4, random_state=0)
    assert model.fit(X, y).n_iter_ < 26  # 22; without the diagonal 29


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


def test_an_interrupted_run_goes_on_where_it_stopped(kernel, points, targets, tmp_path):
    matrix, right = kernel(points) + 0.01 * np.eye(24), targets[:, None]
    whole = conjugate_gradients(lambda v: matrix @ v, right, tolerance=1e-8)
    path, products = tmp_path / "state.npz", []

    def product(vectors):
        products.append(1)
        if len(products) == 6:
            raise KeyboardInterrupt
        return matrix @ vectors

    with pytest.raises(KeyboardInterrupt):
        conjugate_gradients(product, right, tolerance=1e-8, checkpoint=path)
    found = conjugate_gradients(product, right, tolerance=1e-8, checkpoint=path)
    assert found.residuals == whole.residuals
    np.testing.assert_array_equal(found.solution, whole.solution)
    # five steps before, the broken one, the others, and the last check
    assert len(products) == 5 + 1 + (whole.steps - 5) + 1


@pytest.mark.parametrize("content", [b"", b"PK broken", b"x" * 1000])
def test_a_damaged_or_foreign_checkpoint_is_ignored(kernel, points, targets, tmp_path, content):
    path = tmp_path / "state.npz"
    path.write_bytes(content)
    matrix = kernel(points) + 0.1 * np.eye(24)
    found = conjugate_gradients(lambda v: matrix @ v, targets[:, None], checkpoint=path)
    assert found.converged
    other = conjugate_gradients(lambda v: matrix @ v, 1 + targets[:, None], checkpoint=path)
    np.testing.assert_allclose(matrix @ other.solution[:, 0], 1 + targets, atol=1e-6)


def _rough_problem(error):
    """A well conditioned matrix, another one near it, and a right-hand side."""
    rng = np.random.default_rng(0)
    a, e = rng.normal(size=(2, 60, 60))
    matrix = a @ a.T / 60 + 0.1 * np.eye(60)
    return matrix, matrix + error * (e + e.T), rng.normal(size=(60, 2))


@pytest.mark.parametrize("error", [1e-7, 1e-4])
def test_rough_products_end_at_the_true_residual(error):
    matrix, near, right = _rough_problem(error)
    exact = []
    found = conjugate_gradients(
        lambda v: exact.append(1) or matrix @ v, right, rough=lambda v: near @ v, tolerance=1e-10
    )
    assert found.converged
    assert found.residual <= 1e-10
    assert np.max(np.linalg.norm(right - matrix @ found.solution, axis=0) / np.linalg.norm(right, axis=0)) <= 1e-10
    assert len(exact) <= 6 < found.steps


@pytest.mark.parametrize("error", [0.1, 10.0])
def test_products_that_are_too_rough_are_given_up(error):
    """The second of these matrices is not positive definite."""
    matrix, near, right = _rough_problem(error)
    found = conjugate_gradients(lambda v: matrix @ v, right, rough=lambda v: near @ v, tolerance=1e-10)
    assert found.converged
    np.testing.assert_allclose(found.solution, np.linalg.solve(matrix, right), atol=1e-7)


def test_an_interrupted_run_with_rough_products_goes_on(tmp_path):
    matrix, near, right = _rough_problem(1e-6)
    whole = conjugate_gradients(lambda v: matrix @ v, right, rough=lambda v: near @ v)
    path, products = tmp_path / "state.npz", []

    def rough(vectors):
        products.append(1)
        if len(products) in (4, 30):
            raise KeyboardInterrupt
        return near @ vectors

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            conjugate_gradients(lambda v: matrix @ v, right, rough=rough, checkpoint=path)
    found = conjugate_gradients(lambda v: matrix @ v, right, rough=rough, checkpoint=path)
    assert found.residuals == whole.residuals
    np.testing.assert_array_equal(found.solution, whole.solution)


def test_the_kernel_in_single_precision_solves_as_well(kernel, points, targets):
    product = KernelProduct(kernel.network, points, kernel.kind)
    found = conjugate_gradients(
        lambda v: product.times(v) + 0.1 * v,
        targets[:, None],
        rough=lambda v: product.times(v, single=True) + 0.1 * v,
        tolerance=1e-9,
    )
    assert found.residual <= 1e-9
    exact = np.linalg.solve(kernel(points) + 0.1 * np.eye(24), targets)
    np.testing.assert_allclose(found.solution[:, 0], exact, atol=1e-7)
