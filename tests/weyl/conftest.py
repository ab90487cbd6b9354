"""Shared by the tests of the Weyl algebra: Singular as a peer, and small random operators."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from holokern.weyl import Operator, WeylAlgebra


@pytest.fixture
def run_singular() -> Callable[[str], str]:
    """Run a script in Singular; the test is skipped where Singular is missing."""
    program = shutil.which("Singular")
    if program is None:
        pytest.skip("Singular is not installed, so there is nothing to compare with")

    def run(script: str) -> str:
        done = subprocess.run(
            [program, "-q"], input=script + "\nquit;\n", capture_output=True, text=True, timeout=120, check=False
        )
        assert "?" not in done.stdout, done.stdout
        return done.stdout

    return run


@pytest.fixture(scope="session")
def small_operators() -> Callable[[WeylAlgebra, int], st.SearchStrategy[Operator]]:
    """A strategy for operators of an algebra with few terms of at most the given degree."""

    def strategy(algebra: WeylAlgebra, degree: int) -> st.SearchStrategy[Operator]:
        size = 2 * algebra.dimension
        places = st.lists(st.integers(0, size - 1), max_size=degree)
        monomials = places.map(lambda found: tuple(found.count(i) for i in range(size)))
        return st.dictionaries(monomials, st.integers(-5, 5), min_size=1, max_size=3).map(algebra.from_terms)

    return strategy
