"""Finite random networks: their gradients are right, and they tend to the kernels like width^(-1/2)."""

import pickle
from copy import deepcopy

import numpy as np
import pytest

from holokern import Network
from holokern import layers as L
from holokern.errors import BadInput, Unsupported

RANDOM = np.random.default_rng(0)
VECTORS = RANDOM.standard_normal((3, 4))
SEQUENCES = RANDOM.standard_normal((2, 4, 2))
IMAGES = RANDOM.standard_normal((2, 3, 4, 2))
PATH, STAR = np.eye(3, k=1) + np.eye(3, k=-1), np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
GRAPHS = L.Graphs.of([RANDOM.standard_normal((n, 3)) for n in (3, 4)], [PATH, STAR])
RESIZE = RANDOM.standard_normal((5, 4))


def residual(*layers):
    return L.Serial(L.FanOut(2), L.Parallel(L.Identity(), L.Serial(*layers)), L.Sum())


def architectures(activation):
    """Name → layers and data; every layer takes part."""
    a = L.Activation(activation)
    end = L.Dense(1.1, 0.1)
    return {
        "dense": (L.Serial(L.Dense(1.3, 0.3), a, L.Dense(1.2, 0.2), a, end), VECTORS),
        "conv 1-d": (
            L.Serial(L.Conv(3, 1.4, 0.3), a, L.Conv(2, 1.2, dilation=2, padding="circular"), a, L.Flatten(), end),
            SEQUENCES,
        ),
        "conv": (
            L.Serial(L.Conv((3, 2), 1.4, 0.3, padding="valid"), a, L.Conv(3, 1.2, 0.1, stride=2), a, L.Flatten(), end),
            IMAGES,
        ),
        "global pool": (
            L.Serial(L.Conv(3, 1.4, 0.3, padding="circular"), a, L.Conv(2, 1.2), a, L.GlobalAvgPool(), end),
            IMAGES,
        ),
        "pools": (
            L.Serial(
                *(L.Conv(3, 1.4, 0.3), a, L.AvgPool((1, 2)), L.Conv(2, 1.2), a, L.SumPool(2, 1, "same")),
                *(L.AvgPool(3, 2, "same", normalize_edges=True), L.Conv(2), a, L.GlobalSumPool(), end),
            ),
            IMAGES,
        ),
        "transposed": (
            L.Serial(
                *(L.ConvTranspose(3, 1.4, 0.3, stride=2, padding="valid"), a, L.ConvTranspose(2, 1.2, stride=3), a),
                *(L.ConvTranspose(4, 1.2, stride=2, padding="circular"), a, L.GlobalAvgPool(), end),
            ),
            SEQUENCES[:, :2],
        ),
        "residual": (
            L.Serial(L.Conv(3, 1.2, 0.2), residual(a, L.Conv(3, 1.3, 0.1)), a, L.GlobalAvgPool(), end),
            IMAGES,
        ),
        "layer norm": (
            L.Serial(
                *(L.Conv(3, 1.4, 0.3), L.LayerNorm(), a, L.Conv(3, 1.2), L.LayerNorm("all"), a),
                *(L.Conv(1), L.LayerNorm((1,), eps=0.5), a, L.GlobalAvgPool(), end),
            ),
            IMAGES,
        ),
        "concat": (
            L.Serial(
                *(L.FanOut(2), L.Parallel(L.Identity(), L.Serial(L.Conv(2, 1.5, 0.2), a)), L.Concat((1.0, 3.0))),
                *(L.Conv(2), a, L.Flatten(), end),
            ),
            SEQUENCES,
        ),
        "product": (
            L.Serial(
                *(L.FanOut(2), L.Parallel(L.Serial(L.Conv(3, 1.2, 0.5), a), L.Conv(2, 1.0, 0.4)), L.Product()),
                *(L.Conv(2), a, L.GlobalAvgPool(), end),
            ),
            SEQUENCES,
        ),
        "linear map": (
            L.Serial(L.Conv(3, 1.4, 0.3), a, L.LinearMap(RESIZE, axis=1), L.Conv(3, 0.5), a, L.Flatten(), end),
            IMAGES,
        ),
        "index": (
            L.Serial(L.Conv(3, 1.4, 0.3), a, L.Index(slice(None, None, 2), -1), L.Conv(2), a, L.Index(0), end),
            IMAGES,
        ),
        "graph": (
            L.Serial(
                *(L.Aggregate(), L.Dense(1.1, 0.2), a, L.Dense(1.2, 0.1), L.LayerNorm("all"), a),
                *(L.Aggregate("mean", True), L.Dense(1.3), a, L.GlobalSumPool(), end),
            ),
            GRAPHS,
        ),
        "recurrent": (L.Serial(L.Recurrent(a, 1.2, 0.9, 0.2), L.Index(-1), end), SEQUENCES),
        "recurrent pool": (
            L.Serial(L.Conv(2), a, L.Recurrent(a, 1.1, 1.2, steps=3), L.GlobalAvgPool(), end),
            SEQUENCES,
        ),
        "dropout": (L.Serial(L.Conv(3, 1.4, 0.3), a, L.Dropout(0.7), L.Conv(2), a, L.GlobalAvgPool(), end), SEQUENCES),
        "partly trained": (
            L.Serial(L.Dense(1.3, 0.3, trainable=False), a, L.Dense(1.2, 0.2), a, L.Dense(trainable=False)),
            VECTORS,
        ),
    }


NAMES = list(architectures("silu"))


@pytest.mark.parametrize("parameterization", ["ntk", "standard"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_limits_of_differences(name, parameterization):
    if parameterization == "standard" and "recurrent" in name:
        pytest.skip("the recurrent layer has the parametrisation 'ntk' only")
    layer, x = architectures("silu")[name]
    finite = Network(layer, parameterization=parameterization).sample(3, 1, outputs=2)
    assert finite(x).shape == (len(x), 2)
    random, step = np.random.default_rng(2), 1e-5
    directions = [random.standard_normal(one.shape) for one in finite.weights]

    def moved(length):
        return finite.with_weights([one + length * way for one, way in zip(finite.weights, directions, strict=True)])(x)

    differences = (moved(step) - moved(-step)) / (2 * step)
    # Copies, so that all of them draw the same masks of dropout.
    found = [deepcopy(finite).gradients(x, output) for output in (0, 1)]
    for output, gradients in enumerate(found):
        along = sum((g * way).reshape(len(g), -1).sum(axis=1) for g, way in zip(gradients, directions, strict=True))
        np.testing.assert_allclose(along, differences[:, output], rtol=1e-6, atol=1e-7)
    trained = [True] * len(found[0]) if name != "partly trained" else [False, False, True, True, False]
    rows = [
        np.concatenate([g.reshape(len(g), -1) for g, kept in zip(gradients, trained, strict=True) if kept], axis=1)
        for gradients in found
    ]
    np.testing.assert_allclose(deepcopy(finite).ntk(x), sum(row @ row.T for row in rows) / 2, rtol=1e-10, atol=1e-12)


def check_rate(net, x, narrow=(32, 32), wide=(288, 10)):
    """Nine times the width: a third of the error of one draw; and no bias beyond the noise of the mean."""
    for exact, draw in (
        (net.nngp(x), lambda width, seed: net.sample(width, seed, outputs=width).nngp(x)),
        (net.ntk(x), lambda width, seed: net.sample(width, seed).ntk(x, outputs=1)),
    ):
        errors = []
        for width, draws in (narrow, wide):
            found = np.array([draw(width, seed) for seed in range(draws)])
            errors.append(np.sqrt(np.mean((found - exact) ** 2)))
        assert 0.15 < errors[1] / errors[0] < 0.55
        bias = np.sqrt(np.mean((found.mean(axis=0) - exact) ** 2))
        assert bias < 2.5 * errors[1] / np.sqrt(wide[1])
        assert errors[1] < 0.35 * np.sqrt(np.mean(exact**2))


QUICK = [
    ("elu", "conv"),
    ("resin", "pools"),
    ("tanh", "residual"),
    ("silu", "layer norm"),
    ("hardtanh", "graph"),
    ("elu", "recurrent"),
    ("tanh", "recurrent pool"),
]


@pytest.mark.parametrize(("activation", "name"), QUICK)
def test_finite_networks_tend_to_the_kernel_at_the_expected_rate(activation, name):
    layer, x = architectures(activation)[name]
    check_rate(Network(layer), x)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("activation", ["elu", "resin", "tanh", "silu", "hardtanh"])
def test_all_finite_networks_tend_to_the_kernel(activation, name):
    layer, x = architectures(activation)[name]
    check_rate(Network(layer), x)


@pytest.mark.parametrize(
    "net",
    [
        Network("relu", depth=2),
        Network("gelu", depth=2, bias=0.3),
        Network("tanh", depth=2, W_std=1.2, b_std=0.3),
        Network(["elu", "relu"], residual=True, bias=0.1),
    ],
    ids=repr,
)
def test_networks_of_the_short_form_have_finite_ones(net):
    check_rate(net, VECTORS)


def test_the_standard_parametrisation_has_the_widths_of_the_layers():
    def made(width):
        a, given = L.Activation("gelu"), {"width": width}
        return Network(
            L.Serial(
                *(L.Conv(3, 1.3, 0.3, **given), a, L.Conv(2, 1.2, **given), a, L.AvgPool(2), L.Flatten()),
                L.Dense(1.1, 0.0),
            ),
            parameterization="standard",
        )

    errors = []
    for width, draws in ((32, 32), (288, 10)):
        exact = made(width).ntk(IMAGES)
        found = [made(width).sample(7, seed).ntk(IMAGES) for seed in range(draws)]
        errors.append(np.sqrt(np.mean((np.array(found) - exact) ** 2) / np.mean(exact**2)))
    assert 0.15 < errors[1] / errors[0] < 0.55
    assert made(5).sample(7).gradients(IMAGES)[0].shape == (2, 18, 5)


def test_the_last_layer_has_as_many_channels_as_outputs_unless_others_need_them():
    a = L.Activation("relu")
    assert Network("relu", depth=2).sample(16, outputs=3)(VECTORS).shape == (3, 3)
    assert Network(L.Serial(L.Dense(), a, L.Dense(), a)).sample(16)(VECTORS).shape == (3, 1)
    assert Network(L.Serial(L.Dense(), residual(a, L.Dense()))).sample(16)(VECTORS).shape == (3, 16)
    assert Network(L.Serial(L.Dense(), L.LayerNorm())).sample(16)(VECTORS).shape == (3, 16)
    assert Network(L.Serial(L.Recurrent(a), L.Index(-1))).sample(16)(SEQUENCES).shape == (2, 16)
    assert Network(L.Serial(L.Dense(), a, L.Dense(width=2))).sample(16)(VECTORS).shape == (3, 2)


def test_weights_come_from_the_seed_and_can_be_read():
    net = Network(L.Serial(L.Conv(3, b_std=0.1), L.Activation("relu"), L.Flatten(), L.Dense()))
    first, again, other = (net.sample(8, seed) for seed in (3, 3, 4))
    assert np.array_equal(first(IMAGES), again(IMAGES))
    assert not np.array_equal(first(IMAGES), other(IMAGES))
    assert [one.shape for one in first.weights] == [(18, 8), (8,), (96, 1)]
    assert not first.weights[0].flags.writeable
    copy = pickle.loads(pickle.dumps(first))
    assert np.array_equal(copy(IMAGES), first(IMAGES))
    doubled = first.with_weights([2 * one for one in first.weights[:2]] + [first.weights[2]])
    np.testing.assert_allclose(doubled(IMAGES), 2 * first(IMAGES), rtol=1e-12)
    assert repr(first) == "<FiniteNetwork of width 8, seed=3, outputs=1, input_shape=(3, 4, 2)>"


def test_weights_are_drawn_at_once_if_the_shape_is_known():
    layer = L.Serial(L.Conv(3), L.Activation("relu"), L.Flatten(), L.Dense())
    with pytest.raises(BadInput, match="not drawn yet"):
        _ = Network(layer).sample(8).weights
    known = Network(layer, input_shape=(3, 4, 2)).sample(8)
    assert [one.shape for one in known.weights] == [(18, 8), (96, 1)]
    with pytest.raises(BadInput, match=r"\(2, 4, 2\).*\(3, 4, 2\)"):
        known(IMAGES[:, :2])


def test_two_sides_are_blocks_of_the_whole():
    layer, x = architectures("tanh")["graph"]
    finite = Network(layer).sample(8, outputs=2)
    for kernel in (finite.nngp, finite.ntk):
        np.testing.assert_allclose(kernel(x, x[:1]), kernel(x)[:, :1], rtol=1e-12)


def test_dropout_draws_a_new_mask_in_every_call():
    finite = Network(architectures("relu")["dropout"][0]).sample(8)
    assert not np.array_equal(finite(SEQUENCES), finite(SEQUENCES))


def test_what_cannot_be_sampled_is_refused():
    a = L.Activation("relu")
    for wrong in ({"width": 0}, {"width": 2.5}, {"width": 4, "seed": -1}, {"width": 4, "outputs": 0}):
        with pytest.raises(BadInput, match="sample"):
            Network("relu", depth=1).sample(**wrong)
    jumps = Network("Heaviside(u)", depth=1).sample(4)
    assert jumps(VECTORS).shape == (3, 1)
    with pytest.raises(Unsupported, match="jumps"):
        jumps.ntk(VECTORS)
    with pytest.raises(BadInput, match="Graphs"):
        Network(L.Serial(L.Aggregate(), L.Dense(), a, L.GlobalSumPool())).sample(4)(SEQUENCES)
    drawn = Network("relu", depth=1, bias=0.1).sample(4)
    drawn(VECTORS)
    with pytest.raises(BadInput, match="shapes"):
        drawn.with_weights(drawn.weights[:1])
    with pytest.raises(BadInput, match="output = 1"):
        drawn.gradients(VECTORS, 1)
