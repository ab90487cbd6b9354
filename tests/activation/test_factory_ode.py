"""Activations by ODE through the factory, beside the same functions by expression."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from holokern.activation import Activation, activation
from holokern.errors import BadInput, BadOperator, CheckFailed, NotHolonomic, Unsupported

RESIN = {"operator": "u*(D^2 + 1)", "values": {(None, 0): 0, (0, None): {0: [0, 1]}}}
RELU = {"operator": "u*D - 1", "values": {(None, 0): 0, (0, None): {0: [0, 1]}}}
SINE = {"operator": "D^2 + 1", "values": {0: [0, 1]}}
PAIRS = [(RESIN, "resin"), (RELU, "relu"), (SINE, "sin"), ({"operator": "D + u", "values": {0: [1]}}, "gaussian")]
X = np.array([-3.1, -1.4, -0.2, 0.3, 1.1, 2.9])


@pytest.mark.parametrize(("given", "name"), PAIRS)
def test_the_same_function_by_ode_and_by_name(given, name):
    ode, named = activation(**given), activation(name)
    assert isinstance(ode, Activation)
    assert ode(X) == pytest.approx(named(X), rel=1e-13, abs=1e-14)
    assert (ode.breaks, ode.jump_order) == (named.breaks, named.jump_order)
    assert ode.annihilator == named.annihilator
    assert ode.is_holonomic
    assert ode.annihilator_scale is None
    assert ode.ball(Fraction(1, 2)).overlaps(named.ball(Fraction(1, 2)))


@pytest.mark.parametrize(("given", "name"), PAIRS)
def test_the_derivative_by_ode_and_by_name(given, name):
    slope = activation(**given).derivative
    assert slope(X) == pytest.approx(activation(name).derivative(X), rel=1e-13, abs=1e-14)


@pytest.mark.parametrize(("given", "name"), PAIRS)
def test_arithmetic_with_expressions(given, name):
    ode, named, other = activation(**given), activation(name), activation("exp")
    for found, expected in (
        (ode + other, named(X) + other(X)),
        (other + ode, named(X) + other(X)),
        (ode * other, named(X) * other(X)),
        (other * ode, named(X) * other(X)),
        (ode - other, named(X) - other(X)),
        (2 * ode, 2 * named(X)),
        (ode + 1, named(X) + 1),
        (1 - ode, 1 - named(X)),
        (ode / 3, named(X) / 3),
        (ode.shift("1/2"), named(X + 0.5)),
        (ode.scale(-2), named(-2 * X)),
    ):
        assert isinstance(found, Activation)
        assert found(X) == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize(("given", "name"), PAIRS)
def test_repr_pickle_hash_and_latex(given, name):
    ode = activation(**given)
    text = repr(ode)
    assert text.startswith("activation(operator=[")
    assert str(ode) == text
    again = activation(**given)
    assert again == ode
    assert hash(again) == hash(ode)
    assert pickle.loads(pickle.dumps(ode)) == ode
    assert ode != activation(name)
    assert "sigma" in ode._repr_latex_()
    assert activation(ode) is ode
    assert activation(ode.function) == ode


def test_repr_shows_the_data():
    assert repr(activation(**RESIN)) == (
        "activation(operator=['u*D^2 + u'], values={(None, 0): 0, (0, None): {0: [0, 1]}})"
    )
    odd = activation(operator="D - 1", values={"1/2": ["sqrt(2)"]})
    assert repr(odd) == "activation(operator=['D - 1'], values={(None, None): {'1/2': ['2^(1/2)']}})"


def test_whole_enlarges_the_annihilator():
    given = activation(operator="u*D - 1", values={0: [0, 1]})
    assert given.annihilator == activation("relu").annihilator
    assert activation(operator="u*D - 1", values={0: [0, 1]}, whole=True).annihilator == activation("u").annihilator


def test_there_is_no_expression():
    for attribute in ("tree", "expression"):
        with pytest.raises(Unsupported, match="given by its ODE"):
            getattr(activation(**SINE), attribute)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"operator": "D^2 + 1"}, BadInput, "fixes no function"),
        ({"values": {0: [1]}}, BadInput, "operator"),
        ({"whole": True}, BadInput, "operator"),
        ({"operator": "x*D", "values": {0: [1]}}, BadInput, "x"),
        ({"operator": "__import__('os')", "values": {0: [1]}}, BadInput, "cannot read"),
        ({"operator": 3, "values": {0: [1]}}, BadOperator, "int"),
        ({"operator": "0", "values": {0: [1]}}, NotHolonomic, "operator 0"),
        ({"operator": "D^2 + 1", "values": {0: [1]}}, BadInput, "u = 0"),
        ({"operator": "D^2 + 1", "values": {0: [float("nan"), 1]}}, BadInput, "finite"),
        ({"operator": "D^2 + 1", "values": {float("inf"): [0, 1]}}, BadInput, "finite"),
        ({"operator": "D^2 + 1", "values": [0, 1]}, BadInput, "mapping"),
        ({"operator": "D^2 + 1", "values": RESIN["values"]}, CheckFailed, "delta"),
        ({"operator": "D", "values": {0: [1]}, "alpha": 1}, BadInput, "not by both"),
    ],
)
def test_bad_input(given, error, words):
    with pytest.raises(error, match=words):
        activation(**given)


def test_not_both():
    with pytest.raises(BadInput, match="not by both"):
        activation("relu", **RELU)
