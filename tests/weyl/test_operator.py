"""Laws of the Weyl algebra."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest
from flint import fmpz
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, BadOperator
from holokern.weyl import Operator, weyl_algebra

D = weyl_algebra("x y")
X, Y, DX, DY = D.gens
RATIONALS = st.fractions(min_value=-9, max_value=9, max_denominator=7)
OPERATORS = st.dictionaries(st.tuples(*[st.integers(0, 3)] * 4), RATIONALS, max_size=4).map(D.from_terms)
POLYNOMIALS = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.just(0), st.just(0)), RATIONALS, max_size=4
)
POLYNOMIALS = POLYNOMIALS.map(D.from_terms)
LAWS = settings(deadline=None, max_examples=40)


@given(OPERATORS, OPERATORS, OPERATORS)
@LAWS
def test_ring_laws(f: Operator, g: Operator, h: Operator) -> None:
    assert (f * g) * h == f * (g * h)
    assert f * (g + h) == f * g + f * h
    assert (f + g) * h == f * h + g * h
    assert f - f == 0
    assert f * 1 == f == 1 * f


@given(OPERATORS, OPERATORS, OPERATORS)
@LAWS
def test_commutator_is_a_derivation(f: Operator, g: Operator, h: Operator) -> None:
    assert f.commutator(g * h) == f.commutator(g) * h + g * f.commutator(h)
    assert (f.commutator(g.commutator(h)) + g.commutator(h.commutator(f)) + h.commutator(f.commutator(g))) == 0


@given(OPERATORS, OPERATORS, POLYNOMIALS)
@LAWS
def test_action_is_a_homomorphism(f: Operator, g: Operator, q: Operator) -> None:
    assert (f * g).apply(q) == f.apply(g.apply(q))
    assert (f + g).apply(q) == f.apply(q) + g.apply(q)


@given(POLYNOMIALS, POLYNOMIALS)
@LAWS
def test_leibniz_rule(q: Operator, r: Operator) -> None:
    assert DX.apply(q * r) == DX.apply(q) * r + q * DX.apply(r)


@given(OPERATORS)
@LAWS
def test_text_and_pickle_read_back(f: Operator) -> None:
    assert D(str(f)) == f
    copy = pickle.loads(pickle.dumps(f))
    assert copy == f
    assert hash(copy) == hash(f)


def test_relations_and_numbers() -> None:
    assert DX * X - X * DX == 1
    assert DX * Y == Y * DX
    assert D("dx^2*x^3") == D("x^3*dx^2 + 6*x^2*dx + 6*x")
    assert D(Fraction(1, 3)) * 3 == 1
    assert D("0.125") * 8 == 1


def test_exponents_of_flint_become_integers() -> None:
    f = D.from_terms({(fmpz(1), fmpz(0), fmpz(2), fmpz(0)): 1})
    assert f == D("x*dx^2")
    assert all(type(e) is int for key in f.terms for e in key)


def test_primitive_clears_denominators() -> None:
    assert D("-x*dx/4 + 1/6").primitive() == D("3*x*dx - 2")


@pytest.mark.parametrize("text", ["z", "dx/x", "x^(-1)", "x^dx", "sin(x)", "", "x +", "__import__('os')"])
def test_bad_texts(text: str) -> None:
    with pytest.raises(BadOperator):
        D(text)


def test_floats_and_other_algebras_are_refused() -> None:
    with pytest.raises(BadInput):
        D(0.5)
    with pytest.raises(BadOperator):
        X + weyl_algebra("z").gens[0]
    with pytest.raises(AttributeError):
        X.algebra = None  # type: ignore[misc]
