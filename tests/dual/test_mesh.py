"""Chebyshev points and panels on the line: exact on polynomials, symmetric, refined where a function asks for it."""

import numpy as np
import pytest

from holokern.dual.sampling.mesh import NODES, Mesh, panel_of
from holokern.errors import PrecisionLost
from holokern.numeric.chebyshev import chebyshev_basis, chebyshev_matrix, chebyshev_nodes, left_singular


def test_chebyshev_matrix_inverts_evaluation():
    coefficients = np.random.default_rng(0).standard_normal(12)
    values = np.polynomial.chebyshev.chebval(chebyshev_nodes(12), coefficients)
    assert np.allclose(chebyshev_matrix(12) @ values, coefficients, rtol=0, atol=1e-14)


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_chebyshev_nodes_are_mirror_images_to_the_bit(count):
    nodes = chebyshev_nodes(count)
    assert np.array_equal(nodes, -nodes[::-1])
    assert np.all(np.diff(nodes) > 0)


def test_chebyshev_polynomials_stay_on_the_interval():
    """A place that rounding has put outside counts as the end."""
    assert np.array_equal(chebyshev_basis(np.array([1.0 + 1e-12]), 5), np.ones((1, 5)))


def test_left_singular_vectors_span_the_columns():
    random = np.random.default_rng(1)
    wide = random.standard_normal((6, 2)) @ random.standard_normal((2, 300))
    left, sizes = left_singular(wide)
    assert np.sum(sizes > 1e-13 * sizes[0]) == 2
    assert np.allclose(left[:, :2] @ (left[:, :2].T @ wide), wide, rtol=0, atol=1e-12)


MESH = Mesh(np.linspace(0.0, 9.0, 19))


def test_masses_integrate_against_the_normal_law():
    x, mass = MESH.nodes, MESH.masses
    assert np.all(np.diff(x) > 0)
    for power, moment in ((0, 1), (1, 0), (2, 1), (3, 0), (4, 3)):
        assert np.sum(x**power * mass) == pytest.approx(moment, rel=1e-14, abs=1e-14)


def test_values_between_the_nodes():
    x = np.sort(np.random.default_rng(2).uniform(-9, 9, 200))
    rows = np.stack([MESH.nodes ** (NODES - 1) / 1e14, np.cos(MESH.nodes), np.abs(MESH.nodes)])
    exact = np.stack([x ** (NODES - 1) / 1e14, np.cos(x), np.abs(x)])
    assert np.allclose(MESH.values_at(rows, x), exact, rtol=1e-12, atol=2e-14)


def test_every_point_has_a_panel():
    edges = MESH.all_edges
    assert panel_of(edges, np.array([-100.0, -9.0, 0.0, 9.0, 100.0])).tolist() == [0, 0, 18, 35, 35]
    assert len(edges) == 37


def test_splitting_keeps_the_edges():
    fine = MESH.split(0.3)
    assert set(MESH.edges) <= set(fine.edges)
    assert np.max(np.diff(fine.edges)) <= 0.3
    assert np.array_equal(MESH.split(1.0).edges, MESH.edges)


def resolving(function, most=4000, tolerance=1e-14):
    return Mesh.resolving([function], 9.0, tolerance, most, "a function")


def test_panels_are_small_where_a_function_is_steep():
    mesh = resolving(lambda x, _: np.tanh(20 * x)[None])
    widths = np.diff(mesh.edges)
    assert widths[0] < 0.1
    assert widths[-1] == 0.5
    x = np.linspace(-2, 2, 999)
    assert np.max(np.abs(mesh.values_at(np.tanh(20 * mesh.nodes)[None], x)[0] - np.tanh(20 * x))) < 1e-12


def test_a_break_at_zero_needs_no_small_panels():
    assert np.min(np.diff(resolving(lambda x, _: np.maximum(x, 0.0)[None]).edges)) == 0.5


def test_functions_too_rough_for_a_mesh():
    with pytest.raises(PrecisionLost, match="a function is too rough for 1000 nodes"):
        resolving(lambda x, _: np.sin(500 * x)[None], most=1000)


def test_meshes_made_together_are_those_made_alone():
    steepness = np.array([1.0, 40.0, 3.0])

    def made(which):
        return Mesh.each_resolving(
            [lambda x, owner: np.tanh(steepness[which][owner, None] * x)[None]], np.full(len(which), 9.0), 1e-14, 800
        )

    together = made([0, 1, 2])
    assert together[1] is None  # it needs more nodes, which costs the others nothing
    for index in (0, 2):
        assert np.array_equal(together[index].edges, made([index])[0].edges)
