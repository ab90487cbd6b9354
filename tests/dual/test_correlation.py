"""Correlations of functions of normal variables: closed forms, and two ways that share no code."""

import numpy as np
import pytest
from scipy.special import erf

from holokern.dual.sampling.correlation import Correlation
from holokern.dual.sampling.mehler import HermiteRows, coefficients_on_mesh, terms_needed
from holokern.dual.sampling.mesh import Mesh

MESH = Mesh(np.linspace(0.0, 9.0, 19))
ANGLES = [1e-6, 1e-3, 0.02, 0.1, 0.19, 0.21, 0.5, 1.0, np.pi / 2]


def pair(function, kinks=True):
    return Correlation(MESH, function(MESH.nodes)[None, None], kinks)


def relu(theta):
    return (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi)


@pytest.mark.parametrize("theta", ANGLES)
def test_closed_forms_at_an_angle_and_its_supplement(theta):
    """ReLU and its derivative [ChoSaul2009], the sign [Price1958], and polynomials by orthogonality."""
    cases = [
        (lambda x: np.maximum(x, 0.0), relu),
        (lambda x: (x > 0).astype(float), lambda t: (np.pi - t) / (2 * np.pi)),
        (np.sign, lambda t: 1 - 2 * t / np.pi),
        (lambda x: x * x - 1, lambda t: 2 * np.cos(t) ** 2),
        (lambda x: x, np.cos),
    ]
    for function, exact in cases:
        for found, angle in zip(pair(function).at(theta), (theta, np.pi - theta), strict=True):
            assert found[0, 0, 0] == pytest.approx(exact(angle), rel=0, abs=3e-15)


@pytest.mark.parametrize("theta", ANGLES)
def test_several_functions_at_once(theta):
    """E[erf(c1 x) erf(c2 y)] = 2/π arcsin(2 c1 c2 cos θ / ((1 + 2 c1²)(1 + 2 c2²))^(1/2))."""
    c = np.array([0.3, 1.0, 1.7])
    same, opposite = Correlation(MESH, erf(np.multiply.outer(c, MESH.nodes))[None], False).at(theta)
    scale = np.sqrt(1 + 2 * c**2)
    exact = 2 / np.pi * np.arcsin(2 * np.multiply.outer(c, c) * np.cos(theta) / np.multiply.outer(scale, scale))
    assert np.allclose(same[0], exact, rtol=0, atol=3e-15)
    assert np.allclose(opposite[0], -exact, rtol=0, atol=3e-15)


def exact_erf(c, theta):
    """E[erf(c1 x) erf(c2 y)] and c1 c2 E[erf'(c1 x) erf'(c2 y)], its derivative in cos θ."""
    product, scale = 2 * np.multiply.outer(c, c), np.sqrt(np.multiply.outer(1 + 2 * c**2, 1 + 2 * c**2))
    # 1 - (2 c1 c2 cos θ / scale)², without a difference of nearly equal numbers
    left = (1 + 2 * np.add.outer(c**2, c**2) + (product * np.sin(theta)) ** 2) / scale**2
    k = 2 / np.pi * np.arctan2(product * np.cos(theta) / scale, np.sqrt(left))
    return k, 2 / np.pi * product / scale / np.sqrt(left)


@pytest.mark.parametrize("theta", [1e-8, 1e-5, 3e-4, 2e-3, 0.01, 0.04, 0.1, 0.3, 1.2])
def test_functions_that_are_narrow_at_zero(theta):
    """Deviations up to a million on one mesh: wide panels take a rule of few nodes, narrow ones the density."""
    mesh = Mesh(
        np.concatenate([[0.0], np.outer(0.5 ** np.arange(23, 1, -1), [1, 1.5]).ravel(), np.arange(0.5, 9.25, 0.25)])
    )
    c = np.array([0.1, 3.0, 1e3, 1e6])
    slopes = 2 / np.sqrt(np.pi) * c[:, None] * np.exp(-(np.multiply.outer(c, mesh.nodes) ** 2))
    sizes = np.sqrt(np.diagonal(exact_erf(c, 0.0)[1]))
    values = np.stack([erf(np.multiply.outer(c, mesh.nodes)), slopes / sizes[:, None]])
    exact = exact_erf(c, theta)
    for kinks in (False, True):
        same, opposite = Correlation(mesh, values, kinks).at(theta)
        assert np.allclose(same[0], exact[0], rtol=0, atol=3e-15)
        assert np.allclose(opposite[0], -exact[0], rtol=0, atol=3e-15)
        for found in (same[1], opposite[1]):
            assert np.allclose(found, exact[1] / np.multiply.outer(sizes, sizes), rtol=0, atol=3e-15)


def test_coinciding_and_opposite_points():
    same, opposite = pair(lambda x: np.maximum(x, 0.0)).aligned()
    assert same[0, 0, 0] == pytest.approx(0.5, rel=1e-14)
    assert opposite[0, 0, 0] == 0.0


def test_groups_do_not_meet():
    values = np.stack([np.cos(MESH.nodes), np.maximum(MESH.nodes, 0.0), np.tanh(MESH.nodes), MESH.nodes])
    together = Correlation(MESH, values.reshape(2, 2, -1), True).at(0.3)
    for group in range(2):
        alone = Correlation(MESH, values[None, 2 * group : 2 * group + 2], True).at(0.3)
        for a, b in zip(together, alone, strict=True):
            assert np.allclose(a[group], b[0], rtol=0, atol=1e-15)


def test_hermite_coefficients():
    """h_0 … h_3 are 1, x, (x² - 1)/√2 and (x³ - 3x)/√6."""
    found = coefficients_on_mesh(MESH, np.stack([MESH.nodes**3, np.maximum(MESH.nodes, 0.0)]), 6)
    assert np.allclose(found[0], [0, 3, 0, np.sqrt(6), 0, 0], rtol=0, atol=1e-12)
    relu = [1 / np.sqrt(2 * np.pi), 0.5, 1 / np.sqrt(4 * np.pi), 0, -1 / np.sqrt(48 * np.pi), 0]
    assert np.allclose(found[1], relu, rtol=0, atol=1e-14)


@pytest.mark.parametrize("theta", [0.4, 0.7, 1.2, 1.57, np.pi / 2])
def test_mehler_sums_agree_with_conditional_means(theta):
    x = MESH.nodes
    values = np.stack([np.maximum(x, 0.0), np.tanh(3 * x), np.cos(2 * x), np.sign(x), np.abs(x) ** 3])
    series = HermiteRows(coefficients_on_mesh(MESH, values, terms_needed(0.4))[None])
    scale = np.sqrt(np.diagonal(Correlation(MESH, values[None], True).aligned()[0][0]))
    for a, b in zip(series.at(theta), Correlation(MESH, values[None], True).at(theta), strict=True):
        assert np.max(np.abs(a - b)[0] / np.multiply.outer(scale, scale)) < 5e-15


def test_more_terms_near_the_ends():
    counts = [terms_needed(theta) for theta in (1.0, 0.4, 0.2, 0.1)]
    assert counts == sorted(counts)
    assert all(count % 2 == 0 for count in counts)
    assert np.cos(0.4) ** terms_needed(0.4) < 1.2e-16
