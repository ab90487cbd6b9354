"""Kernels of dask arrays: lazy, blockwise, and the same on two workers."""

import numpy as np
import pytest

from holokern.errors import BadInput, Unsupported
from holokern.network import Network

da = pytest.importorskip("dask.array")

X = np.random.default_rng(0).standard_normal((130, 5))
NET = Network("relu", 2, bias=0.1)


def close(got, want):
    """The engine drops terms below 1e-14 tile by tile, and blocks have other tiles: up to 4e-14 was measured."""
    scale = np.sqrt(np.outer(np.diag(want), np.diag(want)))
    return np.max(np.abs(got - want) / scale) < 1e-13


def test_blocks_make_the_matrix():
    lazy = NET.ntk(da.from_array(X, chunks=(50, 2)))
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == ((50, 50, 30), (50, 50, 30))
    got = lazy.compute(scheduler="synchronous")
    assert close(got, NET.ntk(X))
    assert np.array_equal(got, got.T)
    sigma, tangent = NET.both(da.from_array(X, chunks=(50, 5)))
    assert close(sigma.compute(scheduler="threads"), NET.nngp(X))
    assert np.array_equal(tangent.compute(scheduler="threads"), got)


def test_blocks_of_whole_tiles_give_the_same_bits():
    """Chunks of 128 rows cut a matrix where its tiles end, as long as the points are not sorted."""
    x = np.random.default_rng(1).standard_normal((300, 5))
    net = Network("relu", 2)
    got = net.ntk(da.from_array(x, chunks=(128, 5))).compute(scheduler="synchronous")
    assert np.array_equal(got, net.ntk(x))


def test_two_sets_diagonals_and_types():
    x = da.from_array(X.astype(np.float32), chunks=(60, 5))
    cross = NET.nngp(x, X[:40])
    assert cross.shape == (130, 40)
    assert np.max(np.abs(cross.compute() - NET.nngp(X, X[:40]))) < 1e-5
    assert NET.ntk(x).dtype == np.float32
    assert NET.ntk(x).compute().dtype == np.float32
    found = NET.diagonals(da.from_array(X, chunks=(60, 5)))
    assert np.array_equal(found.ntk.compute(), NET.diagonals(X).ntk)


def test_only_blocks_above_the_diagonal_are_computed(monkeypatch):
    import holokern.network.arrays.dask as module

    seen = []
    original = module._block
    monkeypatch.setattr(module, "_block", lambda *given: seen.append(given[4]) or original(*given))
    matrix = NET.nngp(da.from_array(X, chunks=(50, 5)))
    assert seen == []
    matrix.compute(scheduler="synchronous")
    assert len(seen) == 6
    assert sum(other is None for other in seen) == 3


def test_tall_chunks_are_cut():
    lazy = NET.ntk(da.zeros((10000, 3), chunks=(10000, 3)))
    assert max(lazy.chunks[0]) <= 4096


def test_bad_input():
    x = da.from_array(X)
    unknown = x[x[:, 0] > 0]
    for wrong in (x[:, 0], x.astype(complex), unknown):
        with pytest.raises(BadInput):
            NET.ntk(wrong)
    with pytest.raises(BadInput, match="columns"):
        NET.ntk(x, X[:, :2])
    with pytest.raises(Unsupported, match="jumps"):
        Network("step", 1).ntk(x)


def test_two_workers():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        x = da.from_array(X, chunks=(33, 5))
        assert len(client.scheduler_info()["workers"]) == 2
        got = NET.ntk(x).compute()
        assert close(got, NET.ntk(X))
        assert np.array_equal(got, NET.ntk(x).compute(scheduler="synchronous"))
