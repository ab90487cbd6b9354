"""Activations from callables: breaks named or found, differentiated to rounding or with honest noise, else refused."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import expit

import holokern as hk
from holokern.activation import activation
from holokern.activation.foreign.line import Line, Rough
from holokern.errors import BadInput, HolokernError, Unsupported

POINT = (1.0, 0.7, 0.4)
CASES = {
    "smooth": (lambda u: u * np.tanh(u), "u*tanh(u)", {}),
    "kink": (lambda u: np.maximum(u, 0.3), "Max(u, 3/10)", {"breaks": [0.3]}),
    "kink at zero": (
        lambda u: np.where(u > 0, u, np.sin(u / 2)),
        "Piecewise((u, u > 0), (sin(u/2), True))",
        {"breaks": [0]},
    ),
    "two kinks": (lambda u: np.clip(u, -1, 2.5), "Max(Min(u, 5/2), -1)", {"breaks": [2.5, -1]}),
    "derivative given": (
        lambda u: u * expit(1.5 * u),
        "silu(3*u/2)*2/3",
        {"derivative": lambda u: expit(1.5 * u) * (1 + 1.5 * u * expit(-1.5 * u))},
    ),
    "both given": (
        lambda u: np.abs(u) * np.sin(u),
        "Abs(u)*sin(u)",
        {"breaks": [0], "derivative": lambda u: np.sign(u) * np.sin(u) + np.abs(u) * np.cos(u)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_of_the_dual_activation_within_their_errors(name):
    function, text, given = CASES[name]
    found, expected = hk.dual(activation(function, **given), *POINT), hk.dual(text, *POINT)
    assert abs(found.k - expected.k) <= found.error + expected.error
    assert abs(found.kdot - expected.kdot) <= found.kdot_error + expected.kdot_error
    assert found.error < 1e-13
    assert found.kdot_error < 1e-13


def test_values_slopes_and_breaks():
    a = activation(lambda u: np.maximum(u, 0.3), breaks=[0.3])
    assert a(0.5) == 0.5
    assert a([0.1, 2]).tolist() == [0.3, 2.0]
    assert a(np.ones((2, 3), np.float32)).dtype == np.float32
    assert a.derivative([0.1, 2.0]).tolist() == [0.0, 1.0]
    assert a.breaks == (hk.activation("Max(u, 3/10)").breaks[0],)
    assert a.jump_order == 1
    assert activation(lambda u: np.where(u > 1, u, 0 * u), breaks=[1]).jump_order == 0
    assert activation(lambda u: u * np.tanh(u)).jump_order is None
    assert a.parity is None
    assert not a.is_holonomic


def test_a_kernel():
    x = np.random.default_rng(0).standard_normal((6, 3))
    found = hk.Network(activation(lambda u: u * np.tanh(u)), depth=2, bias=0.1).ntk(x)
    expected = hk.Network("u*tanh(u)", depth=2, bias=0.1).ntk(x)
    assert np.allclose(found, expected, rtol=1e-10)


def test_sums_products_shifts_and_scalings():
    a = activation(lambda u: u * np.tanh(u))
    for made, text in (
        (2 * a + hk.activation("relu"), "2*u*tanh(u) + relu(u)"),
        (hk.activation("relu") * a.shift(1), "relu(u)*(u + 1)*tanh(u + 1)"),
        (a.scale(-2) - 1, "2*u*tanh(2*u) - 1"),
        (activation(operator="D^2 + 1", values={0: [0, 1]}) + a, "sin(u) + u*tanh(u)"),
    ):
        assert hk.dual(made, *POINT).k == pytest.approx(hk.dual(text, *POINT).k, rel=1e-13)
        assert hk.dual(made, *POINT).kdot == pytest.approx(hk.dual(text, *POINT).kdot, rel=1e-13)


def test_what_needs_a_formula_says_so():
    def bump(u):
        return np.exp(-(u**4))

    a = activation(bump)
    assert repr(a) == "activation(<bump>)"
    assert str(a) == "bump"
    assert "bump" in a.latex()
    for question in (
        lambda: a.annihilator,
        lambda: a.tree,
        lambda: a.expression,
        lambda: a.ball(1),
        lambda: hk.pfaffian(a),
        lambda: hk.enclose(a, 1, 1, "1/2"),
    ):
        with pytest.raises(Unsupported, match=r"bump is known by its values alone.*expression|give one"):
            question()


@pytest.mark.parametrize(
    ("kink", "power"),
    [*product([0, 1, -2, 0.5, 0.3, 1 / 3, 3.141, 1.0137, math.pi, 7.25], [0, 1]), *product([0, -2, 1 / 3, 3.141], [2])],
)
def test_breaks_that_nobody_named_are_found(kink, power):
    found = activation(lambda u: np.where(u > kink, (u - kink) ** power, 0.0) + np.sin(u))
    (place,) = found.breaks
    assert float(place) == pytest.approx(kink, abs=4e-15)
    assert found.jump_order == power


NUMERICAL = {
    "smooth": (lambda u: u * expit(u), "silu"),
    "elu": (lambda u: np.where(u > 0, u, 0.1 * expit(u) - 0.05), "Piecewise((u, u > 0), (sigmoid(u)/10 - 1/20, True))"),
    "three kinks": (
        lambda u: np.interp(u, [-1, 0, 2], [0, 1, 0.5]),
        "Piecewise((0, u < -1), (u + 1, u < 0), (1 - u/4, u < 2), (1/2, True))",
    ),
    "cube": (lambda u: np.abs(u) * u**2, "Abs(u)^3"),
    "by scalars": (np.vectorize(lambda u: 0.0 if u < 0 else math.sin(u)), "Heaviside(u)*sin(u)"),
    "sign": (lambda u: np.where(u > 0, 1.0, -1.0), "sign"),
    "steep": (lambda u: 2 * expit(6 * u), "2*sigmoid(6*u)"),
}


@pytest.mark.parametrize("name", NUMERICAL)
def test_without_a_derivative_the_errors_say_what_the_values_are_worth(name):
    function, text = NUMERICAL[name]
    points = np.transpose([POINT, (3.0, 3.0, 0.9999), (0.2, 8.0, -0.5)])
    found, expected = hk.dual(activation(function), *points), hk.dual(text, *points)
    assert np.all(np.abs(found.k - expected.k) <= found.error + expected.error)
    assert np.all(np.abs(found.kdot - expected.kdot) <= found.kdot_error + expected.kdot_error)
    assert np.all(found.error < 1e-13 * np.maximum(1, np.abs(found.k)))
    assert np.all(found.kdot_error < 1e-10 * np.maximum(1, np.abs(found.kdot)))


def test_the_noise_of_a_numerical_derivative_covers_it_far_out_too():
    a = activation(lambda u: u * expit(u)) * 2 + activation("relu")
    exact = activation("2*silu(u) + relu(u)").derivative
    for u in (np.linspace(-7.9, 8.1, 400), np.linspace(-300, 300, 301) + 0.3, np.array([-1e6, 1e6])):
        off = np.abs(a.derivative(u) - exact(u))
        assert np.all(off <= a.derivative.noise(u) + exact.noise(u))
        assert np.all(a.derivative.noise(u) < 1e-8 * (1 + np.abs(u)))
    moved = activation(lambda u: u * expit(u)).scale(2).shift("1/2")
    assert np.allclose(moved.derivative(u), activation("silu(2*u + 1)").derivative(u), atol=1e-6)
    near = np.linspace(-3, 3, 50)
    assert np.all(moved.derivative.noise(near) < 1e-10)


@pytest.mark.parametrize(
    ("function", "given", "word"),
    [
        (lambda u: u * expit(u), {"derivative": np.sin}, "is not that of"),
        (lambda u: u * expit(u), {"derivative": 3}, "callable"),
        (np.sin, {"breaks": "zero"}, "sequence of numbers"),
        (np.floor, {}, r"more than 8 kinks or jumps .* breaks=\["),
        (lambda u: np.abs(np.sin(u)), {}, "more than 8 kinks"),
        (lambda u: np.sqrt(np.abs(u)), {"breaks": [0]}, "infinite slope"),
        (lambda u: 1 / u, {}, "not smooth near u = 0"),
        (lambda u: u / np.sum(u), {}, "mixes the entries"),
        (np.sum, {}, "elementwise"),
        (lambda u: u + np.random.default_rng().random(), {}, "another value each time"),
        (lambda u: 1j * u, {}, "not real numbers"),
        (lambda u: u.astype(np.float32), {}, "too few digits"),
        (lambda u: 0 if u < 0 else u, {}, "vectorise"),
        (dict, {}, "is a class"),
        ("relu", {"breaks": [0]}, "callable"),
        (object(), {}, "expected the name"),
    ],
)
def test_what_is_refused(function, given, word):
    with pytest.raises(HolokernError, match=word):
        activation(function, **given)


def test_functions_of_torch_are_differentiated_by_torch():
    torch = pytest.importorskip("torch")

    class Gate(torch.nn.Module):
        def forward(self, u):
            return u * torch.sigmoid(u) + u

    for function, text, breaks in (
        (Gate(), "silu(u) + u", None),
        (lambda u: torch.where(u > 0, u, torch.sin(u)), "Piecewise((u, u > 0), (sin(u), True))", [0]),
    ):
        found, expected = hk.dual(activation(function, breaks=breaks), *POINT), hk.dual(text, *POINT)
        assert abs(found.k - expected.k) <= found.error + expected.error
        assert abs(found.kdot - expected.kdot) <= found.kdot_error + expected.kdot_error
    with pytest.raises(BadInput, match="double"):
        activation(torch.nn.Linear(1, 1))


def test_functions_of_jax_are_differentiated_by_jax():
    jax = pytest.importorskip("jax")

    def gate(u):
        return jax.numpy.tanh(u) * u

    if not jax.config.jax_enable_x64:
        with pytest.raises(BadInput, match="jax_enable_x64"):
            activation(gate)
    with jax.enable_x64(True):
        a = activation(gate)
        u = np.array([-1.3, 0.4])
        assert np.allclose(a(u), u * np.tanh(u), rtol=1e-15)
        assert np.allclose(a.derivative(u), activation("u*tanh(u)").derivative(u), rtol=1e-15)


def test_the_line_resolves_smooth_functions_and_refuses_others():
    u = np.linspace(-3.9, 3.9, 50)
    assert np.allclose(Line(np.sin, [], 4.0).derivative(u), np.cos(u), rtol=0, atol=1e-10)
    kinked = Line(lambda v: np.abs(v - 1), [1.0], 4.0)
    assert np.allclose(kinked.derivative(u), np.sign(u - 1), rtol=0, atol=1e-10)
    with pytest.raises(Rough):
        Line(lambda v: np.abs(v - 1), [], 4.0)
