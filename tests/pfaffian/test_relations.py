"""Stein's relations against expectations of polynomials, where everything is exact."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.pfaffian.derivation.relations import Presentation, integer_terms, right_action
from holokern.weyl import weyl_algebra

D1 = weyl_algebra("u", "D")
COVARIANCE = (Fraction(3, 2), Fraction(-2, 5), Fraction(7, 3))


def gaussian_moment(i: int, j: int, covariance: tuple[Fraction, Fraction, Fraction]) -> Fraction:
    """E[u^i v^j] by Isserlis' theorem, summed over the number of mixed pairs."""
    s11, s12, s22 = covariance
    if (i + j) % 2:
        return Fraction(0)
    total = Fraction(0)
    for mixed in range(min(i, j) + 1):
        if (i - mixed) % 2 or (j - mixed) % 2:
            continue
        ways = comb(i, mixed) * comb(j, mixed) * factorial(mixed)
        for n in (i - mixed, j - mixed):
            ways *= factorial(n) // (2 ** (n // 2) * factorial(n // 2))
        total += ways * s11 ** ((i - mixed) // 2) * s12**mixed * s22 ** ((j - mixed) // 2)
    return total


def derivative_of_power(n: int, order: int) -> tuple[int, int]:
    """∂^order u^n = factor · u^(n - order)."""
    return (0, 0) if order > n else (factorial(n) // factorial(n - order), n - order)


def expectation(relation, m: int, n: int) -> Fraction:
    """The relation applied to σ1 = u^m, σ2 = v^n."""
    total = Fraction(0)
    for (i, j), place in relation.items():
        (c, p), (d, q) = derivative_of_power(m, i), derivative_of_power(n, j)
        value = c * d * gaussian_moment(p, q, COVARIANCE) if c and d else Fraction(0)
        s11, s12, s22 = COVARIANCE
        total += value * sum(k * s11**e * s12**f * s22**g for (e, f, g), k in place.items())
    return total


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3), st.integers(0, 3))
@settings(deadline=None, max_examples=60)
def test_relations_of_a_monomial_hold(m: int, n: int, i: int, j: int):
    left, right = (D1(f"u*D - {k}") for k in (m, n))
    for side in (0, 1):
        (relation,) = Presentation((left,), (right,)).relations([(side, 0, i, j)])
        assert expectation(relation, m, n) == 0


def test_a_wrong_operator_gives_a_relation_that_fails():
    (relation,) = Presentation((D1("u*D - 3"),), (D1("u*D - 2"),)).relations([(0, 0, 0, 0)])
    assert expectation(relation, 2, 2) != 0


def test_the_action_is_a_right_action():
    """a^i · (uD) computed at once equals a^i · u followed by · D, with the commutator in place."""
    by_u_then_d = right_action({(1, 1): 1}, 2, 1)
    assert by_u_then_d == {(4, 0): {(1, 0, 0): 1}, (3, 1): {(0, 1, 0): 1}, (2, 0): {(0, 0, 0): 2}}
    d_then_u = right_action(integer_terms(D1("D*u")), 2, 1)
    assert d_then_u == {(4, 0): {(1, 0, 0): 1}, (3, 1): {(0, 1, 0): 1}, (2, 0): {(0, 0, 0): 3}}


def test_denominators_are_cleared():
    assert integer_terms(D1("u*D/2 - 1/3")) == {(1, 1): 3, (0, 0): -2}
