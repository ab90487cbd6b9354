"""Shapes, types, NaN, infinities and overflow: evaluation never warns and never spoils a value."""

import math
from fractions import Fraction

import numpy as np
import pytest

from holokern.activation.tree.derivative import differentiate
from holokern.activation.tree.grammar import read_expression
from holokern.activation.values.evaluate import evaluate
from holokern.errors import BadInput

INF = math.inf
NAN = math.nan


def value(text, x):
    return evaluate(read_expression(text), x)


@pytest.mark.parametrize("x", [0.5, 1, np.float64(0.5), np.float32(0.5), np.int64(2), True, Fraction(1, 2)])
def test_scalars_give_floats(x):
    found = value("u^2", x)
    assert type(found) is float
    assert found == float(x) ** 2


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (1, 0, 4), (2, 1, 2)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_shapes_and_types_are_kept(shape, dtype):
    x = np.ones(shape, dtype=dtype)
    for text in ("exp(-u)", "3", "Piecewise((u, u > 0), (0, True))", "Heaviside(u)*sin(u)"):
        found = value(text, x)
        assert found.shape == shape
        assert found.dtype == dtype


def test_other_inputs():
    assert value("u + 1", [1, 2]).tolist() == [2.0, 3.0]
    assert value("u + 1", np.array([1, 2], dtype=np.uint8)).dtype == np.float64
    strided = np.arange(12.0).reshape(3, 4).T[::2]
    assert np.array_equal(value("u^2", strided), strided**2)
    big = value("u^2", np.array([1e200], dtype=np.float64))
    assert big.tolist() == [INF]
    assert value("exp(u)", np.array([100.0], dtype=np.float32)).tolist() == [INF]
    x = np.array([1.0, -2.0])
    value("Max(u, 0)*Heaviside(u)", x)
    assert x.tolist() == [1.0, -2.0], "the input is not changed"


@pytest.mark.parametrize("x", ["1.5", None, 1j, [1, "a"], [[1], [1, 2]], object(), {"a": 1}, np.array(["a"])])
def test_what_is_not_real_is_refused(x):
    with pytest.raises(BadInput, match="real numbers"):
        value("u", x)


@pytest.mark.parametrize("text", ["3", "u", "Heaviside(u)", "Piecewise((u, u > 0), (0, True))", "Max(u, 0)", "gelu(u)"])
def test_nan_stays_nan(text):
    assert math.isnan(value(text, NAN))
    assert np.isnan(value(text, np.array([1.0, NAN]))).tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "at_minus", "at_plus"),
    [
        ("relu(u)", 0, INF),
        ("gelu(u)", 0, INF),
        ("silu(u)", 0, INF),
        ("mish(u)", 0, INF),
        ("elu(u)", -1, INF),
        ("softplus(u)", 0, INF),
        ("logsigmoid(u)", -INF, 0),
        ("sigmoid(u)", 0, 1),
        ("tanh(u)", -1, 1),
        ("softsign(u)", -1, 1),
        ("erf(u)", -1, 1),
        ("gaussian(u)", 0, 0),
        ("u*exp(-u^2)", 0, 0),
        ("hardswish(u)", 0, INF),
        ("hardtanh(u)", -1, 1),
        ("step(u)", 0, 1),
        ("snake(u)", -INF, INF),
        ("u^2 - u", INF, INF),
        ("(3*u + 1)/(u + 2)", 3, 3),
        ("sin(u)/u", 0, 0),
        ("sin(u)", NAN, NAN),
        ("resin(u)", 0, NAN),
        ("Piecewise((7, u < 0), (u, True))", 7, INF),
        ("5", 5, 5),
    ],
)
def test_limits_at_the_infinities(text, at_minus, at_plus):
    assert value(text, np.array([-INF, INF])) == pytest.approx([at_minus, at_plus], nan_ok=True)


@pytest.mark.parametrize("text", ["gelu(u)", "silu(u)", "mish(u)", "elu(u)", "softplus(u)", "tanh(u)", "relu(u)"])
def test_limits_of_derivatives(text):
    slope = differentiate(read_expression(text))
    assert evaluate(slope, np.array([-INF, INF])) == pytest.approx([0, float(text != "tanh(u)")])


def test_overflow_in_a_branch_that_is_not_taken():
    x = np.array([-100.0, -1.0, 1.0, 100.0])
    assert value("Heaviside(-u)*exp(u^2)", x)[2:].tolist() == [0, 0]
    assert value("Piecewise((u, u > 0), (exp(-u^3), True))", x)[2:].tolist() == [1, 100]
    assert value("Heaviside(u)*u^(1/2)", x).tolist() == [0, 0, 1, 10]
    assert value("Max(u, 0)*log(Max(u, 0))", x)[:2].tolist() == [0, 0]
    assert value("Piecewise((1/u, Abs(u) > 50), (0, True))", np.array([0.0, 100.0])).tolist() == [0, 0.01]


def test_overflow_inside_a_finite_value():
    assert value("exp(u)/(2 + exp(u))", 800.0) == 1.0
    assert value("exp(u)*exp(-u^2)", 800.0) == 0.0
    assert value("exp(u) - exp(u)*Heaviside(u + 1) + 1", 800.0) == 1.0
    assert value("log(exp(u) + 2)", 1000.0) == 1000.0
    assert value("u^200/(u^200 + 1)", 1e10) == 1.0
    assert value("exp(u)", 1000.0) == INF


def test_removable_singularities():
    assert value("sin(u)/u", 0.0) == 1.0
    assert value("(exp(3*u) - 1)/u", 0.0) == 3.0
    assert value("(1 - cos(u))/u^2", 0.0) == pytest.approx(0.5, rel=1e-15)
    assert evaluate(differentiate(read_expression("sin(u)/u")), 0.0) == 0.0
    assert value("(u^2 - 1)/(u - 1)", 1.0) == 2.0
    assert value("1/u", 0.0) == INF
    assert value("log(Abs(u))", 0.0) == -INF
    assert math.isnan(value("sqrt(u)", -1.0))


def test_values_at_breaks_are_symmetric():
    assert value("Heaviside(u)", 0.0) == 0.5
    assert value("sign(u)", 0.0) == 0.0
    for name, expected in (("relu", 0.5), ("abs", 0.0), ("leaky_relu", 0.505), ("hardtanh", 1.0)):
        assert evaluate(differentiate(read_expression(f"{name}(u)")), 0.0) == expected
    assert evaluate(differentiate(read_expression("elu(u, 2)")), 0.0) == 1.5
    assert evaluate(differentiate(read_expression("hardtanh(u)")), np.array([-1.0, 1.0])).tolist() == [0.5, 0.5]


def test_cases_take_the_first_condition_that_holds():
    text = "Piecewise((1, u < -1), (2, (u < 0) | (u == 3)), (3, ~((u > 1) & (u < 2))), (4, u != 1.5))"
    assert value(text, np.array([-2, -0.5, 0.5, 1.2, 3, 5])).tolist() == [1, 2, 3, 4, 2, 3]
    assert value(text, 1.5) == 4.0, "a hole of one point is filled by the limit"
    gap = value("Piecewise((1, u < -1), (2, u > 1))", np.array([-2.0, -1.0, 0.0, 1.0, 2.0]))
    assert np.isnan(gap).tolist() == [False, True, True, True, False]
