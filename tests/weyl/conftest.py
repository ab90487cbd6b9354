"""Shared by the tests of the Weyl algebra: small random operators."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from holokern.weyl import Operator, WeylAlgebra


@pytest.fixture(scope="session")
def small_operators() -> Callable[[WeylAlgebra, int], st.SearchStrategy[Operator]]:
    """A strategy for operators of an algebra with few terms of at most the given degree."""

    def strategy(algebra: WeylAlgebra, degree: int) -> st.SearchStrategy[Operator]:
        size = 2 * algebra.dimension
        places = st.lists(st.integers(0, size - 1), max_size=degree)
        monomials = places.map(lambda found: tuple(found.count(i) for i in range(size)))
        return st.dictionaries(monomials, st.integers(-5, 5), min_size=1, max_size=3).map(algebra.from_terms)

    return strategy
