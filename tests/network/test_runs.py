"""Layers that machine code takes at once give what they give one by one."""

import numpy as np
import pytest

from holokern import layers as L
from holokern.network import Network
from holokern.network.architecture import walks

ACTIVATIONS = [L.Activation(name) for name in ("relu", "erf", "gelu")]


def data(*shape):
    """Inputs with empty patches, a copy and a near copy (distances tell angles next to π to 1e-8 only)."""
    x = np.random.default_rng(0).standard_normal((6, *shape))
    x[0, :2] = 0
    x[3], x[4] = x[1], x[1] + 1e-7 * x[0]
    return x


def nets(s, b):
    return {
        "tied": (data(6, 7, 2), [L.Conv(3, 1.4, b), s, L.Conv((3, 2), 1.4, b, stride=2), s, L.Flatten(), L.Dense()]),
        "circular": (data(4, 4, 1), [L.Conv(3, 1.4, b, padding="circular"), s, L.Conv(2, 1, b), s, L.GlobalAvgPool()]),
        "valid": (
            data(7, 6, 1),
            [L.Conv(3, 1.4, b, padding="valid", dilation=2), s, L.ConvTranspose((3, 2), 1.0, b, stride=2), s,
             L.Conv(2, 1.2, b, trainable=False), s, L.GlobalSumPool(), L.Dense(1.0, b), s, L.Dense()],
        ),
        "line": (data(9, 2), [L.Conv(5, 1.3, b), s, L.Conv(1, 1.2, b), s, L.GlobalAvgPool(), L.Dense()]),
        "space": (data(3, 4, 2, 1), [L.Conv(2, 1.3, b), s, L.Conv(3, 1.2, b), s, L.GlobalAvgPool(), L.Dense()]),
        "residual": (
            data(4, 5, 1),
            [L.Conv(3, 1.4, b), L.FanOut(2), L.Parallel(L.Identity(), L.Serial(s, L.Conv(3, 1.0, b))), L.Sum(), s,
             L.Conv(9, 1.0, b), s, L.Flatten(), L.Dense(1.2, b), s, L.Dense()],
        ),
    }  # fmt: skip


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
@pytest.mark.parametrize("bias", [None, 0.2])
def test_layers_at_once_and_one_by_one(activation, bias, monkeypatch):
    for name, (x, layers) in nets(activation, bias).items():
        network = Network(L.Serial(*layers))
        at_once = *network.both(x), *network.both(x[:2], x[2:]), network.nngp(x)
        with monkeypatch.context() as patch:
            patch.setattr(walks, "run_of", lambda *_: (0, None))
            one_by_one = *network.both(x), *network.both(x[:2], x[2:]), network.nngp(x)
        for found, true in zip(at_once, one_by_one, strict=True):
            np.testing.assert_allclose(found, true, rtol=0, atol=2e-14 * np.max(np.abs(true)), err_msg=name)
        # A copy gives the same numbers, whatever the tiles.
        np.testing.assert_allclose(at_once[0][3], at_once[0][1], rtol=0, atol=2e-14 * np.max(at_once[0]), err_msg=name)


def test_the_standard_parametrisation_at_once_and_one_by_one(monkeypatch):
    layers = L.Conv(3, 1.4, 0.1, width=9), ACTIVATIONS[2], L.Conv(3, 1.1, width=5), ACTIVATIONS[0], L.GlobalAvgPool()
    network, x = Network(L.Serial(*layers, L.Dense(1.2, 0.3)), parameterization="standard"), data(4, 4, 2)
    at_once = network.both(x)
    monkeypatch.setattr(walks, "run_of", lambda *_: (0, None))
    for found, true in zip(at_once, network.both(x), strict=True):
        np.testing.assert_allclose(found, true, rtol=0, atol=2e-14 * np.max(np.abs(true)))
