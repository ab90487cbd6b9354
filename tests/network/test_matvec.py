"""Products with kernels that are never stored."""

import numpy as np
import pytest

from holokern import progress
from holokern.errors import BadInput
from holokern.network import KernelProduct, Network
from holokern.network import layers as L

X = np.random.default_rng(0).standard_normal((150, 5)) * np.geomspace(0.7, 1.4, 150)[::-1, None]
SPREAD = np.random.default_rng(3).standard_normal((700, 5)) * np.geomspace(0.5, 3.0, 700)[:, None]
V = np.random.default_rng(1).standard_normal((150, 3))


@pytest.mark.parametrize("width", [64, 72, 8192])
@pytest.mark.parametrize("kernel", ["ntk", "nngp"])
def test_strips_multiply_like_the_matrix(kernel, width, monkeypatch):
    monkeypatch.setattr("holokern.network.tiled_product._WIDTH", width)
    net = Network("relu", 2, bias=0.1)
    matrix = getattr(net, kernel)(X)
    got = net.matvec(X, V, kernel)
    assert np.max(np.abs(got - matrix @ V)) < 1e-13 * np.max(np.abs(matrix)) * np.sum(np.abs(V))


@pytest.mark.parametrize("tile", [1000, 5])
def test_tiles_of_layers_multiply_like_the_matrix(tile):
    net = Network(L.Serial(L.Conv(3), L.Activation("relu"), L.Flatten(), L.Dense()))
    x = np.random.default_rng(2).standard_normal((12, 6, 2))
    got = KernelProduct(net, x, "ntk", tile).times(V[:12])
    np.testing.assert_allclose(got, net.ntk(x) @ V[:12], atol=1e-12)


@pytest.mark.parametrize(
    ("activation", "bias"),
    [
        ("relu", 0.0),
        ("relu", 0.1),
        ("gelu", 0.1),
        ("tanh", 0.0),
        ("abs", 0.0),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (("gelu", 0.0), ("tanh", 0.1), ("abs", 0.1))),
    ],
)
def test_single_precision_is_what_it_says(activation, bias):
    """Small angles and copies of points too; a second product takes what the first one kept."""
    net = Network(activation, 3, bias=bias)
    x = np.concatenate([SPREAD, SPREAD[:40] + 1e-3, -SPREAD[:40], SPREAD[:7]])
    v = np.random.default_rng(1).standard_normal((len(x), 2))
    matrix = net.ntk(x)
    product = KernelProduct(net, x)
    for _ in range(2):
        error = np.abs(product.times(v, single=True) - matrix @ v)
        assert np.max(error) < 1e-6 * np.max(np.abs(matrix)) * np.linalg.norm(v)
    assert np.array_equal(product.times(v), net.matvec(x, v))


def test_zero_vectors_in_single_precision():
    x = np.concatenate([np.zeros((3, 5)), SPREAD])
    v = np.ones(len(x))
    for bias in (0.0, 0.5):
        net = Network("relu", 2, bias=bias)
        np.testing.assert_allclose(KernelProduct(net, x).times(v, single=True), net.ntk(x) @ v, rtol=1e-6)


def test_vectors_keep_their_shape():
    net = Network("relu", 1)
    assert np.allclose(net.matvec(X, V[:, 0]), net.matvec(X, V)[:, 0], rtol=1e-12)
    assert net.matvec(X, V[:, :0]).shape == (150, 0)
    assert net.matvec(X[:0], V[:0]).shape == (0, 3)
    assert np.allclose(net.matvec(np.zeros((2, 3)), np.ones(2)), 0.0)


def test_progress_is_told():
    seen = []
    with progress.listen(lambda *what: seen.append(what)):
        Network("relu", 1).matvec(SPREAD, np.ones(700))
    assert [what for what in seen if what[0] == "kernel rows"] == [("kernel rows", 512, 700)]


@pytest.mark.parametrize(("v", "kernel"), [(V[:4], "ntk"), (V[None], "ntk"), (V, "nntk")])
def test_bad_input(v, kernel):
    with pytest.raises(BadInput):
        Network("relu", 1).matvec(X, v, kernel)
