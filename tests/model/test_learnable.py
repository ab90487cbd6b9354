"""Kernels with learnable variances in JAX: values, jit, vmap, gradients and second derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from holokern.errors import BadInput
from holokern.model import LearnableKernel
from holokern.network import Network


@pytest.fixture(scope="module")
def jax():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def kernel():
    """Homogeneous, so that its tables are small and XLA compiles quickly."""
    return LearnableKernel(Network("relu", 1, bias=0.4, weight_variance=1.5), "ntk", (0.1, 4.0), (0.5, 4.0), (0.1, 1.0))


def test_values_through_jit_and_vmap(jax, kernel, points):
    exact = Network("relu", 1, bias=0.7, weight_variance=2.5).ntk(points)
    made = jax.jit(kernel)(points, weight=2.5, bias=0.7)
    np.testing.assert_allclose(made, exact, rtol=1e-11)
    pairs = jax.jit(jax.vmap(lambda x, y: kernel.pair(x, y, weight=2.5, bias=0.7)))(points[:5], points[5:10])
    np.testing.assert_allclose(pairs, np.diagonal(exact[:5, 5:10]), rtol=1e-11)
    diagonal = jax.jit(kernel.diagonal)(points, weight=2.5, bias=0.7)
    np.testing.assert_allclose(diagonal, np.diagonal(exact), rtol=1e-11)


@pytest.mark.slow
def test_two_layers_of_an_activation_that_is_not_homogeneous(jax, points):
    network = Network("erf", 2, bias=0.4, weight_variance=1.5)
    made = jax.jit(LearnableKernel(network, "ntk", (0.5, 4.0), (1.0, 4.0), (0.2, 0.8)))(points, weight=2.5, bias=0.7)
    np.testing.assert_allclose(made, Network("erf", 2, bias=0.7, weight_variance=2.5).ntk(points), rtol=1e-11)


@pytest.mark.slow
def test_gradients_in_points_and_variances(jax, kernel, points):
    def total(x, weight, bias):
        return jax.numpy.sum(kernel(x, weight=weight, bias=bias))

    def exact(x, weight, bias):
        return float(np.sum(Network("relu", 1, bias=bias, weight_variance=weight).ntk(x)))

    x, weight, bias, step = points[:3], 1.7, 0.5, 1e-4
    rates = jax.jit(jax.grad(total, argnums=(0, 1, 2)))(x, weight, bias)
    move = np.zeros((3, 4))
    move[1, 2] = step
    for rate, ends in (
        (rates[0][1, 2], [exact(x + sign * move, weight, bias) for sign in (1, -1)]),
        (rates[1], [exact(x, weight + sign * step, bias) for sign in (1, -1)]),
        (rates[2], [exact(x, weight, bias + sign * step) for sign in (1, -1)]),
    ):
        assert float(rate) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)


@pytest.mark.slow
def test_second_derivatives(jax, kernel, points):
    x, y, step = points[0], points[1], 1e-3
    mixed = jax.jit(jax.jacfwd(jax.grad(kernel.pair, argnums=0), argnums=1))(x, y)
    network = Network("relu", 1, bias=0.4, weight_variance=1.5)

    def value(i, j, a, b):
        return network.ntk((x + a * step * np.eye(4)[i])[None], (y + b * step * np.eye(4)[j])[None])[0, 0]

    for i, j in ((0, 0), (1, 3), (2, 1)):
        corners = value(i, j, 1, 1) - value(i, j, 1, -1) - value(i, j, -1, 1) + value(i, j, -1, -1)
        assert float(mixed[i, j]) == pytest.approx(corners / (4 * step**2), rel=1e-4, abs=1e-6)


def test_bad_ranges():
    with pytest.raises(BadInput, match="range"):
        LearnableKernel(Network("relu", 1), "nngp", (2.0, 1.0))
    with pytest.raises(BadInput, match="weight_variance"):
        LearnableKernel(Network("relu", 1), "nngp", (1.0, 2.0), (1.0, 2.0))
    with pytest.raises(BadInput, match="variances were given"):
        LearnableKernel(Network("relu", 1, weight_variance=1.0), "nngp", (1.0, 2.0))(np.eye(2), weight=np.ones(5))
