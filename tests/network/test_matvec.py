"""Products with kernels that are never stored."""

import numpy as np
import pytest

from holokern import progress
from holokern.errors import BadInput
from holokern.network import Network
from holokern.network.tiled_product import matvec

X = np.random.default_rng(0).standard_normal((150, 5)) * np.geomspace(0.7, 1.4, 150)[::-1, None]
V = np.random.default_rng(1).standard_normal((150, 3))


@pytest.mark.parametrize("tile", [1000, 64, 50, 149])
@pytest.mark.parametrize("kernel", ["ntk", "nngp"])
def test_tiles_multiply_like_the_matrix(kernel, tile):
    net = Network("relu", 2, bias=0.1)
    want = getattr(net, kernel)(X) @ V
    got = matvec(net, X, V, kernel, tile=tile)
    assert np.max(np.abs(got - want)) < 1e-13 * np.max(np.abs(getattr(net, kernel)(X))) * np.sum(np.abs(V))


def test_vectors_keep_their_shape():
    net = Network("relu", 1)
    assert np.allclose(net.matvec(X, V[:, 0]), net.matvec(X, V)[:, 0], rtol=1e-12)
    assert net.matvec(X, V[:, :0]).shape == (150, 0)
    assert net.matvec(X[:0], V[:0]).shape == (0, 3)
    assert np.allclose(net.matvec(np.zeros((2, 3)), np.ones(2)), 0.0)


def test_progress_is_told():
    seen = []
    with progress.listen(lambda *what: seen.append(what)):
        matvec(Network("relu", 1), X, V, tile=75)
    assert [what for what in seen if what[0] == "kernel tiles"] == [("kernel tiles", n, 3) for n in (1, 2, 3)]


@pytest.mark.parametrize(("v", "kernel"), [(V[:4], "ntk"), (V[None], "ntk"), (V, "nntk")])
def test_bad_input(v, kernel):
    with pytest.raises(BadInput):
        Network("relu", 1).matvec(X, v, kernel)
