"""Closure properties of operators, against derivatives of known functions."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation.ode.annihilator import affine_operator, derivative_operator, product_operator, sum_operator
from holokern.activation.ring.relation import D1
from holokern.errors import BadInput, BadOperator, TooLarge

FUNCTIONS = {
    "D - 1": mp.exp,
    "D^2 + 1": mp.sin,
    "D + 2*u": lambda x: mp.exp(-x * x),
    "D^2 + 2*u*D": mp.erf,
    "u*D - 3": lambda x: x**3,
    "D^2 - u": mp.airyai,
    "u*D^2 + D + u": lambda x: mp.besselj(0, x),
    "(1 + u^2)*D^2 + 2*u*D": mp.atan,
    "2*(1 + u)*D - 1": lambda x: mp.sqrt(1 + x),
}
POINT = mp.mpf("0.7")


def applied(operator, function):
    """(P f)(0.7) relative to the size of its terms."""
    with mp.workdps(50):
        coefficients = mp.taylor(function, POINT, operator.order)
        terms = [
            mp.mpf(int(c.p)) / int(c.q) * POINT**i * coefficients[j] * mp.factorial(j)
            for (i, j), c in operator.terms.items()
        ]
        return abs(mp.fsum(terms)) / max(map(abs, terms))


def number(value):
    """A fraction at the precision of the moment."""
    return mp.mpf(value.numerator) / value.denominator


NAMES = st.sampled_from(list(FUNCTIONS))


@given(NAMES, NAMES)
@settings(deadline=None, max_examples=25)
def test_sum_and_product(first, second):
    f, g = FUNCTIONS[first], FUNCTIONS[second]
    p, q = D1(first), D1(second)
    total, product = sum_operator(p, q), product_operator(p, q)
    assert applied(total, lambda x: 2 * f(x) - 3 * g(x)) < 1e-20
    assert applied(product, lambda x: f(x) * g(x)) < 1e-20
    assert total.order <= p.order + q.order
    assert product.order <= p.order * q.order
    assert sum_operator(p, p).order == p.order


@given(NAMES)
@settings(deadline=None, max_examples=9)
def test_derivative(name):
    f = FUNCTIONS[name]
    assert applied(derivative_operator(D1(name)), lambda x: mp.diff(f, x)) < 1e-12


@given(
    NAMES,
    st.sampled_from([Fraction(1, 2), Fraction(-1, 3), Fraction(2)]),
    st.sampled_from([Fraction(0), Fraction(1, 5)]),
)
@settings(deadline=None, max_examples=20)
def test_affine(name, scale, shift):
    f = FUNCTIONS[name]
    operator = affine_operator(D1(name), scale, shift)
    assert applied(operator, lambda x: f(number(scale) * x + number(shift))) < 1e-20
    assert affine_operator(operator, 1 / scale, -shift / scale) == D1(name).primitive()


def test_degenerate_operators():
    assert derivative_operator(D1("D")) == 1
    assert sum_operator(D1("1"), D1("D - 1")) == D1("D - 1")
    assert product_operator(D1("1"), D1("D - 1")) == 1
    assert sum_operator(D1("u*(D - 1)"), D1("D - 1")) == D1("D - 1")
    with pytest.raises(BadOperator, match="annihilates every function"):
        derivative_operator(D1("0"))
    with pytest.raises(BadInput, match="other than 0"):
        sum_operator(D1("0"), D1("D"))
    with pytest.raises(TooLarge, match="stops at 36"):
        product_operator(D1("D^7 - u"), D1("D^6 + u"))
    with pytest.raises(BadOperator, match="not be zero"):
        affine_operator(D1("D"), Fraction(0), Fraction(1))
