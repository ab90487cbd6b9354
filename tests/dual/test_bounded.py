"""Poles are refused, many panels go to boxes, budgets end what takes too long."""

from fractions import Fraction

import numpy as np
import pytest

import holokern as hk
from holokern.activation import REGISTRY
from holokern.activation.pieces.unbounded import not_square_integrable
from holokern.dual.defined import refuse_undefined
from holokern.dual.quadrature import pairing
from holokern.dual.quadrature.boxes import pair_on_boxes
from holokern.dual.quadrature.profile import profile_of
from holokern.dual.quadrature.sides import Side
from holokern.dual.tables.build import build_table
from holokern.errors import BadInput, HolokernError, PrecisionLost, TooLarge
from holokern.numeric import Range


@pytest.mark.parametrize(
    "expression", ["tan(u)", "1/sin(u)", "1/cos(3*u)", "1/(exp(u)-2)", "1/(1-cos(u))", "1/(tanh(u)-1/2)"]
)
def test_poles_are_refused_before_any_work(expression):
    with pytest.raises(BadInput, match="pole at u"):
        hk.dual(expression, 1, 1, 0.5)
    with pytest.raises(BadInput, match="pole at u"):
        hk.Network(expression, depth=1)


@pytest.mark.parametrize("expression", ["sin(u)/u", "u/(exp(u)-1)", "1/(1+u^2)", "1/cosh(u)", "1/tanh(u)-1/u", "mish"])
def test_what_is_no_pole_is_served(expression):
    assert not_square_integrable(hk.activation(expression)) is None


@pytest.mark.parametrize("theta", [0.01, 0.3, 1.0, np.pi / 2, 2.5, 3.1])
def test_boxes_against_closed_forms(theta):
    def sampled(x):
        return np.stack([np.maximum(x, 0.0), np.sin(3 * x)])

    ends = np.unique(np.concatenate([np.linspace(-9, 9, 37), [0.0]]))
    (relu, sine), norms = pair_on_boxes(sampled, sampled, theta, (ends, ends), 30)
    assert abs(relu - (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi)) < 1e-15
    assert abs(sine - np.exp(-9) * np.sinh(9 * np.cos(theta))) < 1e-15
    assert np.allclose(norms, [1 / 2, np.exp(-9) * np.sinh(9)], rtol=1e-14, atol=0)


def test_boxes_and_nested_integrals_agree(monkeypatch):
    arguments = "Heaviside(u)*sin(9*u)+u/5", np.array([1.0, 2.0]), np.array([2.0, 0.5])
    nested = hk.dual(*arguments, [0.4, -0.8], method="quadrature")
    monkeypatch.setattr(pairing, "_LONG", 0.0)
    monkeypatch.setattr(pairing, "_BOX", 0.0)
    boxes = hk.dual(*arguments, [0.4, -0.8], method="quadrature")
    assert np.all(np.abs(nested.k - boxes.k) <= nested.error + boxes.error)
    assert np.all(np.abs(nested.kdot - boxes.kdot) <= nested.kdot_error + boxes.kdot_error)
    assert not np.array_equal(nested.k, boxes.k) or not np.array_equal(nested.kdot, boxes.kdot)


def test_a_pole_of_the_derivative_is_refused_in_words():
    with pytest.raises(HolokernError):
        hk.dual("log(Abs(u))", 0.4, 1.7, 0.3, method="hermite")


def test_what_turns_too_often_is_refused():
    with pytest.raises(PrecisionLost, match="oscillates too fast"):
        hk.dual("cos(u^3)", 1e3, 1e3, 0.5, method="quadrature")


def test_nearly_equal_points_of_what_turns_too_often_are_refused(monkeypatch):
    profile = profile_of(hk.activation("Heaviside(u-1)*sin(u)"))
    theta, ones = np.array([1.0, 0.01]), (np.ones(2), np.ones(2))
    large = Side.of(profile, np.array([1.0, 1e4]))
    with pytest.raises(PrecisionLost, match=r"c1 = 10000, c2 = 10000, θ = 0\.01 oscillates too fast"):
        pairing.mean_square(large, large, theta, ones)
    small = Side.of(profile, np.array([1.0, 2.0]))
    found = pairing.mean_square(small, small, theta, ones)
    monkeypatch.setenv("HOLOKERN_PATIENCE", "1e-4")
    with pytest.raises(PrecisionLost, match="oscillates too fast"):
        pairing.mean_square(small, small, theta, ones)
    monkeypatch.delenv("HOLOKERN_PATIENCE")
    exact = hk.dual("Heaviside(u-1)*sin(u)", [1.0, 2.0], [1.0, 2.0], theta=theta).k
    norms = hk.dual("Heaviside(u-1)*sin(u)", [1.0, 2.0], [1.0, 2.0], theta=0.0).k
    assert np.allclose(found, norms - exact, rtol=1e-9, atol=1e-14)


def test_rows_whose_squares_are_no_floats():
    x = np.random.default_rng(0).normal(size=(3, 2))
    net = hk.Network("relu", depth=1)
    with pytest.raises(PrecisionLost, match="scale the data"):
        net.both(1e200 * x)
    for small in (1e-200, 1e-310):
        assert not np.any(np.abs(net.both(small * x)) > 1e-300)


@pytest.mark.parametrize(("c1", "c2", "r"), [(1.0, 1.0, 0.0), (30.0, 1.0, -0.75)])
def test_a_formula_that_leaves_the_range_on_its_way_hands_over(c1, c2, r):
    """The constant of the closed form is exp(-49000), its moment exp(49000)."""
    value = hk.dual("exp(-100000*(u-7/10)^2)", c1, c2, r)
    true = hk.enclose("exp(-100000*(u-7/10)^2)", int(c1), int(c2), Fraction(r), digits=20)
    assert abs(value.k - float(true.k)) <= 5 * value.error < 1e-9 * value.k
    with pytest.raises(PrecisionLost, match="range of floating-point"):
        hk.dual("exp(u)", 1e3, 1e3, 0.5)


def test_infinite_values_at_single_points_and_on_intervals():
    """A node of the norms falls on u = 0, where σ is infinite; the truth by Gauss rules on panels that crowd there."""
    name = "log(Abs(u)) + u*tanh(log(1 + exp(u)))"
    sigma = hk.activation(name)
    ends = np.concatenate([[0.0], np.geomspace(1e-8, 9.0, 60)])
    nodes, weights = np.polynomial.legendre.leggauss(20)
    z = ((ends[1:] + ends[:-1])[:, None] + np.diff(ends)[:, None] * nodes).ravel() / 2
    density = (np.diff(ends)[:, None] * weights).ravel() / 2 * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    k = density @ (sigma(z) * sigma(5 * z) + sigma(-z) * sigma(-5 * z))
    value = hk.dual(name, 1, 5, 1.0)
    assert value.k == pytest.approx(k, rel=1e-6)
    inside = hk.dual(name, 1, 5, [0.5, 0.9])
    assert np.all(inside.error < 1e-13)
    with pytest.raises(BadInput, match="not a real number"):
        hk.dual("log(Max(tanh(u) - 1/3, 0))*Max(u, 0) + log(cosh(u))", 1, 1, 0.5)


def test_proofs_end(monkeypatch):
    monkeypatch.setenv("HOLOKERN_PATIENCE", "1e-4")
    with pytest.raises(HolokernError, match="limit of work is used up"):
        hk.enclose("u-tanh(u)", "1/4", "1/4", "3/5", digits=20)
    monkeypatch.setenv("HOLOKERN_PATIENCE", "much")
    with pytest.raises(BadInput, match="HOLOKERN_PATIENCE"):
        hk.enclose("tanh", 1, 1, "1/2", digits=20)


def test_memory_has_a_limit(monkeypatch):
    """Many points go in smaller parts; what does not fit in one part is refused by name before memory is taken."""
    r = np.linspace(-0.9, 0.9, 40)
    plenty = hk.dual("sin(2*u)*exp(-u^2)", 3.0, 2.0, r, method="quadrature")
    monkeypatch.setenv("HOLOKERN_MEMORY", "1e-3")
    parts = hk.dual("sin(2*u)*exp(-u^2)", 3.0, 2.0, r, method="quadrature")
    assert np.allclose(plenty.k, parts.k, rtol=1e-14, atol=0)
    for call in (
        lambda: hk.dual("sin(u)*besselj(1,u)", 4e3, 4e3, 0.5, method="quadrature"),
        lambda: build_table(hk.activation("snake"), Range(0.0, 2.0), None, 0.4),
    ):
        with pytest.raises(PrecisionLost, match=r"gigabytes, more than the limit of 0.001; set HOLOKERN_MEMORY"):
            call()
    monkeypatch.setenv("HOLOKERN_MEMORY", "-1")
    with pytest.raises(BadInput, match="HOLOKERN_MEMORY"):
        hk.dual("sin(2*u)*exp(-u^2)", 3.0, 2.0, r, method="quadrature")


@pytest.mark.parametrize(
    "expression", ["erf(100000*(u-1))", "erf(10^7*(u-1))", "exp(-100000*(u-7/10)^2)", "Heaviside(u-1)*exp(-10^7*(u-1))"]
)
@pytest.mark.parametrize("c", [3, 1000])
def test_spikes_are_seen(expression, c):
    """At the ends of panels, between the points where errors are estimated, and where their edges underflow."""
    value, true = hk.dual(expression, c, c, 1), hk.enclose(expression, c, c, 1, digits=20)
    assert abs(value.k - float(true.k)) <= 5 * value.error < 1e-6 * value.k
    assert value.kdot == np.inf or abs(value.kdot - float(true.kdot)) <= 5 * value.kdot_error < 1e-6 * value.kdot


def test_tails_are_honest():
    for expression, c in (("Max(u-8,0)", 1.0), ("Heaviside(u-12)", 1.0), ("softshrink", 0.02)):
        value = hk.dual(expression, c, c, 0.5)
        true = hk.enclose(expression, "1/50" if c < 1 else 1, "1/50" if c < 1 else 1, "1/2", digits=20)
        assert value.error > 0
        assert c < 1 or value.error < 1e-12 * value.k
        assert abs(value.k - float(true.k)) <= 5 * value.error
        assert abs(value.kdot - float(true.kdot)) <= 5 * value.kdot_error
    apart = hk.dual("Max(u-8,0)", 1, 1, -0.5)
    assert apart.error > abs(apart.k - 1e-60)


@pytest.mark.parametrize("name", [n for n, e in REGISTRY.items() if all(p.default is not None for p in e.parameters)])
def test_named_activations_are_defined(name):
    """``check_defined`` takes this for granted."""
    refuse_undefined(hk.activation(name))


def test_tables_of_narrow_functions_end(monkeypatch):
    """A mesh that is fine as far as a spike away from zero would take 100 gigabytes, or the time is used up."""
    with pytest.raises(PrecisionLost, match=r"no table of .* a mesh of .* gigabytes"):
        hk.dual("1/(1+1e10*(u-1)^2)", 0.5, 0.5, 0.9, method="compiled")
    monkeypatch.setenv("HOLOKERN_PATIENCE", "1e-4")
    monkeypatch.setenv("HOLOKERN_CACHE", "off")
    with pytest.raises(PrecisionLost, match=r"no table of .* limit of work is used up.*method='quadrature'"):
        hk.dual("atan(9*u)+1/97", 0.5, 0.7, 0.9, method="compiled")


def test_a_value_with_an_infinite_error_is_refused():
    """E[exp(u)σ(v)] is beyond the floats at c1 = 10^4, and the transport that is tried last finds anything."""
    with pytest.raises(PrecisionLost, match="overflows double precision"):
        hk.dual("exp(u)-1-u-u^2/2", 1e4, 1, 0.2)


def test_many_choices_are_refused():
    with pytest.raises(TooLarge, match="Max has 2000 arguments"):
        hk.dual("Max(" + ",".join(f"u-{i}" for i in range(2000)) + ")", 1, 1, 0.5)
