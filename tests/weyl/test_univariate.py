"""Ideals of D₁: bases by order, membership, torsion, Weyl closure, Bernstein bases."""

from __future__ import annotations

import pytest
from flint import fmpq_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadOperator
from holokern.weyl import check_groebner_basis, lex, weight_order, weyl_algebra
from holokern.weyl.univariate.bernstein import bernstein_basis
from holokern.weyl.univariate.operators import UnivariateIdeal, weyl_closure

D1 = weyl_algebra("u", "D")
U, D = D1.gens


def ideal(*texts):
    return UnivariateIdeal(D1, [D1(text) for text in texts])


def operators(max_order=2, max_degree=2):
    keys = [(i, j) for i in range(max_degree + 1) for j in range(max_order + 1)]
    coefficients = st.lists(st.integers(-3, 3), min_size=len(keys), max_size=len(keys))
    return coefficients.map(lambda row: D1.from_terms(zip(keys, row, strict=True)))


def test_trivial_ideals():
    zero, one = ideal("0"), ideal("3")
    assert zero.is_zero
    assert zero.basis == ()
    assert zero.rank is None
    assert zero.closure().is_zero
    assert D1("0") in zero
    assert D1("1") not in zero
    assert one.basis == (D1.one,)
    assert one.rank == 0
    assert ideal("D", "u").basis == (D1.one,)  # [D, u] = 1
    assert ideal("u^3").closure().basis == (D1.one,)
    assert bernstein_basis([]) == ()
    assert bernstein_basis([D1("0")]) == ()
    with pytest.raises(BadOperator, match="at least one"):
        weyl_closure([])
    with pytest.raises(BadOperator, match="one variable"):
        UnivariateIdeal(weyl_algebra("x y"))
    with pytest.raises(BadOperator, match="no leading"):
        _ = zero.leading_coefficient


@pytest.mark.parametrize(
    ("given_operator", "closed"),
    [
        ("u*D - 1", ["u*D - 1", "D^2"]),
        ("u*D - 7", ["u*D - 7", "D^8"]),
        ("u*D + 1", ["u*D + 1"]),
        ("u*D", ["D"]),
        ("u^3*(D - 1)", ["D - 1"]),
        ("u^2*D - 1", ["u^2*D - 1"]),
        ("(u^2 + 1)*D - 2*u", ["(u^2 + 1)*D - 2*u", "D^2 + u*D - 2"]),
        ("(u^2 - 2)^3*D^2", ["D^2"]),
        ("(u^2 - 2)*D - 4*u", ["(u^2 - 2)*D - 4*u", "D^5"]),
        ("(u-1)^2*(u+1)*(D^3 - D^2)", ["D^3 - D^2"]),
        (
            "u^2*D^2 - 2*u*(1 - u^2)*D + 2*(1 - u^2)",
            ["D^3 + 4*u*D^2 + 4*u^2*D - 4*u", "D^4 + 2*u*D^3 + 4*D^2 - 4*u*D + 4"],
        ),
    ],
)
def test_known_closures(given_operator, closed):
    assert UnivariateIdeal(D1, weyl_closure([D1(given_operator)])) == ideal(*closed).closure()
    if given_operator != "(u^2 - 2)*D - 4*u":
        assert UnivariateIdeal(D1, weyl_closure([D1(given_operator)])) == ideal(*closed)


def test_two_bases_of_the_derivative_of_gelu():
    """The generators of the mathematics guide and those that Singular gives are the same ideal."""
    one = ideal("D^3 + 3*u*D^2 + (2*u^2 + 4)*D", "D^4 + 2*u*D^3 + 6*D^2 - 4*u*D")
    two = ideal("D^3 + 3*u*D^2 + (2*u^2 + 4)*D", "u*D^3 + (2*u^2 + 1)*D^2 + 8*u*D")
    assert one == two
    assert hash(one) == hash(two)
    assert one.closure() == one


def test_torsion_at_irreducible_factors():
    assert ideal("u*D - 1").torsion(fmpq_poly([0, 1])) == [D1("D^2")]
    assert ideal("D").torsion(fmpq_poly([0, 1])) == []
    assert ideal("u*D - 1").torsion(fmpq_poly([-1, 1])) == []
    two = ideal("(u^2 + 1)*D").torsion(fmpq_poly([1, 0, 1]))
    assert len(two) == 2  # a vector space of dimension one over Q[u]/(u² + 1)
    assert all((U * U + 1) * q in ideal("(u^2 + 1)*D") for q in two)


def test_extension_and_reduction():
    base = ideal("u*D - 1")
    assert D1("D^2") not in base
    assert base.reduce(D1("u*D^2")) == D1("0")
    assert base.reduce(D1("D^2")) == D1("D^2")
    assert base.extended([D1("D^2")]) == base.closure()
    assert base == ideal("u*D - 1")
    assert base != "u*D - 1"


@given(operators(), operators(), operators(1, 1), operators(1, 1))
@settings(deadline=None, max_examples=40)
def test_left_combinations_are_members(p, q, a, b):
    generated = UnivariateIdeal(D1, [p, q])
    assert a * p + b * q in generated
    for element in generated.basis:
        assert D * element in generated
        assert generated.reduce(element + D1.one * 0) == 0


@given(operators(), operators())
@settings(deadline=None, max_examples=30)
def test_bases_generate_the_same_ideal(p, q):
    generated = UnivariateIdeal(D1, [p, q])
    assert UnivariateIdeal(D1, generated.basis) == generated
    by_degree = bernstein_basis([p, q])
    assert UnivariateIdeal(D1, by_degree) == generated
    assert bernstein_basis(generated.basis) == by_degree


@given(operators(), operators())
@settings(deadline=None, max_examples=8)
def test_bernstein_bases_pass_the_independent_checker(p, q):
    check_bernstein_basis(p, q)


@pytest.mark.slow
@given(operators(), operators())
@settings(deadline=None, max_examples=100)
def test_more_bernstein_bases_pass_the_independent_checker(p, q):
    check_bernstein_basis(p, q)


def check_bernstein_basis(p, q):
    basis = bernstein_basis([p, q])
    check_groebner_basis(basis, [p, q], weight_order(D1, (1, 1), lex(D1, "D u")))
    key = weight_order(D1, (1, 1), lex(D1, "D u")).key
    leads = [max(element.terms, key=key) for element in basis]
    assert len(set(leads)) == len(leads)
    assert not any(a != b and a[0] <= b[0] and a[1] <= b[1] for a in leads for b in leads)
    for element in basis:
        inner = [key for key in element.terms if any(a[0] <= key[0] and a[1] <= key[1] for a in leads)]
        assert len(inner) == 1


@pytest.mark.parametrize(
    "text", ["u^2*(D^3 - D^2)", "(u^2 - 1)*D^2", "u^4*D^2 - 9*u^2*D^2 - 2*u^3*D + 18*u*D + 2*u^2 - 18", "u^3*D^2 + D"]
)
def test_closures_pass_the_independent_checker(text):
    closed = weyl_closure([D1(text)])
    check_groebner_basis(bernstein_basis(closed), closed, weight_order(D1, (1, 1), lex(D1, "D u")))
    check_groebner_basis(closed, closed, lex(D1, "D u"))


@given(operators(2, 1), st.sampled_from(["u", "u - 1", "u^2 + 1", "u^2*(u + 2)"]))
@settings(deadline=None, max_examples=30)
def test_closure_forgets_polynomial_factors(p, factor):
    if not p:
        return
    closed = UnivariateIdeal(D1, [p]).closure()
    assert UnivariateIdeal(D1, [D1(factor) * p]).closure() == closed
    assert closed.closure() == closed
    assert p in closed
    assert closed.rank == p.order


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-2, 2)), min_size=6, max_size=6))
def test_bernstein_bases_with_coefficients_near_multiples_of_a_prime(numbers):
    """Buchberger's criterion is asked modulo a random prime; 2⁶¹ - 1 was once the only one."""
    a, b, c, d, e, f = (k * (2**61 - 1) + rest for k, rest in numbers)
    given_operators = [U * D + a * U + b, D1.from_terms({(0, 2): 1, (2, 0): c, (1, 0): d, (0, 1): e, (0, 0): f})]
    order = weight_order(D1, (1, 1), lex(D1, "D u"))
    expected = D1.ideal(given_operators).groebner(order, certified=True)
    assert set(bernstein_basis(given_operators)) == {g.primitive() for g in expected}
