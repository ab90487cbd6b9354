"""Quadrature against formulas in multiple precision, at ordinary and at extreme covariances."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holokern as hk
from holokern.activation import activation
from holokern.dual.quadrature.method import joint_density, norms, quadrature
from holokern.dual.quadrature.pairing import pair
from holokern.dual.quadrature.profile import profile_of
from holokern.dual.quadrature.sides import Resolution, Side
from holokern.errors import PrecisionLost

EXTREME = [
    (100.0, 100.0, 1.0),
    (100.0, 100.0, 1e-3),
    (100.0, 100.0, 1e-9),
    (100.0, 0.1, 0.3),
    (1000.0, 1.0, 2.0),
    (1e-3, 1.0, 0.01),
    (1.0, 1.0, 1e-9),
    (1.0, 1.3, 1e-9),
    (1.0, 1.0, np.pi - 1e-9),
    (2.0, 2.0, 1e-15),
    (1e-6, 1e-6, 1.0),
    (30.0, 30.0, 0.1),
    (1.0, 1.0, 1.5),
]


def exact(name, c1, c2, theta):
    """k and k′ from textbook formulas at 60 digits."""
    with mp.workdps(60):
        c1, c2, theta = mp.mpf(c1), mp.mpf(c2), mp.mpf(theta)
        s, det = c1 * c2 * mp.cos(theta), (c1 * c2 * mp.sin(theta)) ** 2
        wide = 1 + 2 * c1**2 + 2 * c2**2 + 4 * det
        damping = mp.exp(-(c1**2 + c2**2) / 2)
        pairs = {
            "sin": (damping * mp.sinh(s), damping * mp.cosh(s)),
            "erf": (2 / mp.pi * mp.asin(2 * s / mp.sqrt((1 + 2 * c1**2) * (1 + 2 * c2**2))), 4 / mp.pi / mp.sqrt(wide)),
            "exp(-u^2)": (1 / mp.sqrt(wide), 4 * s / wide ** mp.mpf(1.5)),
            "relu": (
                c1 * c2 * (mp.sin(theta) + (mp.pi - theta) * mp.cos(theta)) / (2 * mp.pi),
                (mp.pi - theta) / (2 * mp.pi),
            ),
            "step": ((mp.pi - theta) / (2 * mp.pi), 1 / (2 * mp.pi * c1 * c2 * mp.sin(theta))),
            "exp": (mp.exp((c1**2 + c2**2) / 2 + s),) * 2,
        }
        return tuple(float(x) for x in pairs[name])


def check(name, points):
    a = activation(name)
    c1, c2, theta = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    k, kdot, k_error, kdot_error = quadrature(a, c1, c2, theta, 1e-12)
    want = np.array([exact(name, *point) for point in points])
    scale = norms(a, c1) * norms(a, c2)
    slope_scale = np.maximum(norms(a.derivative, c1) * norms(a.derivative, c2), np.abs(want[:, 1]))
    # Nearly opposite inputs are known to the rounding of θ near π only.
    for got, error, exact_value, size in ((k, k_error, want[:, 0], scale), (kdot, kdot_error, want[:, 1], slope_scale)):
        true = np.abs(got - exact_value)
        assert np.all(true <= 3e-15 * size)
        assert np.all(error >= true / 5 - 1e-20 * size)
        assert np.all(error <= 1e-11 * size)


@pytest.mark.parametrize("name", ["relu", "step", "erf", "exp(-u^2)"])
def test_extreme_covariances(name):
    check(name, EXTREME)


@pytest.mark.slow
def test_extreme_covariances_of_an_oscillating_function():
    check("sin", EXTREME)


def test_moderate_covariances_of_an_oscillating_function():
    check("sin", [(10.0, 10.0, 1e-2), (10.0, 3.0, 1e-9), (0.1, 5.0, 3.0)])


def test_growing_function_at_large_deviations():
    points = [
        (10.0, 10.0, 0.5),
        (10.0, 10.0, 3.0),
        (0.1, 10.0, 0.2),
        (10.0, 0.1, 1e-9),
        (3.0, 3.0, 1.5),
        (1e-3, 1.0, 1.0),
    ]
    check("exp", points)
    # Relative to k itself too, although only √(k11 k22) is promised.
    c1, c2, theta = (np.array(column) for column in zip(*points, strict=True))
    k = quadrature(activation("exp"), c1, c2, theta, 1e-12)[0]
    assert np.allclose(k, [exact("exp", *p)[0] for p in points], rtol=1e-13, atol=0)


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from(["relu", "erf", "exp(-u^2)", "sin", "step"]),
    st.floats(-2, 2),
    st.floats(-2, 2),
    st.floats(1e-12, np.pi - 1e-9),
)
def test_random_covariances(name, log1, log2, theta):
    check(name, [(float(np.exp(log1)), float(np.exp(log2)), theta)])


@pytest.mark.parametrize(
    "name",
    [
        "tanh",
        "mish",
        "softshrink",
        "u*Heaviside(u - 1)",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("silu", "hardswish", "relu6")),
    ],
)
def test_finer_panels_change_nothing(name):
    a = activation(name)
    c1 = np.array([1.0, 100.0, 100.0, 1.0, 20.0, 0.01])
    c2 = np.array([1.0, 100.0, 100.0, 1.2, 0.5, 1.0])
    theta = np.array([1.0, 1e-3, 2.0, 1e-9, 3.0, 0.1])
    k, kdot, k_error, kdot_error = quadrature(a, c1, c2, theta, 1e-12)
    profile = profile_of(a)
    fine = pair(Side.of(profile, np.maximum(c1, c2)), Side.of(profile, np.minimum(c1, c2)), theta, Resolution(40, 1))
    assert np.all(np.abs(k - fine.k) <= 5 * k_error)
    # norms whose squares underflow are 0, and the errors there are not
    assert np.all(k_error <= 1e-12 * norms(a, c1) * norms(a, c2) + 1e-290)
    if not np.any(profile.jumps):
        assert np.all(np.abs(kdot - fine.kdot) <= 5 * kdot_error)
        assert np.all(kdot_error <= 1e-12 * norms(a.derivative, c1) * norms(a.derivative, c2) + 1e-280)


def test_delta_terms_are_the_derivative_of_k():
    """Price: ∂k/∂θ = -c1 c2 sin θ k′, δ-terms included."""
    a = activation("Heaviside(u - 1/2)*(1 + u) + Heaviside(u)*cos(u)")
    c1, c2 = np.array([1.0, 0.7, 2.0]), np.array([1.0, 1.5, 0.3])
    theta, h = np.array([1.0, 0.4, 2.5]), 1e-3
    steps = np.array([-3, -2, -1, 1, 2, 3]) * h
    weights = np.array([-1, 9, -45, 45, -9, 1]) / (60 * h)
    slope = sum(w * quadrature(a, c1, c2, theta + d, 1e-13)[0] for w, d in zip(weights, steps, strict=True))
    kdot = quadrature(a, c1, c2, theta, 1e-13)[1]
    assert np.allclose(slope, -c1 * c2 * np.sin(theta) * kdot, rtol=1e-9, atol=1e-11)


def test_a_function_without_second_moment_is_refused():
    with pytest.raises(PrecisionLost, match="second moment"):
        quadrature(activation("exp(u^2)"), np.ones(1), np.ones(1), np.ones(1), 1e-12)


def test_a_growing_gaussian_below_the_limit():
    c, theta = np.array([0.5]), np.array([1.0])
    k = quadrature(activation("exp(u^2/2)"), c, c, theta, 1e-12)[0]
    mass = 1 - 2 * c**2 + (c**2 * np.sin(theta)) ** 2
    assert np.allclose(k, 1 / np.sqrt(mass), rtol=1e-13)


def test_joint_density_near_the_ends():
    with mp.workdps(50):
        for x, w, theta in [(1.0, 1.0 + 1e-7, 1e-7), (0.3, -0.3, 3.1), (2.0, 1.0, 0.5)]:
            r = mp.cos(mp.mpf(theta))
            form = (mp.mpf(x) ** 2 - 2 * r * x * mp.mpf(w) + mp.mpf(w) ** 2) / (2 * (1 - r**2))
            want = float(mp.exp(-form) / (2 * mp.pi * mp.sqrt(1 - r**2)))
            assert joint_density(np.array(x), np.array(w), np.array(theta)) == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize(
    ("expression", "c1", "c2", "r", "exact"),
    [
        # a spike leaves an exponential tail on wide panels beside it; values by enclose and by its expansion
        ("tanh(100000*u)", 1e6, 30.0, 0.4, 2.315363726809396e-8),
        ("tanh(100000*u)", 1e-4, 30.0, 0.0, 211.34136607252472),
        ("u*exp(-100000*u^2)", 30.0, 1e6, -1.0, 6.0373835368456594e-18),
        # the rounding of an exponent of 144
        ("erfc(u+12)", 1.0, 1e6, -0.999999, 2.6068373476814967e-69),
    ],
)
def test_slopes_of_spikes_and_tails_are_honest(expression, c1, c2, r, exact):
    value = hk.dual(expression, c1, c2, r)
    assert abs(value.kdot - exact) <= 5 * value.kdot_error + 4e-16 * exact
    assert value.kdot_error <= 1e-6 * exact


@pytest.mark.parametrize("r", [0.4, 0.0, -0.5, 0.9])
@pytest.mark.parametrize("expression", ["exp(-u)*Heaviside(u-8)", "Heaviside(u-8)", "Max(Abs(u)-6,0)"])
def test_tails_beside_large_deviations_are_honest(expression, r):
    value = hk.dual(expression, 30.0, 1.0, r)
    exact = hk.enclose(expression, 30, 1, Fraction(r), digits=25)
    for near, error, ball in ((value.k, value.error, exact.k), (value.kdot, value.kdot_error, exact.kdot)):
        true = float(ball.mid())
        assert abs(near - true) - float(ball.rad()) <= 5 * error + 4e-16 * abs(true)


@pytest.mark.parametrize("expression", ["exp(-u)*Heaviside(u-3)", "Heaviside(-u-4)", "Max(Abs(u)-3,0)"])
@pytest.mark.parametrize("r", [-0.6, -0.3, 0.7])
def test_tails_that_lead_away_from_each_other_are_honest(expression, r):
    value = hk.dual(expression, 1.0, 1.0, r)
    exact = hk.enclose(expression, 1, 1, Fraction(r), digits=25)
    for near, error, ball in ((value.k, value.error, exact.k), (value.kdot, value.kdot_error, exact.kdot)):
        true = float(ball.mid())
        assert abs(near - true) - float(ball.rad()) <= 5 * error + 4e-16 * abs(true)
