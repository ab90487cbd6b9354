"""Activations by ODE: values against known functions, checks of the data, closure under arithmetic."""

from __future__ import annotations

import pickle
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation.ode.annihilator import annihilator_of
from holokern.activation.ode.arithmetic import ode_of_tree
from holokern.activation.ode.continuation import march
from holokern.activation.ode.ode_activation import OdeActivation, ode_activation
from holokern.activation.ring.relation import D1
from holokern.activation.tree.grammar import read_expression
from holokern.activation.values.evaluate import evaluate
from holokern.errors import BadInput, BadOperator, CheckFailed, NotHolonomic, PrecisionLost, Unsupported
from holokern.weyl.univariate.operators import UnivariateIdeal

KNOWN = {
    "sin": ("D^2 + 1", {0: [0, 1]}, mp.sin),
    "sin from elsewhere": ("D^2 + 1", {1: ["sin(1)", "cos(1)"]}, mp.sin),
    "exp": ("D - 1", {0: [1]}, mp.exp),
    "gaussian": ("D + u", {0: [1]}, lambda x: mp.exp(-x * x / 2)),
    "atan": ("(1 + u^2)*D^2 + 2*u*D", {0: [0, 1]}, mp.atan),
    "erf": ("D^2 + 2*u*D", {0: [0, "2/sqrt(pi)"]}, mp.erf),
    "bessel": ("u*D^2 + D + u", {0: [1, 0]}, lambda x: mp.besselj(0, x)),
    "sinc": ("u*D^2 + 2*D + u", {0: [1, 0]}, mp.sinc),
    "airy": ("D^2 - u", {0: ["airyai(0)", "airyaiprime(0)"]}, mp.airyai),
}
POINTS = np.linspace(-6.3, 6.1, 57)


def spread(values):
    return np.max(np.abs(values))


@pytest.mark.parametrize("name", KNOWN)
def test_values(name):
    operator, values, truth = KNOWN[name]
    a = ode_activation(operator, values)
    expected = np.array([float(truth(mp.mpf(float(x)))) for x in POINTS])
    found = a(POINTS)
    assert found.shape == POINTS.shape
    assert spread(found - expected) < 4e-15 * max(1, spread(expected))
    assert np.all(np.abs(found - expected) <= 1e-12 * np.abs(expected) + 1e-15)


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in ("bessel", "sinc")])
def test_balls_contain_the_truth(name):
    operator, values, truth = KNOWN[name]
    a = ode_activation(operator, values)
    with mp.workdps(60):
        for x in (Fraction(-5, 2), Fraction(1, 7), Fraction(4)):
            value = a.ball(x, 128)
            exact = arb(mp.nstr(truth(mp.mpf(x.numerator) / x.denominator), 50))
            assert value.overlaps(exact)
            assert value.rel_accuracy_bits() > 90


def test_piecewise_solution():
    a = ode_activation("u*(D^2 + 1)", {(None, 0): 0, (0, None): {0: [0, 1]}})
    x = np.array([-2.0, -1e-300, 0.0, 0.5, 3.0])
    np.testing.assert_allclose(a(x), np.where(x > 0, np.sin(x), 0), rtol=1e-15, atol=0)
    assert a.breaks == (0,)
    assert a.jump_order == 1
    assert a.annihilator == (D1("u*D^2 + u"),)
    assert a(0.5) == pytest.approx(np.sin(0.5), abs=1e-16)
    assert isinstance(a(0.5), float)
    assert a(np.float32([0.5])).dtype == np.float32
    assert np.isnan(a(float("nan")))
    assert np.isnan(a(float("inf")))


def test_data_inside_the_intervals_is_checked_by_balls():
    data = {(None, 0): {-1: [0, 0]}, (0, None): {1: ["sin(1)", "cos(1)"]}}
    assert ode_activation("u*(D^2 + 1)", data).jump_order == 1
    with pytest.raises(CheckFailed, match=r"leaves 1 times derivative 0 of delta at u = 0"):
        ode_activation("D^2 + 1", data)
    with pytest.raises(CheckFailed, match="delta"):
        ode_activation("D", {(None, 0): 0, (0, None): {0: [1]}})
    assert ode_activation("D", {(None, 0): 0, (0, None): {0: [1]}}, check=False)(1.0) == 1.0


def test_apparent_singularities_are_crossed():
    line = ode_activation("u*D - 1", {1: [1]})
    assert line(np.array([-2.0, 0.0, 3.0])) == pytest.approx([-2.0, 0.0, 3.0], abs=1e-15)
    assert line.annihilator == (D1("u*D - 1"),)


def test_mean_at_a_jump():
    step = ode_activation("u*D", {(None, 0): 0, (0, None): {1: [1]}})
    assert step(0.0) == 0.5
    assert step.jump_order == 0


def test_singular_break_without_data_is_refused():
    with pytest.raises(Unsupported, match="singular at u = 0"):
        ode_activation("2*u*D - 1", {(None, 0): 0, (0, None): {1: [1]}})
    root = ode_activation("2*u*D - 1", {(None, 0): 0, (0, None): {1: [1]}}, check=False)
    assert root(np.array([1e-9, 4.0])) == pytest.approx([1e-9**0.5, 2.0], rel=1e-15)


def test_whole_annihilator_of_data():
    smooth = ode_activation("u^2*D^2 - 2*u*(1 - u^2)*D + 2*(1 - u^2)", {0: [0, 1, "4/sqrt(pi)"]}, whole=True)
    assert UnivariateIdeal(D1, smooth.operators) == UnivariateIdeal(
        D1, annihilator_of(read_expression("u*(1 + erf(u))")).operators
    )
    assert smooth(1.0) == pytest.approx(1 + float(mp.erf(1)), rel=1e-15)
    resin = ode_activation("u^2*(D^2 + 1)", {(None, 0): 0, (0, None): {0: [0, 1]}}, whole=True)
    assert resin.operators == (D1("u*(D^2 + 1)"),)
    with pytest.raises(Unsupported, match="exact one-sided values"):
        ode_activation("u^2*(D^2 + 1)", {(None, 0): 0, (0, None): {1: [0, 1]}}, whole=True)


@pytest.mark.parametrize(
    ("operator", "values", "error", "word"),
    [
        ("0", {0: [1]}, NotHolonomic, "operator 0"),
        ("x*D", {0: [1]}, BadOperator, "unknown name"),
        (7, {0: [1]}, BadOperator, "expected an operator"),
        ([], {0: [1]}, BadOperator, "at least one"),
        ("D^2 + 1", {0: [1]}, BadInput, "needs 2 values"),
        ("D^2 + 1", {0: [0, 1, 5]}, BadInput, "contradict"),
        ("D^2 + 1", {0: [0, float("nan")]}, BadInput, "finite"),
        ("D^2 + 1", {0: [0, "u"]}, BadInput, "constant"),
        ("D^2 + 1", {0: "01"}, BadInput, "list"),
        ("D^2 + 1", {0: [0, 1], 1: [0, 1]}, BadInput, "exactly one point"),
        ("D^2 + 1", [0, 1], BadInput, "mapping"),
        ("D^2 + 1", {}, BadInput, "mapping"),
        ("D^2 + 1", {(None, 0): 0, (1, None): 0}, BadInput, "tile"),
        ("D^2 + 1", {(None, 0): 0, (0, 1): 0}, BadInput, "tile"),
        ("D^2 + 1", {(None, 0): {1: [0, 1]}, (0, None): 0}, BadInput, "outside"),
        ("D^2 + 1", {(None, 0): 5, (0, None): 0}, BadInput, "expected the values"),
        ("D^2 + 1", {(None, None, 1): 0}, BadInput, "intervals"),
        ("D^2 + 1", {(1, 0): 0}, BadInput, "empty"),
        ("2*u*D - 1", {1: [1]}, BadInput, "singular at u = 0"),
        ("u*D^2 + D + u", {0: [1, 1]}, BadInput, "contradict"),
        ("u*D - 3", {0: [0]}, BadInput, "free"),
        ("1", {0: [1]}, BadInput, "contradict"),
    ],
)
def test_bad_data(operator, values, error, word):
    with pytest.raises(error, match=word):
        ode_activation(operator, values)


def test_far_away_and_strange_input():
    a = ode_activation("D^2 + 1", {0: [0, 1]})
    with pytest.raises(Unsupported, match="away from the data"):
        a(1e9)
    with pytest.raises(BadInput, match="real numbers"):
        a("x")
    assert a(np.zeros((2, 0))).shape == (2, 0)


def test_immutable_hashable_picklable():
    a = ode_activation("u*(D^2 + 1)", {(None, 0): 0, (0, None): {0: [0, 1]}})
    b = pickle.loads(pickle.dumps(a))
    assert a == b
    assert hash(a) == hash(b)
    assert a(1.0) == b(1.0)
    with pytest.raises(AttributeError):
        a.operators = ()


def test_parity():
    assert ode_activation("D^2 + 1", {0: [0, 1]}).parity == "odd"
    assert ode_activation("D^2 + 1", {0: [1, 0]}).parity == "even"
    assert ode_activation("D^2 + 1", {0: [1, 1]}).parity is None
    assert ode_activation("u*D", {(None, 0): {0: [-1, 0]}, (0, None): {0: [1, 0]}}).parity == "odd"


TEXTS = ["sin(u)", "exp(-u^2/2)", "Heaviside(u)*sin(u)", "Max(u - 1/2, 0)", "erf(u)", "u^2 + 1"]
X = np.linspace(-2.2, 2.3, 31)


def plain(text):
    """σ at X by mpmath, independent of the library."""
    values = {
        "sin(u)": mp.sin,
        "exp(-u^2/2)": lambda x: mp.exp(-x * x / 2),
        "Heaviside(u)*sin(u)": lambda x: mp.sin(x) if x > 0 else 0,
        "Max(u - 1/2, 0)": lambda x: max(x - 0.5, 0),
        "erf(u)": mp.erf,
        "u^2 + 1": lambda x: x * x + 1,
    }
    return np.array([float(values[text](x)) for x in X])


@pytest.mark.parametrize("text", TEXTS)
def test_expressions_as_ode(text):
    a = ode_of_tree(read_expression(text))
    assert isinstance(a, OdeActivation)
    assert spread(a(X) - plain(text)) < 3e-15
    assert UnivariateIdeal(D1, a.operators) == UnivariateIdeal(D1, annihilator_of(read_expression(text)).operators)


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
@settings(deadline=None, max_examples=6)
def test_sums_and_products(first, second):
    a, b = (ode_of_tree(read_expression(text)) for text in (first, second))
    assert spread((a + b)(X) - plain(first) - plain(second)) < 1e-13
    assert spread((a * b)(X) - plain(first) * plain(second)) < 1e-13


def test_scalars_differences_and_affine():
    a = ode_activation("D^2 + 1", {0: [0, 1]})
    np.testing.assert_allclose((3 * a)(X), 3 * np.sin(X), atol=1e-14)
    np.testing.assert_allclose((a + 2)(X), np.sin(X) + 2, atol=1e-14)
    np.testing.assert_allclose((a * -1 + 1)(X), 1 - np.sin(X), atol=1e-14)
    np.testing.assert_allclose(a.shift(1)(X), np.sin(X + 1), atol=1e-14)
    np.testing.assert_allclose(a.scale("-3/2")(X), np.sin(-1.5 * X), atol=1e-14)
    np.testing.assert_allclose(a.derivative(X), np.cos(X), atol=1e-14)
    np.testing.assert_allclose(a.derivative.derivative(X), -np.sin(X), atol=1e-14)
    with pytest.raises(BadInput, match="zero"):
        a.scale(0)
    assert (a + a * -1)(0.7) == pytest.approx(0, abs=1e-15)


def test_arithmetic_keeps_whole_annihilators_at_a_common_break():
    resin = ode_activation("u*(D^2 + 1)", {(None, 0): 0, (0, None): {0: [0, 1]}})
    relu = ode_of_tree(read_expression("Max(u, 0)"))
    for found, text in (
        (resin + relu, "Heaviside(u)*(u + sin(u))"),
        (resin * relu, "Heaviside(u)*u*sin(u)"),
        (resin + -1, "Heaviside(u)*sin(u) - 1"),
        (resin * resin, "Heaviside(u)*sin(u)^2"),
    ):
        assert UnivariateIdeal(D1, found.operators) == UnivariateIdeal(
            D1, annihilator_of(read_expression(text)).operators
        )
        assert found(0.7) == pytest.approx(evaluate(read_expression(text), 0.7), rel=1e-14)


def test_derivative_where_its_equation_is_singular():
    gaussian = ode_activation("D + u", {0: [1]})
    np.testing.assert_allclose(gaussian.derivative(X), -X * np.exp(-X * X / 2), atol=1e-15)
    constant = ode_activation("D", {0: [2]})
    assert constant.derivative(1.5) == 0.0
    assert constant.derivative.annihilator == (D1.one,)


def test_derivative_of_a_piecewise_solution():
    resin = ode_activation("u*(D^2 + 1)", {(None, 0): 0, (0, None): {0: [0, 1]}})
    slope = resin.derivative
    np.testing.assert_allclose(slope(X[X != 0]), np.where(X > 0, np.cos(X), 0)[X != 0], atol=1e-15)
    assert slope.jump_order == 0
    assert UnivariateIdeal(D1, slope.operators) == UnivariateIdeal(
        D1, annihilator_of(read_expression("Heaviside(u)*cos(u)")).operators
    )


@pytest.mark.parametrize("name", ["sin", "bessel", "airy"])
def test_derivatives_are_read_from_the_charts_of_the_function(name):
    operator, values, exact = KNOWN[name]
    function = ode_activation(operator, values)
    points = np.linspace(-31.3, 4.1, 23)
    for order in (1, 2):
        function = function.derivative
        assert function.origin[1] == order
        want = np.array([float(mp.diff(exact, float(x), order)) for x in points])
        assert spread(function(points) - want) < 2e-15 * spread(want)


def test_steps_have_a_limit():
    """Solutions turn as often as cos(u²/2)."""
    sigma = ode_activation("D^2 + u^2 + 1", {0: [1, 0]})
    chart = sigma.solution(0).right[0]
    with pytest.raises(PrecisionLost, match=r"turns too often between u = 0 and 1000 for 9 Taylor steps"):
        march(sigma.solution(0).flow, chart, Fraction(1000), 160, 9)
