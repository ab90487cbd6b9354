"""What the Gaussian-process view adds: covariances, samples, evidence, probabilities."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor

from holokern.errors import BadInput, Unsupported
from holokern.model import NNGPClassifier, NNGPKernel, NNGPRegressor, NTKRegressor
from holokern.model.estimators.classifiers import class_probabilities
from holokern.network import Network

SOLVERS = ["cholesky", "eigh", "nystrom", "cg"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_mean_covariance_and_evidence_equal_scikit_learns(solver, points, targets, others):
    """With all points as landmarks the features span the kernel on the data."""
    model = NNGPRegressor("relu", 2, bias=0.3, alpha=0.1, solver=solver, tol=1e-12, random_state=0).fit(points, targets)
    theirs = GaussianProcessRegressor(NNGPKernel("relu", 2, bias=0.3), alpha=0.1, optimizer=None).fit(points, targets)
    mean, covariance = theirs.predict(others, return_cov=True)
    ours = model.predict(others, return_cov=True)
    np.testing.assert_allclose(ours[0], mean, atol=1e-8)
    if solver == "nystrom":
        # what the landmarks miss between two different points is not known
        np.testing.assert_allclose(np.diagonal(ours[1]), np.diagonal(covariance), atol=1e-8)
    else:
        np.testing.assert_allclose(ours[1], covariance, atol=1e-8)
    np.testing.assert_allclose(model.predict(others, return_std=True)[1] ** 2, np.diagonal(ours[1]), atol=1e-9)
    if solver == "cg":
        with pytest.raises(Unsupported, match="determinant"):
            model.log_marginal_likelihood()
        return
    assert model.log_marginal_likelihood() == pytest.approx(theirs.log_marginal_likelihood(), rel=1e-9)


def test_evidence_of_several_targets_is_a_sum(points, targets):
    both = NNGPRegressor("erf", 1, alpha=0.2).fit(points, np.stack([targets, -2 * targets], axis=1))
    kernel = Network("erf", 1).nngp(points) + 0.2 * np.eye(24)
    expected = sum(multivariate_normal.logpdf(y, cov=kernel) for y in (targets, -2 * targets))
    assert both.log_marginal_likelihood() == pytest.approx(expected, rel=1e-10)


def test_samples_have_the_posterior_moments(points, targets, others):
    model = NNGPRegressor("relu", 1, bias=0.5, alpha=0.1).fit(points, targets)
    drawn = model.sample_y(others, 20000, random_state=1)
    assert drawn.shape == (9, 20000)
    mean, covariance = model.predict(others, return_cov=True)
    scale = np.sqrt(np.max(np.diagonal(covariance)))
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=5 * scale / np.sqrt(20000))
    np.testing.assert_allclose(np.cov(drawn), covariance, atol=8 * scale**2 / np.sqrt(20000))
    several = NNGPRegressor("relu", 1, alpha=0.1).fit(points, np.stack([targets, targets], axis=1))
    assert several.sample_y(others, 3).shape == (9, 2, 3)
    assert several.predict(others, return_cov=True)[1].shape == (9, 9, 2)
    np.testing.assert_array_equal(model.sample_y(others, 2), model.sample_y(others, 2))


def test_only_one_kind_of_spread(points, targets):
    with pytest.raises(BadInput, match="at most one"):
        NNGPRegressor().fit(points, targets).predict(points, return_std=True, return_cov=True)


def test_fitted_parameters_are_a_maximum(points, targets):
    noisy = targets + 0.1 * np.random.default_rng(0).normal(size=24)
    start = NNGPRegressor("relu", 1, bias=0.2, weight_variance=1.0, alpha=0.05)
    model = clone(start).set_params(fit_parameters=("alpha", "bias", "weight_variance")).fit(points, noisy)
    best = model.log_marginal_likelihood()
    assert best > start.fit(points, noisy).log_marginal_likelihood()
    found = {"alpha": model.alpha_, "bias": model.bias_, "weight_variance": model.weight_variance_}
    assert model.get_params()["alpha"] == 0.05
    for name, value in found.items():
        for factor in (0.9, 1.1):
            moved = clone(start).set_params(**found | {name: factor * value}).fit(points, noisy)
            assert moved.log_marginal_likelihood() <= best + 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fit_parameters": ("depth",)}, "is not one of"),
        ({"fit_parameters": ("bias",)}, "positive"),
        ({"fit_parameters": ("alpha",), "alpha": (0.1, 0.2)}, "one positive number"),
        ({"activation": Network("relu", 1), "bias": 1.0, "fit_parameters": ("bias",)}, "fixed"),
    ],
)
def test_parameters_that_cannot_be_fitted(options, message, points, targets):
    with pytest.raises(BadInput, match=message):
        NNGPRegressor(**options).fit(points, targets)


def test_a_network_instead_of_an_activation(points, targets, others):
    network = Network(["relu", "erf"], bias=0.2)
    model = NTKRegressor(network, alpha=0.1).fit(points, targets)
    weights = np.linalg.solve(network.ntk(points) + 0.1 * np.eye(24), targets)
    np.testing.assert_allclose(model.predict(others), network.ntk(others, points) @ weights, atol=1e-9)


def test_two_classes_have_the_normal_probability(points, others):
    labels = np.where(points[:, 0] > 0, "right", "left")
    model = NNGPClassifier("relu", 1, bias=0.1, alpha=0.3).fit(points, labels)
    signs = NNGPRegressor("relu", 1, bias=0.1, alpha=0.3).fit(points, np.where(labels == "right", 1.0, -1.0))
    mean, std = signs.predict(others, return_std=True)
    np.testing.assert_allclose(model.predict_proba(others)[:, 1], norm.cdf(mean / np.sqrt(std**2 + 0.3)), atol=1e-10)
    assert model.predict(others).tolist() == np.where(mean > 0, "right", "left").tolist()


def test_probabilities_equal_simulation():
    means, deviations = np.array([[0.3, -0.2, 0.1, 0.0], [2.0, -1.0, 1.5, 0.0]]), np.array([0.7, 1.3])
    rng = np.random.default_rng(0)
    drawn = means[:, None] + deviations[:, None, None] * rng.normal(size=(2, 200_000, 4))
    simulated = np.array([np.bincount(np.argmax(one, axis=1), minlength=4) for one in drawn]) / 200_000
    np.testing.assert_allclose(class_probabilities(means, deviations), simulated, atol=5e-3)


def test_far_from_the_data_classes_are_equally_likely(points):
    labels = np.argmax(points[:, :3], axis=1)
    model = NNGPClassifier("relu", 2, alpha=0.01).fit(points, labels)
    assert np.max(model.predict_proba(points)) > 0.9
    # relu without bias: prior and posterior grow with the square of the length, and so does the mean
    near, far = model.predict_proba([[0.1, 0.1, 0.1, 5.0]]), model.predict_proba([[1.0, 1.0, 1.0, 50.0]])
    assert np.ptp(far) <= np.ptp(near) + 0.2
    np.testing.assert_allclose(np.exp(model.predict_log_proba(points)), model.predict_proba(points))
    assert model.predict(points).tolist() == model.classes_[np.argmax(model.predict_proba(points), axis=1)].tolist()


@pytest.mark.parametrize("solver", [*SOLVERS, "harmonics"])
def test_constant_targets_and_duplicates_never_give_negative_variances(solver, points):
    twice = np.vstack([points, points])
    for alpha in (0.0, 1e-12, 1.0):
        model = NNGPRegressor("relu", 2, bias=0.5, alpha=alpha, solver=solver, max_iter=50, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(twice, np.full(48, 3.0))
            mean, std = model.predict(twice, return_std=True)
        assert np.all(std >= 0)
        assert np.all(np.isfinite(mean))


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_reported_residual_is_the_true_one(alpha, points, targets):
    model = NTKRegressor("relu", 2, bias=0.1, alpha=alpha, solver="cg", n_landmarks=5, tol=1e-9, random_state=0)
    model.fit(points, targets)
    matrix = Network("relu", 2, bias=0.1).ntk(points) + alpha * np.eye(24)
    true = np.linalg.norm(matrix @ model.dual_coef_[:, 0] - targets) / np.linalg.norm(targets)
    assert model.residual_ == pytest.approx(true, rel=1e-3, abs=1e-13)


def test_refits_forget_and_pickles_travel(points, targets, others, tmp_path):
    model = NNGPRegressor("gelu", 2, bias=0.1, alpha=(0.01, 0.1)).fit(points, targets)
    fresh = NNGPRegressor("gelu", 2, bias=0.1, alpha=0.1, solver="nystrom", n_landmarks=9, random_state=0)
    model.set_params(**fresh.get_params()).fit(points[:20, :3], targets[:20])
    assert not hasattr(model, "loo_errors_")
    assert not hasattr(model, "dual_coef_")
    expected = fresh.fit(points[:20, :3], targets[:20]).predict(others[:, :3], return_std=True)
    np.testing.assert_array_equal(model.predict(others[:, :3], return_std=True), expected)
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps(model))
    code = (
        "import pickle, sys, numpy as np; m = pickle.load(open(sys.argv[1], 'rb'));"
        "x = np.random.default_rng(4).normal(size=(9, 4))[:, :3]; print(repr(m.predict(x).tolist()))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(np.array(done.stdout.strip("[]\n").split(", "), dtype=float), expected[0], rtol=1e-10)
