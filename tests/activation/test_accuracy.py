"""Every named activation and its derivative against mpmath at many points, tails included."""

import math

import mpmath
import numpy as np
import pytest

from holokern.activation.catalogue import REGISTRY
from holokern.activation.tree.derivative import differentiate
from holokern.activation.tree.grammar import build, read_expression
from holokern.activation.tree.nodes import Call, Constant, Number, Power, Product, Sum, Variable
from holokern.activation.values.evaluate import evaluate

REQUIRED = {
    "polynomial": {"coefficients": [1, -2, 0, "1/3"]},
    "rectified_polynomial": {"coefficients": [0, 1, 0.25]},
    "monomial": {"degree": 5},
    "hermite": {"degree": 4},
}
EXTRA = [("elu", {"alpha": 1.5}), ("celu", {"alpha": 0.3}), ("silu", {"beta": 1.702}), ("softplus", {"beta": 3})]
NAMED = [(name, REQUIRED.get(name, {})) for name in REGISTRY] + EXTRA
EXPRESSIONS = [
    "exp(-3*u^2/7)*sin(u)",
    "(exp(u) - exp(-u))/(exp(u) + exp(-u))",
    "1 - cos(u/3)",
    "cosh(u/9) - 1",
    "u*(1 - tanh(u))",
    "1 - tanh(u)^2",
    "erfc(u/3)",
    "(exp(u/10) - 1)/u",
    "sin(3*u)/u",
    "log(1 + u^2/1000000)",
    "1/(3 + 3*exp(u))",
    "exp(u)/(1 + exp(u))^2",
    "asinh(u) + atan(u)",
    "sqrt(1 + u^2)",
    "2^u",
    "u^2*exp(-u^2/pi)",
    "erfi(u/20)",
    "log(2 + 2*exp(u))",
]
POINTS = np.concatenate(
    [
        [0.0],
        *(sign * np.array([1e-300, 1e-20, 1e-9, 1e-5, 0.003, 0.1, 0.37, 0.71, 1.3, 2.5]) for sign in (1.0, -1.0)),
        *(sign * np.array([3.3, 4.9, 6.1, 8.7, 10.0, 13.3, 21.7, 30.3, 36.9, 120.7, 699.3]) for sign in (1.0, -1.0)),
    ]
)
FUNCTIONS = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "erf": mpmath.erf,
    "erfc": lambda x: 1 - mpmath.erf(x),
    "erfi": mpmath.erfi,
    "atan": mpmath.atan,
    "asinh": mpmath.asinh,
    "Heaviside": lambda x: (1 + mpmath.sign(x)) / 2,
    "sign": mpmath.sign,
    "Abs": abs,
    "Max": max,
    "Min": min,
    "besselj": mpmath.besselj,
    "airyai": mpmath.airyai,
    "airyaiprime": lambda x: mpmath.airyai(x, derivative=1),
}


def exact(tree, x):
    """The value to hundreds of digits, straight from the definition."""
    match tree:
        case Variable():
            return x
        case Number(value):
            return mpmath.mpf(value.numerator) / value.denominator
        case Constant(name):
            return +mpmath.pi if name == "pi" else +mpmath.e
        case Sum(terms):
            return mpmath.fsum(exact(term, x) for term in terms)
        case Product(factors):
            return mpmath.fprod(exact(factor, x) for factor in factors)
        case Power(base, exponent):
            return mpmath.power(exact(base, x), exact(exponent, x))
        case Call(name, args):
            return FUNCTIONS[name](*(exact(arg, x) for arg in args))
    raise AssertionError(tree)


def allowed_size(tree, x):
    """The sum of the sizes of all terms: against it floats keep every digit, also next to a root of the sum."""
    match tree:
        case Sum(terms):
            return mpmath.fsum(allowed_size(term, x) for term in terms)
        case Product(factors):
            return mpmath.fprod(allowed_size(factor, x) for factor in factors)
        case Power(base, Number(value)) if value > 0:
            return mpmath.power(allowed_size(base, x), exact(Number(value), x))
    return abs(exact(tree, x))


def check(tree, points, size, tolerance):
    found = evaluate(tree, points)
    with mpmath.workdps(360):
        for x, value in zip(map(float, points), map(float, found), strict=True):
            true = exact(tree, mpmath.mpf(x))
            if abs(true) > 1.7e308:
                assert value == math.copysign(math.inf, float(mpmath.sign(true))), x
            elif abs(true) < 1e-300:
                assert abs(value - true) <= 1e-312 + tolerance * size(tree, mpmath.mpf(x)), x
            else:
                assert abs(value - true) <= tolerance * size(tree, mpmath.mpf(x)), (x, value, float(true))


def relative(tree, x):
    return abs(exact(tree, x))


@pytest.mark.parametrize(("name", "parameters"), NAMED)
def test_named_activations_keep_all_digits(name, parameters):
    tree, _ = build(REGISTRY[name], parameters)
    check(tree, POINTS, relative, 3e-15)


@pytest.mark.parametrize(("name", "parameters"), NAMED)
def test_their_derivatives_keep_all_digits(name, parameters):
    tree, _ = build(REGISTRY[name], parameters)
    # sin(2u) = -1 and the maximum of silu are next to points of the list: only there terms cancel
    size = allowed_size if name in ("snake", "silu", "swish", "gelu", "gelu_tanh") else relative
    check(differentiate(tree), POINTS, size, 3e-15)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_keep_all_digits(text):
    points = POINTS[np.abs(POINTS) > 0] if "/u" in text else POINTS
    check(read_expression(text), points, relative, 4e-15)


@pytest.mark.parametrize("text", ["besselj(0, u)", "besselj(2, u/3)", "airyai(u)", "airyaiprime(u)"])
def test_special_functions(text):
    points = POINTS[np.abs(POINTS) < 12]
    check(read_expression(text), points, lambda _, x: 1 + abs(x), 1e-14)


def test_gelu_far_out():
    """The tail is where u/2*(1 + erf) in floats has no digit left at all."""
    gelu = read_expression("gelu(u)")
    points = -np.linspace(5, 38, 67)
    check(gelu, points, relative, 2e-15)
    check(differentiate(gelu), points, relative, 4e-15)


def test_values_do_not_depend_on_the_neighbours():
    rng = np.random.default_rng(1)
    points = rng.normal(size=70_000)
    tree = read_expression("selu(u)*gelu(u)")
    together = evaluate(tree, points)
    for place in (0, 1, 32_767, 32_768, 69_999):
        assert evaluate(tree, points[place]) == together[place]
