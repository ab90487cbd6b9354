"""Layers that machine code takes at once give what they give one by one."""

import numpy as np
import pytest

from holokern import layers as L
from holokern.network import Network
from holokern.network.architecture import walks

NAMES = ("relu", "erf", "gelu", "elu", "tanh", "softplus")
ACTIVATIONS = [L.Activation(name) for name in NAMES]
SLOW = {("elu", None), ("tanh", 0.2), ("softplus", None)}
"""Tables take seconds: one bias for each activation that needs them."""
CASES = [
    pytest.param(one, bias, marks=[pytest.mark.slow] if (name, bias) in SLOW else [])
    for bias in (None, 0.2)
    for name, one in zip(NAMES, ACTIVATIONS, strict=True)
]


def data(*shape):
    """Inputs with empty patches, a copy, a near copy and an opposite."""
    x = np.random.default_rng(0).standard_normal((6, *shape))
    x[0, :2] = 0
    x[3], x[4], x[5] = x[1], x[1] + 1e-7 * x[0], -x[2]
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
        "pooled": (
            data(6, 6, 2),
            [L.Conv(3, 1.4, b), s, L.AvgPool(2), L.Conv(3, 1.2, b), s, L.GlobalAvgPool(), L.Dense()],
        ),
        "residual": (
            data(4, 5, 1),
            [L.Conv(3, 1.4, b), L.FanOut(2), L.Parallel(L.Identity(), L.Serial(s, L.Conv(3, 1.0, b))), L.Sum(), s,
             L.Conv(9, 1.0, b), s, L.Flatten(), L.Dense(1.2, b), s, L.Dense()],
        ),
    }  # fmt: skip


@pytest.mark.parametrize(("activation", "bias"), CASES, ids=str)
def test_layers_at_once_and_one_by_one(activation, bias, monkeypatch):
    # Slopes of opposite points are the square roots of rounding errors; tables see them more than closed forms.
    allowed = 2e-14 if activation.dual.pair_form else 2e-13
    for name, (x, layers) in nets(activation, bias).items():
        network = Network(L.Serial(*layers))
        at_once = *network.both(x), *network.both(x[:2], x[2:]), network.nngp(x)
        with monkeypatch.context() as patch:
            patch.setattr(walks, "run_of", lambda *_: (0, None))
            one_by_one = *network.both(x), *network.both(x[:2], x[2:]), network.nngp(x)
        for found, true in zip(at_once, one_by_one, strict=True):
            np.testing.assert_allclose(found, true, rtol=0, atol=allowed * np.max(np.abs(true)), err_msg=name)
        # A copy gives the same numbers, whatever the tiles.
        np.testing.assert_allclose(
            at_once[0][3], at_once[0][1], rtol=0, atol=allowed * np.max(at_once[0]), err_msg=name
        )


def test_the_standard_parametrisation_at_once_and_one_by_one(monkeypatch):
    layers = L.Conv(3, 1.4, 0.1, width=9), ACTIVATIONS[2], L.Conv(3, 1.1, width=5), ACTIVATIONS[0], L.GlobalAvgPool()
    network, x = Network(L.Serial(*layers, L.Dense(1.2, 0.3)), parameterization="standard"), data(4, 4, 2)
    at_once = network.both(x)
    monkeypatch.setattr(walks, "run_of", lambda *_: (0, None))
    for found, true in zip(at_once, network.both(x), strict=True):
        np.testing.assert_allclose(found, true, rtol=0, atol=2e-14 * np.max(np.abs(true)))


def _exact_layer(c, v, w, theta):
    """Covariances, variances of both sides and Θ after ReLU, in long double."""
    norm = np.sqrt(v[:, None] * w)
    cosine = np.clip(c / norm, -1, 1)
    angle = np.arccos(cosine)
    pi = np.arccos(np.longdouble(-1))
    after = norm * (np.sqrt((1 - cosine) * (1 + cosine)) + (pi - angle) * cosine) / (2 * pi)
    return after, v / 2, w / 2, theta * (pi - angle) / (2 * pi)


def test_opposite_inputs_keep_their_digits():
    """Two convolutions of a sequence with a pooling between them, against matrices in long double."""
    count = 8
    x = np.random.default_rng(3).standard_normal((count, 1))
    x = np.stack([x, -x, -3 * x])
    network = Network(
        L.Serial(L.Conv(3, 1.4), L.Activation("relu"), L.AvgPool(2), L.Conv(3, 1.2), L.Activation("relu"), L.Flatten())
    )
    nngp, ntk = network.both(x)
    means = np.kron(np.eye(count // 2, dtype=np.longdouble), np.full((1, 2), np.longdouble(0.5)))
    for j in range(3):
        sides = x[0, :, 0].astype(np.longdouble), x[j, :, 0].astype(np.longdouble)
        blocks = [[np.outer(a, b) for b in sides] for a in sides]
        tangent = np.zeros_like(blocks[0][1])
        for number, scale in enumerate((np.longdouble(1.4) ** 2 / 3, np.longdouble(1.2) ** 2 / 3)):
            # A position of the window goes together with the same one of the other input.
            moved = [[scale * _windowed(c) for c in row] for row in blocks]
            tangent = scale * _windowed(tangent) + moved[0][1]
            v, w = np.diag(moved[0][0]), np.diag(moved[1][1])
            cross, *_, tangent = _exact_layer(moved[0][1], v, w, tangent)
            own = [_exact_layer(moved[k][k], np.diag(moved[k][k]), np.diag(moved[k][k]), 0)[0] for k in (0, 1)]
            blocks = [[own[0], cross], [cross.T, own[1]]]
            if number == 0:
                blocks = [[means @ c @ means.T for c in row] for row in blocks]
                tangent = means @ tangent @ means.T
        true = np.mean(np.diag(blocks[0][1])), np.mean(np.diag(tangent))
        norms = np.sqrt(nngp[0, 0] * nngp[j, j]), np.sqrt(ntk[0, 0] * ntk[j, j])
        assert abs(float(nngp[0, j] - true[0])) < 1e-13 * norms[0]
        assert abs(float(ntk[0, j] - true[1])) < 1e-12 * norms[1]


def _windowed(c):
    """Sums of covariances over a window of three positions of both inputs."""
    wide = np.pad(c, 1)
    return wide[:-2, :-2] + wide[1:-1, 1:-1] + wide[2:, 2:]


@pytest.mark.parametrize(
    ("name", "end"), [("elu", L.Flatten()), ("tanh", L.GlobalAvgPool()), ("relu", L.Flatten())], ids=str
)
def test_parts_have_the_bits_of_the_whole(name, end):
    x = np.random.default_rng(3).standard_normal((30, 3, 3, 2))
    x[::2, :1] = 0
    s = L.Activation(name)
    net = Network(L.Serial(L.Conv(3, b_std=0.1), s, L.Conv(3, b_std=0.1), s, end, L.Dense()))
    known = net.data_range(x)
    whole = net.part(x, None, known, (True, True))
    pairs = [(slice(i, i + 1), slice(29 - i, 30 - i)) for i in range(8)]
    for rows, columns in [(slice(10), slice(15, 30)), (slice(3, 8), slice(20, 21)), *pairs]:
        part = net.part(x[rows], x[columns], known, (True, True))
        assert all(np.array_equal(some[rows, columns], one) for some, one in zip(whole, part, strict=True))
