"""Ideals with coefficients near multiples of 2^31 - 1 and of the primes in use: no S-polynomial may be lost."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.weyl import check_groebner_basis, grevlex, weyl_algebra
from holokern.weyl.groebner import basis as module
from holokern.weyl.groebner.modular import random_primes

D1 = weyl_algebra("x")
D = weyl_algebra("x y")
MERSENNE = 2**31 - 1
IN_USE = [2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543, 2147483497, 2147483489]


@pytest.fixture(autouse=True)
def known_primes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The primes are drawn at random; here they are known to the adversary, and random ones follow."""

    def primes() -> Iterator[int]:
        yield from IN_USE
        yield from random_primes()

    monkeypatch.setattr(module, "random_primes", primes)


@pytest.mark.parametrize("unlucky", [[MERSENNE], IN_USE[:1], IN_USE[1:2], IN_USE[:2], IN_USE[:3]], ids=len)
@pytest.mark.parametrize("texts", [("x*dx - 5", "x*dx - 5 - {p}"), ("x*dx - {p}", "dx^2"), ("x^2*dx + {p}", "x*dx^2")])
def test_hidden_units(texts: tuple[str, str], unlucky: list[int]) -> None:
    ideal = D1.ideal(*(text.format(p=prod(unlucky)) for text in texts))
    assert ideal.groebner() == (D1.one,)
    if len(unlucky) == 1:  # a rank is found modulo two primes
        assert ideal.rank() == 0


coefficients = st.builds(
    lambda k, p, r: k * p + r, st.integers(-2, 2), st.sampled_from([MERSENNE, *IN_USE[:3]]), st.integers(-2, 2)
)


@settings(max_examples=25, deadline=None)
@given(a=coefficients, b=coefficients, c=coefficients)
def test_random_ideals_are_right(a: int, b: int, c: int) -> None:
    """The fast basis, the certified one, and a checker that shares no code with them agree."""
    ideal = D.ideal(f"x*dx + {a}*y*dy - {b}", f"dx*dy - {c}*y", "y*dy^2 - dx")
    basis = ideal.groebner()
    assert basis == ideal.groebner(certified=True)
    check_groebner_basis(basis, ideal.generators, grevlex(D))
