"""The array formulas, on numpy arrays, against the tiles."""

import numpy as np
import pytest

from holokern.errors import BadInput, Unsupported
from holokern.network import Network


def relative(got, want):
    scale = np.sqrt(np.outer(np.diag(want), np.diag(want)))
    return np.max(np.abs(got - want) / np.where(scale > 0, scale, 1.0))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("relu", {}),
        ("relu", {"bias": 0.3, "residual": True}),
        ("gelu", {"bias": 0.3}),
        ("gelu", {"residual": True, "weight_variance": 1.2}),
        ("erf", {}),
        ("cos", {}),
    ],
)
def test_formulas_agree_with_tiles(name, options, delicate_points):
    net = Network(name, 2, **options)
    kernel = net.compile(0.89, 1.11)
    for got, want in zip(kernel.both(delicate_points), net.both(delicate_points), strict=True):
        assert np.array_equal(got, got.T)
        assert relative(got, want) < 2e-12
    for got, want in zip(kernel.both(delicate_points, delicate_points[:4]), net.both(delicate_points), strict=True):
        assert np.max(np.abs(got - want[:, :4])) < 1e-11
    mine, theirs = kernel.diagonals(delicate_points), net.diagonals(delicate_points)
    assert np.allclose(mine.nngp, theirs.nngp, rtol=1e-12)
    assert np.allclose(mine.ntk, theirs.ntk, rtol=1e-12)


def test_layers_of_several_activations(delicate_points):
    net = Network(["gelu", "relu", "relu", "erf"])
    assert relative(net.compile(0.9, 1.11).ntk(delicate_points), net.ntk(delicate_points)) < 3e-12


def test_activations_that_are_not_zero_at_zero(delicate_points):
    net = Network("sigmoid", 2)
    for got, want in zip(net.compile(0.9, 1.11).both(delicate_points), net.both(delicate_points), strict=True):
        assert relative(got, want) < 2e-12


def test_jumps(delicate_points):
    net = Network("step", 1)
    kernel = net.compile(0.9, 1.2)
    assert np.max(np.abs(kernel.nngp(delicate_points) - net.nngp(delicate_points))) < 1e-12
    assert np.all(np.isinf(kernel.diagonals(delicate_points).ntk))
    with pytest.raises(Unsupported, match="jumps"):
        kernel.ntk(delicate_points)


def test_close_points_keep_their_digits():
    """Without |u - v| from exact products of heads the angle 1e-9 would drown in rounding."""
    x = np.random.default_rng(3).standard_normal((4, 50))
    x = np.concatenate([x, x + 1e-9 * np.random.default_rng(4).standard_normal((4, 50)), -x])
    net = Network("relu", 3)
    assert relative(net.compile(1.0, 1.0).ntk(x), net.ntk(x)) < 1e-11


def test_entries_outside_the_range_are_nan(delicate_points):
    matrix = Network("erf", 1).compile(0.95, 1.05).nngp(delicate_points)
    norms = np.linalg.norm(delicate_points, axis=1)
    inside = (norms == 0) | ((norms >= 0.95) & (norms <= 1.05))
    assert 0 < np.sum(inside) < len(norms)
    assert np.array_equal(np.isfinite(matrix), np.outer(inside, inside))


@pytest.mark.parametrize("ends", [(0.0, 1.0), (2.0, 1.0), (1.0, np.inf), (-1.0, 1.0), (np.nan, 1.0)])
def test_bad_ranges(ends):
    with pytest.raises(BadInput, match="range of norms"):
        Network("relu", 1).compile(*ends)


def test_bad_arrays():
    kernel = Network("relu", 1).compile(1.0, 1.0)
    for wrong in (np.ones(3), np.ones((2, 2), dtype=complex)):
        with pytest.raises(BadInput):
            kernel.ntk(wrong)
    with pytest.raises(BadInput, match="columns"):
        kernel.ntk(np.ones((2, 2)), np.ones((2, 3)))


def test_breaks_away_from_zero_are_refused_with_a_way_out():
    with pytest.raises(Unsupported, match="traced or differentiated"):
        Network("hardtanh", 1).compile(0.9, 1.1).ntk(np.eye(2))
