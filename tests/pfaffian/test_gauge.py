"""Gauge transformations."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput
from holokern.pfaffian import pfaffian
from holokern.weyl import inverse_matrix, multiply_matrices, read_matrix
from holokern.weyl.rational.fractions import function_field

K = function_field("S11 S12 S22")
entries = st.sampled_from(["0", "1", "S11", "S12 + 1", "1/S22", "S11*S22 - S12^2", "-2", "3/S12"])


@given(st.lists(st.lists(entries, min_size=3, max_size=3), min_size=3, max_size=3))
@settings(deadline=None, max_examples=25)
def test_inverse(rows):
    matrix = read_matrix(rows, 3, K)
    try:
        back = inverse_matrix(matrix)
    except BadInput:
        return
    one = tuple(tuple(K.one if i == j else K.zero for j in range(3)) for i in range(3))
    assert multiply_matrices(matrix, back) == one == multiply_matrices(back, matrix)


def test_gauge_and_back():
    system = pfaffian(operator="u*(D^2 + 1)", cache=False)
    upper = [[1 if i == j else ("S12" if j == i + 1 else 0) for j in range(5)] for i in range(5)]
    moved = system.gauge(upper)
    assert moved.is_flat()
    assert moved.matrices != system.matrices
    back = moved.gauge(inverse_matrix(read_matrix(upper, 5, K)))
    assert back.matrices == system.matrices
    assert all(back.frame[i][j] == int(i == j) for i in range(5) for j in range(5))


def test_a_change_of_basis_is_a_gauge_transformation():
    """For ReLU (1, a²b²) = T (1, ab) with the second row of ∂12 for a²b²."""
    system = pfaffian(operator="u*D - 1", cache=False)
    other = system.change_basis("1, a^2*b^2")
    second = system["S12"][1]
    assert system.gauge([[1, 0], list(second)]).matrices == other.matrices


def test_bad_matrices():
    system = pfaffian(operator="u*D - 1", cache=False)
    for bad in ([[1, 0]], [[1], [0]], "12", 5, [[1, 0], "ab"]):
        with pytest.raises(BadInput):
            system.gauge(bad)
    with pytest.raises(BadInput, match="singular"):
        system.gauge([["S11", "S12"], ["S11*S12", "S12^2"]])
    with pytest.raises(BadInput, match="gauge"):
        system.gauge([[1, 0], ["S12", 1]]).to_coordinates("x")
