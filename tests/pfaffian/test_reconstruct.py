"""Reconstruction of rational functions that are known beforehand."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import CheckFailed, TooLarge
from holokern.pfaffian.derivation.quotient import PRIMES
from holokern.pfaffian.derivation.reconstruct import reconstruct
from holokern.weyl.rational.fractions import function_field

K = function_field("x y z")


class Box:
    """Known functions behind the interface of a black box."""

    def __init__(self, values):
        self.values = values

    def __call__(self, point):
        return self.values(point)

    def entry(self, index):
        return lambda point: [self.values(point)[index]]


def black_box(functions):
    def modulo(prime):
        def values(point):
            return [int(f.numerator(*point)) * pow(int(f.denominator(*point)), -1, prime) % prime for f in functions]

        return Box(values)

    return modulo


@pytest.mark.parametrize(
    "texts",
    [
        ["0"],
        ["3/7"],
        ["x", "y/2", "-z^3"],
        ["1/(x*y - z^2)", "x/(x*y - z^2)^3", "(y + 1)/x"],
        ["1/(x^2 + y^2 + 7*z)^2", "(3*x - 5/11*y)/((x^2 + y^2 + 7*z)*(x - y))", "x^5*y^2*z"],
        ["123456789123456789/(x + 987654321987654321*y)", "x/y"],
    ],
)
@pytest.mark.parametrize("known", [[], ["x", "z^2 - x*y"]])
def test_reconstructs_exactly(texts, known):
    functions = [K(text) for text in texts]
    assert reconstruct(black_box(functions), K, [K(text).numerator for text in known], PRIMES) == functions


coefficients = st.fractions(min_value=-50, max_value=50, max_denominator=30)
monomials = st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1))
polynomials = st.dictionaries(monomials, coefficients, min_size=1, max_size=3)


def as_function(terms):
    x, y, z = K.gens
    return sum((K(c) * x**e * y**f * z**g for (e, f, g), c in terms.items()), K.zero)


@given(st.lists(st.tuples(polynomials, polynomials), min_size=1, max_size=2))
@settings(deadline=None, max_examples=15)
def test_random_functions(pairs):
    functions = [as_function(top) / as_function(bottom) for top, bottom in pairs if as_function(bottom)]
    assert reconstruct(black_box(functions), K, [], PRIMES) == functions


def test_a_box_that_is_no_rational_function_is_refused(monkeypatch):
    monkeypatch.setattr(sys.modules[reconstruct.__module__], "_MAX_SAMPLES", 60)

    def modulo(prime):
        return Box(lambda point: [hash((prime, *point)) % prime])

    with pytest.raises(TooLarge, match="degree above"):
        reconstruct(modulo, K, [], PRIMES)


def test_a_box_that_changes_with_the_prime_is_refused():
    def modulo(prime):
        return Box(lambda point: [(point[0] + (prime == PRIMES[-1])) % prime])

    with pytest.raises(CheckFailed, match="fresh prime"):
        reconstruct(modulo, K, [], PRIMES)


def test_nothing_to_reconstruct():
    assert reconstruct(black_box([]), K, [], PRIMES) == []
