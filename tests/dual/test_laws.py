"""Laws of dual activations for expressions that no list names: two independent methods agree, symmetry, positivity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from holokern import Activation, activation, dual
from holokern.errors import HolokernError, PrecisionLost, Unsupported

ATOMS = ["1", "u", "u^2", "exp(-u^2/{a})", "exp({s}u/{a})", "sin({a}*u)", "cos(u/{a})", "erf({s}u/{a})", "exp(-Abs(u))"]
GATES = ["1", "Heaviside({s}u)", "Abs(u)", "Max({s}u, 0)"]
SHIFTED_GATES = [*GATES, "Heaviside({s}u - {b})", "Abs(u - {b})", "Max({s}u + {b}, 0)"]

shifts = st.sampled_from(["1/2", "1", "3/2"])
coefficients = st.fractions(-3, 3, max_denominator=4).filter(bool)
deviations = st.floats(0.2, 2.5)
angles = st.floats(0.05, 3.1)


@st.composite
def terms(draw: st.DrawFn, gates: tuple[str, ...]) -> str:
    parts = {"a": draw(st.integers(1, 3)), "s": draw(st.sampled_from(["", "-"])), "b": draw(shifts)}
    factors = [f"({draw(coefficients)})", *(draw(st.sampled_from(kind)).format(**parts) for kind in (ATOMS, gates))]
    return "*".join(factors)


expressions, shifted = (
    st.lists(terms(tuple(gates)), min_size=1, max_size=2).map(" + ".join) for gates in (GATES, SHIFTED_GATES)
)


def size(value: object) -> float:
    return float(np.max(np.abs(np.asarray(value)), initial=0.0))


@pytest.mark.parametrize(
    ("text", "theta"),
    [
        ("1/2*exp(-u^2/2)*Heaviside(u - 1/2)", 0.4),
        ("-2*sin(2*u)*Abs(u - 1)", 2.5),
        ("3/4*erf(u/3)*Max(-u + 3/2, 0)", 1.1),
        ("exp(-Abs(u))*Heaviside(-u - 1/2) + 5/4*u^2", 0.9),
        ("exp(-u/2)*Max(u, 0) - cos(u/3)*Abs(u)", 0.1),
        ("2*cos(u)*Heaviside(u - 3/2) + u*Abs(u - 1)", 3.0),
    ],
)
def test_hermite_series_and_quadrature_agree_for_a_few(text: str, theta: float) -> None:
    """Every atom and every gate; random ones take five seconds each."""
    series_agree_with_quadrature(text, 0.7, 1.3, theta)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(shifted, deviations, deviations, angles)
def test_hermite_series_and_quadrature_agree(text: str, c1: float, c2: float, theta: float) -> None:
    series_agree_with_quadrature(text, c1, c2, theta)


def series_agree_with_quadrature(text: str, c1: float, c2: float, theta: float) -> None:
    sigma = activation(text)
    exact = (Fraction(round(16 * c1) + 1, 16), Fraction(round(16 * c2) + 1, 16))
    one = dual(sigma, *map(float, exact), theta=theta, method="quadrature")
    try:
        other = dual(sigma, *map(float, exact), theta=theta, method="hermite")
    except (PrecisionLost, Unsupported):
        assume(False)
    scale = np.sqrt(size(dual(sigma, float(exact[0]), float(exact[0]), 1.0).k)) * np.sqrt(
        size(dual(sigma, float(exact[1]), float(exact[1]), 1.0).k)
    )
    assert abs(one.k - other.k) <= 1e-11 * scale + 5 * (one.error + other.error)
    assert one.error + other.error <= 1e-9 * scale
    if np.isfinite(one.kdot):
        assert abs(one.kdot - other.kdot) <= 1e-10 * (1 + abs(one.kdot)) + 5 * (one.kdot_error + other.kdot_error)


def agree_with_quadrature(text: str, c1: float, c2: float, theta: float) -> None:
    """The transport of the Pfaffian system and panels between the breaks, each with its own error."""
    sigma = activation(text)
    one = dual(sigma, c1, c2, theta=theta, method="quadrature")
    try:
        other = dual(sigma, c1, c2, theta=theta, method="hgm", precise=False)
    except (Unsupported, PrecisionLost):
        assume(False)
    scale = size(one.k) + np.sqrt(size(dual(sigma, c1, c1, 1.0).k) * size(dual(sigma, c2, c2, 1.0).k))
    assert abs(one.k - other.k) <= 1e-14 * scale + 5 * (one.error + other.error)
    assert abs(one.kdot - other.kdot) <= 1e-14 * (1 + abs(one.kdot)) + 5 * (one.kdot_error + other.kdot_error)


@pytest.mark.parametrize(
    ("text", "theta"),
    [("u*Heaviside(u - 1/2)", 2.5), ("Heaviside(u - 1)*exp(-u)", 0.4), ("Heaviside(-u)*u^2 + sin(u)", 1.1)],
)
def test_hgm_and_quadrature_agree_for_a_few(text: str, theta: float) -> None:
    agree_with_quadrature(text, 0.7, 1.3, theta)


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(shifted, deviations, deviations, angles)
def test_hgm_and_quadrature_agree(text: str, c1: float, c2: float, theta: float) -> None:
    agree_with_quadrature(text, c1, c2, theta)


@settings(deadline=None, max_examples=25)
@given(expressions, deviations, deviations, angles)
def test_symmetric_and_bounded(text: str, c1: float, c2: float, theta: float) -> None:
    sigma = activation(text)
    c, d = np.array([c1, c2]), np.array([c2, c1])
    value, bound = dual(sigma, c, d, theta=theta), np.sqrt(np.prod(dual(sigma, c, c, 1.0).k))
    assert abs(np.ptp(value.k)) <= 1e-12 * bound + np.sum(value.error)
    assert np.all(np.abs(value.k) <= bound * (1 + 1e-12))


@settings(deadline=None, max_examples=12)
@given(expressions, st.integers(0, 2**32 - 1))
def test_positive_semidefinite(text: str, seed: int) -> None:
    sigma = activation(text)
    points = np.random.default_rng(seed).normal(size=(5, 3))
    norms = np.linalg.norm(points, axis=1)
    cosines = np.clip((points / norms[:, None]) @ (points / norms[:, None]).T, -1, 1)
    kernel = np.asarray(dual(sigma, norms[:, None], norms[None, :], cosines).k)
    assert np.linalg.eigvalsh((kernel + kernel.T) / 2)[0] >= -1e-10 * np.trace(kernel)


def mean(sigma: Activation, c: float) -> float:
    """E[σ(cz)] by a plain adaptive rule between the breaks."""
    ends = [-12.0, *(float(b) / c for b in sigma.breaks), 12.0]
    weight = 1 / np.sqrt(2 * np.pi)
    pieces = (
        quad(lambda z: weight * np.exp(-z * z / 2) * sigma(c * z), *ends[i : i + 2], epsabs=1e-14, epsrel=1e-13)[0]
        for i in range(len(ends) - 1)
    )
    return float(sum(pieces))


@pytest.mark.parametrize("name", ["relu", "gelu", "resin", "elu", "tanh", "hardtanh", "hardswish"])
def test_independent_variables_give_products(name: str) -> None:
    sigma = activation(name)
    means = [mean(sigma, c) for c in (0.7, 1.9)]
    assert dual(sigma, 0.7, 1.9, theta=np.pi / 2).k == pytest.approx(means[0] * means[1], abs=1e-12)


@settings(deadline=None, max_examples=60)
@example(1.5134036423667342e16, 1.1878477654850863e292, 0.0)
@example(1e-310, 1e-310, -0.5)
@example(0.0, 4.8866955755686465e303, 0.0)
@example(1.0, 1e290, 1.0)
@example(1e290, 1e290, 1.0)
@given(st.floats(allow_nan=True), st.floats(allow_nan=True), st.floats(allow_nan=True))
def test_any_numbers_give_a_value_or_our_error(c1: float, c2: float, r: float) -> None:
    try:
        value = dual("relu", c1, c2, r)
    except HolokernError:
        assert not (0 <= c1 < 1e100 and 0 <= c2 < 1e100 and -1 <= r <= 1)
    else:
        assert value.error >= 0
        assert c1 >= 0
        assert c2 >= 0
        assert abs(r) <= 1 + 1e-9
