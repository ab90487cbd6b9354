"""Values where formulas cancel: digits are kept next to rational points, and elsewhere the noise is known."""

from fractions import Fraction

import numpy as np
import pytest

import holokern as hk
from holokern.activation.values.cancellation import stabilise
from holokern.activation.values.near_points import near_points

CANCELLING = [
    "sqrt(1+u^2)-1", "u-tanh(u)", "log(1+exp(u))-log(2)-u/2", "(1-cos(u))/u", "Heaviside(u)*(exp(-u)-exp(-2*u))",
    "exp(u)-1-u-u^2/2", "(exp(u)-1-u)/u^2", "1/tanh(u)-1/u", "Heaviside(u-1/3)*(u-1/3-sin(u-1/3))",
]  # fmt: skip
ORDINARY = [
    "gelu",
    "mish",
    "selu",
    "erf",
    "airyai(u)",
    "besselj(1,u)",
    "Max(u-1/3,0)*exp(-u)",
    "u*(sqrt(1+u^2)-Abs(u))",
]


def true_values(sigma, x):
    return np.array([float(sigma.ball(Fraction(float(u)), 1500).mid()) for u in x])


@pytest.mark.parametrize("expression", CANCELLING)
def test_digits_are_kept_where_a_formula_cancels(expression):
    sigma = hk.activation(expression)
    x = np.concatenate(
        [np.geomspace(1e-12, 0.5, 12), -np.geomspace(1e-12, 0.5, 12), 1 / 3 + np.geomspace(1e-9, 0.1, 6)]
    )
    for function in (sigma, sigma.derivative):
        true = true_values(function, x)
        # next to 1/3 the rounding of u itself shows
        allowed = 1e-13 * np.abs(true) if "1/3" not in expression else 1e-13 * np.abs(true) + 1e-30
        assert np.all(np.abs(function(x) - true) <= allowed)


@pytest.mark.parametrize("expression", CANCELLING + ORDINARY)
def test_the_noise_bounds_the_error(expression):
    sigma = hk.activation(expression)
    x = np.concatenate([np.geomspace(1e-9, 40, 25), -np.geomspace(1e-9, 40, 25)])
    for function in (sigma, sigma.derivative):
        true = true_values(function, x)
        assert np.all(np.abs(function(x) - true) <= function.noise(x) + 1e-300)


def test_noise_far_out():
    far = hk.activation("u*(sqrt(1+u^2)-Abs(u))")
    assert far.noise(np.array([1e6]))[0] > 1e-6
    assert far.noise(np.array([1.0]))[0] < 1e-14


@pytest.mark.parametrize("name", ["relu", "gelu", "tanh", "selu", "softplus", "mish", "erf", "hardswish"])
def test_named_activations_need_no_polynomials(name):
    sigma = hk.activation(name)
    for function in (sigma, sigma.derivative):
        assert not near_points(stabilise(function.tree))


def test_overflow_at_many_points_is_quick_and_other_overflow_is_settled():
    x = np.linspace(-3e5, 3e5, 5001)
    assert np.isinf(hk.activation("cosh(u)")(x)).sum() > 4900
    ratio = hk.activation("sinh(u)/(1 + cosh(u))")(x)
    assert np.allclose(ratio, np.tanh(x / 2), rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("expression", "at", "value"),
    [
        ("10^5/cosh(10^5*(u-1/3))^2", 1 / 3, 1e5),
        ("u-tanh(u)+exp(-10^6*(u^2-1/4)^2)", 0.5, 1.5 - np.tanh(0.5)),
        ("u-tanh(u)+exp(-10^12*(u-1/2)^2)", 0.5, 1.5 - np.tanh(0.5)),
    ],
)
def test_a_polynomial_does_not_reach_over_a_spike(expression, at, value):
    assert abs(hk.activation(expression)(at) - value) < 1e-9 * value
