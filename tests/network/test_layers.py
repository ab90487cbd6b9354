"""The algebra of layers: laws of the kernels, of layers as values, and what is refused."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern import Network, dual
from holokern import layers as L
from holokern.errors import BadInput, Unsupported

RELU, GELU, ERF = map(L.Activation, ("relu", "gelu", "erf"))
RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.standard_normal((6, 4, 5, 2))
SEQUENCES = RANDOM.standard_normal((6, 5, 2))


def some_graphs():
    edges = [np.triu(RANDOM.random((n, n)) < 0.6, 1).astype(float) for n in (2, 5, 3, 4, 4, 3)]
    return L.Graphs.of([RANDOM.standard_normal((len(e), 2)) for e in edges], [e + e.T for e in edges])


def residual(*layers):
    return L.Serial(L.FanOut(2), L.Parallel(L.Identity(), L.Serial(*layers)), L.Sum())


NETWORKS = {
    "dense behind flatten": (
        L.Serial(L.Flatten(), L.Dense(1.4, 0.1), GELU, L.Dense(1.2, 0.1), RELU, L.Dense(1.1, 0.1)),
        IMAGES,
    ),
    "flat": (L.Serial(L.Conv(3, 1.4, 0.1), GELU, L.Conv((2, 3), stride=2), ERF, L.Flatten(), L.Dense()), IMAGES),
    "pools": (
        L.Serial(L.Conv(3, 1.4, 0.1), RELU, L.AvgPool(2, 1), L.Conv(2, padding="circular"), GELU, L.GlobalAvgPool()),
        IMAGES,
    ),
    "residual": (
        L.Serial(L.Conv(3), L.LayerNorm(), residual(RELU, L.Conv(3, 1.2)), GELU, L.GlobalAvgPool(), L.Dense()),
        IMAGES,
    ),
    "branches": (
        L.Serial(
            *(L.FanOut(2), L.Parallel(L.Conv(3), L.Serial(L.Conv(1), RELU)), L.Product()),
            *(L.Conv(2), L.FanOut(2), L.Parallel(L.Identity(), GELU), L.Concat(), L.Flatten(), L.Dense()),
        ),
        SEQUENCES,
    ),
    "graph": (
        L.Serial(L.Aggregate(), L.Dense(1.4, 0.1), RELU, L.Aggregate("mean", True), L.Dense(), ERF, L.GlobalSumPool()),
        some_graphs(),
    ),
    "recurrent": (L.Serial(L.Recurrent(ERF, 1.2, 0.9, 0.2), L.Index(-1), L.Dense()), SEQUENCES),
    "dropout": (L.Serial(L.Conv(3), RELU, L.Dropout(0.8), L.GlobalAvgPool(), L.Dense()), SEQUENCES),
}

battery = pytest.mark.parametrize(("layer", "x"), NETWORKS.values(), ids=NETWORKS)


def check_laws(net, x):
    own = net.diagonals(x)
    for kernel, diagonal in zip(net.both(x), (own.nngp, own.ntk), strict=True):
        assert np.array_equal(kernel, kernel.T)
        assert np.linalg.eigvalsh(kernel)[0] >= -1e-13 * np.trace(kernel)
        np.testing.assert_allclose(np.diag(kernel), diagonal, rtol=1e-14)


@battery
def test_kernels_are_symmetric_and_positive_semidefinite(layer, x):
    check_laws(Network(layer), x)


@battery
def test_parts_have_the_bits_of_the_whole(layer, x):
    net = Network(layer)
    data = net.data_range(x)
    whole = net.both(x)
    parts = net.part(x[1:3], x[3:], data, (True, True))
    for part, matrix in zip(parts, whole, strict=True):
        assert np.array_equal(part, matrix[1:3, 3:])
    assert net.part(x[:2], x[2:], data, (False, True))[0] is None


@battery
def test_blocks_of_two_sides_are_those_of_all_inputs(layer, x):
    net = Network(layer)
    for block, matrix in zip(net.both(x[:2], x[2:]), net.both(x), strict=True):
        np.testing.assert_allclose(block, matrix[:2, 2:], rtol=1e-12, atol=1e-14)


@battery
def test_one_kernel_alone_and_any_number_of_threads(layer, x):
    net = Network(layer)
    nngp, ntk = net.both(x, threads=2)
    assert np.array_equal(net.nngp(x, threads=1), nngp)
    assert np.array_equal(net.ntk(x), ntk)
    for wrong in (0, -1, 1.5):
        with pytest.raises(BadInput, match="threads"):
            net.nngp(x, threads=wrong)


@battery
def test_matvec_is_the_product_with_the_matrix(layer, x):
    net, v = Network(layer), np.arange(12.0).reshape(6, 2)
    np.testing.assert_allclose(net.matvec(x, v), net.ntk(x) @ v, rtol=1e-12)
    np.testing.assert_allclose(net.matvec(x, v[:, 0], "nngp"), net.nngp(x) @ v[:, 0], rtol=1e-12)


def test_results_go_where_they_are_wanted(tmp_path):
    net = Network(NETWORKS["pools"][0])
    nngp, ntk = net.both(IMAGES)
    target = np.empty_like(nngp)
    assert net.nngp(IMAGES, out=target) is target
    assert np.array_equal(target, nngp)
    net.both(IMAGES, out=(None, tmp_path / "ntk.npy"))
    assert np.array_equal(np.load(tmp_path / "ntk.npy"), ntk)


def test_single_precision_gives_single_precision():
    net = Network(NETWORKS["flat"][0])
    small = net.ntk(IMAGES.astype(np.float32))
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, net.ntk(IMAGES), rtol=2e-6)


def test_no_inputs_give_empty_matrices():
    net = Network(NETWORKS["flat"][0])
    assert net.nngp(IMAGES[:0]).shape == (0, 0)
    assert net.ntk(IMAGES[:0], IMAGES).shape == (0, 6)
    assert net.diagonals(IMAGES[:0]).nngp.shape == (0,)


def test_circular_networks_commute_with_translations():
    moved = np.roll(IMAGES, (2, 3), axis=(1, 2))
    start = (L.Conv(3, 1.4, 0.1, padding="circular"), GELU, L.Conv((2, 3), padding="circular", dilation=2), RELU)
    flat, pooled = (Network(L.Serial(*start, end, L.Dense())) for end in (L.Flatten(), L.GlobalAvgPool()))
    for kernel in (flat.nngp, flat.ntk):
        np.testing.assert_allclose(kernel(moved), kernel(IMAGES), rtol=1e-12)
    for kernel in (pooled.nngp, pooled.ntk):
        np.testing.assert_allclose(kernel(moved, IMAGES), kernel(IMAGES, IMAGES), rtol=1e-12)
    strided = Network(L.Serial(L.Conv(2, stride=2, padding="circular"), RELU, L.GlobalAvgPool()))
    even = np.roll(IMAGES[:, :, :4], (2, 2), axis=(1, 2))
    np.testing.assert_allclose(strided.nngp(even), strided.nngp(IMAGES[:, :, :4]), rtol=1e-12)


@pytest.mark.parametrize("end", [L.Flatten(), L.GlobalAvgPool()])
def test_a_convolution_of_one_position_is_a_dense_layer(end):
    one, other = (
        Network(L.Serial(first, GELU, end, L.Dense())).both(IMAGES)
        for first in (L.Conv(1, 1.3, 0.2), L.Dense(1.3, 0.2))
    )
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("join", [L.Sum(), L.Concat(), L.Product()])
def test_one_branch_is_that_branch(join):
    block = L.Serial(RELU, L.Conv(2, 1.2, 0.1))
    around = L.Serial(L.FanOut(1), L.Parallel(block), join)
    one, other = (Network(L.Serial(L.Conv(3), part, L.Conv(2), L.Flatten())).both(IMAGES) for part in (block, around))
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a, b)


def test_equal_layers_have_equal_kernels():
    blur = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    pairs = [
        (L.AvgPool((2, 1)), L.LinearMap(blur)),
        (L.SumPool((4, 5)), L.Serial(L.LinearMap(np.ones((1, 4))), L.LinearMap(np.ones((1, 5)), axis=1))),
        (L.Index(slice(1, 3)), L.LinearMap(np.eye(4)[1:3])),
        (L.Serial(), L.Identity()),
        (L.Dropout(1.0), L.Identity()),
        (L.ConvTranspose(3), L.Conv(3)),
    ]
    for one, other in pairs:
        a, b = (
            Network(L.Serial(L.Conv(3), RELU, part, L.Conv(2), RELU, L.GlobalAvgPool())).ntk(IMAGES)
            for part in (one, other)
        )
        np.testing.assert_allclose(a, b, rtol=1e-12)
    last = (Network(L.Serial(L.Conv(3), RELU, end)).ntk(IMAGES) for end in (L.GlobalSumPool(), L.GlobalAvgPool()))
    np.testing.assert_allclose(next(last), 400 * next(last), rtol=1e-12)


@pytest.mark.parametrize("name", ["relu", "elu", "hardtanh"])
def test_dense_layers_behind_flatten_are_those_of_rows(name):
    dense = (L.Dense(1.4, 0.1), L.Activation(name), L.Dense(1.2, 0.1), L.Activation(name), L.Dense(1.1, 0.1))
    flat, plain = Network(L.Serial(L.Flatten(), *dense)), Network(L.Serial(*dense))
    by_layers = Network(L.Serial(L.Identity(), L.Flatten(), *dense))
    rows = IMAGES.reshape(len(IMAGES), -1)
    for x, y in ((IMAGES, None), (IMAGES[:4], IMAGES[2:])):
        flat_y = None if y is None else y.reshape(len(y), -1)
        for found, expected, other in zip(
            flat.both(x, y), plain.both(x.reshape(len(x), -1), flat_y), by_layers.both(x, y), strict=True
        ):
            assert np.array_equal(found, expected)
            assert found == pytest.approx(other, rel=1e-11)
    assert np.array_equal(flat.diagonals(IMAGES).ntk, plain.diagonals(rows).ntk)
    assert flat.plan(IMAGES).engine == plain.plan(rows).engine
    with pytest.raises(BadInput, match="inputs of X have shape"):
        flat.nngp(IMAGES, SEQUENCES)
    with pytest.raises(BadInput, match="was made for"):
        Network(L.Serial(L.Flatten(), *dense), input_shape=(4, 5, 2)).nngp(SEQUENCES)
    with pytest.raises(BadInput, match="nodes of a graph have no order"):
        flat.nngp(some_graphs())


def test_a_recurrent_network_of_one_step_is_dense():
    once = Network(L.Serial(L.Recurrent(ERF, 1.7, 1.2, 0.3, steps=1), L.Index(-1), L.Dense()))
    dense = Network(L.Serial(L.Dense(1.2, 0.3), ERF, L.Dense()))
    for a, b in zip(once.both(SEQUENCES), dense.both(SEQUENCES[:, 0]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_graphs_do_not_depend_on_the_order_of_nodes_or_on_empty_nodes():
    x, order = some_graphs(), np.array([3, 1, 0, 2, 4])
    layer = L.Serial(
        *(L.Aggregate(), L.Dense(1.4, 0.3), RELU, L.Aggregate("mean", True), L.Dense(1.0, 0.2), L.LayerNorm("all")),
        *(ERF, L.GlobalAvgPool(), L.Dense()),
    )
    moved = L.Graphs(x.features[:, order], x.adjacency[:, order][:, :, order], x.nodes[:, order])
    filled = L.Graphs(
        np.pad(x.features, ((0, 0), (0, 2), (0, 0))),
        np.pad(x.adjacency, ((0, 0), (0, 2), (0, 2))),
        np.pad(x.nodes, ((0, 0), (0, 2))),
    )
    net = Network(layer)
    for other in (moved, filled):
        np.testing.assert_allclose(net.ntk(other), net.ntk(x), rtol=1e-12)


def test_part_of_a_network_is_trained():
    def made(first, last):
        return Network(L.Serial(L.Conv(3, trainable=first), RELU, L.GlobalAvgPool(), L.Dense(trainable=last)))

    nngp, ntk = made(True, True).both(IMAGES)
    np.testing.assert_allclose(made(False, True).ntk(IMAGES), nngp, rtol=1e-13)
    np.testing.assert_allclose(made(True, False).ntk(IMAGES), ntk - nngp, rtol=1e-12)
    assert not np.any(made(False, False).ntk(IMAGES))


@pytest.mark.parametrize("end", [L.Flatten(), L.GlobalAvgPool()])
@pytest.mark.parametrize("activation", ["relu", "gelu", "exp(-u^2)"])
def test_black_images_and_borders_have_the_limits_of_dark_ones(activation, end):
    a = L.Activation(activation)
    net = Network(L.Serial(L.Conv(3, 1.3), a, L.Conv(3), L.LayerNorm(eps=0.1), a, end, L.Dense()))
    x = IMAGES[:3].copy()
    x[0] = 0.0
    x[1, :2] = 0.0
    dark = np.where(x == 0, 1e-3 * IMAGES[:3], x)
    for black, near in zip(net.both(x), net.both(dark), strict=True):
        assert np.all(np.isfinite(black))
        np.testing.assert_allclose(black[1:, 1:], near[1:, 1:], rtol=0.01)


def test_black_images_without_bias_give_zero():
    net = Network(L.Serial(L.Conv(3), RELU, L.Conv(3), L.LayerNorm(), ERF, L.GlobalAvgPool(), L.Dense()))
    for kernel in net.both(IMAGES * np.array([0, 1, 1, 0, 1, 1]).reshape(-1, 1, 1, 1)):
        assert np.all(np.isfinite(kernel))
        assert np.max(np.abs(kernel[[0, 3]])) < 1e-15


@pytest.mark.parametrize("end", [L.Flatten(), L.GlobalAvgPool()])
def test_inputs_that_nearly_coincide_keep_their_digits(end):
    """The NTK with ReLU falls like the angle, so that angles of 1e-10 must have digits of their own."""
    net = Network(L.Serial(L.Conv(3, 1.4, 0.1), RELU, L.Conv(3, 1.4), RELU, end, L.Dense()))
    x, way = IMAGES[:1], IMAGES[1:2]
    falls = []
    for step in (1e-5, 1e-9):
        whole = net.ntk(np.concatenate([x, x + step * way]))
        falls.append((0.5 * (whole[0, 0] + whole[1, 1]) - whole[0, 1]) / step)
    assert falls[0] > 0.01
    assert falls[1] == pytest.approx(falls[0], rel=1e-3)
    assert net.ntk(x, x.copy())[0, 0] == pytest.approx(net.ntk(x)[0, 0], rel=1e-13)


TEXTS = {
    "Dense()": L.Dense(),
    "Dense(W_std=1.5, b_std=0.1, width=8, trainable=False)": L.Dense(1.5, 0.1, 8, False),
    "Conv((3, 2), stride=2, padding='valid', dilation=(1, 2))": L.Conv(
        (3, 2), stride=2, padding="valid", dilation=(1, 2)
    ),
    "ConvTranspose(3, stride=2)": L.ConvTranspose(3, stride=2),
    "AvgPool(2, stride=1, padding='same', normalize_edges=True)": L.AvgPool(2, 1, "same", normalize_edges=True),
    "SumPool((2, 1))": L.SumPool((2, 1)),
    "GlobalAvgPool()": L.GlobalAvgPool(),
    "GlobalSumPool()": L.GlobalSumPool(),
    "Flatten()": L.Flatten(),
    "Activation('gelu')": GELU,
    "Activation('elu', alpha='3/2')": L.Activation("elu", alpha=1.5),
    "LayerNorm()": L.LayerNorm(),
    "LayerNorm(axes=(0, 1), eps=0.1)": L.LayerNorm((0, 1), 0.1),
    "Dropout(0.9)": L.Dropout(0.9),
    "LinearMap(<2x3 matrix>, axis=1)": L.LinearMap(np.ones((2, 3)), 1),
    "Index(slice(None, None, None), -1)": L.Index(slice(None), -1),
    "Aggregate(how='mean', with_itself=True)": L.Aggregate("mean", True),
    "Recurrent(Activation('erf'), U_std=0.5, steps=3)": L.Recurrent(ERF, U_std=0.5, steps=3),
    "Serial(FanOut(2), Parallel(Identity(), Dense()), Sum())": L.Serial(
        L.FanOut(2), L.Parallel(L.Identity(), L.Dense()), L.Sum()
    ),
    "Concat(weights=(1.0, 2.0))": L.Concat((1.0, 2.0)),
    "Product()": L.Product(),
}


@pytest.mark.parametrize(("text", "layer"), TEXTS.items(), ids=TEXTS)
def test_layers_are_values(text, layer):
    assert repr(layer) == text
    copy = pickle.loads(pickle.dumps(layer))
    assert copy == layer
    assert hash(copy) == hash(layer)
    assert repr(copy) == text
    assert [other for other in TEXTS.values() if other == layer] == [layer]
    with pytest.raises((AttributeError, TypeError)):
        layer.W_std = layer.kernel = layer.count = layer.new = 2.0


@battery
def test_networks_are_values(layer, x):
    net = Network(layer)
    assert pickle.loads(pickle.dumps(net)) == net
    assert net == Network(layer)
    assert net != Network(layer, input_shape=x.shape[1:])
    assert repr(net) == f"Network({layer!r})"


SAME = "branches 0 and 1 come from the same weights or both from the input"


def one(*layers):
    return L.Serial(*layers)


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (one(L.Conv(3), L.Flatten(), L.GlobalAvgPool()), None, r"layer 2 of 3: GlobalAvgPool\(\).*no positions"),
        (one(L.Dense(), L.Conv(3), L.Flatten()), (4,), r"Conv\(3\).*\(inputs, channels\).*no positions"),
        (one(L.Conv((3, 3)), L.Flatten()), (5, 2), r"kernel = \(3, 3\) has 2 numbers.*1 axes"),
        (one(L.Conv(6, padding="valid"), L.Flatten()), (4, 4, 1), r"Conv\(6.*\(inputs, 4, 4, 1\)"),
        (one(L.Conv(3), L.AvgPool(5), L.Flatten()), (4, 4, 1), r"AvgPool\(5\).*\(inputs, 4, 4, channels\)"),
        (one(RELU, L.Dense()), None, r"Activation\('relu'\).*not Gaussian"),
        (one(L.Dense(), RELU, RELU), None, r"layer 2 of 3: Activation\('relu'\)"),
        (one(L.Dense(), RELU, L.LayerNorm(), L.Dense()), None, r"LayerNorm\(\) does not fit"),
        (one(L.Conv(3), L.LayerNorm((2,)), L.Flatten()), (4, 4, 1), r"no axis 2"),
        (one(L.Conv(3), RELU), (4, 4, 1), r"ends with outputs of shape \(inputs, 4, 4, channels\)"),
        (one(L.Dense(), L.FanOut(2)), None, "ends with 2 branches"),
        (one(L.Dense(), L.FanOut(2), L.Dense()), None, r"Dense\(\).*2 branches"),
        (one(L.Dense(), L.FanOut(2), L.Parallel(RELU), L.Sum()), None, "1 branches and its input 2"),
        (one(L.Dense(), L.Parallel(RELU, RELU), L.Sum()), None, "put FanOut before"),
        (one(L.Dense(), L.FanOut(2), L.Parallel(L.Identity(), RELU), L.Sum()), None, r"Sum\(\).*branch 1"),
        (
            one(L.Conv(3), L.FanOut(2), L.Parallel(L.Identity(), L.Conv(2, padding="valid")), L.Sum(), L.Flatten()),
            (4, 4, 1),
            r"\(inputs, 4, 4, channels\), \(inputs, 3, 3, channels\)",
        ),
        (
            one(L.FanOut(2), L.Parallel(L.Dense(width=2), L.Dense(width=3)), L.Sum()),
            None,
            "2 and 3 channels",
        ),
        (one(L.FanOut(2), L.Parallel(L.Dense(), L.Dense()), L.Concat((1.0,))), None, "1 weights and 2 branches"),
        (one(L.Dense(), L.FanOut(2), L.Parallel(L.Identity(), L.LayerNorm()), L.Sum()), None, SAME),
        (one(L.Dense(), L.FanOut(2), L.Parallel(L.Identity(), residual(RELU, L.Dense())), L.Sum()), None, SAME),
        (one(L.Dense(), L.FanOut(2), L.Parallel(L.Identity(), RELU), L.Product()), None, SAME),
        (one(L.FanOut(2), L.Parallel(L.Flatten(), L.Flatten()), L.Product(), L.Dense()), (4, 2), SAME),
        (one(L.Conv(3), RELU, L.Dense()), None, r"ends with outputs of shape \(inputs, positions, channels\)"),
        (one(L.AvgPool(2), L.Dense(), RELU, L.Dense()), None, "one for every position"),
        (one(L.FanOut(2), L.Parallel(L.Conv(3), one(L.Flatten(), L.Dense())), L.Sum(), RELU, L.Dense()), None, "Sum"),
        (one(L.LinearMap(np.eye(3)), L.Flatten()), (4, 2), r"<3x3 matrix>.*\(inputs, 4, 2\).*3 positions"),
        (one(L.Index(7), L.Dense()), (4, 2), r"position 7.*\(inputs, 4, 2\)"),
        (one(L.Index(0, 0), L.Dense()), (4, 2), r"2 numbers.*\(inputs, 4, 2\)"),
        (one(L.Index(slice(2, 2)), L.Flatten()), (4, 2), "keeps nothing"),
        (one(L.Recurrent(RELU), L.Flatten()), (4, 4, 1), r"sequence has one axis"),
        (one(L.Recurrent(RELU, steps=9), L.Flatten()), (4, 1), r"4 steps and 9"),
        (one(L.Aggregate(), L.GlobalSumPool()), (4, 4, 1), r"Aggregate\(\).*one axis"),
    ],
)
def test_a_wrong_composition_is_refused_when_the_network_is_built(layer, shape, message):
    with pytest.raises(BadInput, match=message):
        Network(layer, input_shape=shape)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: L.Serial("relu"), r"write Activation\('relu'\)"),
        (lambda: L.Dense(-1.0), "W_std = -1.0"),
        (lambda: L.Dense(width=0), "width = 0"),
        (lambda: L.Conv(0), "kernel = 0"),
        (lambda: L.Conv(3, padding="reflect"), "same, valid, circular"),
        (lambda: L.AvgPool(2, stride=0), "stride = 0"),
        (lambda: L.Dropout(0.0), "rate = 0.0"),
        (lambda: L.LayerNorm(1), "axes = 1"),
        (lambda: L.FanOut(0), r"FanOut\(0\)"),
        (L.Index, "Index"),
        (lambda: L.LinearMap([1.0, 2.0]), r"shape \(2,\)"),
        (lambda: L.Aggregate("max"), "'sum' or 'mean'"),
        (lambda: L.Recurrent("relu"), r"write Activation\('relu'\)"),
        (lambda: L.Concat((1.0, -1.0)), "positive"),
        (lambda: L.Graphs.of([np.ones((2, 1))], [np.eye(3)]), r"graph 0.*\(2, 1\).*\(3, 3\)"),
        (lambda: L.Graphs.of([], []), "0 arrays"),
        (lambda: Network(L.Dense(), depth=2), "layers have weights"),
        (lambda: Network(L.Dense(), parameterization="mup"), "'ntk' or 'standard'"),
    ],
)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_wrong_data_are_refused():
    net = Network(L.Serial(L.Conv(3), RELU, L.Flatten()), input_shape=(4, 5, 2))
    with pytest.raises(BadInput, match=r"\(3, 5, 2\).*\(4, 5, 2\)"):
        net.nngp(IMAGES[:, :3])
    with pytest.raises(BadInput, match=r"\(4, 5, 2\).*\(4, 4, 2\)"):
        net.nngp(IMAGES, IMAGES[:, :, :4])
    broken = IMAGES.copy()
    broken[1, 2, 0, 1] = np.nan
    with pytest.raises(BadInput, match=r"X\[1, 2, 0, 1\] = nan"):
        net.nngp(broken)
    with pytest.raises(BadInput, match="Graphs"):
        Network(L.Serial(L.Aggregate(), L.GlobalSumPool())).nngp(SEQUENCES)
    jumps = Network(L.Serial(L.Conv(3), L.Activation("Heaviside(u)"), L.Flatten(), L.Dense()))
    assert np.isinf(jumps.diagonals(IMAGES).ntk).all()
    with pytest.raises(Unsupported, match="jumps"):
        jumps.ntk(IMAGES)


LAYERS = st.one_of(
    st.builds(
        lambda kernel, W, b, stride, padding, a: (L.Conv(kernel, W, b, stride, padding), a),
        *(st.integers(1, 3), st.floats(0.5, 2.0), st.one_of(st.none(), st.floats(0.0, 1.0))),
        *(st.integers(1, 2), st.sampled_from(["same", "circular"]), st.sampled_from([RELU, ERF])),
    ),
    st.builds(lambda size, stride: (L.AvgPool(size, stride, "same"),), st.integers(1, 3), st.integers(1, 2)),
    st.builds(lambda kernel: (L.Conv(1), residual(RELU, L.Conv(kernel))), st.integers(1, 3)),
    st.just((L.Conv(2), L.LayerNorm(), RELU)),
    st.just((L.FanOut(2), L.Parallel(L.Conv(2), L.Conv(1)), L.Product())),
)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(LAYERS, min_size=1, max_size=3), st.sampled_from([L.Flatten(), L.GlobalAvgPool()]))
def test_any_composition_obeys_the_laws(groups, end):
    check_laws(Network(L.Serial(*(layer for group in groups for layer in group), end, L.Dense())), SEQUENCES)


@pytest.mark.parametrize(("name", "spread"), [("elu", 1.0), ("elu", 6.0), ("tanh", 1.0), ("silu", 1.0), ("sign", 1.0)])
def test_activations_without_a_closed_form_have_the_values_of_the_dual(name, spread):
    # Two channels: all angles, one pair that nearly coincides and one that is nearly opposite; c from small to large.
    theta = np.array([0.0, 1e-7, 0.3, 0.9, 1.6, 2.4, np.pi - 1e-6])
    c = np.exp(spread * np.linspace(-1, 0.5, len(theta)))
    x = (c[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1))[:, None, :] * np.sqrt(2)
    net = Network(L.Serial(L.Conv(1), L.Activation(name), L.Flatten()))
    i, j = np.triu_indices(len(theta), 1)
    exact = dual(name, c[i], c[j], theta=np.abs(theta[i] - theta[j]), method="quadrature")
    own = np.sqrt(dual(name, c, c, theta=np.zeros_like(c)).k)
    np.testing.assert_allclose(net.nngp(x)[i, j] / (own[i] * own[j]), exact.k / (own[i] * own[j]), atol=1e-12)
    if name != "sign":
        slopes = net.ntk(x)[i, j]
        inner = c[i] * c[j] * np.cos(theta[i] - theta[j])
        np.testing.assert_allclose(slopes, inner * exact.kdot, rtol=1e-11, atol=1e-12)
