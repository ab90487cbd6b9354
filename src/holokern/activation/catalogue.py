"""Every named activation, with the definition that its name has in PyTorch or in the paper."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpz_poly

from holokern.activation.named import Entry, Parameter
from holokern.activation.tree.constructors import (
    HALF,
    MINUS_ONE,
    ONE,
    ZERO,
    U,
    add,
    call,
    divide,
    multiply,
    negate,
    number,
    power,
    sqrt,
    subtract,
)
from holokern.activation.tree.nodes import Constant, Node, Number
from holokern.errors import BadInput

#: Other spellings of the names in :data:`REGISTRY`.
ALIASES = {
    "heaviside": "step",
    "linear": "identity",
    "logistic": "sigmoid",
    "rectified_power": "relu_k",
    "swish": "silu",
}

# the constants of Klambauer et al. (2017) to the digits that PyTorch prints
_SELU_ALPHA = Fraction("1.6732632423543772848170429916717")
_SELU_SCALE = Fraction("1.0507009873554804934193349852946")  # the same
_POSITIVE_PART = call("Max", U, ZERO)  # max(u, 0)
_NEGATIVE_PART = call("Min", U, ZERO)  # min(u, 0)


def _polynomial(coefficients: tuple[Fraction, ...]) -> Node:
    terms = (multiply(Number(value), power(U, number(degree))) for degree, value in enumerate(coefficients))
    return add(*reversed(tuple(terms)))


def _hermite(degree: int) -> Node:
    """He_n by He_{n+1} = u He_n - n He_{n-1}."""
    u, before, row = fmpz_poly([0, 1]), fmpz_poly([]), fmpz_poly([1])
    for n in range(degree):
        before, row = row, u * row - n * before
    return _polynomial(tuple(Fraction(int(c)) for c in row.coeffs()))


def _leaky(slope: Fraction) -> Node:
    return add(_POSITIVE_PART, multiply(Number(slope), _NEGATIVE_PART))


def _elu(alpha: Fraction) -> Node:
    return add(_POSITIVE_PART, multiply(Number(alpha), subtract(call("exp", _NEGATIVE_PART), ONE)))


def _celu(alpha: Fraction) -> Node:
    scaled = divide(_NEGATIVE_PART, Number(alpha))
    return add(_POSITIVE_PART, multiply(Number(alpha), subtract(call("exp", scaled), ONE)))


def _clip(node: Node, low: Fraction, high: Fraction) -> Node:
    if low >= high:
        raise BadInput(f"'hardtanh' needs low < high, got low = {low!s:.40} and high = {high!s:.40}")
    return call("Max", call("Min", node, Number(high)), Number(low))


def _relu6(node: Node) -> Node:
    return _clip(node, Fraction(0), Fraction(6))


def _hardshrink(lam: Fraction) -> Node:
    outside = add(call("Heaviside", subtract(U, Number(lam))), call("Heaviside", subtract(negate(U), Number(lam))))
    return multiply(U, outside)


def _softshrink(lam: Fraction) -> Node:
    return add(call("Max", subtract(U, Number(lam)), ZERO), call("Min", add(U, Number(lam)), ZERO))


def _threshold(threshold: Fraction, value: Fraction) -> Node:
    above = call("Heaviside", subtract(U, Number(threshold)))
    return add(multiply(U, above), multiply(Number(value), subtract(ONE, above)))


def _softplus(node: Node) -> Node:
    return call("log", add(ONE, call("exp", node)))


def _sigmoid(node: Node) -> Node:
    return divide(ONE, add(ONE, call("exp", negate(node))))


def _gelu_tanh() -> Node:
    cubic = add(U, multiply(Number(Fraction("0.044715")), power(U, number(3))))
    inner = multiply(sqrt(divide(number(2), Constant("pi"))), cubic)
    return multiply(HALF, U, add(ONE, call("tanh", inner)))


def _snake(a: Fraction) -> Node:
    return add(U, divide(power(call("sin", multiply(Number(a), U)), number(2)), Number(a)))


def _scaled(beta: Fraction) -> Node:
    return multiply(Number(beta), U)


def _number(name: str, default: str, positive: bool = False) -> Parameter:
    return Parameter(name, Fraction(default), positive=positive)


# in the order of the documentation
_ENTRIES = (
    Entry("identity", "u", lambda: U),
    Entry("step", "binary step, 1 for u > 0 and 0 for u < 0", lambda: call("Heaviside", U)),
    Entry("sign", "sign of u", lambda: call("sign", U)),
    Entry("relu", "positive part of u", lambda: _POSITIVE_PART),
    Entry(
        "relu_k",
        "k-th power of the positive part of u (also written relu^k); k = 0 is the step",
        lambda k: power(_POSITIVE_PART, number(k)) if k else call("Heaviside", U),
        (Parameter("k", 2, "count"),),
    ),
    Entry("squared_relu", "square of the positive part of u", lambda: power(_POSITIVE_PART, number(2))),
    Entry("leaky_relu", "u for u > 0, slope*u for u < 0", _leaky, (_number("slope", "0.01"),)),
    Entry("prelu", "leaky_relu with PyTorch's initial slope", _leaky, (_number("slope", "0.25"),)),
    Entry("abs", "absolute value of u", lambda: call("Abs", U)),
    Entry("elu", "u for u > 0, alpha*(exp(u) - 1) for u < 0", _elu, (_number("alpha", "1"),)),
    Entry("celu", "u for u > 0, alpha*(exp(u/alpha) - 1) for u < 0", _celu, (_number("alpha", "1", True),)),
    Entry(
        "selu",
        "self-normalising ELU with its standard constants",
        lambda: multiply(Number(_SELU_SCALE), _elu(_SELU_ALPHA)),
    ),
    Entry(
        "gelu",
        "u times the normal distribution function",
        lambda: multiply(HALF, U, add(ONE, call("erf", divide(U, sqrt(number(2)))))),
    ),
    Entry("gelu_paper", "the paper's form u*(1 + erf(u))", lambda: multiply(U, add(ONE, call("erf", U)))),
    Entry("gelu_tanh", "the tanh approximation of gelu", _gelu_tanh),
    Entry("erf", "error function", lambda: call("erf", U)),
    Entry("gaussian", "exp(-u^2/2)", lambda: call("exp", multiply(Number(Fraction(-1, 2)), power(U, number(2))))),
    Entry(
        "rbf",
        "exp(-a*u^2)",
        lambda a: call("exp", multiply(Number(-a), power(U, number(2)))),
        (_number("a", "1", True),),
    ),
    Entry("exp", "exponential", lambda: call("exp", U)),
    Entry("sin", "sine", lambda: call("sin", U)),
    Entry("cos", "cosine", lambda: call("cos", U)),
    Entry("resin", "rectified sine, sin(u) for u > 0", lambda: multiply(call("Heaviside", U), call("sin", U))),
    Entry("snake", "u + sin(a*u)^2/a", _snake, (_number("a", "1", True),)),
    Entry(
        "polynomial",
        "polynomial with the given coefficients, constant term first",
        _polynomial,
        (Parameter("coefficients", None, "coefficients"),),
    ),
    Entry("monomial", "u^degree", lambda degree: power(U, number(degree)), (Parameter("degree", None, "count"),)),
    Entry(
        "hermite",
        "probabilists' Hermite polynomial He_n, orthogonal for the standard normal distribution",
        _hermite,
        (Parameter("degree", None, "count"),),
    ),
    Entry(
        "rectified_polynomial",
        "the polynomial for u > 0 and 0 for u < 0",
        lambda coefficients: multiply(call("Heaviside", U), _polynomial(coefficients)),
        (Parameter("coefficients", None, "coefficients"),),
    ),
    Entry(
        "hardtanh",
        "u clipped to [low, high]",
        lambda low, high: _clip(U, low, high),
        (_number("low", "-1"), _number("high", "1")),
    ),
    Entry("relu6", "u clipped to [0, 6]", lambda: _relu6(U)),
    Entry("hardsigmoid", "(u + 3)/6 clipped to [0, 1]", lambda: divide(_relu6(add(U, number(3))), number(6))),
    Entry("hardswish", "u*hardsigmoid(u)", lambda: divide(multiply(U, _relu6(add(U, number(3)))), number(6))),
    Entry("hardshrink", "u outside [-lam, lam], 0 inside", _hardshrink, (_number("lam", "1/2", True),)),
    Entry("softshrink", "u moved towards 0 by lam", _softshrink, (_number("lam", "1/2", True),)),
    Entry(
        "threshold",
        "u above the threshold, the given value below",
        _threshold,
        (_number("threshold", "0"), _number("value", "0")),
    ),
    Entry("softsign", "u/(1 + |u|)", lambda: divide(U, add(ONE, call("Abs", U)))),
    Entry("sigmoid", "logistic function 1/(1 + exp(-u)); not holonomic", lambda: _sigmoid(U)),
    Entry("tanh", "hyperbolic tangent; not holonomic", lambda: call("tanh", U)),
    Entry(
        "silu",
        "u*sigmoid(beta*u); not holonomic",
        lambda beta: multiply(U, _sigmoid(_scaled(beta))),
        (_number("beta", "1"),),
    ),
    Entry(
        "softplus",
        "log(1 + exp(beta*u))/beta; not holonomic",
        lambda beta: divide(_softplus(_scaled(beta)), Number(beta)),
        (_number("beta", "1", True),),
    ),
    Entry("mish", "u*tanh(softplus(u)); not holonomic", lambda: multiply(U, call("tanh", _softplus(U)))),
    Entry("logsigmoid", "log of the sigmoid; not holonomic", lambda: multiply(MINUS_ONE, _softplus(negate(U)))),
)

#: The named activations in the order of the documentation.
REGISTRY: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
REGISTRY.update({alias: REGISTRY[name] for alias, name in ALIASES.items()})
