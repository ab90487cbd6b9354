"""Every named activation, with the definition that its name has in PyTorch or in the paper."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpz_poly

from holokern.activation.named import Entry, Parameter
from holokern.activation.tree.constructors import ZERO, U, add, call, multiply, number, power
from holokern.activation.tree.nodes import Node, Number
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
_SELU_ALPHA = "1.6732632423543772848170429916717"
_SELU_SCALE = "1.0507009873554804934193349852946"  # the same


def _polynomial(coefficients: tuple[Fraction, ...]) -> Node:
    terms = (multiply(Number(value), power(U, number(degree))) for degree, value in enumerate(coefficients))
    return add(*reversed(tuple(terms)))


def _hermite(degree: int) -> Node:
    """He_n by He_{n+1} = u He_n - n He_{n-1}."""
    u, before, row = fmpz_poly([0, 1]), fmpz_poly([]), fmpz_poly([1])
    for n in range(degree):
        before, row = row, u * row - n * before
    return _polynomial(tuple(Fraction(int(c)) for c in row.coeffs()))


def _hardtanh(low: Fraction, high: Fraction) -> Node:
    if low >= high:
        raise BadInput(f"'hardtanh' needs low < high, got low = {low!s:.40} and high = {high!s:.40}")
    return call("Max", call("Min", U, Number(high)), Number(low))


def _number(name: str, default: str, positive: bool = False) -> Parameter:
    return Parameter(name, Fraction(default), positive=positive)


# in the order of the documentation
_ENTRIES = (
    Entry("identity", "u", "u"),
    Entry("step", "binary step, 1 for u > 0 and 0 for u < 0", "Heaviside(u)"),
    Entry("sign", "sign of u", "sign(u)"),
    Entry("relu", "positive part of u", "Max(u, 0)"),
    Entry(
        "relu_k",
        "k-th power of the positive part of u (also written relu^k); k = 0 is the step",
        lambda k: power(call("Max", U, ZERO), number(k)) if k else call("Heaviside", U),
        (Parameter("k", 2, "count"),),
    ),
    Entry("squared_relu", "square of the positive part of u", "Max(u, 0)^2"),
    Entry("leaky_relu", "u for u > 0, slope*u for u < 0", "Max(u, 0) + slope*Min(u, 0)", (_number("slope", "0.01"),)),
    Entry(
        "prelu", "leaky_relu with PyTorch's initial slope", "Max(u, 0) + slope*Min(u, 0)", (_number("slope", "0.25"),)
    ),
    Entry("abs", "absolute value of u", "Abs(u)"),
    Entry(
        "elu",
        "u for u > 0, alpha*(exp(u) - 1) for u < 0",
        "Max(u, 0) + alpha*(exp(Min(u, 0)) - 1)",
        (_number("alpha", "1"),),
    ),
    Entry(
        "celu",
        "u for u > 0, alpha*(exp(u/alpha) - 1) for u < 0",
        "Max(u, 0) + alpha*(exp(Min(u, 0)/alpha) - 1)",
        (_number("alpha", "1", True),),
    ),
    Entry(
        "selu",
        "self-normalising ELU with its standard constants",
        f"{_SELU_SCALE}*(Max(u, 0) + {_SELU_ALPHA}*(exp(Min(u, 0)) - 1))",
    ),
    Entry("gelu", "u times the normal distribution function", "u/2*(1 + erf(u/sqrt(2)))"),
    Entry("gelu_paper", "the paper's form u*(1 + erf(u))", "u*(1 + erf(u))"),
    Entry("gelu_tanh", "the tanh approximation of gelu", "u/2*(1 + tanh(sqrt(2/pi)*(u + 0.044715*u^3)))"),
    Entry("erf", "error function", "erf(u)"),
    Entry("gaussian", "exp(-u^2/2)", "exp(-u^2/2)"),
    Entry("rbf", "exp(-a*u^2)", "exp(-a*u^2)", (_number("a", "1", True),)),
    Entry("exp", "exponential", "exp(u)"),
    Entry("sin", "sine", "sin(u)"),
    Entry("cos", "cosine", "cos(u)"),
    Entry("resin", "rectified sine, sin(u) for u > 0", "Heaviside(u)*sin(u)"),
    Entry("snake", "u + sin(a*u)^2/a", "u + sin(a*u)^2/a", (_number("a", "1", True),)),
    Entry(
        "polynomial",
        "polynomial with the given coefficients, constant term first",
        _polynomial,
        (Parameter("coefficients", None, "coefficients"),),
    ),
    Entry("monomial", "u^degree", "u^degree", (Parameter("degree", None, "count"),)),
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
    Entry("hardtanh", "u clipped to [low, high]", _hardtanh, (_number("low", "-1"), _number("high", "1"))),
    Entry("relu6", "u clipped to [0, 6]", "Max(Min(u, 6), 0)"),
    Entry("hardsigmoid", "(u + 3)/6 clipped to [0, 1]", "Max(Min(u + 3, 6), 0)/6"),
    Entry("hardswish", "u*hardsigmoid(u)", "u*Max(Min(u + 3, 6), 0)/6"),
    Entry(
        "hardshrink",
        "u outside [-lam, lam], 0 inside",
        "u*(Heaviside(u - lam) + Heaviside(-u - lam))",
        (_number("lam", "1/2", True),),
    ),
    Entry(
        "softshrink", "u moved towards 0 by lam", "Max(u - lam, 0) + Min(u + lam, 0)", (_number("lam", "1/2", True),)
    ),
    Entry(
        "threshold",
        "u above the threshold, the given value below",
        "u*Heaviside(u - threshold) + value*(1 - Heaviside(u - threshold))",
        (_number("threshold", "0"), _number("value", "0")),
    ),
    Entry("softsign", "u/(1 + |u|)", "u/(1 + Abs(u))"),
    Entry("sigmoid", "logistic function 1/(1 + exp(-u)); not holonomic", "1/(1 + exp(-u))"),
    Entry("tanh", "hyperbolic tangent; not holonomic", "tanh(u)"),
    Entry("silu", "u*sigmoid(beta*u); not holonomic", "u/(1 + exp(-beta*u))", (_number("beta", "1"),)),
    Entry(
        "softplus",
        "log(1 + exp(beta*u))/beta; not holonomic",
        "log(1 + exp(beta*u))/beta",
        (_number("beta", "1", True),),
    ),
    Entry("mish", "u*tanh(softplus(u)); not holonomic", "u*tanh(log(1 + exp(u)))"),
    Entry("logsigmoid", "log of the sigmoid; not holonomic", "-log(1 + exp(-u))"),
)

#: The named activations in the order of the documentation.
REGISTRY: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
REGISTRY.update({alias: REGISTRY[name] for alias, name in ALIASES.items()})
