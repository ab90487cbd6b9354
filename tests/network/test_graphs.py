"""Graphs as inputs: filled up to one size, which no kernel may see."""

import numpy as np
import pytest

import holokern as hk
from holokern import layers as L


def some_graphs():
    rng = np.random.default_rng(2)
    sizes = (3, 5, 4)
    adjacency = []
    for size in sizes:
        upper = np.triu(rng.random((size, size)) < 0.5, 1).astype(float)
        adjacency.append(upper + upper.T)
    return [rng.normal(size=(size, 2)) for size in sizes], adjacency


def gntk(pool):
    block = (L.Aggregate(with_itself=True), L.Dense(1.4, 0.1), L.Activation("relu"))
    return hk.Network(L.Serial(*block, *block, pool, L.Dense()))


@pytest.mark.parametrize("pool", [L.GlobalSumPool(), L.GlobalAvgPool()], ids=["sum", "mean"])
def test_sides_with_graphs_of_different_sizes(pool):
    features, adjacency = some_graphs()
    net = gntk(pool)
    whole = net.ntk(L.Graphs.of(features, adjacency))
    part = net.ntk(L.Graphs.of(features[:1], adjacency[:1]), L.Graphs.of(features[1:], adjacency[1:]))
    assert whole[:1, 1:] == pytest.approx(part, rel=1e-13)
    assert np.linalg.eigvalsh(whole).min() > -1e-12


@pytest.mark.parametrize("layer", [L.Flatten(), L.Index(0), L.Conv(3)], ids=repr)
def test_layers_that_see_the_filling_are_refused(layer):
    features, adjacency = some_graphs()
    last = (L.GlobalSumPool(),) if layer == L.Conv(3) else ()
    net = hk.Network(L.Serial(L.Dense(), L.Activation("relu"), layer, L.Dense(), *last))
    with pytest.raises(hk.errors.BadInput, match="graph"):
        net.nngp(L.Graphs.of(features, adjacency))


def test_aggregate_needs_graphs():
    with pytest.raises(hk.errors.BadInput, match="neighbour"):
        gntk(L.GlobalSumPool()).nngp(np.ones((2, 3, 2)))


@pytest.mark.parametrize("name", ["relu", "gelu", "cos"])
def test_black_images_have_the_limit_of_small_ones(name):
    net = hk.Network(L.Serial(L.Conv(3), L.Activation(name), L.Flatten(), L.Dense()))
    black, dark = np.zeros((2, 4, 4, 1)), np.full((2, 4, 4, 1), 1e-9)
    assert net.nngp(black) == pytest.approx(net.nngp(dark), abs=1e-15)
