"""The Activation object and the factory that makes it."""

import math
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation import Activation, activation, activations
from holokern.errors import BadInput, HolokernError, NotHolonomic, TooLarge, UnknownName, Unsupported

REQUIRED = {
    "polynomial": {"coefficients": [1, -2, 0, "1/3"]},
    "rectified_polynomial": {"coefficients": [0, 1, 0.25]},
    "monomial": {"degree": 5},
    "hermite": {"degree": 4},
}
NOT_HOLONOMIC = {"sigmoid", "tanh", "silu", "softplus", "mish", "logsigmoid", "gelu_tanh"}
# name: (breaks, jump order, parity)
SHAPES = {
    "identity": ((), None, "odd"),
    "step": ((0,), 0, None),
    "sign": ((0,), 0, "odd"),
    "relu": ((0,), 1, None),
    "relu_k": ((0,), 2, None),
    "squared_relu": ((0,), 2, None),
    "leaky_relu": ((0,), 1, None),
    "prelu": ((0,), 1, None),
    "abs": ((0,), 1, "even"),
    "elu": ((0,), 2, None),
    "celu": ((0,), 2, None),
    "selu": ((0,), 1, None),
    "gelu": ((), None, None),
    "gelu_paper": ((), None, None),
    "gelu_tanh": ((), None, None),
    "erf": ((), None, "odd"),
    "gaussian": ((), None, "even"),
    "rbf": ((), None, "even"),
    "exp": ((), None, None),
    "sin": ((), None, "odd"),
    "cos": ((), None, "even"),
    "resin": ((0,), 1, None),
    "snake": ((), None, None),
    "polynomial": ((), None, None),
    "monomial": ((), None, "odd"),
    "hermite": ((), None, "even"),
    "rectified_polynomial": ((0,), 1, None),
    "hardtanh": ((-1, 1), 1, "odd"),
    "relu6": ((0, 6), 1, None),
    "hardsigmoid": ((-3, 3), 1, None),
    "hardswish": ((-3, 3), 1, None),
    "hardshrink": ((Fraction(-1, 2), Fraction(1, 2)), 0, "odd"),
    "softshrink": ((Fraction(-1, 2), Fraction(1, 2)), 1, "odd"),
    "threshold": ((0,), 1, None),
    "softsign": ((0,), 2, "odd"),
    "sigmoid": ((), None, None),
    "tanh": ((), None, "odd"),
    "silu": ((), None, None),
    "softplus": ((), None, None),
    "mish": ((), None, None),
    "logsigmoid": ((), None, None),
}


def named(name):
    return activation(name, **REQUIRED.get(name, {}))


def test_the_table_is_complete():
    assert set(SHAPES) == set(activations())


@pytest.mark.parametrize("name", SHAPES)
def test_breaks_jump_order_and_parity(name):
    a = named(name)
    assert (a.breaks, a.jump_order, a.parity) == SHAPES[name]


@pytest.mark.parametrize("name", SHAPES)
def test_holonomic_or_not(name):
    a = named(name)
    assert a.is_holonomic == (name not in NOT_HOLONOMIC)
    if a.is_holonomic:
        assert a.annihilator
        assert all(str(P) for P in a.annihilator)
        assert a.annihilator_scale is None or name == "gelu"
    else:
        with pytest.raises(NotHolonomic, match="quadrature"):
            _ = a.annihilator


@pytest.mark.parametrize("name", SHAPES)
def test_the_text_the_repr_and_the_pickle_read_back(name):
    a = named(name)
    assert activation(a.expression) == a
    assert pickle.loads(pickle.dumps(a)) == a
    assert hash(activation(a.expression)) == hash(a)
    assert repr(a).startswith(f"activation({name!r}")
    given = dict(a.parameters)
    assert activation(a.name, **given) == a
    assert "$" in a._repr_latex_()
    assert a.latex()


def test_parameters_and_repr():
    a = activation("elu", alpha=1.5)
    assert a.parameters == {"alpha": Fraction(3, 2)}
    assert repr(a) == "activation('elu', alpha='3/2')"
    assert str(a) == a.expression
    assert str(activation("gelu")) == "gelu"
    assert repr(activation("polynomial", coefficients=[1, 0.5])) == "activation('polynomial', coefficients=[1, '1/2'])"
    assert activation("gelu").derivative.name is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("relu^3", "Max(u, 0)^3"), ("relu**2", "Max(u, 0)^2"), ("ReLU", "Max(u, 0)"), (" gelu ", None), ("swish", None)],
)
def test_other_spellings(text, expected):
    a = activation(text)
    assert a.name is not None
    assert expected is None or a.expression == expected


def test_a_name_takes_precedence_and_expressions_equal_names():
    assert activation("sin").name == "sin"
    assert activation("sin(u)") == activation("sin")
    assert activation("u").name is None
    assert activation("u") == activation("identity")
    assert activation("pi").tree == activation("pi*1").tree


def test_other_sources():
    x = sympy.Symbol("x")
    assert activation(sympy.Heaviside(x) * sympy.sin(x)) == activation("resin")
    a = activation("gelu")
    assert activation(a) is a


@pytest.mark.parametrize(
    ("source", "parameters", "error", "words"),
    [
        ("gellu", {}, UnknownName, "'gelu'"),
        ("zzz", {}, UnknownName, "neither the name of an activation nor an expression"),
        ("x", {}, UnknownName, "neither"),
        ("x + 1", {}, UnknownName, "called u.*name"),
        ("u +", {}, BadInput, "too early.*name"),
        ("Max", {}, BadInput, "function"),
        ("elu", {"beta": 1}, UnknownName, "alpha"),
        ("elu", {"alpha": math.nan}, BadInput, "finite"),
        ("elu", {"alpha": math.inf}, BadInput, "finite"),
        ("u^2", {"alpha": 1}, BadInput, "by name"),
        ("relu^3", {"alpha": 1}, UnknownName, "k"),
        ("relu^999999", {}, TooLarge, "at most"),
        ("", {}, BadInput, "empty"),
        (None, {}, BadInput, "NoneType"),
        (3.0, {}, BadInput, "float"),
        (math.gamma, {}, BadInput, "or vectorise it: hk.activation"),
        (b"relu", {}, BadInput, "bytes"),
        (["relu"], {}, BadInput, "list"),
        (activation("relu"), {"slope": 1}, BadInput, "by name"),
        ("__import__('os').system('x')", {}, BadInput, "cannot read"),
        ("().__class__", {}, BadInput, "cannot read"),
        ("u" * 10**7, {}, BadInput, "u"),
        ("(" * 10**4 + "u" + ")" * 10**4, {}, TooLarge, "characters"),
    ],
)
def test_bad_input(source, parameters, error, words):
    with pytest.raises(error, match=words) as caught:
        activation(source, **parameters)
    assert len(str(caught.value)) < 1000


def test_sums_products_and_scalars():
    a, b = activation("gelu"), activation("resin")
    x = np.linspace(-3, 3, 13)
    for found, expected in (
        (a + b, a(x) + b(x)),
        (a - b, a(x) - b(x)),
        (a * b, a(x) * b(x)),
        (2 * a, 2 * a(x)),
        (a * 0.1, a(x) / 10),
        (a / 4, a(x) / 4),
        (-a, -a(x)),
        (a + 1, a(x) + 1),
        (1 - a, 1 - a(x)),
        (a - Fraction(1, 3), a(x) - 1 / 3),
    ):
        assert isinstance(found, Activation)
        assert found(x) == pytest.approx(expected, rel=1e-13, abs=1e-15)
    assert (a - a).expression == "0"
    assert activation("relu") - activation("relu").shift(-1) == activation("relu(u) - relu(u - 1)")


def test_affine_substitution():
    a = activation("elu")
    x = np.linspace(-3, 3, 13)
    assert a.shift(2)(x) == pytest.approx(a(x + 2))
    assert a.scale(-0.5)(x) == pytest.approx(a(-x / 2))
    assert a.scale("sqrt(2)").shift("pi")(x) == pytest.approx(a(math.sqrt(2) * (x + math.pi)))
    assert a.shift(Fraction(1, 3)).breaks == (Fraction(-1, 3),)
    assert activation("sin").scale("pi").annihilator_scale is not None


@pytest.mark.parametrize(
    "act",
    [
        lambda a: a + "x",
        lambda a: a + math.nan,
        lambda a: a * math.inf,
        lambda a: a * None,
        lambda a: a / 0,
        lambda a: a / activation("sin"),
        lambda a: a - "b",
        lambda a: a.shift("u"),
        lambda a: a.shift(math.nan),
        lambda a: a.scale("1/0"),
        lambda a: a.scale("__import__('os')"),
        lambda a: a.scale(1j),
    ],
)
def test_bad_operands(act):
    with pytest.raises(HolokernError):
        act(activation("gelu"))


def test_growth_is_limited():
    a = activation("gelu")
    with pytest.raises(TooLarge):
        for _ in range(60):
            a = a * a.shift(1) + a
    deep = activation("sin")
    with pytest.raises(TooLarge):
        for _ in range(500):
            deep = (deep + 1) * activation("cos") + 1


def test_immutable():
    a = activation("relu")
    with pytest.raises(AttributeError):
        a.function = None
    a.parameters["slope"] = 1
    assert a.parameters == {}


def test_non_holonomic_still_have_breaks_and_values():
    a = activation("Heaviside(u)*tanh(u)")
    assert a.breaks == (0,)
    assert a.jump_order == 1
    assert a(1.0) == math.tanh(1.0)
    assert activation("u*tanh(u)").parity == "even"
    assert not activation("1/u").is_holonomic, "not locally integrable"
    with pytest.raises(NotHolonomic):
        _ = activation("Max(sin(u), 0)").breaks


def test_irrational_breaks_are_exact():
    (point,) = activation("Max(u - sqrt(2), 0)").breaks
    assert float(point) == pytest.approx(math.sqrt(2), rel=1e-15)
    with pytest.raises(Unsupported, match="quadrature"):
        _ = activation("sin(u)*sin(sqrt(2)*u)").annihilator


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(set(SHAPES) - {"exp", "hermite", "monomial", "polynomial", "rectified_polynomial"})),
    st.fractions(min_value=-3, max_value=3, max_denominator=9),
    st.fractions(min_value=-3, max_value=3, max_denominator=9).filter(bool),
    st.floats(-4, 4),
)
def test_chain_rule(name, shift, scale, x):
    """The derivative of σ(c·u + b) is c·σ′(c·u + b)."""
    a = activation(name)
    inner = float(scale) * x + float(shift)
    # next to a break rounding decides on which side the point lies
    if any(abs(inner - float(point)) < 1e-9 for point in a.breaks):
        return
    found = a.shift(shift).scale(scale).derivative(x)
    assert found == pytest.approx(float(scale) * a.derivative(inner), rel=1e-9, abs=1e-9)


def test_importing_and_evaluating_stays_light():
    """SymPy and scipy.special are slow to load, so neither is loaded before it is needed."""
    code = (
        "import sys; from holokern.activation import activation; activation('relu')(1.0); activation('elu').breaks; "
        "print(sorted({'sympy', 'scipy.special', 'matplotlib', 'mpmath'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
