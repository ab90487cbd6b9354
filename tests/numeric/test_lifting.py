"""Rational numbers from residues."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.numeric.lifting import Lifting, rational_from_residue
from holokern.pfaffian.derivation.quotient import PRIMES


@given(st.integers(-(10**8), 10**8), st.integers(1, 10**8))
@settings(deadline=None)
def test_rational_from_residue(top: int, bottom: int):
    prime = PRIMES[0]
    found = rational_from_residue(top * pow(bottom, -1, prime) % prime, prime)
    assert found is not None
    assert found[0] * bottom == top * found[1]


def test_exactly_the_small_fractions_are_found():
    modulus, bound = 101, 7
    small = {a * pow(b, -1, modulus) % modulus for a in range(-bound, bound + 1) for b in range(1, bound + 1)}
    assert 50 < len(small) < modulus
    assert {r for r in range(modulus) if rational_from_residue(r, modulus) is not None} == small


@given(st.lists(st.fractions(max_denominator=10**30), min_size=1, max_size=5))
@settings(deadline=None)
def test_lifting_with_enough_primes(numbers):
    lifting = Lifting()
    for prime in PRIMES:
        lifting.add([[x.numerator * pow(x.denominator, -1, prime) % prime for x in numbers]], prime)
    exact = lifting.lifted()
    assert exact is not None
    ((tops, bottom),) = exact
    assert [x * bottom for x in numbers] == tops


def test_lifting_waits_for_a_second_prime():
    lifting = Lifting()
    values = []
    for prime in PRIMES[:2]:
        lifting.add([[10**15 * pow(7**17, -1, prime) % prime, 1]], prime)
        values.append(lifting.lifted())
    assert values == [None, [([10**15, 7**17], 7**17)]]
