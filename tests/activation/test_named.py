"""Names and parameters: definitions, exact reading, domains."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from holokern.activation import activation
from holokern.activation.catalogue import ALIASES, REGISTRY
from holokern.activation.named import read_rational
from holokern.activation.tree.grammar import build
from holokern.activation.tree.printing import to_text
from holokern.activation.values.evaluate import evaluate
from holokern.errors import BadInput, TooLarge, UnknownName

X = np.array([-7.0, -3.0, -1.7, -0.4, 0.3, 0.9, 2.2, 3.0, 6.5])


def normal(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


DEFINITIONS = {
    "identity": lambda x: x,
    "step": lambda x: float(x > 0),
    "sign": lambda x: math.copysign(1, x),
    "relu": lambda x: max(x, 0),
    "relu_k": lambda x: max(x, 0) ** 2,
    "squared_relu": lambda x: max(x, 0) ** 2,
    "leaky_relu": lambda x: x if x > 0 else 0.01 * x,
    "prelu": lambda x: x if x > 0 else 0.25 * x,
    "abs": abs,
    "elu": lambda x: x if x > 0 else math.exp(x) - 1,
    "celu": lambda x: x if x > 0 else math.exp(x) - 1,
    "selu": lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * (math.exp(x) - 1)),
    "gelu": lambda x: x * normal(x),
    "gelu_paper": lambda x: x * (1 + math.erf(x)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "erf": math.erf,
    "gaussian": lambda x: math.exp(-x * x / 2),
    "rbf": lambda x: math.exp(-x * x),
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
    "resin": lambda x: math.sin(x) if x > 0 else 0,
    "snake": lambda x: x + math.sin(x) ** 2,
    "hardtanh": lambda x: min(max(x, -1), 1),
    "relu6": lambda x: min(max(x, 0), 6),
    "hardsigmoid": lambda x: 0 if x <= -3 else 1 if x >= 3 else x / 6 + 0.5,
    "hardswish": lambda x: 0 if x <= -3 else x if x >= 3 else x * (x + 3) / 6,
    "hardshrink": lambda x: x if abs(x) > 0.5 else 0,
    "softshrink": lambda x: x - 0.5 if x > 0.5 else x + 0.5 if x < -0.5 else 0,
    "threshold": lambda x: x if x > 0 else 0,
    "softsign": lambda x: x / (1 + abs(x)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "tanh": math.tanh,
    "silu": lambda x: x / (1 + math.exp(-x)),
    "softplus": lambda x: math.log(1 + math.exp(x)),
    "mish": lambda x: x * math.tanh(math.log(1 + math.exp(x))),
    "logsigmoid": lambda x: -math.log(1 + math.exp(-x)),
}
WITH_PARAMETERS = [
    ("relu_k", {"k": 3}, lambda x: max(x, 0) ** 3),
    ("relu_k", {"k": 0}, lambda x: float(x > 0)),
    ("leaky_relu", {"slope": 0.2}, lambda x: max(x, 0.2 * x)),
    ("elu", {"alpha": "3/2"}, lambda x: x if x > 0 else 1.5 * (math.exp(x) - 1)),
    ("celu", {"alpha": 2}, lambda x: x if x > 0 else 2 * (math.exp(x / 2) - 1)),
    ("rbf", {"a": 0.25}, lambda x: math.exp(-x * x / 4)),
    ("snake", {"a": 3}, lambda x: x + math.sin(3 * x) ** 2 / 3),
    ("polynomial", {"coefficients": [1, 0, -2.5]}, lambda x: 1 - 2.5 * x * x),
    ("rectified_polynomial", {"coefficients": (0, 1, 1)}, lambda x: x + x * x if x > 0 else 0),
    ("monomial", {"degree": 3}, lambda x: x**3),
    ("hermite", {"degree": 5}, lambda x: x**5 - 10 * x**3 + 15 * x),
    ("hardtanh", {"low": 0, "high": 6}, lambda x: min(max(x, 0), 6)),
    ("hardshrink", {"lam": 1}, lambda x: x if abs(x) > 1 else 0),
    ("softshrink", {"lam": 1}, lambda x: x - 1 if x > 1 else x + 1 if x < -1 else 0),
    ("threshold", {"threshold": 1, "value": -2}, lambda x: x if x > 1 else -2),
    ("silu", {"beta": 2}, lambda x: x / (1 + math.exp(-2 * x))),
    ("softplus", {"beta": 2}, lambda x: math.log(1 + math.exp(2 * x)) / 2),
]


@pytest.mark.parametrize("name", [name for name in REGISTRY if name in DEFINITIONS])
def test_definitions(name):
    tree, _ = build(REGISTRY[name], {})
    assert evaluate(tree, X) == pytest.approx([DEFINITIONS[name](x) for x in X], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("name", "parameters", "definition"), WITH_PARAMETERS)
def test_definitions_with_parameters(name, parameters, definition):
    tree, values = build(REGISTRY[name], parameters)
    assert evaluate(tree, X) == pytest.approx([definition(x) for x in X], rel=1e-12, abs=1e-15)
    assert {key for key, _ in values} == set(parameters)


def test_every_name_is_tested():
    tested = {*DEFINITIONS, *(name for name, _, _ in WITH_PARAMETERS)}
    assert tested == set(REGISTRY) - set(ALIASES)


def test_hermite_polynomials_are_orthogonal():
    nodes, weights = np.polynomial.hermite_e.hermegauss(30)
    values = [evaluate(build(REGISTRY["hermite"], {"degree": n})[0], nodes) for n in range(7)]
    gram = np.einsum("in,jn,n->ij", values, values, weights) / math.sqrt(2 * math.pi)
    assert gram == pytest.approx(np.diag([math.factorial(n) for n in range(7)]), abs=1e-9)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, Fraction(3)),
        (0.1, Fraction(1, 10)),
        (1e-300, Fraction(1, 10**300)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int8(-4), Fraction(-4)),
        (Fraction(2, 7), Fraction(2, 7)),
        (fmpq(2, 7), Fraction(2, 7)),
        (Decimal("0.30"), Fraction(3, 10)),
        (" 2/3 ", Fraction(2, 3)),
        ("-1.5e2", Fraction(-150)),
        (".5", Fraction(1, 2)),
    ],
)
def test_numbers_are_read_exactly(value, expected):
    assert read_rational(value, "it") == expected


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -math.inf,
        Decimal("NaN"),
        Decimal("-Infinity"),
        np.float32("inf"),
        None,
        True,
        1j,
        "nan",
        "inf",
        "1/0",
        "1e999999999",
        "1_000",
        "٣",
        "__import__('os')",
        "9" * 10**6,
        "",
        [1],
        np.array([1.0, 2.0]),
        object(),
    ],
)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(BadInput, match="the slope") as caught:
        read_rational(value, "the slope")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("name", "parameters", "error", "words"),
    [
        ("elu", {"beta": 1}, UnknownName, "its parameters are alpha"),
        ("relu", {"slope": 1}, UnknownName, "no parameters"),
        ("celu", {"alpha": 0}, BadInput, "positive"),
        ("softplus", {"beta": -1}, BadInput, "positive"),
        ("hardtanh", {"low": 1, "high": 1}, BadInput, "low < high"),
        ("monomial", {}, BadInput, "missing"),
        ("monomial", {"degree": 1.5}, BadInput, "integer"),
        ("monomial", {"degree": -1}, BadInput, "integer"),
        ("monomial", {"degree": 10**9}, TooLarge, "at most"),
        ("polynomial", {"coefficients": []}, BadInput, "empty"),
        ("polynomial", {"coefficients": "123"}, BadInput, "sequence"),
        ("polynomial", {"coefficients": 3}, BadInput, "sequence"),
        ("polynomial", {"coefficients": {"a": 1}}, BadInput, "sequence"),
        ("polynomial", {"coefficients": [1, float("nan")]}, BadInput, "entry 1"),
        ("polynomial", {"coefficients": iter(lambda: 1, 2)}, TooLarge, "at most"),
        ("leaky_relu", {"slope": "steep"}, BadInput, "slope"),
    ],
)
def test_bad_parameters(name, parameters, error, words):
    with pytest.raises(error, match=words):
        build(REGISTRY[name], parameters)


def test_unknown_names_come_with_suggestions():
    with pytest.raises(UnknownName, match="'gelu'"):
        activation("gellu")
    with pytest.raises(UnknownName, match="lists the names"):
        activation("zzzzzzzz")


def test_parameters_stay_exact():
    tree, values = build(REGISTRY["leaky_relu"], {"slope": 0.1})
    assert values == (("slope", Fraction(1, 10)),)
    assert to_text(tree) == "Max(u, 0) + Min(u, 0)/10"


def test_a_name_with_its_default_parameters_prints_as_the_name():
    assert str(activation("elu")) == "elu"
    assert str(activation("elu", alpha=1)) == "elu"
    assert str(activation("elu", alpha=2)) == activation("elu", alpha=2).expression
    for name in ("silu", "relu_k", "hardtanh", "relu"):
        assert activation(str(activation(name))) == activation(name)
