"""Orthant probabilities against formulas, recursions that hold in any dimension, and scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput
from holokern.hgm.distributions.orthant import OrthantPath, orthant


def covariance(seed, size):
    factor = np.random.default_rng(seed).normal(size=(size, size + 1))
    return factor @ factor.T


def correlations(matrix):
    scale = np.sqrt(np.diag(matrix))
    return (matrix / np.outer(scale, scale))[np.triu_indices(len(matrix), 1)]


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_two_and_three_dimensions(seed):
    two, three = covariance(seed, 2), covariance(seed, 3)
    for matrix, want in (
        (two, 1 / 4 + np.sum(np.arcsin(correlations(two))) / (2 * np.pi)),
        (three, 1 / 8 + np.sum(np.arcsin(correlations(three))) / (4 * np.pi)),
    ):
        found = orthant(matrix)
        assert abs(found.value - want) <= min(5 * found.error, 1e-12)


def test_one_dimension():
    assert orthant([[3.0]]).value == 0.5


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_correlations_one_half(size):
    """The largest of d + 1 exchangeable variables is the first one with probability 1/(d + 1)."""
    found = orthant(0.5 * np.eye(size) + 0.5)
    assert abs(found.value - 1 / (size + 1)) <= 5 * found.error
    assert found.error < 1e-13


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_odd_dimensions_follow_from_even_ones(size, seed):
    """Inclusion and exclusion with x -> -x: 2P = 1 - d/2 + Σ P_ij - … in odd dimension."""
    matrix = covariance(seed, size)
    total = 0.0
    for mask in range(1, 2**size - 1):
        some = [i for i in range(size) if mask >> i & 1]
        total += (-1) ** len(some) * orthant(matrix[np.ix_(some, some)]).value
    assert 2 * orthant(matrix).value == pytest.approx(1 + total, abs=1e-13)


@pytest.mark.parametrize("size", [4, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_against_scipy(size, seed):
    from scipy.stats import multivariate_normal

    matrix = covariance(seed, size)
    want = multivariate_normal.cdf(np.zeros(size), np.zeros(size), matrix, abseps=1e-7, releps=1e-7, maxpts=10**6)
    assert orthant(matrix).value == pytest.approx(want, abs=1e-6)


def test_four_independent_pairs_factor():
    block = np.array([[1.0, 0.3], [0.3, 1.0]])
    matrix = np.kron(np.eye(2), block)
    assert orthant(matrix).value == pytest.approx(orthant(block).value ** 2, abs=1e-15)


def test_nearly_singular():
    found = orthant([[1, 0.999999], [0.999999, 1]])
    assert abs(found.value - (0.25 + np.arcsin(0.999999) / (2 * np.pi))) <= 5 * found.error < 1e-12


def test_rank_is_the_number_of_even_faces():
    for size in (2, 3, 4, 5):
        assert OrthantPath(np.eye(size)).rank == 2 ** (size - 1)


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite"),
        ([[1.0, 0.1], [0.2, 1.0]], "symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "NaN"),
        ([1.0, 2.0], "square"),
        (np.eye(9), "size"),
        ("text", "real numbers"),
        (np.zeros((2, 2)), "positive definite"),
    ],
)
def test_bad_matrices(matrix, reason):
    with pytest.raises(BadInput, match=reason):
        orthant(matrix)
