"""The function pfaffian on activations: ranks, checks, cache."""

from __future__ import annotations

import numpy as np
import pytest

from holokern.activation import Activation, activation
from holokern.errors import BadInput, CheckFailed, NotHolonomic, UnknownName
from holokern.pfaffian import pfaffian
from holokern.pfaffian.check.against_numbers import check_against_numbers
from holokern.pfaffian.derivation.by_stein import read_operators

RANKS = {
    "relu": 2,
    "step": 2,
    "resin": 5,
    "gelu_paper": 2,
    "gelu": 2,
    "1 + erf(u)": 2,
    "erf": 2,
    "sin": 2,
    "gaussian": 1,
    "exp(u)": 1,
    "identity": 1,
    "elu": 14,
}


@pytest.mark.parametrize("name", RANKS)
def test_rank_with_the_whole_annihilator(name: str):
    system = pfaffian(name, cache=False)
    assert system.rank == RANKS[name]
    assert system.basis[0] == (0, 0)
    assert system.rank == 1 or system.basis[1] == (1, 1)


def test_rank_of_the_derivative_of_the_papers_gelu():
    assert pfaffian(activation("gelu_paper").derivative, cache=False).rank == 2


UNTUNED = [
    "besselj(0, u)",
    "airyai(u)",
    "sin(u)*exp(-u^2/2)",
    "exp(-Abs(u))",
    "u*exp(-u^2/2)",
    "cos(u)^2",
    "erfc(u)*exp(-u)",
    "erf(u)*Heaviside(u)",
    "exp(-u^2)*Heaviside(u - 1)",
    "sqrt(1 + u^2)",
    "u^5 - 3*u + 1",
    "Abs(u)^3 + u^2",
]


@pytest.mark.parametrize("expression", UNTUNED)
def test_expressions_nobody_tuned_for(expression: str):
    system = pfaffian(expression, cache=False)
    assert system.is_flat()
    assert check_against_numbers(system, activation(expression)) < 1e-8


NAMED = [
    "sign",
    "abs",
    "leaky_relu",
    "squared_relu",
    "cos",
    "rbf",
    "snake",
    "hardtanh",
    "relu6",
    "hardsigmoid",
    "hardswish",
    "hardshrink",
    "softshrink",
    "softsign",
    "celu",
]


@pytest.mark.parametrize("name", NAMED)
def test_named_activations(name: str):
    assert pfaffian(name, cache=False).is_flat()


def test_two_activations():
    system = pfaffian("relu", "sin", cache=False)
    assert [[str(P) for P in side] for side in system.annihilators] == [["u*D - 1"], ["D^2 + 1"]]
    assert pfaffian("relu", other_operator="D^2 + 1", cache=False) == system


def test_a_scale_makes_irrational_arguments_rational():
    system = pfaffian("sin(pi*u)", cache=False)
    assert [float(k) for k in system.scale] == [np.pi, np.pi]
    # k = E[sin(πu) sin(πv)] = e^{-π²(Σ11 + Σ22)/2} sinh(π² Σ12), so ∂k/∂Σ11 = -π²/2 k
    values = system.evaluate(0.3, 0.1, 0.4)
    np.testing.assert_allclose(values[0], -(np.pi**2) / 2 * np.eye(2), rtol=1e-14)
    np.testing.assert_allclose(values[1], [[0, 1], [np.pi**4, 0]], rtol=1e-14)


def test_not_holonomic():
    with pytest.raises(NotHolonomic):
        pfaffian("tanh", cache=False)
    with pytest.raises(NotHolonomic):
        pfaffian("relu", "sigmoid", cache=False)


def test_bad_input():
    with pytest.raises(BadInput, match="operator="):
        pfaffian()
    with pytest.raises(BadInput, match="both"):
        pfaffian("relu", operator="u*D - 1")
    with pytest.raises(UnknownName, match="coordinates"):
        pfaffian("relu", coordinates="y")
    with pytest.raises(BadInput, match="basis"):
        pfaffian("relu", basis="1, a*b, a^2", cache=False)
    with pytest.raises(BadInput):
        pfaffian("__import__('os').system('x')", cache=False)
    with pytest.raises(BadInput):
        pfaffian(3.5, cache=False)


def test_a_wrong_annihilator_is_caught_and_not_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(Activation, "annihilator", property(lambda self: read_operators("D^2 + 1")))
    with pytest.raises(CheckFailed):
        pfaffian("relu", cache=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert pfaffian("sin", cache=tmp_path).rank == 2


def test_huge_coefficients_are_left_out_where_they_cost_too_much():
    selu, exact = pfaffian("selu", cache=False), activation("selu").annihilator
    assert len(selu.annihilators[0]) < len(exact)
    assert set(selu.annihilators[0]) < set(exact)
    assert selu.rank == 21


def test_cache(tmp_path):
    first = pfaffian("resin", cache=tmp_path)
    (stored,) = tmp_path.iterdir()
    again = pfaffian("resin", cache=tmp_path)
    assert again == first
    stored.write_text("damaged")
    assert pfaffian("resin", cache=tmp_path) == first
    # another basis, other coordinates and plain operators are other questions
    pfaffian("resin", cache=tmp_path, coordinates="x")
    pfaffian("resin", cache=tmp_path, basis="1, a*b, a^2, b^2, a^3*b^3")
    pfaffian(operator="u*D^2 + u", cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_the_answer_does_not_depend_on_the_cache(tmp_path):
    assert (
        pfaffian("sin(pi*u)", cache=tmp_path)
        == pfaffian("sin(pi*u)", cache=tmp_path)
        == pfaffian("sin(pi*u)", cache=False)
    )
