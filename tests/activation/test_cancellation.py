"""Rewriting for evaluation: the expected forms, and the same function always."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation.tree.grammar import read_expression
from holokern.activation.tree.printing import to_text
from holokern.activation.values.cancellation import is_gate, stabilise
from holokern.activation.values.evaluate import evaluate

FORMS = [
    ("exp(u) - 1", "expm1(u)"),
    ("3*u*exp(u/2) - 3*u", "3*u*expm1(u/2)"),
    ("1 - exp(-u)", "-expm1(-u)"),
    ("1 + erf(u)", "erfc(-u)"),
    ("1 - erf(u)", "erfc(u)"),
    ("u^2 - u^2*erf(2*u)", "u^2*erfc(2*u)"),
    ("1 - erfc(u)", "erf(u)"),
    ("1 + tanh(u)", "2*expit(2*u)"),
    ("1 - tanh(u)", "2*expit(-2*u)"),
    ("1 - tanh(u)^2", "1/cosh(u)^2"),
    ("cos(u) - 1", "-2*sin(u/2)^2"),
    ("cosh(u) - 1", "2*sinh(u/2)^2"),
    ("exp(u) - exp(-u)", "2*sinh(u)"),
    ("(exp(u) - exp(-u))/(exp(u) + exp(-u))", "tanh(u)"),
    ("1/(1 + exp(-u))", "expit(u)"),
    ("1/(2 + 2*exp(u))^2", "expit(-u)^2/4"),
    ("exp(u)/(1 + exp(u))", "expit(u)"),
    ("exp(-u)/(1 + exp(-u))^2", "expit(u)*expit(-u)"),
    ("1 - 1/(1 + exp(-u))", "expit(-u)"),
    ("log(1 + exp(u))", "softplus(u)"),
    ("log(1 + u^2)", "log1p(u^2)"),
    ("sin(3*u)/u", "3*sinc(3*u)"),
    ("(exp(u) - 1)/u", "exprel(u)"),
    ("u*sign(u)", "Abs(u)"),
    ("Piecewise((exp(u) - 1, 1 + erf(u) > 0), (0, True))", "Piecewise((expm1(u), erfc(-u) > 0), (0, True))"),
    ("exp(u) + 1", "exp(u) + 1"),
    ("exp(u) - 2", "exp(u) - 2"),
]


@pytest.mark.parametrize(("text", "expected"), FORMS)
def test_forms(text, expected):
    assert to_text(stabilise(read_expression(text))) == expected


def test_gates():
    assert is_gate(read_expression("Heaviside(u - 1)"))
    assert is_gate(read_expression("Max(u, 0)^2"))
    assert is_gate(read_expression("Heaviside(u) + Heaviside(-u - 1)"))
    assert not is_gate(read_expression("Heaviside(u) + 1"))
    assert not is_gate(read_expression("1/Max(u, 0)"))


INNER = {
    "u": lambda x: x,
    "u/3": lambda x: x / 3,
    "-u": lambda x: -x,
    "u^2": lambda x: x**2,
    "2*u - 1": lambda x: 2 * x - 1,
}
OUTER = {
    "exp": mpmath.exp,
    "erf": mpmath.erf,
    "erfc": lambda x: 1 - mpmath.erf(x),
    "tanh": mpmath.tanh,
    "cos": mpmath.cos,
    "cosh": mpmath.cosh,
}
SHAPES = {
    "C*(F + 1)": lambda c, f: c * (f + 1),
    "C*F - C": lambda c, f: c * f - c,
    "C*F^2 - C": lambda c, f: c * f**2 - c,
    "F/(1 + F)": lambda c, f: f / (1 + f),
    "C*F/(1 + F)^2": lambda c, f: c * f / (1 + f) ** 2,
    "(F - 1)/C": lambda c, f: (f - 1) / c,
    "F - 1/F": lambda c, f: f - 1 / f,
}


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(SHAPES)),
    st.sampled_from(sorted(INNER)),
    st.sampled_from(sorted(OUTER)),
    st.sampled_from(sorted(INNER)),
    st.sampled_from([Fraction(n, 16) for n in (-49, -30, -17, -5, 3, 9, 25, 40)]),
)
def test_the_function_stays_the_same(shape, inner, outer, cofactor, x):
    text = shape.replace("F", f"{outer}({inner})").replace("C", f"({cofactor})")
    with mpmath.workdps(60):
        point = mpmath.mpf(x.numerator) / x.denominator
        f = OUTER[outer](INNER[inner](point))
        expected = SHAPES[shape](INNER[cofactor](point), f)
        # all digits for exp; for the others cancellation may be left in these shapes, but never a wrong function
        assert abs(evaluate(read_expression(text), float(x)) - expected) <= 1e-11 * (1 + abs(expected))
