"""Gröbner bases: invariants, agreement with the independent checker, textbook cases."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput
from holokern.weyl import Operator, WeylAlgebra, weyl_algebra
from holokern.weyl.algebra.orders import elimination, grevlex, lex, order_filtration, weight_order
from holokern.weyl.groebner.basis import groebner_basis
from holokern.weyl.groebner.certificate import membership_certificate
from holokern.weyl.groebner.checker import check_groebner_basis

D = weyl_algebra("x y")
D3 = weyl_algebra("x y z")
WELL_ORDERS = [grevlex(D), order_filtration(D), elimination(D, "x"), weight_order(D, (0, 1, 2, 1))]
MODEST = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
Strategy = Callable[[WeylAlgebra, int], st.SearchStrategy[Operator]]

SYSTEMS = {
    "euler and mixed": (D, ["x*dx + y*dy", "dx*dy"]),
    "heat and degree": (D, ["dx^2 - dy", "x*dx + 2*y*dy - 3"]),
    "Appell F1": (
        D,
        [
            "x*(1-x)*dx^2 + y*(1-x)*dx*dy + (3/2 - 11/6*x)*dx - y/3*dy - 1/6",
            "y*(1-y)*dy^2 + x*(1-y)*dx*dy + (3/2 - 7/4*y)*dy - x/4*dx - 1/8",
            "(x-y)*dx*dy - 1/4*dx + 1/3*dy",
        ],
    ),
    "GKZ 0 1 2": (D3, ["dx*dz - dy^2", "x*dx + y*dy + z*dz - 1/2", "y*dy + 2*z*dz - 1/3"]),
    "rational function 1/(x^3-y^2)": (D, ["(x^3-y^2)*dx + 3*x^2", "(x^3-y^2)*dy - 2*y"]),
    "everything": (D, ["dx + y", "dy"]),
    "large numbers": (D, ["12345678901234567890*x*dx - 98765432109876543*dy", "dx^2 - 1/1000000007*y"]),
}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("kind", ["grevlex", "order", "first variable out", "(-w,w)"])
def test_bases_pass_the_independent_checker(name: str, kind: str) -> None:
    algebra, texts = SYSTEMS[name]
    n = algebra.dimension
    order = {
        "grevlex": grevlex(algebra),
        "order": order_filtration(algebra),
        "first variable out": elimination(algebra, [algebra.variables[0]]),
        "(-w,w)": weight_order(algebra, (-1,) + (0,) * (n - 1) + (1,) + (0,) * (n - 1)),
    }[kind]
    generators = [algebra(text) for text in texts]
    basis = groebner_basis(generators, order)
    check_groebner_basis(basis, generators, order, membership_certificate(basis, generators))


@given(data=st.data())
@MODEST
def test_ideal_elements_reduce_to_zero(data: st.DataObject, small_operators: Strategy) -> None:
    f, g, a, b = (data.draw(small_operators(D, 2)) for _ in range(4))
    ideal = D.ideal(f, g)
    assert a * f + b * g in ideal
    assert ideal.normal_form(a + b * g) == ideal.normal_form(a)


@given(data=st.data())
@MODEST
def test_reduced_bases_are_unique(data: st.DataObject, small_operators: Strategy) -> None:
    f, g, a = (data.draw(small_operators(D, 2)) for _ in range(3))
    order = data.draw(st.sampled_from(WELL_ORDERS))
    basis = groebner_basis([f, g], order)
    assert groebner_basis([g, 3 * f + a * g, f], order) == basis
    assert groebner_basis(basis, order) == basis


@given(data=st.data())
@MODEST
def test_small_bases_pass_the_independent_checker(data: st.DataObject, small_operators: Strategy) -> None:
    generators = [data.draw(small_operators(D, 2)) for _ in range(2)]
    order = data.draw(st.sampled_from([*WELL_ORDERS, weight_order(D, (-1, -2, 1, 2)), weight_order(D, (-1, 0, 1, 0))]))
    check_groebner_basis(groebner_basis(generators, order), generators, order)


@given(data=st.data())
@MODEST
def test_initial_forms_of_ideal_elements(data: st.DataObject, small_operators: Strategy) -> None:
    f, g, a, b = (data.draw(small_operators(D, 2)) for _ in range(4))
    weights = data.draw(st.sampled_from([(-1, -1, 1, 1), (-1, 0, 1, 0), (2, -1, -2, 1)]))
    ideal = D.ideal(f, g)
    element = a * f + b * g
    if element:
        top = element.weight(weights)
        form = {key: c for key, c in element if sum(w * e for w, e in zip(weights, key, strict=True)) == top}
        assert D.from_terms(form) in ideal.initial(weights)


def test_commuting_leads_are_not_enough_for_the_product_criterion() -> None:
    assert groebner_basis([D("dx + y"), D("dy")], grevlex(D)) == [D.one]


def test_constants_in_a_local_order_do_not_end_the_computation() -> None:
    """The element 1 + x has the leading monomial 1 for (-1, 1), yet it is no unit."""
    D1 = weyl_algebra("x")
    order = weight_order(D1, (-1, 1))
    assert groebner_basis([D1("1 + x")], order) == [D1("1 + x")]
    assert groebner_basis([D1("1 + x"), D1("x")], order) == [D1.one]


def test_division_by_h_goes_on_to_the_end() -> None:
    D1 = weyl_algebra("x")
    generators = [D1("5*x^2*dx - dx - 3"), D1("-2*x*dx^2")]
    order = weight_order(D1, (-2, 2))
    basis = groebner_basis(generators, order)
    check_groebner_basis(basis, generators, order)


def test_trivial_ideals() -> None:
    assert groebner_basis([], grevlex(D)) == []
    assert groebner_basis([D.zero], grevlex(D)) == []
    assert groebner_basis([D("7/3")], grevlex(D)) == [D.one]
    assert groebner_basis([D("x"), D("dx")], lex(D)) == [D.one]
    assert groebner_basis([D("7/3")], weight_order(D, (-1, -1, 1, 1))) == [D.one]


def test_mixed_algebras_are_refused() -> None:
    with pytest.raises(BadInput, match="same Weyl algebra"):
        groebner_basis([D("x")], grevlex(D3))


def test_coefficients_that_one_prime_cannot_hold() -> None:
    """The lifted numbers here exceed several primes; over Q the result is checked directly."""
    generators = [D("(10^20 + 39)*x*dx - (10^18 + 9)"), D("dx*dy - 10^15/(10^9 + 7)*dx")]
    basis = groebner_basis(generators, grevlex(D))
    check_groebner_basis(basis, generators, grevlex(D))
    assert max(abs(c.p).bit_length() for g in basis for c in g.terms.values()) > 50


@pytest.mark.slow
def test_koyama_takemura_basis_for_relu_is_proved() -> None:
    """The basis behind the restriction of the paper: every S-pair, every generator and every cofactor over Q."""
    K = weyl_algebra("y1 y2 x11 x12 x22")
    first, second = "(-y1 - 2*x11*dy1 - 2*x12*dy2)", "(-y2 - 2*x12*dy1 - 2*x22*dy2)"
    texts = [f"dy1*{first} - 1", f"dy2*{second} - 1", "dx12 - 2*dy1*dy2", "dx11 - dy1^2", "dx22 - dy2^2"]
    generators = [K(text) for text in texts]
    order = weight_order(K, (-1, -1, 0, 0, 0, 1, 1, 0, 0, 0))
    basis = groebner_basis(generators, order)
    assert len(basis) == 33
    check_groebner_basis(basis, generators, order, membership_certificate(basis, generators))
