"""One run through all points, and the paper's experiment with straighter paths."""

import numpy as np
import pytest

import holokern as hk
from holokern.activation import activation
from holokern.dual.methods.all_at_once import all_at_once, run_through
from holokern.dual.methods.hgm_x import coordinates_x
from holokern.dual.quadrature.method import quadrature
from holokern.errors import BadInput, UnknownName
from holokern.hgm import order_of, resampled
from holokern.hgm.ordering import clusters


def points(count, seed):
    random = np.random.default_rng(seed)
    c1, c2 = random.uniform(0.5, 1.6, (2, count))
    theta = random.uniform(0.01, 3.1, count)
    theta[0] = 1e-6
    return c1, c2, theta


@pytest.mark.parametrize(
    "name", ["relu", "step", pytest.param("gelu", marks=pytest.mark.slow), "resin", "erf", "sin", "identity"]
)
@pytest.mark.parametrize("count", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_values_and_honest_errors(name, count):
    a = activation(name)
    where = points(count, 1)
    want_k, want_kdot, noise, noise_dot = quadrature(a, *where, 1e-12)
    for order in ("short", "sorted", "given"):
        k, kdot, k_error, kdot_error = all_at_once(a, *where, 1e-12, order=order)
        assert np.all(np.abs(k - want_k) <= 1e-10)
        assert np.all(np.abs(k - want_k) <= 5 * (k_error + noise))
        assert np.all(np.abs(kdot - want_kdot) <= 5 * (kdot_error + noise_dot))


def test_an_order_that_shortens_the_path_keeps_more_digits():
    a = activation("resin")
    where = points(60, 2)
    short, given = (np.max(all_at_once(a, *where, 1e-12, order=order)[2]) for order in ("short", "given"))
    assert short < given


def test_one_point():
    v = hk.dual("resin", 1.0, 1.0, 0.5, method="all_at_once")
    assert v.k == pytest.approx(hk.dual("resin", 1.0, 1.0, 0.5, method="quadrature").k, abs=1e-14)


def paper_points():
    """The covariances of the first layer for 15 inputs on [-1, 1] with β = 1/2, 0.01 ≤ det ≤ 1, clusters of 1e-5."""
    x = np.linspace(-1, 1, 15)
    covariance = np.outer(x, x) + 0.25
    i, j = np.nonzero(~np.eye(15, dtype=bool))
    s11, s12, s22 = covariance[i, i], covariance[i, j], covariance[j, j]
    det = s11 * s22 - s12**2
    chosen = (det >= 0.01) & (det <= 1)
    c1, c2 = np.sqrt(s11[chosen]), np.sqrt(s22[chosen])
    theta = np.arctan2(np.sqrt(det[chosen]), s12[chosen])
    x = coordinates_x(c1, c2, theta)
    return x[np.unique(clusters(x, 1e-5))]


def test_the_paper_has_91_points():
    assert len(paper_points()) == 91


@pytest.mark.parametrize(
    ("solver", "some"),
    [
        ("taylor", slice(None)),
        ("scipy", slice(0, 25, 8)),
        pytest.param("scipy", slice(0, None, 12), marks=pytest.mark.slow),
    ],
    ids=["taylor", "scipy", "scipy-whole"],
)
def test_run_through_the_points_of_the_paper(solver, some):
    a = activation("resin")
    x = paper_points()
    x = x[np.lexsort(x.T[::-1])][some]
    g = run_through(a, x, solver)
    det = x[:, 0] * x[:, 2] - x[:, 1] ** 2
    # Σ = -½x⁻¹
    c1, c2 = np.sqrt(-x[:, 2] / det / 2), np.sqrt(-x[:, 0] / det / 2)
    theta = np.arctan2(np.sqrt(det), x[:, 1])
    want = quadrature(a, c1, c2, theta, 1e-12)[0]
    found = g * np.sqrt(det) / np.pi
    # errors grow along the path: 1e-16 and 1e-10 at its start
    assert np.all(np.abs(found - want) <= (1e-3 if solver == "scipy" else 1e-8))


def test_the_step_experiment_keeps_the_number_of_points():
    """The paper sorts the points, straightens the path by steps, and runs through it."""
    x = paper_points()
    ordered = x[order_of(x, np.array([-1.0, 0.0, -1.0]), "sorted")]
    assert np.array_equal(ordered, x[np.lexsort(x.T[::-1])])
    assert np.array_equal(resampled(ordered, 1), ordered)
    for step in (5, 20):
        new = resampled(ordered, step)
        assert new.shape == x.shape
        assert np.all(np.isfinite(run_through(activation("resin"), new)))


def test_bad_input():
    with pytest.raises(UnknownName):
        hk.dual("relu", 1, 1, 0.5, method="all_at_once", order="random")
    with pytest.raises(BadInput, match="negative definite"):
        run_through(activation("relu"), np.array([[1.0, 0.0, 1.0]]))
    with pytest.raises(UnknownName):
        run_through(activation("relu"), np.array([[-1.0, 0.0, -1.0]]), "euler")
    with pytest.raises(BadInput):
        resampled(paper_points(), 0)
