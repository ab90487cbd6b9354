"""Stein and Price against Koyama–Takemura, Oaku and Gröbner: two routes without common code, one system."""

from __future__ import annotations

import pytest

from holokern.errors import HolokernError
from holokern.pfaffian import pfaffian, pfaffian_by_restriction


@pytest.mark.parametrize(
    ("operator", "rank"),
    [
        ("u*D - 1", 2),
        ("u*D", 2),
        ("u*D - 3", 2),
        ("D + u", 1),
        ("D - 1", 1),
        ("D^2 + 1", 2),
        (["u*D - 1", "D^2"], 1),
        pytest.param("u*(D^2 + 1)", 5, marks=pytest.mark.slow, id="resin"),
        pytest.param("D^2 + 2*u*D", 2, id="1+erf"),
        pytest.param("u^2*(D^2 + 1)", 8, marks=pytest.mark.slow, id="paper's resin"),
        pytest.param("u^2*D^2 - 2*u*(1 - u^2)*D + 2*(1 - u^2)", 8, marks=pytest.mark.slow, id="paper's gelu"),
    ],
)
def test_both_routes_give_the_same_matrices(operator: object, rank: int) -> None:
    slow = pfaffian_by_restriction(operator)
    fast = pfaffian(operator=operator, coordinates="x", basis=slow.basis, cache=False)
    assert slow.rank == fast.rank == rank
    assert slow.matrices == fast.matrices
    assert slow.singular_locus == fast.singular_locus


@pytest.mark.parametrize(
    ("left", "right", "rank"), [("u*D - 1", "u*D", 2), ("u*D - 1", "D^2 + 1", 2), ("D - 1", "u*D", 2)]
)
def test_two_different_functions(left: str, right: str, rank: int) -> None:
    slow = pfaffian_by_restriction(left, right)
    fast = pfaffian(operator=left, other_operator=right, coordinates="x", basis=slow.basis, cache=False)
    assert slow.rank == rank
    assert slow.matrices == fast.matrices


def test_the_papers_basis() -> None:
    slow = pfaffian_by_restriction("u*D", basis="1, d12")
    assert slow.basis_text == ("1", "d12")
    assert slow.is_flat()
    assert slow.matrices == pfaffian(operator="u*D", coordinates="x", basis="1, d12", cache=False).matrices


@pytest.mark.parametrize("bad", ["0", "x", "nonsense(u)", [], 3])
def test_bad_input(bad: object) -> None:
    with pytest.raises(HolokernError):
        pfaffian_by_restriction(bad)
