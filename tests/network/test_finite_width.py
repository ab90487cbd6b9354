"""The empirical NTK of finite random networks tends to Θ like width^(-1/2) [Arora2019]."""

import numpy as np
import pytest

from holokern.activation import activation
from holokern.network import Network


def empirical_ntk(sigma, slope, x, width, weight, random):
    """Gradients of a network with two hidden layers, by hand: Σ over layers of (backward)·(forward)."""
    w1 = random.standard_normal((width, x.shape[1]))
    w2 = random.standard_normal((width, width)) * np.sqrt(weight / width)
    w3 = random.standard_normal(width) * np.sqrt(weight / width)
    h1 = x @ w1.T
    g1 = sigma(h1) * np.sqrt(weight / width)
    h2 = sigma(h1) @ w2.T
    g2 = sigma(h2) * np.sqrt(weight / width)
    back2 = w3 * slope(h2)
    back1 = (back2 @ w2) * slope(h1)
    return g2 @ g2.T + (back2 @ back2.T) * (g1 @ g1.T) + (back1 @ back1.T) * (x @ x.T)


@pytest.mark.parametrize("name", ["relu", "gelu", "resin", "elu"])
def test_finite_networks_converge_at_the_expected_rate(name):
    sigma = activation(name)
    net = Network(name, 2)
    weight = net.hidden_layers[0].weight
    random = np.random.default_rng(7)
    x = random.standard_normal((5, 4)) / 2
    exact = net.ntk(x)
    errors = []
    for width, draws in ((64, 48), (1024, 12)):
        found = [empirical_ntk(sigma, sigma.derivative, x, width, weight, random) for _ in range(draws)]
        squares = [np.mean((ntk - exact) ** 2) for ntk in found]
        errors.append(np.sqrt(np.mean(squares)))
    # Sixteen times the width: a quarter of the error, give or take the noise of the draws.
    assert 0.12 < errors[1] / errors[0] < 0.5
    assert errors[1] < 0.15 * np.max(exact)
