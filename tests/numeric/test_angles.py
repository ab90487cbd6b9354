"""Angles keep their digits near 0 and π, and lengths neither overflow nor underflow."""

import numpy as np
import pytest

from holokern.numeric.machine.angles import angle_from_gap, angles_between
from holokern.numeric.unit_vectors import unit_vectors


@pytest.mark.parametrize("theta", [0.0, 1e-9, 1e-4, 0.3, 1.0, np.pi / 2, 2.0, 3.0, np.pi])
def test_angles_from_gaps(theta):
    found = angle_from_gap(2 * np.sin(theta / 2) ** 2)
    assert found == pytest.approx(theta, rel=1e-15, abs=0)


def test_gaps_that_rounding_has_put_outside():
    assert angle_from_gap(-1e-17) == 0.0
    assert angle_from_gap(2.0 + 1e-15) == np.pi


@pytest.mark.parametrize("theta", [1e-9, 1e-5, 0.01])
def test_nearly_parallel_and_nearly_opposite_vectors(theta):
    u, v = np.array([[1.0, 0.0]]), np.array([[np.cos(theta), np.sin(theta)]])
    both = np.concatenate([v, -v])
    angles = u @ both.T
    angles_between(angles, u, both)
    assert angles[0, 0] == pytest.approx(theta, rel=1e-15)
    assert np.pi - angles[0, 1] == pytest.approx(theta, rel=0, abs=5e-16)


def test_angles_of_a_tile():
    random = np.random.default_rng(0)
    x = random.standard_normal((5, 3))
    x[1], x[2], x[3], x[4] = x[0] * 2, -x[0], x[0] + 1e-9 * x[1], 0.0
    unit, _ = unit_vectors(x)
    theta = unit @ unit.T
    angles_between(theta, unit, unit)
    assert np.all(np.diagonal(theta)[:4] == 0.0)
    assert theta[0, 1] == 0.0
    assert theta[0, 2] == np.pi
    apart = np.linalg.norm(unit[0] - unit[3])
    assert theta[0, 3] == pytest.approx(apart, rel=1e-12)
    assert theta[4, 0] == pytest.approx(np.pi / 2, rel=1e-15)


def test_lengths_at_the_ends_of_the_floats():
    unit, length = unit_vectors(np.array([[3e200, 4e200], [3e-200, -4e-200], [0.0, 0.0]]))
    assert length.tolist() == pytest.approx([5e200, 5e-200, 0.0], rel=1e-15)
    assert np.allclose(unit, [[0.6, 0.8], [0.6, -0.8], [0.0, 0.0]], rtol=1e-15)
