"""Every named holonomic activation, and expressions that nobody tuned for: flat, and dF = PF against numbers."""

from fractions import Fraction

import pytest

from holokern import activation, activations, pfaffian
from holokern.errors import NotHolonomic
from holokern.pfaffian.check.against_numbers import check_against_numbers

PARAMETERS = {
    "polynomial": {"coefficients": [1, -2, 0, 3]},
    "monomial": {"degree": 5},
    "hermite": {"degree": 4},
    "rectified_polynomial": {"coefficients": [0, 1, Fraction(1, 3)]},
}
EXPRESSIONS = [
    "1",
    "pi",
    "sin(pi*u)",
    "exp(-sqrt(2)*u)*Heaviside(u)",
    "besselj(0, u)",
    "airyai(u)",
    "sqrt(1 + u^2)",
    "atan(u)",
    "log(1 + u^2)",
    "u*exp(-u^2/3)",
    "Piecewise((u^2, u < 1), (2*u - 1, True))",
    "Abs(u - 1/2)",
    pytest.param("Max(u, u^2)", marks=pytest.mark.slow),
    "exp(-Abs(u))",
    "cos(u)*Heaviside(u + 1)",
    "1/(1 + u^2)",
    "sinh(u)",
    "Heaviside(u)*exp(-u)*sin(2*u)",
    "erfc(u)*exp(u)",
    "Min(Max(u, -2), 1)",
    "u^3 - erf(2*u)",
    "exp(u^2/5)",
    "sqrt(Abs(u))",
    "sin(u)/u",
    pytest.param("u*erf(u) + cos(u)", marks=pytest.mark.slow),
    "Heaviside(u - sqrt(2))*u",
]


# they take longest, and others have breaks of the same kind
LONG = {"hardswish", "selu", "softsign"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in activations()]
)
def test_named_activations(name):
    a = activation(name, **PARAMETERS.get(name, {}))
    if not a.is_holonomic:
        with pytest.raises(NotHolonomic):
            pfaffian(a, cache=False)
        return
    _agrees(pfaffian(a, cache=False, check=False), a)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression):
    a = activation(expression)
    _agrees(pfaffian(a, cache=False, check=False), a)


@pytest.mark.parametrize("name", ["relu", "resin", "erf", "hardshrink", "exp(-Abs(u))"])
def test_the_coordinates_of_the_paper(name):
    a = activation(name)
    _agrees(pfaffian(a, coordinates="x", cache=False, check=False), a)


@pytest.mark.parametrize(("first", "second"), [("relu", "sin"), ("elu", "step"), ("gelu", "exp(-Abs(u))")])
def test_two_different_activations(first, second):
    a, b = activation(first), activation(second)
    _agrees(pfaffian(a, b, cache=False, check=False), a, b)


def _agrees(system, first, second=None):
    assert system.is_flat()
    # pfaffian() itself would use the first two of these points
    assert check_against_numbers(system, first, second, points=4) < 1e-9
