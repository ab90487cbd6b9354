"""The field Q(x, y): field laws, derivations, reading, printing and pickling."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
import sympy
from flint import fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, HolokernError
from holokern.weyl.rational.fractions import RationalFunction, function_field

K = function_field("x y")
x, y = K.gens

polynomials = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), st.integers(-5, 5).filter(bool), min_size=1, max_size=4
).map(lambda terms: sum((c * x ** key[0] * y ** key[1] for key, c in terms.items()), K.zero))


@st.composite
def functions(draw: st.DrawFn) -> RationalFunction:
    bottom = draw(polynomials)
    assume(not bottom.is_zero)
    return draw(polynomials) / bottom


@settings(deadline=None, max_examples=60)
@given(functions(), functions(), functions())
def test_field_laws(f: RationalFunction, g: RationalFunction, h: RationalFunction) -> None:
    assert (f + g) + h == f + (g + h)
    assert f * (g + h) == f * g + f * h
    assert f - f == 0
    if g:
        assert (f / g) * g == f
        assert (1 / g) * g == 1


@settings(deadline=None, max_examples=60)
@given(functions(), functions())
def test_derivation_laws(f: RationalFunction, g: RationalFunction) -> None:
    for name in ("x", "y"):
        assert (f * g).derivative(name) == f.derivative(name) * g + f * g.derivative(name)
    assert f.derivative("x").derivative("y") == f.derivative("y").derivative("x")


@settings(deadline=None, max_examples=60)
@given(functions())
def test_reading_back_and_pickling(f: RationalFunction) -> None:
    assert K(str(f)) == f
    again = pickle.loads(pickle.dumps(f))
    assert again == f
    assert hash(again) == hash(f)


@settings(deadline=None, max_examples=60)
@given(functions(), st.fractions(-3, 3, max_denominator=7), st.fractions(-3, 3, max_denominator=7))
def test_evaluation_agrees_with_the_parts(f: RationalFunction, a: Fraction, b: Fraction) -> None:
    point = {"x": a, "y": b}
    bottom = K(f.denominator).evaluate(point)
    assume(bottom != 0)
    assert f.evaluate(point) * bottom == K(f.numerator).evaluate(point)


@settings(deadline=None, max_examples=40)
@given(functions())
def test_sympy_and_back(f: RationalFunction) -> None:
    expression = f.to_sympy()
    assert K(expression) == f
    assert K(sympy.expand(expression)) == f
    assert sympy.cancel(sympy.diff(expression, "x") - f.derivative("x").to_sympy()) == 0


def test_sympy_expressions_that_are_read_and_refused() -> None:
    a, b = sympy.symbols("x y", positive=True)
    assert K((a + b) ** 2 / (a - b) ** 3 - sympy.Rational(1, 3)) == (x + y) ** 2 / (x - y) ** 3 - K("1/3")
    assert K(sympy.S.Half) == K("1/2")
    assert 2 * a + sympy.sympify(x / y) == 2 * a + sympy.Symbol("x") / sympy.Symbol("y")
    for bad in (a**b, sympy.sqrt(a), sympy.sin(a), a + 0.5, sympy.Symbol("z"), sympy.pi, a < b, sympy.oo, sympy.nan):
        with pytest.raises(BadInput):
            K(bad)
    with pytest.raises(BadInput, match="division by zero"):
        K(sympy.Pow(sympy.Add(a, -a, evaluate=False), -1, evaluate=False))


def test_a_function_is_called() -> None:
    f = (x + 1) / y
    assert f(1, 4) == f(x=1, y=4) == f(1, y=4) == Fraction(1, 2)
    assert isinstance(f(1, 4), Fraction)
    assert f(0.5, 2.0) == 0.75
    assert f(fmpq(1, 2), fmpq(1, 3)) == fmpq(9, 2)
    assert np.array_equal(f(np.array([1.0, 3.0]), 2.0), [1.0, 2.0])
    assert f(y, x) == (y + 1) / x
    for point, values in (((1,), {}), ((1, 2, 3), {}), ((1, 2), {"x": 1}), ((), {"x": 1}), ((1,), {"y": 1, "z": 1})):
        with pytest.raises(BadInput, match="x, y"):
            f(*point, **values)


def test_reduced_form() -> None:
    f = (x**2 - y**2) / (2 * y - 2 * x)
    assert str(f) == "(-x - y)/2"
    assert f == K("-(x + y)/2")
    assert f.constant_value() is None
    assert (f / f).constant_value() == 1
    assert K(0).constant_value() == 0


def test_substitution_into_another_field() -> None:
    t = function_field("t").gens[0]
    assert (x / y).substitute({"x": t + 1, "y": 1 / t}) == t * (t + 1)
    assert K(3).substitute({"x": t, "y": t}) == 3


def test_immutable() -> None:
    with pytest.raises(AttributeError):
        x.numerator = 1


@pytest.mark.parametrize("text", ["z", "x^y", "x^(1/2)", "1/0", "x/(x - x)", "sin(x)", "x < y", "x^100000", "0^-1"])
def test_bad_text(text: str) -> None:
    with pytest.raises(HolokernError):
        K(text)


def test_bad_values() -> None:
    with pytest.raises(BadInput):
        K(0.5)
    with pytest.raises(BadInput):
        K(function_field("z").gens[0])
    with pytest.raises(ZeroDivisionError):
        x / K.zero
    with pytest.raises(ZeroDivisionError):
        K.fraction(1, 0)
    with pytest.raises(BadInput):
        function_field("x x")
    with pytest.raises(BadInput):
        x ** Fraction(1, 2)  # type: ignore[operator]
