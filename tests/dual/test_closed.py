"""Closed forms against quadrature, in numbers and in print."""

from math import gamma

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holokern.activation import activation
from holokern.activation.pieces.closed_terms import closed_terms
from holokern.dual import dual
from holokern.dual.closed.error_functions import arc_integral
from holokern.dual.closed.formulas import closed_form
from holokern.dual.closed.method import closed, has_no_closed_form
from holokern.dual.closed.normal_law import Law
from holokern.dual.closed.quadrant import exponential_moment, power_moment, radial_moment
from holokern.dual.quadrature.method import norms, quadrature
from holokern.errors import Unsupported

SOURCES = [
    "identity",
    "step",
    "sign",
    "relu",
    pytest.param("relu^4", marks=pytest.mark.slow),
    pytest.param("leaky_relu", marks=pytest.mark.slow),
    "abs",
    "elu",
    pytest.param("celu", marks=pytest.mark.slow),
    pytest.param("selu", marks=pytest.mark.slow),
    "gelu",
    pytest.param("gelu_paper", marks=pytest.mark.slow),
    "erf",
    "gaussian",
    "sin",
    pytest.param("cos", marks=pytest.mark.slow),
    pytest.param("snake", marks=pytest.mark.slow),
    "exp",
    "u^3 - 3*u",
    pytest.param("3*Max(u, 0)", marks=pytest.mark.slow),
    pytest.param("Heaviside(u)*u^2 + 2", marks=pytest.mark.slow),
    "Heaviside(u) + exp(-Abs(u))",
    "Heaviside(u)*exp(u)",
    "exp(-u^2)*Max(u, 0)",
    pytest.param("exp(-u^2)*cos(2*u)", marks=pytest.mark.slow),
    "exp(u)*sin(u)",
    pytest.param("u^2*erf(2*u) + exp(-u^2)", marks=pytest.mark.slow),
    pytest.param("sin(pi*u)", marks=pytest.mark.slow),
    "Heaviside(-u)*exp(u)*u^3",
    "erf(u/3)*exp(-u^2)",
    "erf(2*u + 1)",
    pytest.param("u*(1 + erf(u - 1/3))/2", marks=pytest.mark.slow),
    "exp(u/2)*erf(u) + u^2",
]
ENDS = np.array([1e-9, 1e-4, 0.1, np.pi - 0.1, np.pi - 1e-4, np.pi - 1e-9])


@pytest.mark.parametrize("source", SOURCES)
def test_against_quadrature(source):
    a = activation(source)
    rng = np.random.default_rng(7)
    theta = np.concatenate([ENDS, rng.uniform(0, np.pi, 10)])
    c1, c2 = np.exp(rng.uniform(-1.2, 1.2, (2, len(theta))))
    k, kdot, k_error, kdot_error = closed(a, c1, c2, theta, 1e-12)
    other = quadrature(a, c1, c2, theta, 1e-12)
    assert np.all(np.abs(k - other[0]) <= 5 * (k_error + other[2]))
    scale = norms(a, c1) * norms(a, c2)
    slope_scale = np.maximum(norms(a.derivative, c1) * norms(a.derivative, c2), np.abs(kdot))
    assert np.all(k_error <= 2e-12 * scale)
    assert np.all(np.abs(kdot - other[1]) <= 5 * (kdot_error + other[3]) + 1e-20 * slope_scale)
    assert np.all(kdot_error <= 2e-12 * slope_scale)


def polynomial(coefficients):
    return " + ".join(f"({c})*u^{i}" for i, c in enumerate(coefficients))


small = st.lists(st.integers(-3, 3), min_size=1, max_size=4)


@settings(deadline=None, max_examples=8)
@example([1, -1], [0], 0, 1.0)  # cancels at u = 1, and breaks one unit away
@given(small, small, st.integers(-2, 1), st.floats(0.05, 3.1))
def test_random_exponential_polynomials_on_half_lines(right, left, rate, theta):
    closed_agrees_with_quadrature(right, left, rate, theta)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(small, small, st.integers(-2, 1), st.floats(0.05, 3.1))
def test_many_exponential_polynomials_on_half_lines(right, left, rate, theta):
    closed_agrees_with_quadrature(right, left, rate, theta)


def closed_agrees_with_quadrature(right, left, rate, theta):
    a = activation(f"Heaviside(u)*({polynomial(right)}) + Heaviside(-u)*exp({abs(rate)}*u)*({polynomial(left)})")
    if has_no_closed_form(a):
        pytest.fail(has_no_closed_form(a))
    c1, c2, angle = np.array([0.8]), np.array([1.3]), np.array([theta])
    mine, other = closed(a, c1, c2, angle, 1e-12), quadrature(a, c1, c2, angle, 1e-12)
    for i in (0, 1):
        assert np.abs(mine[i] - other[i])[0] <= 5 * (mine[i + 2] + other[i + 2])[0]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("resin", "half-line"),
        ("Heaviside(u)*erf(u)", "half-line"),
        ("Heaviside(u)*u*sin(u)", "half-line"),
        ("Heaviside(u)*sin(u) + Heaviside(-u)*u", "half-line"),
        ("tanh", "not holonomic"),
        ("hardtanh", "breaks at u = -1"),
        ("erf(u^2)", "argument of erf"),
        ("erf(u)^2", "power 2"),
        ("besselj(0, u)", "besselj"),
        ("1/(1 + u^2)", "denominator"),
        ("exp(u^3)", "exponent"),
        ("exp(u^2/8)", "grows"),
        ("erf(u)*sin(u)", "mixes"),
        ("u^61", "degree"),
    ],
)
def test_reasons(source, reason):
    a = activation(source)
    assert reason in has_no_closed_form(a)
    with pytest.raises(Unsupported, match="no closed form"):
        closed_form(a)


@pytest.mark.parametrize(
    "source",
    [
        "resin",
        "sin(Abs(u))",
        "Heaviside(u)*cos(3*u) + Heaviside(-u)*exp(u)",
        "Heaviside(u)*exp(-u)*sin(2*u)",
        "Heaviside(u)*exp(u/3)*cos(u) + Heaviside(-u)",
    ],
)
def test_waves_on_half_lines(source):
    a = activation(source)
    c = np.array([0.3, 0.7, 1.0, 2.0, 6.0])[: 4 if "exp(u/3)" in source else 5]
    c1, c2, theta = (x.ravel() for x in np.meshgrid(c, 1.1 * c, [1e-6, 1e-2, 0.5, np.pi / 2, 2.5, np.pi - 1e-3]))
    mine, other = closed(a, c1, c2, theta, 1e-12), quadrature(a, c1, c2, theta, 1e-12)
    for i in (0, 1):
        assert np.all(np.abs(mine[i] - other[i]) <= mine[i + 2] + other[i + 2])
    assert np.all(mine[2] <= 1e-12 * np.sqrt(dual(a, c1, c1, theta=0.0).k * dual(a, c2, c2, theta=0.0).k))
    with pytest.raises(Unsupported, match="no elementary expectation"):
        closed_form(a)


def test_waves_on_half_lines_at_large_deviations():
    """Where quadrature is slow: k tends to the density of (u, v) at zero."""
    c1, c2, theta = np.array([500.0, 6000.0, 6000.0]), np.array([6000.0, 6000.0, 6000.1]), np.array([1.0, 2.0, 1e-5])
    k, kdot, error, _ = closed(activation("resin"), c1, c2, theta, 1e-12)
    assert np.all(error < 1e-14)
    far = 1 / (2 * np.pi * c1 * c2 * np.sin(theta))
    assert k[:2] == pytest.approx(far[:2], rel=1e-4)
    other = quadrature(activation("resin"), c1[2:], c2[2:], theta[2:], 1e-12)
    assert abs(k[2] - other[0][0]) < 1e-13
    assert abs(kdot[2] - other[1][0]) < 1e-12


def test_structure_not_spelling_decides():
    pairs = [("3*Max(u, 0)", "3*u*Heaviside(u)"), ("Abs(u)", "Max(u, -u)"), ("u/2 + u*erf(u/sqrt(2))/2", "gelu")]
    for one, two in pairs:
        assert closed_terms(activation(one)) == closed_terms(activation(two))


def test_quadrant_powers_by_quadrature_in_many_digits():
    for m, n in [(0, 0), (1, 1), (2, 5), (7, 0), (4, 4)]:
        for delta in (1e-8, 0.4, 1.5, 1.7, 3.0, np.pi):
            with mp.workdps(30):
                angular = mp.quad(lambda t: mp.sin(t) ** m * mp.sin(mp.mpf(delta) - t) ** n, [0, delta / 2, delta])  # noqa: B023
                want = float(angular * mp.mpf(2) ** (mp.mpf(m + n) / 2) * mp.gamma(mp.mpf(m + n) / 2 + 1) / (2 * mp.pi))
            assert power_moment(m, n, np.array([delta]))[0] == pytest.approx(want, rel=4e-15)


def test_arc_cosine_kernels_on_the_diagonal():
    for n in range(6):
        double_factorial = 2**n * gamma(n + 0.5) / np.sqrt(np.pi)
        assert power_moment(n, n, np.array([np.pi]))[0] == pytest.approx(double_factorial / 2, rel=4e-15)


@pytest.mark.parametrize("g", [-200.0, -10.0, -1.6, -1.5, -0.6, -0.5, 0.0, 1.0, 8.0])
def test_radial_moments(g):
    for i in (0, 1, 2, 3, 8):
        with mp.workdps(30):
            want = mp.quad(lambda p: p**i * mp.exp(g * p - p * p / 2), [0, 0.01, 0.1, 0.5, 1, 3, 6, 10, 20, 40])  # noqa: B023
        assert radial_moment(i, np.array([g]))[0] == pytest.approx(float(want), rel=1e-14)


def test_exponential_moment_is_a_scaled_bivariate_probability():
    from scipy.stats import multivariate_normal

    for a, b, delta in [(-1.0, -0.5, 1.0), (0.7, -1.0, 2.5), (0.0, -2.0, 0.3)]:
        r = -np.cos(delta)
        h, k, q = a + r * b, b + r * a, a * a + 2 * r * a * b + b * b
        want = np.exp(q / 2) * multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([h, k])
        got = exponential_moment((0, 0), np.array([a]), np.array([b]), np.array([delta]), np.array([np.pi - delta]))[0]
        assert got == pytest.approx(want, rel=1e-7)


ARCS = [
    (0.5, 0.5, 1.5),
    (0.5, 0.500001, np.pi / 2 - 1e-7),
    (-1.0, 2.0, -1.2),
    (0.3, -0.3, -np.pi / 2),
    (3.0, 1.0, 0.1),
]


@pytest.mark.parametrize(("h", "k", "arc"), ARCS)
def test_arc_integral_in_many_digits(h, k, arc):
    with mp.workdps(40):
        x, y, end = mp.mpf(h), mp.mpf(k), mp.mpf(arc)
        steps = [end * (1 - mp.mpf(2) ** -j) for j in range(40)] + [end]
        want = mp.quad(lambda t: mp.exp(-(x * x - 2 * x * y * mp.sin(t) + y * y) / (2 * mp.cos(t) ** 2)), steps)
    got = arc_integral(np.array([h]), np.array([k]), np.array([arc]))[0]
    assert got == pytest.approx(float(want), abs=4e-16, rel=4e-15)


def test_a_gaussian_times_a_law_is_the_inverse_of_the_sum_of_precisions():
    law = Law.of(np.array([0.7]), np.array([1.9]), np.array([1.1]))
    product = law.times_gaussian(-0.3, -1.2)
    sigma = np.array([[0.49, law.covariance[0]], [law.covariance[0], 3.61]])
    want = np.linalg.inv(np.linalg.inv(sigma) + np.diag([0.6, 2.4]))
    got = np.array([[product.c1[0] ** 2, product.covariance[0]], [product.covariance[0], product.c2[0] ** 2]])
    assert np.allclose(got, want, rtol=1e-14)
    assert product.weight[0] == pytest.approx(np.sqrt(np.linalg.det(want) / np.linalg.det(sigma)), rel=1e-14)


PRINTED = [
    "step",
    "relu",
    "relu^2",
    "leaky_relu",
    "elu",
    "gelu",
    "erf",
    "gaussian",
    "sin",
    "snake",
    "exp(u)*sin(u)",
    "u*cos(2*u)",
    pytest.param("exp(-u^2)*Max(u, 0)", marks=pytest.mark.slow),
    "sin(pi*u)",
    pytest.param("u*erf(2*u + 1)", marks=pytest.mark.slow),
    "exp(u)*erf(u)",
    "Heaviside(u)*(1 + u) + exp(-Abs(u))",
]


@pytest.mark.parametrize("source", PRINTED)
def test_printed_forms_give_the_same_numbers(source):
    import sympy
    from scipy.stats import multivariate_normal

    a = activation(source)
    form = closed_form(a)
    symbols = [sympy.Symbol(name, positive=True) for name in ("c1", "c2", "theta")]
    functions = {
        "Phi": mp.ncdf,
        "Phi_2": lambda h, k, r: multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([h, k]),
    }
    points = [(0.7, 1.9, 1.2), (1.3, 0.6, 2.5)]
    c1, c2, theta = (np.array(column) for column in zip(*points, strict=True))
    k, kdot, *_ = quadrature(a, c1, c2, theta, 1e-12)
    for expression, values in ((form.k, k), (form.kdot, kdot)):
        function = sympy.lambdify(symbols, expression, [functions, "mpmath"])
        for point, value in zip(points, values, strict=True):
            assert float(function(*point)) == pytest.approx(value, rel=1e-7, abs=1e-9)
    assert r"\theta" in form.k_latex + form.kdot_latex
    assert form._repr_latex_().startswith("$")


def test_relu_prints_the_arc_cosine_kernel():
    form = closed_form(activation("relu"))
    assert str(form.k) == "c1*c2*((pi - theta)*cos(theta) + sin(theta))/(2*pi)"
    assert "c_1 c_2" in form.k_latex
