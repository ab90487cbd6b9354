"""Recurrences of Hermite coefficients: the paper's, minimal ones, and random annihilators against integrals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation import activation
from holokern.dual.enclosure.moments import hermite_moment
from holokern.dual.hermite.coefficients import hermite_sequence
from holokern.dual.hermite.recurrence import Recurrence, hermite_recurrence
from holokern.errors import NotHolonomic
from holokern.weyl.rational.fractions import function_field

K = function_field("n c2")


def equation(*coefficients: str) -> Recurrence:
    return Recurrence(tuple(K(text) for text in coefficients))


@pytest.mark.parametrize(
    ("operators", "c2", "expected"),
    [
        (["u*(D^2 + 1)"], 1, ("n + 1", "0", "n + 2", "0", "1")),
        (["u*D - 1"], 1, ("n - 1", "0", "1")),
        (["u*D"], 1, ("n", "0", "1")),
        (["u*D"], None, ("n", "0", "c2")),
        (["D^2 + 2*u*D"], None, ("2*n", "0", "2*c2 + 1")),
        (["D - 1"], None, ("-1", "1")),
    ],
)
def test_known_recurrences(operators: list[str], c2: int | None, expected: tuple[str, ...]) -> None:
    found = hermite_recurrence(operators, c2)
    assert found.coefficients == equation(*expected).coefficients
    assert found.start == 0


def test_the_papers_resin_recurrence_is_a_left_multiple() -> None:
    paper = equation("(n + 1)*(n + 2)", "0", "n^2 + 5*n + 7", "0", "2*(n + 3)", "0", "1")
    minimal = hermite_recurrence(["u*(D^2 + 1)"], 1)
    assert minimal.order == 4
    assert minimal.is_right_divisor_of(paper)
    assert not paper.is_right_divisor_of(minimal)
    assert hermite_recurrence(["u^2*(D^2 + 1)"], 1).coefficients == paper.coefficients


def test_several_operators_give_a_shorter_recurrence() -> None:
    closure = ["D^3 + 4*u*D^2 + 4*u^2*D - 4*u", "u*D^3 + 2*u^2*D^2 + 4*u*D - 4"]
    assert hermite_recurrence(closure).order == 2
    assert all(hermite_recurrence([text]).order > 2 for text in closure)


def test_polynomials_end() -> None:
    found = hermite_recurrence(["D^2", "u*D - 1"])
    assert (found.order, found.start) == (0, 2)


def test_zero_is_refused() -> None:
    with pytest.raises(NotHolonomic, match="non-zero operator"):
        hermite_recurrence(["0"])


@pytest.mark.parametrize(
    "expression",
    [
        "Max(u, 0)",
        "Heaviside(u)*sin(u)",
        "Heaviside(u - 1)*u^2",
        "Piecewise((u, u > 0), (2*exp(u) - 2, True))",
        "exp(-u^2)*u",
        "Min(Max(u, -1), 1)",
        "u*(1 + erf(u/sqrt(2)))/2",
        "sin(pi*u)",
        "u + sin(u)^2",
        "Heaviside(u)*exp(-u)*cos(2*u)",
        "u^3 - 3*u",
        "Heaviside(u - 1/2)*u^2*exp(-4*u/3)*cos(u)",  # numbers beyond 64 bits
    ],
)
@pytest.mark.parametrize("c", [Fraction(1), Fraction(7, 10), Fraction(3)])
def test_recurrence_agrees_with_integrals(expression: str, c: Fraction) -> None:
    sequence = hermite_sequence(activation(expression).pieces)
    with ctx.workprec(200):
        values = sequence.coefficients(c, 14)
        for n, value in enumerate(values):
            direct = hermite_moment(sequence.line, c, n)
            assert value.overlaps(direct), n
            assert value.rad() < 1e-30


@settings(deadline=None, max_examples=12)
@given(
    rate=st.fractions(-2, 2, max_denominator=3),
    wave=st.integers(0, 2),
    degree=st.integers(0, 2),
    place=st.fractions(-1, 1, max_denominator=2),
    c=st.fractions(Fraction(1, 4), 3, max_denominator=4),
)
def test_random_pieces(rate: Fraction, wave: int, degree: int, place: Fraction, c: Fraction) -> None:
    text = f"Heaviside(u - ({place}))*u^{degree}*exp(({rate})*u)*cos({wave}*u)"
    sequence = hermite_sequence(activation(text).pieces)
    with ctx.workprec(256):
        values = sequence.coefficients(c, 10)
        assert all(value.overlaps(hermite_moment(sequence.line, c, n)) for n, value in enumerate(values))
        assert all(value.rad() < 1e-20 for value in values)


def test_a_singular_deviation_has_its_own_recurrence() -> None:
    """For exp(u²/8) + u the general equation may lose its leading term at c² = 4, where the moment is infinite."""
    general = hermite_recurrence(["4*D - u"])
    leading = general.hermite_form(arb(2))[-1]
    assert all(a.contains(0) for a in leading)
