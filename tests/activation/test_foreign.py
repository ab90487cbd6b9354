"""Activations as other libraries have them: modules, functions, splines and parameter names."""

import functools
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.interpolate
import scipy.special

import holokern as hk
from holokern.activation import activation
from holokern.activation.foreign.functions import _COMMON, _MODULES, _PROBES, _SYNONYMS, values_of
from holokern.errors import BadInput, Unsupported

U = np.linspace(-5.03, 5.01, 41)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (np.tanh, "tanh"),
        (np.sin, "sin"),
        (np.abs, "abs"),
        (np.square, "u^2"),
        (np.arctan, "atan(u)"),
        (np.sinc, "sinc(pi*u)"),
        (scipy.special.erf, "erf"),
        (scipy.special.expit, "sigmoid"),
        (scipy.special.ndtr, "(1 + erf(u/sqrt(2)))/2"),
        (math.tanh, "tanh"),
        (math.erf, "erf"),
    ],
)
def test_functions_of_numpy_scipy_and_math(function, expected):
    found = activation(function)
    assert found == activation(expected)
    assert np.allclose(found(U), values_of(function)(U), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("given", "name", "parameters"),
    [
        ({"name": "leaky_relu", "negative_slope": 0.2}, "leaky_relu", {"slope": Fraction(1, 5)}),
        ({"name": "gelu", "approximate": "tanh"}, "gelu_tanh", {}),
        ({"name": "gelu", "approximate": "none"}, "gelu", {}),
        ({"name": "hardtanh", "min_val": -2, "max_val": 3}, "hardtanh", {"low": -2, "high": 3}),
        ({"name": "softshrink", "lambd": 0.25}, "softshrink", {"lam": Fraction(1, 4)}),
        ({"name": "softplus", "beta": 2, "threshold": 20}, "softplus", {"beta": 2}),
        ({"name": "silu", "beta": 2}, "silu", {"beta": 2}),
        (
            {"name": "threshold", "threshold": 0.1, "value": 20},
            "threshold",
            {"threshold": Fraction(1, 10), "value": 20},
        ),
    ],
)
def test_parameters_in_the_spelling_of_pytorch(given, name, parameters):
    found = activation(given.pop("name"), **given)
    assert found.name == name
    assert found.parameters == parameters


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("leaky_relu", {"slope": 1, "negative_slope": 1}, ["slope", "negative_slope", "one of them"]),
        ("gelu", {"approximate": "cubic"}, ["approximate", "tanh"]),
        ("softplus", {"beta": 2, "threshold": 3}, ["3/2", "Piecewise"]),
        ("relu", {"negative_slope": 1}, ["no parameter"]),
    ],
)
def test_parameters_that_are_refused(name, given, words):
    with pytest.raises((BadInput, Unsupported)) as caught:
        activation(name, **given)
    for word in words:
        assert word in str(caught.value)


def test_the_expression_that_the_refused_softplus_shows_is_right():
    torch = pytest.importorskip("torch")
    with pytest.raises(Unsupported) as caught:
        activation(torch.nn.Softplus(beta=2, threshold=3))
    shown = activation(str(caught.value).split("'")[1])
    assert np.allclose(shown(U), values_of(torch.nn.Softplus(beta=2, threshold=3))(U), rtol=1e-13)


MODULES = {
    "CELU": {"alpha": 0.5},
    "ELU": {"alpha": 1.5},
    "GELU": {"approximate": "tanh"},
    "Hardshrink": {"lambd": 0.3},
    "Hardtanh": {"min_val": -2.0, "max_val": 0.5},
    "LeakyReLU": {"negative_slope": 0.2},
    "PReLU": {"init": 0.375},
    "Softplus": {"beta": 2},
    "Softshrink": {"lambd": 0.3},
    "Threshold": {"threshold": 0.1, "value": 20},
}


@pytest.mark.parametrize("name", _MODULES)
def test_every_module_of_torch_is_what_it_computes(name):
    torch = pytest.importorskip("torch")
    module = getattr(torch.nn, name)(**MODULES.get(name, {}))
    rounding = 1e-6 if name == "PReLU" else 1e-12  # its weight is a float32, and so is its value
    assert np.allclose(activation(module)(U), values_of(module)(U), rtol=rounding, atol=rounding)


def test_functions_of_torch():
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    for name in sorted({*_COMMON.split(), *_SYNONYMS, "tanhshrink"}):
        for home in (functional, torch, torch.special):
            function = getattr(home, name, None)
            if function is None:
                continue
            found = activation(function)
            real = np.isfinite(found(U))
            assert np.allclose(found(U)[real], values_of(function)(U)[real], rtol=1e-12, atol=1e-12), (home, name)
    assert activation(torch.Tensor.tanh) == activation("tanh")
    assert activation(functional.leaky_relu, negative_slope=0.3) == activation("leaky_relu", slope=0.3)
    assert activation(functools.partial(functional.gelu, approximate="tanh")) == activation("gelu_tanh")
    assert activation(functional.threshold, threshold=0.5, value=2) == activation("threshold", threshold=0.5, value=2)


def test_functions_of_jax():
    jax = pytest.importorskip("jax")
    # as many points as `activation` compares at, so that JAX compiles every function once
    u = np.linspace(-5.03, 5.01, len(_PROBES))
    for name in sorted({*_COMMON.split(), *_SYNONYMS}):
        for home in (jax.nn, jax.numpy, jax.scipy.special):
            function = getattr(home, name, None)
            if function is None:
                continue
            expected = activation(function)(u)
            real = np.isfinite(expected)
            assert np.allclose(expected[real], values_of(function)(u)[real], rtol=2e-4, atol=1e-5), name
    assert activation(jax.nn.gelu).name == "gelu_tanh"
    assert activation(jax.nn.gelu, approximate=False).name == "gelu"
    assert activation(functools.partial(jax.nn.elu, alpha=0.3)) == activation("elu", alpha=0.3)
    assert activation(jax.jit(jax.nn.relu)).name == "relu"


def test_a_wrapper_that_kept_the_name_is_found_out():
    @functools.wraps(np.sinc)
    def double(u):
        return 2 * np.sinc(u)

    with pytest.raises(BadInput, match=r"another value at u = .* expression"):
        activation(double)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Softmax", "mixes the features"),
        ("RReLU", "leaky_relu"),
        ("GLU", "not a function of one number"),
    ],
)
def test_modules_that_are_no_activations(name, word):
    torch = pytest.importorskip("torch")
    with pytest.raises(Unsupported, match=word):
        activation(getattr(torch.nn, name)())
    with pytest.raises(Unsupported, match="one for each channel"):
        activation(torch.nn.PReLU(3))


@pytest.mark.parametrize("function", [np.maximum, np.heaviside])
def test_functions_of_two_numbers_are_refused_with_what_to_write(function):
    with pytest.raises(Unsupported, match=r"hk\.activation\("):
        activation(function)


SPLINES = {
    "cubic": scipy.interpolate.CubicSpline([-1, 0, 0.7, 2], [0, 1, 0.3, 0.1]),
    "natural": scipy.interpolate.CubicSpline([-1, 0.1, 1.3, 2], [0, 1, 0.3, 0.1], bc_type="natural"),
    "monotone": scipy.interpolate.PchipInterpolator([-1.5, -0.1, 1, 2], [0, 0.2, 1, 1]),
    "pieces": scipy.interpolate.PPoly(np.array([[1.0, -2.0], [0.1, 0.3]]), [-1.0, 0.25, 1.0]),
    "b-spline": scipy.interpolate.make_interp_spline([-2, -1, 0, 1.5, 2.0, 2.2], [0, 0.1, 1, 0.2, 0, 1]),
    "hats": scipy.interpolate.BSpline([-2.0, -1, 0, 1, 2], [1.0, -1.0, 0.5], 1),
    "double knots": scipy.interpolate.BSpline([-1.0, -1, -1, 0, 0, 1, 1, 1], [0.3, -1.0, 0.5, 2, 0.1], 2),
}


@pytest.mark.parametrize("name", SPLINES)
def test_splines_are_exact_piecewise_polynomials(name):
    spline = SPLINES[name]
    found = activation(spline)
    inside = U[np.abs(U) < 3]
    assert np.allclose(found(inside), spline(inside), rtol=1e-12, atol=1e-13)
    assert np.allclose(found.derivative(inside), spline(inside, nu=1), rtol=1e-11, atol=1e-12)
    assert all(isinstance(b, Fraction) for b in found.breaks)
    assert found.is_holonomic
    assert activation(found.expression) == found, "the expression reads back"


def test_the_coefficients_are_the_floats_themselves():
    found = activation(scipy.interpolate.PPoly([[0.1, 0.3]], [-1.0, 0.1, 1.0]))
    assert found.breaks == (Fraction(0.1),)
    assert found.expression == f"Piecewise(({Fraction(0.1)}, u < {Fraction(0.1)}), ({Fraction(0.3)}, True))"
    assert found([-3.0, 0.0999, 0.1001]).tolist() == [0.1, 0.1, 0.3]


def test_a_kernel_of_a_spline():
    spline = scipy.interpolate.PPoly([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [-1.0, 0.0, 1.0, 2.0])
    clipped = activation("Max(Min(u, 1), 0)")
    expected = hk.dual(clipped, 1.0, 0.7, 0.4)
    assert hk.dual(activation(spline), 1.0, 0.7, 0.4).k == pytest.approx(expected.k, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: scipy.interpolate.CubicSpline([0, 1, 2], [0, 1, 0], extrapolate="periodic"), "periodic"),
        (lambda: scipy.interpolate.PPoly([[1.0]], [0.0, 1.0], extrapolate=False), "extrapolate=True"),
        (lambda: scipy.interpolate.CubicSpline([0, 1, 2], np.zeros((3, 2))), "one value"),
        (lambda: scipy.interpolate.PPoly([[np.nan]], [0.0, 1.0]), "finite"),
        (lambda: scipy.interpolate.BPoly([[1], [3]], [0, 1]), "from_bernstein_basis"),
        (lambda: scipy.interpolate.PPoly([[1.0, 2.0]], [1.0, 0.0, -1.0]), "increasing"),
        (lambda: scipy.interpolate.CubicSpline(np.arange(500), np.sin(np.arange(500.0))), "fewer knots"),
    ],
)
def test_splines_that_are_refused(make, word):
    with pytest.raises((BadInput, Unsupported), match=word):
        activation(make())


def test_no_other_library_is_imported_for_them():
    code = (
        "import sys, numpy as np, holokern as hk\n"
        "hk.activation(np.tanh); hk.activation('gelu', approximate='tanh')\n"
        "print({'torch', 'jax', 'scipy', 'sympy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_polynomials_of_numpy_are_exact_unless_they_are_shifted() -> None:
    assert repr(activation(np.polynomial.Polynomial([1, 0.5]))) == "activation('polynomial', coefficients=[1, '1/2'])"
    assert activation(np.poly1d([2, 1])) == activation("polynomial", coefficients=[1, 2])
    shifted = np.polynomial.Polynomial([1, 2], domain=[0, 2])
    assert activation(shifted)(0.3) == pytest.approx(shifted(0.3), rel=1e-15)
