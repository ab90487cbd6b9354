"""Angles keep their digits near 0 and π, and lengths neither overflow nor underflow."""

from fractions import Fraction

import numba
import numpy as np
import pytest

from holokern.numeric.machine.angles import angle_from_gap, angles_between
from holokern.numeric.unit_vectors import rounding_of_lengths, small_angles, unit_vectors


@numba.njit
def angle(gap):
    return angle_from_gap(gap)


@pytest.mark.parametrize("theta", [0.0, 1e-9, 1e-4, 0.3, 1.0, np.pi / 2, 2.0, 3.0, np.pi])
def test_angles_from_gaps(theta):
    found = angle(2 * np.sin(theta / 2) ** 2)
    assert found == pytest.approx(theta, rel=1e-15, abs=0)


def test_gaps_that_rounding_has_put_outside():
    assert angle(-1e-17) == 0.0
    assert angle(2.0 + 1e-15) == np.pi


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


@pytest.mark.parametrize("apart", [1e-16, 1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e100])
def test_small_angles_of_the_floats_themselves(apart, size):
    random = np.random.default_rng(5)
    x = random.standard_normal((6, 7))
    y = -1.7 * x * (1 + apart * random.standard_normal(x.shape))
    found = small_angles(size * x, y)
    assert np.array_equal(found, small_angles(y, size * x))
    for one, first, second in zip(found, size * x, y, strict=True):
        (p, q), r = (dot(a, a) for a in (first, second)), dot(first, second)
        assert one == pytest.approx(np.sqrt(float(1 - r * r / (p * q))), rel=1e-12 if apart == 1e-6 else 1e-15)


def test_parallel_vectors_have_no_angle():
    x = np.random.default_rng(6).integers(-1000, 1000, (20, 30)).astype(float)
    assert np.all(small_angles(3 * x, 7 * x) == 0.0)


@pytest.mark.parametrize(("size", "scale"), [(1.0, 1.0), (1e-170, 1.0), (1.0, 0.3)])
def test_rounding_of_lengths(size, scale):
    x, last = size * np.random.default_rng(7).standard_normal((5, 9)), 0.4 * size
    length = scale * unit_vectors(np.column_stack([x, np.full(5, last)]))[1]
    found = rounding_of_lengths(x, scale, last, length)
    for one, row, rounded in zip(found, x, length, strict=True):
        square = (dot(row, row) + Fraction(last) ** 2) * Fraction(scale) ** 2
        assert one == pytest.approx(float(square / Fraction(rounded) ** 2 - 1) / 2, abs=1e-29)


def dot(x, y):
    return sum(Fraction(a) * Fraction(b) for a, b in zip(x, y, strict=True))
