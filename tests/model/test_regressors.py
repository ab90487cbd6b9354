"""Regression equals scikit-learn's own kernel ridge and Gaussian process on the same kernel."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import PairwiseKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from holokern.errors import BadInput, Unsupported
from holokern.model import NNGPRegressor, NTKKernel, NTKRegressor
from holokern.network import Network

SOLVERS = ["cholesky", "eigh", "nystrom", "cg"]


def make(cls, solver, **parameters):
    return cls("relu", depth=2, bias=0.3, alpha=0.05, solver=solver, tol=1e-13, random_state=0, **parameters)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("cls", [NTKRegressor, NNGPRegressor])
def test_equals_kernel_ridge(cls, solver, points, targets, others):
    several = np.column_stack([targets, targets**2, np.ones_like(targets)])
    network = Network("relu", 2, bias=0.3)
    kernel = network.ntk if cls is NTKRegressor else network.nngp
    # with every point a landmark, Nyström is exact
    ours = make(cls, solver).fit(points, several)
    theirs = KernelRidge(kernel="precomputed", alpha=0.05).fit(kernel(points), several)
    np.testing.assert_allclose(ours.predict(others), theirs.predict(kernel(others, points)), atol=1e-8)
    if solver != "nystrom":
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_equals_gaussian_process(solver, points, targets, others):
    ours = make(NTKRegressor, solver).fit(points, targets)
    kernel = NTKKernel("relu", depth=2, bias=0.3, bias_bounds="fixed")
    theirs = GaussianProcessRegressor(kernel, alpha=0.05, optimizer=None).fit(points, targets)
    mean, std = ours.predict(others, return_std=True)
    expected_mean, expected_std = theirs.predict(others, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-8)
    np.testing.assert_allclose(std, expected_std, atol=1e-8)


def test_deviation_of_several_targets_has_their_shape(points, targets, others):
    model = make(NTKRegressor, "cholesky").fit(points, np.column_stack([targets, -targets]))
    mean, std = model.predict(others, return_std=True)
    assert mean.shape == std.shape == (9, 2)
    np.testing.assert_array_equal(std[:, 0], std[:, 1])


@pytest.mark.parametrize("solver", ["cholesky", "eigh"])
def test_leave_one_out_equals_refitting(solver, points, targets):
    model = make(NTKRegressor, solver).fit(points, targets)
    refitted = [
        clone(model).fit(np.delete(points, i, 0), np.delete(targets, i)).predict(points[[i]])[0]
        for i in range(len(points))
    ]
    np.testing.assert_allclose(model.leave_one_out(), refitted, atol=1e-9)


def test_leave_one_out_of_nystrom_keeps_the_landmarks(points, targets):
    model = make(NTKRegressor, "nystrom", n_landmarks=7).fit(points, targets)
    features = model.solution_.features.features(points)
    expected = []
    for i in range(len(points)):
        kept, y = np.delete(features, i, 0), np.delete(targets, i)
        weights = np.linalg.solve(kept.T @ kept + 0.05 * np.eye(7), kept.T @ y)
        expected.append(features[i] @ weights)
    np.testing.assert_allclose(model.leave_one_out(), expected, atol=1e-8)


def test_conjugate_gradients_refuse_leave_one_out(points, targets):
    with pytest.raises(Unsupported, match="cholesky"):
        make(NTKRegressor, "cg").fit(points, targets).leave_one_out()


@pytest.mark.parametrize("solver", ["cholesky", "eigh"])
def test_ridge_path_equals_single_fits(solver, points, targets):
    alphas = [1e-3, 1e-1, 10.0]
    path = make(NTKRegressor, solver).fit(points, targets).ridge_path(alphas)
    single = [make(NTKRegressor, solver).set_params(alpha=a).fit(points, targets) for a in alphas]
    np.testing.assert_allclose(path.coefficients[:, :, 0], [m.dual_coef_[:, 0] for m in single], atol=1e-8)
    np.testing.assert_allclose(path.left_out[:, :, 0], [m.leave_one_out() for m in single], atol=1e-8)
    chosen = NTKRegressor("relu", depth=2, bias=0.3, alpha=alphas, solver=solver).fit(points, targets)
    errors = [np.mean((m.leave_one_out() - targets) ** 2) for m in single]
    np.testing.assert_allclose(chosen.loo_errors_, errors, rtol=1e-8)
    assert chosen.alpha_ == alphas[int(np.argmin(errors))] == path.best
    np.testing.assert_allclose(chosen.predict(points), single[int(np.argmin(errors))].predict(points), atol=1e-8)


def test_several_ridges_need_a_factorisation(points, targets):
    with pytest.raises(BadInput, match="cholesky"):
        NTKRegressor(alpha=[0.1, 1.0], solver="cg").fit(points, targets)


@pytest.mark.parametrize("alpha", [-1.0, [0.1, -2.0], [], [[1.0]], [np.nan]])
def test_bad_ridges(alpha, points, targets):
    with pytest.raises(ValueError, match="alpha"):
        NTKRegressor(alpha=alpha).fit(points, targets)


@pytest.mark.parametrize("parameters", [{"depth": 0}, {"bias": -1.0}, {"weight_variance": 0.0}, {"solver": "magic"}])
def test_bad_parameters(parameters, points, targets):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        NTKRegressor(**parameters).fit(points, targets)


def test_unknown_activation(points, targets):
    with pytest.raises(ValueError, match="nosuch"):
        NTKRegressor("nosuch").fit(points, targets)


def test_jump_activation_has_no_ntk_but_an_nngp(points, targets):
    with pytest.raises(ValueError, match="step"):
        NTKRegressor("step", depth=1).fit(points, targets)
    assert np.all(np.isfinite(NNGPRegressor("step", depth=1).fit(points, targets).predict(points)))


def test_grid_search_over_activations_in_processes_and_pickling(points, targets):
    grid = {"activation": ["relu", "leaky_relu"], "depth": [1, 2]}
    search = GridSearchCV(NTKRegressor(alpha=0.1), grid, cv=3, n_jobs=2).fit(points, targets)
    assert search.best_params_["activation"] in grid["activation"]
    best = search.best_estimator_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(best)).predict(points), best.predict(points))
    parts = Parallel(n_jobs=2)(delayed(best.predict)(part) for part in (points[:12], points[12:]))
    np.testing.assert_allclose(np.concatenate(parts), best.predict(points), rtol=1e-12)


def test_precomputed_route_through_another_kernel_class_agrees(points, targets, others):
    network = Network("relu", 1, bias=0.1, weight_variance=1.3)
    pairwise = PairwiseKernel(metric=lambda x, y, gamma: network.nngp(x[None], y[None])[0, 0], gamma=1.0)
    theirs = GaussianProcessRegressor(pairwise, alpha=0.2, optimizer=None).fit(points, targets)
    ours = NNGPRegressor("relu", 1, 0.1, 1.3, alpha=0.2).fit(points, targets)
    np.testing.assert_allclose(ours.predict(others), theirs.predict(others), atol=1e-8)
