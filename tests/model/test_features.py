"""`NetworkFeatures`: errors that fall, ridge regression that is kernel ridge, streams, other arrays, any lengths."""

from __future__ import annotations

import numpy as np
import pytest

from holokern.model import NetworkFeatures, NNGPRegressor, NTKClassifier, NTKRegressor
from holokern.model.features.feature_map import Landmarks
from holokern.model.features.harmonics import HarmonicFeatures
from holokern.model.features.radial import coefficients
from holokern.model.kernel import NetworkKernel
from holokern.model.solvers.solution import FeatureRidge
from holokern.network import Network

METHODS = ["landmarks", "leverage", "harmonics"]


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1200, 4))
    return x / np.linalg.norm(x, axis=1, keepdims=True) * rng.uniform(0.5, 2.0, size=(1200, 1))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("activation", "kernel"), [("relu", "ntk"), pytest.param("erf", "nngp", marks=pytest.mark.slow)]
)
def test_errors_fall_at_least_at_the_rate_of_monte_carlo(method, activation, kernel, many):
    few, more = (
        NetworkFeatures(activation, 2, 0.1, kernel=kernel, method=method, n_components=m, random_state=0).fit(many)
        for m in (30, 480)
    )
    assert more.error_.mean < few.error_.mean / 3  # four times by Monte Carlo, on the average
    assert more.error_.largest < few.error_.largest
    assert more.error_.pairs == 200 * 200


@pytest.mark.parametrize("method", METHODS)
def test_the_measured_error_is_the_error(method, many):
    model = NetworkFeatures("relu", 2, 0.1, method=method, n_components=100, random_state=0).fit(many)
    rng = np.random.default_rng(5)
    new = rng.normal(size=(300, 4))
    new *= rng.uniform(0.5, 2.0, size=(300, 1)) / np.linalg.norm(new, axis=1, keepdims=True)
    features, exact = model.transform(new), model.network_.ntk(new)
    off = ~np.eye(300, dtype=bool)
    error = np.mean(np.abs(features @ features.T - exact)[off]) / np.mean(np.abs(exact[off]))
    assert error == pytest.approx(model.error_.mean, rel=0.3)
    assert model.get_feature_names_out().shape == (features.shape[1],)


def test_what_landmarks_miss_bounds_every_pair(many):
    model = NetworkFeatures("relu", 2, 0.1, n_components=60, random_state=0).fit(many)
    features, exact = model.transform(many[:200]), model.network_.ntk(many[:200])
    gap = exact - features @ features.T
    assert np.min(np.linalg.eigvalsh(gap)) > -1e-9
    quotient = np.abs(gap) / np.sqrt(np.outer(np.diagonal(exact), np.diagonal(exact)))
    assert np.max(quotient) <= model.map_.proved(many[:200]) * (1 + 1e-9)
    assert model.error_.largest <= model.error_.proved


@pytest.mark.parametrize(("solver", "count"), [("cholesky", 1), ("nystrom", 40), ("harmonics", 200)])
def test_two_deviations_hold_functions_of_the_prior(solver, count, many):
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(Network("relu", 2, bias=0.5).nngp(many) + 1e-9 * np.eye(1200))
    functions = root @ rng.normal(size=(1200, 20))
    y = functions + 0.3 * rng.normal(size=functions.shape)
    model = NNGPRegressor("relu", 2, bias=0.5, alpha=0.09, solver=solver, n_landmarks=count, random_state=0)
    mean, std = model.fit(many[:600], y[:600]).predict(many[600:], return_std=True)
    # 95.4 % of a normal law; few landmarks miss something, which the variance counts twice at most
    assert 93 < 100 * np.mean(np.abs(functions[600:] - mean) <= 2 * std) < 99
    assert 93 < 100 * np.mean(np.abs(y[600:] - mean) <= 2 * np.sqrt(std**2 + 0.09)) < 99


@pytest.mark.parametrize("solver", ["nystrom", "harmonics"])
def test_ridge_on_features_is_kernel_ridge_with_the_kernel_they_span(solver, many):
    x, new = many[:150], many[150:200]
    y = np.stack([np.sin(x[:, 0]), x[:, 1] * x[:, 2]], axis=1)
    model = NTKRegressor("relu", 2, 0.1, alpha=0.05, solver=solver, n_landmarks=40, random_state=0).fit(x, y)
    features = model.solution_.features.features
    spanned, cross = features(x) @ features(x).T + 0.05 * np.eye(150), features(new) @ features(x).T
    np.testing.assert_allclose(model.predict(new), cross @ np.linalg.solve(spanned, y), atol=1e-10)
    left_out = model.leave_one_out()
    rest = np.delete(np.arange(150), 3)
    weights = np.linalg.solve(spanned[np.ix_(rest, rest)], y[rest])
    np.testing.assert_allclose(left_out[3], spanned[3, rest] @ weights, atol=1e-9)
    # the evidence of a normal law with the covariance that the features span
    sign, logs = np.linalg.slogdet(spanned)
    density = -0.5 * (np.sum(y * np.linalg.solve(spanned, y)) + 2 * (logs + 150 * np.log(2 * np.pi)))
    assert sign == 1
    assert model.log_marginal_likelihood() == pytest.approx(density, rel=1e-9)


@pytest.mark.parametrize("method", ["landmarks", "harmonics"])
def test_what_features_miss_counts_as_noise(method, many):
    """Kernel ridge with φ·φ and another noise at each point; left out, too, and the evidence."""
    x, new, y = many[:150], many[150:200], np.sin(many[:150, :2])
    kernel = NetworkKernel(Network("relu", 2, bias=0.1), "ntk")
    random = np.random.RandomState(0)
    made = Landmarks.at(kernel, x[:40]) if method == "landmarks" else HarmonicFeatures.of(kernel, x, 40, random)
    ridge = FeatureRidge.of(made, x, y, 0.05, remainder=True)
    phi = made.features(x)
    noise = 0.05 + np.maximum(kernel.diagonal(x) - np.sum(phi * phi, axis=1), 0.0)
    spanned = phi @ phi.T + np.diag(noise)
    cross = made.features(new) @ phi.T
    np.testing.assert_allclose(ridge.mean(new), cross @ np.linalg.solve(spanned, y), atol=1e-10)
    rest = np.delete(np.arange(150), 3)
    weights = np.linalg.solve(spanned[np.ix_(rest, rest)], y[rest])
    np.testing.assert_allclose(ridge.leave_one_out()[3], spanned[3, rest] @ weights, atol=1e-9)
    _, logs = np.linalg.slogdet(spanned)
    density = -0.5 * (np.sum(y * np.linalg.solve(spanned, y)) + 2 * (logs + 150 * np.log(2 * np.pi)))
    assert ridge.log_marginal_likelihood() == pytest.approx(density, rel=1e-9)


def test_noise_for_high_degrees_is_nearer_to_the_exact_kernel():
    rng = np.random.default_rng(0)
    x, new = rng.normal(size=(600, 8)), rng.normal(size=(100, 8))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=600)
    exact = NTKRegressor("relu", 2, 0.1, alpha=0.3).fit(x, y).predict(new)
    plain, noisy = (
        NTKRegressor(
            "relu", 2, 0.1, None, 0.3, solver="harmonics", n_landmarks=160, random_state=0, remainder=remainder
        )
        .fit(x, y)
        .predict(new)
        for remainder in (False, True)
    )
    assert np.linalg.norm(noisy - exact) < 0.5 * np.linalg.norm(plain - exact)


def test_blocks_do_not_change_a_fit(many, monkeypatch):
    labels = many[:300, 0] > 0
    make = {"solver": "nystrom", "n_landmarks": 30, "random_state": 0}
    whole = NTKClassifier("relu", 1, 0.1, **make).fit(many[:300], labels).decision_function(many[:50])
    monkeypatch.setattr("holokern.model.kernel._BLOCK_ENTRIES", 30 * 7)
    parts = NTKClassifier("relu", 1, 0.1, **make).fit(many[:300], labels).decision_function(many[:50])
    np.testing.assert_allclose(parts, whole, atol=1e-10)


def test_predictions_never_hold_the_whole_matrix(many, monkeypatch):
    model = NTKRegressor("relu", 1, 0.1, alpha=0.1).fit(many[:200], many[:200, 0])
    expected = model.predict(many, return_std=True)
    monkeypatch.setattr("holokern.model.kernel._BLOCK_ENTRIES", 200 * 16)
    seen = []
    call = NetworkKernel.__call__

    def watched(self, x, y=None):
        seen.append(len(x))
        return call(self, x, y)

    monkeypatch.setattr(NetworkKernel, "__call__", watched)
    np.testing.assert_allclose(model.predict(many, return_std=True), expected, atol=1e-9)
    assert max(seen) == 16


def test_a_tolerance_stops_the_growth_or_is_warned_about(many):
    model = NetworkFeatures("erf", 1, 0.1, n_components=800, tolerance=0.01, random_state=0).fit(many)
    assert model.error_.mean <= 0.01
    assert model.transform(many[:2]).shape[1] < 800
    with pytest.warns(UserWarning, match="raise n_components"):
        NetworkFeatures("relu", 1, n_components=10, tolerance=1e-9, random_state=0).fit(many)


def test_a_stream_is_sampled_evenly(many, monkeypatch):
    monkeypatch.setattr("holokern.model.features.transformer._KEPT", 300)
    model = NetworkFeatures("relu", 1, n_components=20, random_state=0)
    for start in range(0, 1200, 200):
        model.partial_fit(many[start : start + 200])
    order = {row.tobytes(): place for place, row in enumerate(many)}
    places = np.array([order[row.tobytes()] for row in model._sample])
    assert len(set(places)) == 300
    assert 400 < np.mean(places) < 800
    assert model.transform(many[:5]).shape == (5, 20)
    assert model.error_.mean < 0.5


def test_arrays_of_torch(many):
    torch = pytest.importorskip("torch")
    for method in ("landmarks", "harmonics"):
        model = NetworkFeatures("relu", 2, 0.1, method=method, n_components=60, random_state=0).fit(many)
        made = model.transform(torch.from_numpy(many[:20]))
        assert isinstance(made, torch.Tensor)
        np.testing.assert_allclose(made.numpy(), model.transform(many[:20]), atol=1e-10)


@pytest.mark.slow
def test_arrays_of_jax(many):
    jax = pytest.importorskip("jax")
    model = NetworkFeatures("relu", 2, 0.1, method="harmonics", n_components=60, random_state=0).fit(many)
    made = jax.jit(model.map_.features)(jax.numpy.asarray(many[:20], dtype=jax.numpy.float32))
    np.testing.assert_allclose(made, model.transform(many[:20]), atol=1e-3)
    outside = jax.jit(model.map_.features)(jax.numpy.asarray(1e3 * many[:1], dtype=jax.numpy.float32))
    assert np.all(np.isnan(outside))


def test_harmonics_of_lengths_that_were_not_seen_and_of_zero(many):
    kernel = NetworkKernel(Network("relu", 2, bias=0.3), "ntk")
    made = HarmonicFeatures.of(kernel, many, 400, np.random.RandomState(0))
    x = np.concatenate([np.zeros((1, 4)), 3.0 * many[:5], many[:5]])
    features, exact = made.features(x), kernel(x)
    scale = np.sqrt(np.outer(np.diagonal(exact), np.diagonal(exact)))
    off = ~np.eye(11, dtype=bool)
    assert np.mean((np.abs(features @ features.T - exact) / scale)[off]) < 0.02


@pytest.mark.parametrize("dimension", [2, 3, 30])
def test_coefficients_expand_the_kernel(dimension):
    """Against the kernel itself, with SciPy's Gegenbauer polynomials."""
    from scipy.special import eval_chebyt, eval_gegenbauer

    kernel = NetworkKernel(Network("gelu", 1, bias=0.2), "nngp")
    found = coefficients(kernel, dimension, np.array([0.8]), np.array([1.7]), 40)[:, 0, 0]
    angles = np.linspace(0.1, 3.0, 7)
    order = (dimension - 2) / 2
    made = np.zeros(7)
    for k, coefficient in enumerate(found):
        if order:
            made += coefficient * eval_gegenbauer(k, order, np.cos(angles)) / eval_gegenbauer(k, order, 1.0)
        else:
            made += coefficient * eval_chebyt(k, np.cos(angles))
    x, y = np.zeros((1, dimension)), np.zeros((7, dimension))
    x[0, 0], y[:, 0], y[:, 1] = 0.8, 1.7 * np.cos(angles), 1.7 * np.sin(angles)
    # near the antipode, in many dimensions, the degrees beyond 40 still count
    np.testing.assert_allclose(made, kernel(x, y)[0], atol=1e-6 if dimension > 3 else 1e-9)


def test_exact_degrees_make_exact_features():
    """On the circle a smooth kernel needs few harmonics."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    kernel = NetworkKernel(Network("erf", 1, bias=0.2), "nngp")
    made = HarmonicFeatures.of(kernel, x, 60, np.random.RandomState(0))
    np.testing.assert_allclose(made.features(x) @ made.features(x).T, kernel(x), atol=1e-9)
    assert made.truncation < 1e-9
