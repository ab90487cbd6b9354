"""Exact derivatives of the kernels against high-order differences of the kernels, where points make it hard."""

from __future__ import annotations

import numpy as np
import pytest

from holokern.model.gaussian_process.kernel_gradient import Rates, kernel_gradient
from holokern.network import Network

WEIGHTS = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))


@pytest.fixture
def awkward():
    """Duplicated, nearly duplicated, parallel and opposite points."""
    x = np.random.default_rng(0).normal(size=(8, 4))
    x[3] = x[2]
    x[4] = x[2] * (1 + 1e-7)
    x[5] = -x[1]
    x[6] = x[0] + 1e-5 * x[7]
    return x


def differences(kernel, step=0.01):
    return sum(weight * (kernel(n * step) - kernel(-n * step)) for n, weight in WEIGHTS) / step


CASES = [
    ("relu", 1, 0.4, 1.3),
    ("relu", 3, 0.3, None),
    ("relu", 2, 0.0, 1.5),
    pytest.param("abs", 2, 0.3, 1.5, marks=pytest.mark.slow),
    ("abs", 2, 0.0, 1.5),
    pytest.param("erf", 1, 0.4, 1.3, marks=pytest.mark.slow),
    pytest.param("gelu", 2, 0.3, 1.3, marks=pytest.mark.slow),
    pytest.param("gaussian", 2, 0.0, 1.3, marks=pytest.mark.slow),
    pytest.param("erf", 2, 0.0, 1.3, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("kind", ["nngp", "ntk"])
@pytest.mark.parametrize(("activation", "depth", "bias", "weight"), CASES)
def test_equals_differences_of_order_six(activation, depth, bias, weight, kind, awkward):
    def matrix(bias_step, weight_step):
        moved = None if weight is None else weight * np.exp(weight_step)
        return getattr(Network(activation, depth, bias=bias * np.exp(bias_step), weight_variance=moved), kind)(awkward)

    network = Network(activation, depth, bias=bias, weight_variance=weight)
    expected, rates = [], []
    if bias:
        rates.append(Rates(bias=1.0, weight=0.0))
        expected.append(differences(lambda t: matrix(t, 0.0)))
    if weight is not None:
        rates.append(Rates(bias=0.0, weight=1.0))
        expected.append(differences(lambda t: matrix(0.0, t)))
    value, *found = kernel_gradient(network, kind, awkward, rates)
    scale = np.max(np.abs(matrix(0.0, 0.0)))
    np.testing.assert_allclose(value, matrix(0.0, 0.0), rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * scale)


def test_a_jump_has_an_nngp_gradient(points):
    network = Network("step", 2, bias=0.4)
    _, found = kernel_gradient(network, "nngp", points, [Rates(bias=1.0, weight=0.0)])
    expected = differences(lambda t: Network("step", 2, bias=0.4 * np.exp(t)).nngp(points))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_zero_vectors_are_left_to_differences_unless_there_is_a_bias():
    x = np.array([[0.0, 0.0], [1.0, 2.0]])
    rates = [Rates(bias=0.0, weight=1.0)]
    assert kernel_gradient(Network("relu", 1, weight_variance=1.0), "ntk", x, rates) is None
    with_bias = Network("relu", 1, bias=0.5, weight_variance=1.0)
    _, found = kernel_gradient(with_bias, "ntk", x, rates)
    expected = differences(lambda t: Network("relu", 1, bias=0.5, weight_variance=np.exp(t)).ntk(x))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_breaks_away_from_zero_are_left_to_differences(points):
    assert kernel_gradient(Network("hardtanh", 1, bias=0.3), "ntk", points, [Rates(bias=1.0, weight=0.0)]) is None
