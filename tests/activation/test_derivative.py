"""Derivatives of trees against high-precision difference quotients of balls."""

from fractions import Fraction

import pytest
from flint import arb, ctx

from holokern.activation.catalogue import REGISTRY
from holokern.activation.tree.constructors import ZERO
from holokern.activation.tree.derivative import differentiate
from holokern.activation.tree.grammar import build, read_expression
from holokern.activation.tree.printing import to_text
from holokern.activation.values.balls import ball
from holokern.errors import Unsupported

REQUIRED = {
    "polynomial": {"coefficients": [1, -2, 0, "1/3"]},
    "rectified_polynomial": {"coefficients": [0, 1, 0.25]},
    "monomial": {"degree": 5},
    "hermite": {"degree": 4},
}
TREES = {name: build(entry, REQUIRED.get(name, {}))[0] for name, entry in REGISTRY.items()}
EXPRESSIONS = (
    "tan(u/7) + sinh(u) + cosh(u) + erfc(u) + erfi(u/4) + atan(u) + asinh(u)",
    "log(2 + sin(u))*2^u",
    "(1 + u^2)^(1/3)*(2 + cos(u))^(u/5)",
    "besselj(1/2, Abs(u) + 1) + besselj(2, u) + airyai(u)*airyaiprime(u)",
    "Max(u, u^2/3, 1) + Min(sin(u), 1/2)",
    "Piecewise((u^3, u < -1), (exp(u), (u < 1) & (u > -1)), (sign(u)*u, True))",
    "u/(1 + Abs(u))^3",
    "sin(u)*cos(u)*exp(-u)*u^3/(2 + u^2)",
)
POINTS = [Fraction(n, 7) for n in (-33, -20, -11, -5, -2, 1, 4, 9, 16, 30)]


def difference_quotient(tree, x):
    """The symmetric quotient with step h = 2^-150, off by h^2 f'''/6."""
    h = Fraction(1, 2**150)
    with ctx.workprec(1000):
        return (ball(tree, x + h, 1000) - ball(tree, x - h, 1000)) / (2 * arb(2) ** -150)


@pytest.mark.parametrize("name", TREES)
def test_named(name):
    check(TREES[name])


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text):
    check(read_expression(text))


def check(tree):
    slope = differentiate(tree)
    for x in POINTS:
        quotient, found = difference_quotient(tree, x), ball(slope, x, 1000)
        assert found.is_finite()
        assert abs(found - quotient) < arb(2) ** -120 * (1 + abs(found))
    assert read_expression(to_text(slope)) == slope


def test_second_derivative_of_gelu_is_that_of_the_normal_law():
    gelu = differentiate(differentiate(read_expression("gelu(u)")))
    law = read_expression("(2 - u^2)*exp(-u^2/2)/sqrt(2*pi)")
    for x in POINTS:
        assert ball(gelu, x).overlaps(ball(law, x))


def test_constants_and_steps_have_derivative_zero():
    for text in ("3", "pi", "Heaviside(u)", "sign(u - 1)", "Piecewise((1, u < 0), (2, True))"):
        slope = differentiate(read_expression(text))
        assert slope == ZERO or to_text(slope) == "Piecewise((0, u < 0), (0, True))"


def test_a_varying_order_is_refused():
    with pytest.raises(Unsupported, match="order"):
        differentiate(read_expression("besselj(u, 1)"))
