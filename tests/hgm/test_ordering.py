"""Orders of points, clusters, and the paper's straightened paths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, UnknownName
from holokern.hgm.ordering import ORDERS, clusters, length_of, order_of, resampled


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 25))
def test_every_order_visits_every_point_once(seed, count):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    for order in ORDERS:
        assert sorted(order_of(points, np.zeros(3), order).tolist()) == list(range(count))


@pytest.mark.parametrize("seed", range(5))
def test_short_is_short(seed):
    points = np.random.default_rng(seed).uniform(size=(60, 2))
    start = np.zeros(2)
    lengths = {order: length_of(points[order_of(points, start, order)], start) for order in ORDERS}
    assert lengths["short"] < 0.5 * min(lengths["sorted"], lengths["given"])


def test_short_is_optimal_on_a_line():
    points = np.random.default_rng(1).uniform(size=(30, 1))
    order = order_of(points, np.zeros(1))
    assert np.all(np.diff(points[order, 0]) > 0)


def test_sorted_is_lexicographic():
    points = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 1.0]])
    assert order_of(points, np.zeros(2), "sorted").tolist() == [2, 1, 0]


def test_clusters():
    points = np.array([[0.0, 0.0], [0.0, 9e-6], [1.0, 0.0], [0.0, 2e-5]])
    assert clusters(points, 1e-5).tolist() == [0, 0, 2, 3]
    assert clusters(points, 0.0).tolist() == [0, 1, 2, 3]


def test_resampled_paths_are_straighter():
    points = np.random.default_rng(0).uniform(size=(91, 3))
    lengths = []
    for step in (1, 2, 5, 10, 15, 20):
        new = resampled(points, step)
        assert new.shape == points.shape
        np.testing.assert_allclose(new[[0, -1]], points[[0, -1]])
        lengths.append(length_of(new, points[0]))
    # from about 4 segments on, chance decides between two of them
    assert lengths[:4] == sorted(lengths[:4], reverse=True)
    assert max(lengths[4:]) < lengths[3]


def test_bad_input():
    with pytest.raises(UnknownName, match="short"):
        order_of(np.zeros((2, 1)), np.zeros(1), "hilbert")
    with pytest.raises(BadInput):
        clusters(np.zeros((2, 1)), -1.0)
    with pytest.raises(BadInput):
        resampled(np.zeros((3, 1)), 0)
