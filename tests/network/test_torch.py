"""Kernels of torch tensors: kinds, and autograd where kernels are delicate."""

import numpy as np
import pytest

from holokern.errors import BadInput
from holokern.network import Network

torch = pytest.importorskip("torch")


def test_numbers_in_memory_take_the_numpy_engine(delicate_points):
    net = Network("relu", 2)
    x = torch.tensor(delicate_points)
    for got, want in zip(net.both(x), net.both(delicate_points), strict=True):
        assert isinstance(got, torch.Tensor)
        assert np.array_equal(got.numpy(), want)
    assert net.ntk(x.float()).dtype == torch.float32
    assert isinstance(net.diagonals(x).nngp, torch.Tensor)
    tracked = x.clone().requires_grad_(True)
    with torch.no_grad():
        assert not net.ntk(tracked).requires_grad


def test_autograd(delicate_points, differences):
    net = Network("gelu", 2)
    x, y = torch.tensor(delicate_points, requires_grad=True), torch.tensor(delicate_points)
    weights = np.random.default_rng(1).standard_normal((len(x), len(x)))
    matrix = net.ntk(x, y)
    assert np.max(np.abs(matrix.detach().numpy() - net.ntk(delicate_points))) < 5e-12
    (torch.tensor(weights) * matrix).sum().backward()
    want = differences(net.ntk, weights, delicate_points[:-1], delicate_points)
    assert np.max(np.abs(x.grad.numpy()[:-1] - want)) < 1e-8 * np.max(np.abs(want))


def test_gradient_at_a_zero_vector():
    """For erf a layer multiplies small covariances by w·4/π/√(1 + 2q), q the variance of the other point."""
    net = Network("erf", 2)
    zero = torch.zeros((1, 2), dtype=torch.float64, requires_grad=True)
    y = np.array([[0.6, 0.8]])
    weight, (first, _) = net.hidden_layers[0].weight, net.layers(y)
    factors = [weight * 4 / np.pi / np.sqrt(1 + 2 * q) for q in (1.0, first[0][0, 0])]
    net.ntk(zero, torch.tensor(y)).sum().backward()
    want = (2 * factors[0] * factors[1] + factors[0] * factors[1]) * y
    assert np.allclose(zero.grad.numpy(), want, rtol=1e-12)


def test_the_tips_of_relu_have_finite_gradients(delicate_points):
    x = torch.tensor(delicate_points, requires_grad=True)
    net = Network("relu", 3)
    net.ntk(x).sum().backward()
    assert torch.all(torch.isfinite(x.grad))
    other = torch.func.grad(lambda z: net.ntk(z).sum())(x.detach())
    assert torch.equal(x.grad, other)


def test_single_precision(delicate_points):
    x = torch.tensor(delicate_points, dtype=torch.float32, requires_grad=True)
    matrix = Network("relu", 3).ntk(x)
    assert matrix.dtype == torch.float32
    assert np.max(np.abs(matrix.detach().numpy() - Network("relu", 3).ntk(delicate_points))) < 2e-5
    matrix.sum().backward()
    assert torch.all(torch.isfinite(x.grad))


def test_mixed_kinds_are_refused():
    with pytest.raises(BadInput, match="different kinds"):
        Network("relu", 1).ntk(torch.eye(2), np.eye(2))
