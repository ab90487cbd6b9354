"""Kernels of sklearn.gaussian_process: values, gradients against finite differences, marginal likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel

from holokern import layers as L
from holokern.errors import BadInput
from holokern.model import NNGPKernel, NTKKernel
from holokern.network import Network

KERNELS = [
    NTKKernel("relu", depth=2, bias=0.4, weight_variance=1.7),
    pytest.param(NNGPKernel("erf", depth=3, bias=0.3, weight_variance=0.8), marks=pytest.mark.slow),
    pytest.param(NTKKernel("erf", depth=1, bias=0.2), marks=pytest.mark.slow),
    NNGPKernel("relu", depth=5, bias=0.0, weight_variance=2.0),
    NTKKernel("leaky_relu", depth=2, bias=0.5, parameter_names=("slope",), parameter_values=(0.3,)),
    pytest.param(
        NTKKernel("elu", depth=1, bias=0.5, parameter_names=("alpha",), parameter_values=(1.3,)), marks=pytest.mark.slow
    ),
    pytest.param(NTKKernel("hardtanh", depth=1, bias=0.3), marks=pytest.mark.slow),
    2.0 * NTKKernel("relu", depth=1, bias=0.4) + WhiteKernel(0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradient_equals_finite_differences(kernel, points):
    some = points[:6]
    matrix, gradient = kernel(some, eval_gradient=True)
    np.testing.assert_array_equal(matrix, kernel(some))
    assert gradient.shape == (6, 6, len(kernel.theta))
    # an independent rule: Richardson's extrapolation of plain central differences
    for index, unit in enumerate(np.eye(len(kernel.theta))):
        coarse, fine = (
            (
                kernel.clone_with_theta(kernel.theta + h * unit)(some)
                - kernel.clone_with_theta(kernel.theta - h * unit)(some)
            )
            / (2 * h)
            for h in (2e-3, 1e-3)
        )
        expected = (4 * fine - coarse) / 3
        np.testing.assert_allclose(gradient[:, :, index], expected, rtol=1e-6, atol=1e-7)


def test_gradient_in_the_weight_variance_of_a_homogeneous_network_is_exact(points):
    depth = 3
    kernel = NNGPKernel("relu", depth=depth, bias=0.0, weight_variance=1.5)
    matrix, gradient = kernel(points, eval_gradient=True)
    low = NNGPKernel("relu", depth=depth, bias=0.0, weight_variance=0.75)(points)
    # without biases the kernel is a power of the weight variance; its exponent follows from two values
    exponent = round(float(np.log2(matrix[0, 0] / low[0, 0])))
    np.testing.assert_allclose(gradient[:, :, 0], exponent * matrix, rtol=1e-7, atol=1e-9)


def test_values_and_diagonal(points, others):
    kernel = NTKKernel("leaky_relu", depth=2, bias=0.3, weight_variance=1.2)
    network = Network("leaky_relu", 2, bias=0.3, weight_variance=1.2)
    np.testing.assert_array_equal(kernel(points), network.ntk(points))
    np.testing.assert_array_equal(kernel(points, others), network.ntk(points, others))
    np.testing.assert_allclose(kernel.diag(points), np.diagonal(network.ntk(points)), rtol=1e-11)
    assert not kernel.is_stationary()
    assert clone(kernel) == kernel
    with pytest.raises(ValueError, match="Gradient"):
        kernel(points, others, eval_gradient=True)


def test_fixed_hyperparameters():
    assert len(NTKKernel(bias=0.0).theta) == 0
    assert len(NTKKernel(bias=0.1).theta) == 1
    assert len(NTKKernel(bias=0.1, weight_variance=1.0).theta) == 2
    assert len(NTKKernel(bias=0.1, bias_bounds="fixed", weight_variance=1.0).theta) == 1


def test_marginal_likelihood_is_optimised_and_its_gradient_vanishes(points, targets):
    kernel = NNGPKernel("relu", depth=1, bias=0.5, weight_variance=1.0) + WhiteKernel(0.1)
    # noise in the data keeps the best noise level away from its bound
    targets = targets + 0.5 * np.random.default_rng(8).normal(size=len(targets))
    model = GaussianProcessRegressor(kernel, alpha=1e-8).fit(points, targets)
    before = GaussianProcessRegressor(kernel, alpha=1e-8, optimizer=None).fit(points, targets)
    assert model.log_marginal_likelihood_value_ > before.log_marginal_likelihood_value_
    inside = (model.kernel_.bounds[:, 0] + 0.1 < model.kernel_.theta) & (
        model.kernel_.theta < model.kernel_.bounds[:, 1] - 0.1
    )
    _, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    assert np.all(np.abs(gradient[inside]) < 1e-2)


def conv() -> L.Layer:
    block = L.Serial(L.FanOut(2), L.Parallel(L.Identity(), L.Serial(L.Activation("relu"), L.Dense(0.7))), L.Sum())
    return L.Serial(L.Conv(2, 1.4, 0.3), block, L.Activation("erf"), L.GlobalAvgPool(), L.Dense(1.2))


def images(count=8):
    return np.random.default_rng(5).normal(size=(count, 9))


@pytest.mark.parametrize("cls", [NNGPKernel, NTKKernel])
def test_layers_have_values_and_gradients(cls):
    x = images(4)
    kernel = cls(conv(), input_shape=(3, 3, 1))
    assert kernel.parameter_names == ("0.W_std", "0.b_std", "1.1.1.1.W_std", "4.W_std")
    exact = getattr(Network(conv()), "nngp" if cls is NNGPKernel else "ntk")
    np.testing.assert_array_equal(kernel(x, x[:2]), exact(x.reshape(-1, 3, 3, 1), x[:2].reshape(-1, 3, 3, 1)))
    np.testing.assert_allclose(kernel.diag(x), np.diagonal(kernel(x)), rtol=1e-12)
    assert clone(kernel) == kernel
    matrix, gradient = kernel(x, eval_gradient=True)
    np.testing.assert_array_equal(matrix, kernel(x))
    for index, unit in enumerate(np.eye(4)):
        coarse, fine = (
            (kernel.clone_with_theta(kernel.theta + h * unit)(x) - kernel.clone_with_theta(kernel.theta - h * unit)(x))
            / (2 * h)
            for h in (2e-3, 1e-3)
        )
        np.testing.assert_allclose(gradient[:, :, index], (4 * fine - coarse) / 3, rtol=1e-6, atol=1e-7)
    if cls is NNGPKernel:  # the last layer only scales
        np.testing.assert_allclose(gradient[:, :, 3], 2 * matrix, rtol=1e-8)


def test_the_marginal_likelihood_of_layers_is_optimised():
    x = images(20)
    # noise in the data keeps the best noise level away from its bound
    y = np.mean(x, axis=1) + 0.3 * np.random.default_rng(1).normal(size=20)
    kernel = NNGPKernel(conv(), input_shape=(3, 3, 1), parameter_names=("4.W_std",)) + WhiteKernel(0.1)
    assert len(kernel.theta) == 2
    model = GaussianProcessRegressor(kernel, alpha=1e-8).fit(x, y)
    before = GaussianProcessRegressor(kernel, alpha=1e-8, optimizer=None).fit(x, y)
    assert model.log_marginal_likelihood_value_ > before.log_marginal_likelihood_value_
    assert model.predict(x[:3]).shape == (3,)


def test_a_network_is_fixed_and_names_of_layers_are_checked(points):
    network = Network("relu", 2, bias=0.3)
    kernel = NTKKernel(network)
    assert len(kernel.theta) == 0
    np.testing.assert_array_equal(kernel(points), network.ntk(points))
    with pytest.raises(BadInput, match=r"no standard deviation '7.W_std'; it has '0.W_std'"):
        NNGPKernel(conv(), input_shape=(3, 3, 1), parameter_names=("7.W_std",))(images())


def test_classification_by_gaussian_process(points):
    labels = points[:, 0] > 0
    model = GaussianProcessClassifier(NTKKernel("relu", depth=1, bias=0.3), optimizer=None).fit(points, labels)
    assert model.score(points, labels) > 0.9


def test_parameters_need_a_name_and_values(points):
    with pytest.raises(BadInput, match="parameter_values"):
        NTKKernel("elu", parameter_names=("alpha",), parameter_values=(1.0, 2.0))(points)
    with pytest.raises(BadInput, match="by its name"):
        NTKKernel(["elu"], depth=1, parameter_names=("alpha",), parameter_values=(1.0,))(points)
