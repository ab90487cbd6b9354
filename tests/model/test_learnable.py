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
    network = Network("erf", 2, bias=0.4, weight_variance=1.5)
    return LearnableKernel(network, "ntk", (0.1, 4.0), (0.5, 4.0), (0.1, 1.0))


def test_values_through_jit_and_vmap(jax, kernel, points):
    exact = Network("erf", 2, bias=0.7, weight_variance=2.5).ntk(points)
    made = jax.jit(kernel)(points, weight=2.5, bias=0.7)
    np.testing.assert_allclose(made, exact, rtol=1e-11)
    pairs = jax.vmap(lambda x, y: kernel.pair(x, y, weight=2.5, bias=0.7))(points[:5], points[5:10])
    np.testing.assert_allclose(pairs, np.diagonal(exact[:5, 5:10]), rtol=1e-11)
    np.testing.assert_allclose(kernel.diagonal(jax.numpy.asarray(points), weight=2.5, bias=0.7), np.diagonal(exact))


def test_gradients_in_points_and_variances(jax, kernel, points):
    def total(x, weight, bias):
        return jax.numpy.sum(kernel(x, weight=weight, bias=bias))

    x, weight, bias = jax.numpy.asarray(points[:3]), 1.7, 0.5
    rates = jax.jit(jax.grad(total, argnums=(0, 1, 2)))(x, weight, bias)
    step = 1e-5
    for place, rate in ((1, rates[1]), (2, rates[2])):
        ends = []
        for sign in (1, -1):
            given = [x, weight, bias]
            given[place] += sign * step
            ends.append(float(total(*given)))
        assert float(rate) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)
    moved = [float(total(x.at[1, 2].add(sign * step), weight, bias)) for sign in (1, -1)]
    assert float(rates[0][1, 2]) == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-6)


def test_second_derivatives(jax, kernel, points):
    x, y = (jax.numpy.asarray(points[i]) for i in (0, 1))
    mixed = jax.jacfwd(jax.jacrev(kernel.pair, argnums=0), argnums=1)(x, y)
    slope = jax.jit(jax.grad(kernel.pair))
    step = 1e-5
    for place in range(4):
        move = step * np.eye(4)[place]
        expected = (slope(x, y + move) - slope(x, y - move)) / (2 * step)
        np.testing.assert_allclose(mixed[:, place], expected, rtol=1e-5, atol=1e-8)


def test_bad_ranges():
    with pytest.raises(BadInput, match="range"):
        LearnableKernel(Network("relu", 1), "nngp", (2.0, 1.0))
    with pytest.raises(BadInput, match="weight_variance"):
        LearnableKernel(Network("relu", 1), "nngp", (1.0, 2.0), (1.0, 2.0))
    with pytest.raises(BadInput, match="variances were given"):
        LearnableKernel(Network("relu", 1, weight_variance=1.0), "nngp", (1.0, 2.0))(np.eye(2), weight=np.ones(5))
