"""Hermite coefficients and the dual activation from them: the paper's numbers with its errata, and other routes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation import activation
from holokern.dual.dual import dual
from holokern.dual.hermite.method import hermite, hermite_coefficients, serves_hermite
from holokern.errors import PrecisionLost, Unsupported

SHARP = ["relu", "elu", "resin", "abs", "leaky_relu", "selu", "step", "Heaviside(u)*(u^3 - 2*u^2 + u)"]
SMOOTH = ["gelu", "erf", "gaussian", "sin", "cos", "snake", "u^3 - 3*u", "sin(pi*u)"]
OFF_CENTRE = ["hardtanh", "relu6", "hardswish", "softshrink"]


def one_point(name: str, c1: float, c2: float, theta: float) -> tuple[float, float, float, float]:
    arrays = hermite(activation(name), *(np.array([x]) for x in (c1, c2, theta)), 1e-12)
    k, kdot, error, kdot_error = (float(a[0]) for a in arrays)
    return k, kdot, error, kdot_error


# -- the paper -------------------------------------------------------------------------------------------------------


def test_a_hundred_resin_coefficients_by_the_papers_recurrence() -> None:
    """c_(n+6) + 2(n+3)c_(n+4) + (n²+5n+7)c_(n+2) + (n+1)(n+2)c_n = 0 for c_n = √(2π) E[He_n σ]."""
    with ctx.workprec(500):
        c = [(2 * arb.pi()).sqrt() * value for value in hermite_coefficients("resin", 101, bits=450)]
        for n in range(95):
            total = c[n + 6] + 2 * (n + 3) * c[n + 4] + (n * n + 5 * n + 7) * c[n + 2] + (n + 1) * (n + 2) * c[n]
            assert total.contains(0)
            assert c[n].rel_accuracy_bits() > 150
        for n in range(97):
            assert (c[n + 4] + (n + 2) * c[n + 2] + (n + 1) * c[n]).contains(0)
        # those of odd order stay at ±√(π/2e), the others grow like double factorials
        for n in range(1, 101, 2):
            assert c[n].overlaps((-1) ** (n // 2) * (arb.pi() / (2 * arb.const_e())).sqrt())


def test_precision_is_relative_to_the_largest_possible_value() -> None:
    values = hermite_coefficients("resin", 60, c="1/2", bits=80)
    assert all(value.rad() <= arb(2) ** -79 * arb.fac_ui(n).sqrt() for n, value in enumerate(values))


def test_relu_coefficients_alternate_like_double_factorials() -> None:
    values = hermite_coefficients("relu", 12)
    root = (2 * arb.pi()).sqrt()
    for n in (4, 6, 8, 10):
        odd = math.prod(range(n - 3, 0, -2))
        assert (root * values[n]).overlaps(arb((-1) ** (n // 2 + 1) * odd))
        assert values[n + 1].is_zero()


def test_the_expansion_has_the_factor_that_the_errata_give() -> None:
    """σ = Σ c_n/(√(2π) n!) He_n and k(1,1,r) = Σ (c_n/√(2π))² r^n/n!; the printed √π gives 0.898 instead of 1/2."""
    from numpy.polynomial.hermite_e import hermeval

    c = [float((2 * arb.pi()).sqrt() * value) for value in hermite_coefficients("gelu", 60)]
    weights = np.array([a / math.factorial(n) for n, a in enumerate(c)])
    x = 0.7
    assert hermeval(x, weights / math.sqrt(2 * math.pi)) == pytest.approx(float(activation("gelu")(x)), abs=1e-9)
    relu = [float((2 * arb.pi()).sqrt() * value) for value in hermite_coefficients("relu", 400)]
    squares = [a * a / float(arb.fac_ui(n)) if n < 171 else 0.0 for n, a in enumerate(relu)]
    half = sum(squares) / (2 * math.pi)
    assert half == pytest.approx(0.5, abs=1e-3)
    printed = sum((a / (math.sqrt(math.pi) * math.factorial(n))) ** 2 for n, a in enumerate(relu) if n < 150)
    assert abs(printed - 0.5) > 0.3


# -- other routes ----------------------------------------------------------------------------------------------------


def points(*chosen: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Deviations and angles of several points, which cost little more than one."""
    c1, c2, theta = np.array(chosen).T
    return c1, c2, theta


@pytest.mark.parametrize("name", [*SHARP, *SMOOTH, *OFF_CENTRE])
def test_against_quadrature(name: str) -> None:
    c1, c2, theta = points((1.0, 1.0, 1.0), (0.7, 1.9, 1.9), (2.0, 0.02, 0.3), (1.0, 1.0, 0.2))
    k, kdot, error, kdot_error = hermite(activation(name), c1, c2, theta, 1e-12)
    other = dual(name, c1, c2, theta=theta, method="quadrature")
    scale = np.abs(other.k) + c1 * c2
    assert np.all(error <= 1e-11 * scale)
    # softshrink at c = 0.02 begins at 25 deviations: k = 2e-139, which quadrature takes for 0
    assert np.all(np.abs(k - other.k) <= 5 * (error + other.error) + 1e-130)
    assert np.all(np.abs(kdot - other.kdot) <= 5 * (kdot_error + other.kdot_error) + 1e-130)


@pytest.mark.parametrize("name", [*SHARP, *SMOOTH])
def test_near_both_ends(name: str) -> None:
    pairs, angles = ((1.0, 1.0), (0.7, 1.9), (1.0, 0.01)), (1.4142135e-6, 1.4e-3, math.pi - 1e-4)
    c1, c2, theta = points(*((*pair, angle) for pair in pairs for angle in angles))
    k, kdot, error, kdot_error = hermite(activation(name), c1, c2, theta, 1e-12)
    other = dual(name, c1, c2, theta=theta, method="quadrature")
    assert np.all(np.abs(k - other.k) <= 5 * (error + other.error))
    assert np.all(np.abs(kdot - other.kdot) <= 5 * (kdot_error + other.kdot_error) + 1e-13 * np.abs(kdot))
    assert np.all(error <= 1e-11 * c1 * c2)


def test_step_has_its_exact_slope() -> None:
    for theta in (1e-6, 0.3, 2.0, math.pi - 1e-5):
        k, kdot, _, _ = one_point("step", 0.5, 3.0, theta)
        assert k == pytest.approx((math.pi - theta) / (2 * math.pi), rel=1e-13)
        assert kdot == pytest.approx(1 / (2 * math.pi * 1.5 * math.sin(theta)), rel=1e-12)


@pytest.mark.parametrize("text", ["hardtanh", "relu6", "Heaviside(u - 1)*sin(u)"])
def test_breaks_off_zero_near_the_ends(text: str) -> None:
    c1, c2, theta = points((1.0, 1.0, 1.4e-6), (0.7, 1.9, 1e-3), (1.0, 1.0, math.pi - 1e-5))
    k, kdot, error, kdot_error = hermite(activation(text), c1, c2, theta, 1e-12)
    other = dual(text, c1, c2, theta=theta, method="quadrature")
    assert np.all(np.abs(k - other.k) <= 5 * (error + other.error))
    assert np.all(np.abs(kdot - other.kdot) <= 5 * (kdot_error + other.kdot_error))
    assert np.all(error <= 1e-12)
    assert np.all(kdot_error <= 1e-12 * np.maximum(1.0, np.abs(kdot)))


def test_deviations_far_apart() -> None:
    k, kdot, error, kdot_error = one_point("relu6", 1.0, 100.0, 1.4e-6)
    other = dual("relu6", 1.0, 100.0, theta=1.4e-6, method="quadrature")
    assert abs(k - other.k) <= 5 * (error + other.error)
    assert abs(kdot - other.kdot) <= 5 * (kdot_error + other.kdot_error)
    assert error <= 1e-11 * abs(k)


def test_a_fast_wave_with_a_break() -> None:
    """sin(20z) on a half-line near r = 1: neither the plain series nor the one without the break gets there."""
    k, kdot, error, kdot_error = one_point("resin", 20.0, 20.0, 1e-3)
    other = dual("resin", 20.0, 20.0, theta=1e-3, method="quadrature")
    assert abs(k - other.k) <= 5 * (error + other.error)
    assert abs(kdot - other.kdot) <= 5 * (kdot_error + other.kdot_error)
    assert error <= 1e-12


def test_waves_too_fast_are_refused_and_served_with_less_tolerance() -> None:
    with pytest.raises(PrecisionLost, match="larger tolerance"):
        one_point("resin", 100.0, 100.0, 1e-6)
    found = hermite(activation("resin"), *(np.array([x]) for x in (1.0, 100.0, 1e-6)), 0.01)
    other = dual("resin", 1.0, 100.0, theta=1e-6, method="quadrature")
    assert abs(found[0][0] - other.k) <= 1.01 * found[2][0]


def test_many_angles_and_pairs_at_once() -> None:
    c1 = np.array([1.0, 1.0, 2.0, 1.0])
    c2 = np.array([1.0, 2.0, 1.0, 1.0])
    theta = np.array([0.5, 1.0, 1.0, 3.0])
    k, kdot, error, _ = hermite(activation("relu"), c1, c2, theta, 1e-12)
    expected = c1 * c2 * (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi)
    # the formula itself is rounded
    assert np.all(np.abs(k - expected) <= 5 * error + 1e-16)
    assert np.allclose(kdot, (np.pi - theta) / (2 * np.pi), atol=1e-14)


def test_whom_it_serves() -> None:
    assert serves_hermite(activation("relu")) is None
    assert "quadrature" in (serves_hermite(activation("tanh")) or "")
    by_ode = activation(operator="D^2 + 1", values={0: [0, 1]})
    assert "expression" in (serves_hermite(by_ode) or "")
    with pytest.raises(Unsupported, match="hermite"):
        dual("tanh", 1, 1, 0.5, method="hermite")


@settings(deadline=None, max_examples=10)
@given(
    rate=st.fractions(-1, 1, max_denominator=4),
    wave=st.integers(0, 2),
    slope=st.fractions(-2, 2, max_denominator=3),
    theta=st.floats(0.05, 3.0),
)
def test_random_expressions(rate, wave, slope, theta) -> None:  # type: ignore[no-untyped-def]
    text = f"Heaviside(u)*exp(({rate})*u)*cos({wave}*u) + ({slope})*u"
    k, kdot, error, kdot_error = one_point(text, 1.0, 0.6, theta)
    other = dual(text, 1.0, 0.6, theta=theta, method="quadrature")
    assert abs(k - other.k) <= 5 * (error + other.error)
    assert abs(kdot - other.kdot) <= 5 * (kdot_error + other.kdot_error)
