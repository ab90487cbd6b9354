"""The holonomic rank by initial forms at a random point, beside the count of standard monomials."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import NotHolonomic
from holokern.weyl import LeftIdeal, Operator, WeylAlgebra, lauricella, weyl_algebra

D = weyl_algebra("x y")


def ranks(ideal: LeftIdeal) -> tuple[int | None, int | None]:
    """By both routes; None where the rank is infinite."""
    found = []
    for route in (ideal.rank, lambda: len(ideal.standard_monomials())):
        try:
            found.append(route())
        except NotHolonomic:
            found.append(None)
    return found[0], found[1]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_random_ideals(data: st.DataObject, small_operators: Callable[..., st.SearchStrategy[Operator]]) -> None:
    operators = data.draw(st.lists(small_operators(D, 3), min_size=1, max_size=3))
    first, second = ranks(D.ideal(operators))
    assert first == second


@pytest.mark.parametrize(
    ("texts", "rank"),
    [
        (["1"], 0),
        (["x"], 0),
        (["x", "y"], 0),
        (["x*dx", "x*dy"], 1),  # of finite rank, but not holonomic
        (["dx^2 - dy", "x*dx + 2*y*dy - 3"], 2),
        (["dx*dy", "x*dx + y*dy"], 2),
    ],
)
def test_known_ranks(texts: list[str], rank: int) -> None:
    assert ranks(D.ideal(texts)) == (rank, rank)


def test_certified_ranks_are_the_same() -> None:
    ideal = lauricella("C", "1/2", "1/3", ["1/5", "1/7"])
    assert isinstance(ideal, LeftIdeal)
    algebra: WeylAlgebra = ideal.algebra
    assert algebra.ideal(ideal.generators, certified=True).rank() == ideal.rank() == 4
