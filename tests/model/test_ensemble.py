"""Gradient-descent ensembles against their differential equation, their limits and a simulated ensemble."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holokern.errors import BadInput
from holokern.model import GradientDescentEnsemble, NNGPRegressor, NTKRegressor
from holokern.network import Network


def make(activation="relu", **parameters):
    return GradientDescentEnsemble(activation, 2, 0.3, learning_rate=0.7, **parameters)


@pytest.mark.parametrize(
    ("activation", "trained", "alpha"),
    [
        ("relu", "all", 0.0),
        ("relu", "all", 0.2),
        ("relu", "last", 0.2),
        pytest.param("erf", "all", 0.0, marks=pytest.mark.slow),
        pytest.param("erf", "last", 0.2, marks=pytest.mark.slow),
    ],
)
def test_equals_the_differential_equation(activation, trained, alpha, points, targets, others):
    """Integrate d f/dt = -η/m (Θ(·, X)(f(X) - y) + α (f - f_0)) for the mean and for the linear map of f_0."""
    train, test = points[:6], others[:3]
    y = targets[:6]
    network = Network(activation, 2, bias=0.3)
    kernel = network.ntk if trained == "all" else network.nngp
    everything = np.vstack([train, test])
    drive = kernel(everything, train)
    # every column is one start f_0 = e_i of the linear equation with y = 0; the last one starts at 0 with the targets
    starts = np.hstack([np.eye(9), np.zeros((9, 1))])
    aims = np.hstack([np.zeros((6, 9)), y[:, None]])
    rate = 0.7 / 6

    def flow(_, flat):
        f = flat.reshape(9, 10)
        return (-rate * (drive @ (f[:6] - aims) + alpha * (f - starts))).ravel()

    time = 40.0
    end = solve_ivp(flow, (0, time), starts.ravel(), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1].reshape(9, 10)
    # random starts have the covariance of the NNGP kernel
    linear = end[:, :9]
    covariance = linear @ network.nngp(everything) @ linear.T
    model = make(activation, trained=trained, alpha=alpha, time=time).fit(train, y)
    mean, cov = model.predict(test, return_cov=True)
    np.testing.assert_allclose(mean, end[6:, 9], atol=1e-8)
    np.testing.assert_allclose(cov, covariance[6:, 6:], atol=1e-8)
    _, std = model.predict(test, return_std=True)
    np.testing.assert_allclose(std**2, np.diagonal(cov), atol=1e-10)


def test_infinite_time_is_ridgeless_regression(points, targets, others):
    model = make().fit(points, targets)
    ridgeless = NTKRegressor("relu", 2, 0.3, alpha=0.0, solver="eigh").fit(points, targets)
    np.testing.assert_allclose(model.predict(others), ridgeless.predict(others), atol=1e-8)
    np.testing.assert_allclose(model.predict(others, time=1e9), model.predict(others), atol=1e-8)


def test_last_layer_to_the_end_is_the_bayesian_posterior(points, targets, others):
    mean, std = make(trained="last").fit(points, targets).predict(others, return_std=True)
    posterior = NNGPRegressor("relu", 2, 0.3, alpha=0.0, solver="eigh").fit(points, targets)
    expected_mean, expected_std = posterior.predict(others, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-7)
    np.testing.assert_allclose(std, expected_std, atol=1e-7)


def test_time_zero_is_the_random_network(points, targets, others):
    mean, cov = make(time=0.0).fit(points, targets).predict(others, return_cov=True)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(cov, Network("relu", 2, bias=0.3).nngp(others), atol=1e-12)


def test_several_targets_share_the_spread(points, targets, others):
    both = np.column_stack([targets, 2 * targets])
    mean, std = make(time=10.0).fit(points, both).predict(others, return_std=True)
    np.testing.assert_allclose(mean[:, 1], 2 * mean[:, 0], rtol=1e-10)
    # the loss is a mean over twice as many targets, so the same time is worth half
    single, expected = make(time=5.0).fit(points, targets).predict(others, return_std=True)
    np.testing.assert_allclose(mean[:, 0], single, atol=1e-10)
    np.testing.assert_allclose(std, expected, atol=1e-10)


def test_largest_stable_rate_divides_convergence_from_divergence(points, targets):
    model = make().fit(points, targets)
    theta = Network("relu", 2, bias=0.3).ntk(points)
    for factor, stable in ((0.99, True), (1.01, False)):
        step = factor * model.max_learning_rate_ / len(targets)
        f = np.zeros_like(targets)
        for _ in range(2000):
            f = f - step * theta @ (f - targets)
        assert (np.linalg.norm(f - targets) < np.linalg.norm(targets)) == stable


def test_bad_requests(points, targets):
    model = make().fit(points, targets)
    with pytest.raises(BadInput, match="at most one"):
        model.predict(points, return_std=True, return_cov=True)
    with pytest.raises(BadInput, match="time"):
        model.predict(points, time=-1.0)
