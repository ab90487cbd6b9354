"""Whole networks as one expansion: parts, sides, depths and scopes."""

import numpy as np
import pytest

from holokern.network import Network
from holokern.network.whole import Scope, boxes_of, scale_free
from holokern.network.whole_samples import Track, samples

X = np.random.default_rng(0).standard_normal((300, 24)) / 5


def specs(name, depth=2, **options):
    return Network(name, depth, **options).layers_spec


@pytest.mark.parametrize("name", ["relu", "gelu", "tanh", "elu", "hardtanh"])
def test_parts_have_the_bits_of_the_whole(name):
    net = Network(name, 3, bias=0.0 if name == "relu" else 0.2)
    whole = net.both(X)
    among = net.among(X)
    rng = np.random.default_rng(1)
    for size in (1, 2, 37, 130):
        rows, columns = (rng.choice(len(X), size, replace=False) for _ in range(2))
        part = net.part(X[rows], X[columns], among, (True, True))
        own = net.part(X[rows], None, among, (False, True))
        for matrix, one in zip(whole, part, strict=True):
            apart = rows[:, None] != columns
            assert np.array_equal(one[apart], matrix[np.ix_(rows, columns)][apart])
        assert np.array_equal(own[1], whole[1][np.ix_(rows, rows)])


def test_kernels_of_two_sets_are_transposed_when_they_change_places():
    net = Network("gelu", 2)
    assert np.array_equal(net.ntk(X[:160], X[150:]), net.ntk(X[150:], X[:160]).T)


def test_one_kernel_or_both_are_the_same():
    net = Network("silu", 3)
    nngp, ntk = net.both(X)
    assert np.array_equal(net.nngp(X), nngp)
    assert np.array_equal(net.ntk(X), ntk)


def test_threads_do_not_change_bits():
    net = Network("erf", 2, bias=0.1)
    assert np.array_equal(net.ntk(X, threads=1), net.ntk(X, threads=3))


@pytest.mark.parametrize(
    ("layers", "free"),
    [
        (specs("relu"), True),
        (specs("relu", bias=0.1), False),
        (specs("squared_relu"), True),
        (specs("squared_relu", residual=True), False),
        (specs("relu", residual=True), True),
        (specs(["relu", "abs"]), True),
        (specs(["relu", "gelu"]), False),
    ],
)
def test_scale_free_networks(layers, free):
    assert scale_free(layers) is free
    if free:
        boxes = boxes_of(layers, Scope.around(0.1, 10.0))
        assert boxes.panels == 1
        assert all(tensor.shape[:2] == (1, 1) for pair in boxes.tensors.values() for tensor in pair)


def test_kinks_leave_out_small_angles_only():
    wide, narrow = Scope.around(0.8, 1.2), Scope.around(1.0, 1.0)
    assert {t for _, _, t in boxes_of(specs("elu", 1), wide).tensors} == {0, 1, 2, 3, 4}
    assert {t for _, _, t in boxes_of(specs("elu"), wide).tensors} == {1, 2, 3, 4}
    assert {t for _, _, t in boxes_of(specs("elu"), narrow).tensors} == {0, 1, 2, 3, 4}
    assert {t for _, _, t in boxes_of(specs("relu6"), wide).tensors} == {1, 2, 3}


def test_scopes_are_a_little_wider_than_the_data():
    scope = Scope.around(0.97, 1.31)
    assert scope.low < 0.97
    assert scope.high > 1.31
    assert Scope.around(0.98, 1.30) == scope
    assert Scope.around(1.1, 1.1) == Scope(1.1, 1.1)


@pytest.mark.parametrize("residual", [False, True])
def test_samples_are_symmetric_and_one_on_the_diagonal(residual):
    layers = specs(["tanh", "gelu"], bias=0.3, residual=residual)
    track = Track.of(layers, np.array([0.5, 1.0, 2.0]))
    theta = np.broadcast_to([0.0, 1.0, 3.0], (3, 3, 3)).copy()
    for values in samples(layers, track, track, theta):
        assert np.allclose(values, values.transpose(1, 0, 2), rtol=0, atol=1e-13)
        assert np.allclose(np.diagonal(values[:, :, 0]), 1.0, rtol=0, atol=1e-13)


def test_deep_networks_need_no_more_than_shallow_ones():
    deep = Network("relu", 50)
    angles = np.linspace(0.0, np.pi, 200)
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rho, slope = np.cos(angles), np.cos(angles)
    for _ in range(50):
        theta = np.arccos(np.clip(rho, -1, 1))
        rho = (np.sqrt(np.maximum(1 - rho**2, 0)) + (np.pi - theta) * rho) / np.pi
        slope = slope * (np.pi - theta) / np.pi + rho
    nngp, ntk = deep.both(x)
    assert np.max(np.abs(nngp[0] - rho)) < 1e-12
    # The recursion itself loses half the digits of small angles in arccos.
    assert np.max(np.abs(ntk[0, 5:] - slope[5:])) < 1e-10 * 51


def test_negligible_expansions_are_zero():
    """Far panels of a sine hold nothing that counts: E[sin u sin v] is at most exp(-(c1 - c2)²/2) there."""
    directions = np.linspace(0.1, 1.5, 150)
    points = np.stack([np.cos(directions), np.sin(directions)], axis=1)
    net = Network("sin", 1, weight_variance=2.0)
    found = net.nngp(points * 1.5, points * 12.0)
    u, v = (scale * points for scale in (1.5, 12.0))
    norms = [np.sum(x * x, axis=1) for x in (u, v)]
    exact = 2.0 * np.exp(-(norms[0][:, None] + norms[1]) / 2) * np.sinh(u @ v.T)
    assert np.max(np.abs(found - exact)) < 1e-13


def test_machine_code_is_compiled_once():
    """Other memory layouts would compile it again, which takes seconds."""
    from holokern.network.whole_tiles import strip

    for name, bias, y in (("relu", 0.0, None), ("gelu", 0.0, X[:100]), ("tanh", 0.1, None), ("step", 0.0, None)):
        Network(name, 2, bias=bias).nngp(X, y)
    assert len(strip.nopython_signatures) == 1
