"""Kernels of JAX arrays: kinds, jit, and gradients where kernels are delicate."""

import numpy as np
import pytest

from holokern.errors import BadInput
from holokern.network import Network

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture
def x64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.usefixtures("x64")
def test_numbers_in_memory_take_the_numpy_engine(delicate_points):
    net = Network("relu", 2)
    x = jnp.asarray(delicate_points)
    for got, want in zip(net.both(x), net.both(delicate_points), strict=True):
        assert isinstance(got, jax.Array)
        assert np.array_equal(got, want)
    assert isinstance(net.diagonals(x).ntk, jax.Array)
    assert np.array_equal(net.nngp(x, x[:3]), net.nngp(delicate_points, delicate_points[:3]))


def test_single_precision_without_the_flag(delicate_points):
    net = Network("relu", 2)
    x = jnp.asarray(delicate_points)
    want = net.ntk(delicate_points)
    for got in (net.ntk(x), jax.jit(net.ntk)(x)):
        assert got.dtype == jnp.float32
        assert np.max(np.abs(got - want)) < 1e-5


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("depth", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_jit_and_gradients_of_a_smooth_activation(depth, delicate_points, differences):
    net = Network("gelu", depth)
    x = jnp.asarray(delicate_points)
    weights = np.random.default_rng(1).standard_normal((len(x), len(x)))
    kernel = net.compile(0.89, 1.11)

    @jax.jit
    def both(a, b):
        def loss(a):
            matrix = kernel.ntk(a, b)
            return jnp.sum(weights * matrix), matrix

        return jax.grad(loss, has_aux=True)(a)

    gradient, matrix = both(x, x)
    assert np.max(np.abs(matrix - net.ntk(delicate_points))) < 2e-12
    want = differences(net.ntk, weights, delicate_points[:-1], delicate_points)
    assert np.max(np.abs(gradient[:-1] - want)) < 1e-8 * np.max(np.abs(want))


@pytest.mark.usefixtures("x64")
def test_gradients_of_relu(delicate_points, differences):
    net = Network("relu", 1)
    weights = np.random.default_rng(1).standard_normal((11, 11))
    y = jnp.asarray(delicate_points)
    # compiled: one after another the hundreds of small operations take ten seconds
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(weights * net.nngp(x, y))))(y)
    want = differences(net.nngp, weights, delicate_points, delicate_points)
    assert np.max(np.abs(gradient - want)) < 1e-8 * np.max(np.abs(want))
    # The NTK has tips at copies and antipodes.
    assert np.all(np.isfinite(jax.jit(jax.grad(lambda x: jnp.sum(net.ntk(x))))(y)))


@pytest.mark.usefixtures("x64")
def test_diagonals_are_differentiable():
    net = Network("relu", 3)
    x = jnp.array([[0.6, 0.8], [0.0, 0.0]])
    gradient = jax.grad(lambda z: jnp.sum(net.diagonals(z).ntk))(x)
    assert np.allclose(gradient, 2 * 4 * x, atol=1e-12)


def test_tracing_needs_a_range():
    with pytest.raises(BadInput, match=r"net\.compile"):
        jax.jit(Network("gelu", 1).ntk)(jnp.eye(2))
    with pytest.raises(BadInput, match="out"):
        Network("relu", 1).ntk(jnp.eye(2), out=np.empty((2, 2)))
