"""The HGM against the reference values, quadrature and the paper: both solvers, both coordinates, up to det Σ = 0."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holokern as hk
from holokern.activation import activation
from holokern.dual.methods.hgm import hgm
from holokern.dual.methods.hgm_x import coordinates_x, moments_in_x, start_in_x
from holokern.dual.quadrature.method import quadrature
from holokern.errors import BadInput, NotHolonomic, PrecisionLost, UnknownName, Unsupported

SMOOTH_OR_AT_ZERO = ["relu", "step", "gelu", "erf", "resin", "elu", "sin", "gaussian", "identity", "snake", "abs"]


def serves(source):
    try:
        activation(source).annihilator  # noqa: B018
    except NotHolonomic:
        return False
    return True


def honest(error, estimate):
    """Never smaller than a fifth of the true error, up to what the comparison itself is worth."""
    return np.all(error <= 5 * estimate + 1e-15)


def test_reference_values(derived_reference):
    reference = derived_reference
    if not serves(reference.source):
        with pytest.raises(Unsupported, match="quadrature"):
            hk.dual(reference.source, 1, 1, 0.5, method="hgm")
        return
    v = hk.dual(reference.source, reference.c1, reference.c2, theta=reference.theta, method="hgm")
    for found, want, estimate in ((v.k, reference.k, v.error), (v.kdot, reference.kdot, v.kdot_error)):
        known = ~np.isnan(want)
        error = np.abs(found - want)[known]
        assert np.all(error <= 1e-11)
        assert honest(error, estimate[known])


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in ("elu", "snake") else ()) for name in SMOOTH_OR_AT_ZERO],
)
def test_no_fallback_near_degenerate_covariances(name):
    a = activation(name)
    theta = np.array([1e-9, np.sqrt(2e-12), 1e-3, 0.2, 3.0, np.pi - 1e-3, np.pi - 1e-6])
    for c1, c2 in ((1.0, 1.0), (0.7, 1.9), (1.0, 0.01), (0.05, 5.0)):
        points = np.full(len(theta), c1), np.full(len(theta), c2), theta
        k, kdot, k_error, kdot_error = hgm(a, *points, 1e-12)
        want_k, want_kdot, noise, noise_dot = quadrature(a, *points, 1e-12)
        size, size_dot = np.max(np.abs(want_k)), np.abs(want_kdot) + np.median(np.abs(want_kdot))
        assert np.all(np.abs(k - want_k) <= 1e-11 * size + 10 * noise)
        assert np.all(np.abs(kdot - want_kdot) <= 1e-11 * size_dot + 10 * noise_dot)
        assert honest(np.abs(k - want_k), k_error + noise)
        assert honest(np.abs(kdot - want_kdot), kdot_error + noise_dot)


@pytest.mark.parametrize(
    ("name", "c1", "c2"),
    [pytest.param("resin", 10.0, 0.1, marks=pytest.mark.slow), ("resin", 5.0, 5.0), ("sin", 5.0, 5.0)],
)
def test_growing_errors_are_met_by_more_digits(name, c1, c2):
    """From θ = π/2 to 0 errors grow by e^25 and more here; floats alone must say so, balls carry on."""
    a = activation(name)
    points = np.full(2, c1), np.full(2, c2), np.array([0.3, 1e-4])
    want_k, want_kdot, noise, noise_dot = quadrature(a, *points, 1e-12)
    rough = hgm(a, *points, 1e-12, precise=False)
    assert honest(np.abs(rough[0] - want_k), rough[2] + noise)
    k, kdot, k_error, _kdot_error = hgm(a, *points, 1e-12)
    assert np.all(np.abs(k - want_k) <= 5 * noise + 1e-13)
    assert np.all(np.abs(kdot - want_kdot) <= 5 * noise_dot + 1e-13)
    assert np.all(k_error <= 1e-11)


@pytest.mark.parametrize("name", ["hardtanh", pytest.param("relu6", marks=pytest.mark.slow)])
def test_breaks_away_from_zero(name):
    a = activation(name)
    theta = np.array([1e-4, 0.05, 0.3, 1.0, 2.5, 3.0])
    for c in (0.8, 2.0):
        points = np.full(len(theta), c), np.full(len(theta), c), theta
        k, kdot, k_error, kdot_error = hgm(a, *points, 1e-12)
        want_k, want_kdot, _, _ = quadrature(a, *points, 1e-12)
        assert np.all(np.abs(k - want_k) <= 1e-10)
        assert np.all(np.abs(kdot - want_kdot) <= 1e-8)
        assert honest(np.abs(kdot - want_kdot), kdot_error)
        assert honest(np.abs(k - want_k), k_error)


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from(SMOOTH_OR_AT_ZERO),
    st.floats(0.2, 2.0),
    st.floats(0.2, 2.0),
    st.floats(1e-3, np.pi - 1e-3),
)
def test_errors_are_honest(name, c1, c2, theta):
    a = activation(name)
    point = np.array([c1]), np.array([c2]), np.array([theta])
    k, kdot, k_error, kdot_error = hgm(a, *point, 1e-12)
    want_k, want_kdot, noise, noise_dot = quadrature(a, *point, 1e-12)
    assert honest(np.abs(k - want_k), k_error + noise)
    assert honest(np.abs(kdot - want_kdot), kdot_error + noise_dot)
    assert k_error[0] <= 1e-11 * max(1.0, abs(k[0]))


@pytest.mark.parametrize("coordinates", ["sigma", "x"])
@pytest.mark.parametrize("name", ["relu", "step", "gelu", "resin", "erf"])
def test_solvers_and_coordinates_agree(name, coordinates):
    a = activation(name)
    c1, c2, theta = np.array([1.0, 0.8, 1.2]), np.array([0.9, 1.3, 1.1]), np.array([0.9, 1.8, 2.3])
    want_k, want_kdot, _, _ = quadrature(a, c1, c2, theta, 1e-12)
    k, kdot, k_error, kdot_error = hgm(a, c1, c2, theta, 1e-12, coordinates=coordinates)
    assert np.all(np.abs(k - want_k) <= 1e-11)
    assert np.all(np.abs(kdot - want_kdot) <= 1e-10)
    assert honest(np.abs(k - want_k), k_error)
    assert honest(np.abs(kdot - want_kdot), kdot_error)
    k, kdot, k_error, _ = hgm(a, c1, c2, theta, 1e-12, coordinates=coordinates, solver="scipy")
    assert np.all(np.abs(k - want_k) <= 1e-8)
    assert np.all(np.abs(kdot - want_kdot) <= 1e-8)
    assert honest(np.abs(k - want_k), k_error)


def test_other_integrators():
    point = np.array([1.0]), np.array([1.0]), np.array([1.0])
    a = activation("resin")
    loose = hgm(a, *point, 1e-12, solver="scipy", integrator="DOP853", rtol=1e-6)
    tight = hgm(a, *point, 1e-12, solver="scipy", integrator="DOP853", rtol=1e-12)
    want = quadrature(a, *point, 1e-12)[0]
    assert abs(tight[0] - want) < abs(loose[0] - want) + 1e-12 < 1e-6
    with pytest.raises(BadInput, match="RK45"):
        hgm(a, *point, 1e-12, solver="scipy", integrator="euler")


def test_initial_values_of_the_paper():
    """(1, ∂12) g at (-1, 0, -1): (1/4, π/8) for ReLU and (π/4, 1/2) for its derivative."""
    np.testing.assert_allclose(start_in_x(activation("relu"))[0], [1 / 4, np.pi / 8], rtol=1e-14)
    np.testing.assert_allclose(start_in_x(activation("step"))[0], [np.pi / 4, 1 / 2], rtol=1e-14)


def test_initial_values_of_gelu_derivative_with_the_erratum():
    """Ê[fg] = 0, Ê[gg] = π, ∂12 Ê[fg] = 1/2, ∂12 Ê[gg] = 1 at (-1, 0, -1); the paper prints 1/2 and π interchanged."""
    # f(u) = u erf'(u), g(u) = 1 + erf(u)
    f, _ = moments_in_x(activation("2*u*exp(-u^2)/sqrt(pi)"), 3)
    g, _ = moments_in_x(activation("1 + erf(u)"), 3)
    assert f[0] * g[0] == pytest.approx(0, abs=1e-15)
    assert g[0] * g[0] == pytest.approx(np.pi, rel=1e-14)
    assert 2 * f[1] * g[1] == pytest.approx(1 / 2, rel=1e-14)
    assert 2 * g[1] * g[1] == pytest.approx(1, rel=1e-14)


def test_the_series_at_the_start_of_the_paper():
    """The vector at (-1, 1/100, -1), where the paper starts for ReSin, is that of a transport from (-1, 0, -1)."""
    a = activation("resin")
    half = np.sqrt(0.5)
    # x12 = 1/100 at x11 = x22 = -1: Σ = -½x⁻¹
    det = 1 - 1e-4
    c, r = np.sqrt(0.5 / det), 0.01
    assert coordinates_x(np.array([c]), np.array([c]), np.array([np.arccos(r)]))[0] == pytest.approx([-1, 0.01, -1])
    g = start_in_x(a, 0.01)[0][0]
    k = hgm(a, np.array([c]), np.array([c]), np.array([np.arccos(r)]), 1e-12)[0][0]
    assert g * np.sqrt(det) / np.pi == pytest.approx(k, rel=1e-13)
    assert start_in_x(a)[0][0] / np.pi == pytest.approx(hk.dual(a, half, half, 0.0).k, rel=1e-13)


def test_scalars_and_broadcasting():
    assert isinstance(hk.dual("relu", 1, 1, 0.5, method="hgm").k, float)
    v = hk.dual("relu", np.ones((3, 1)), np.ones(4), 0.5, method="hgm")
    assert v.k.shape == (3, 4)
    assert v.method == "hgm"


def test_degenerate_points_and_zero_deviations():
    v = hk.dual("relu", [1, 1, 0, 2], [1, 1, 1, 1], [1.0, -1.0, 0.5, 0.5], method="hgm")
    assert v.k == pytest.approx([0.5, 0.0, 0.0, 2 * hk.dual("relu", 1, 1, 0.5).k], abs=1e-14)


def test_jump_makes_kdot_large_but_finite():
    theta = np.array([1e-3, 1.0, 3.0])
    v = hk.dual("step", 2.0, 0.5, theta=theta, method="hgm")
    assert v.kdot == pytest.approx(1 / (2 * np.pi * np.sin(theta)), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"solver": "euler"}, UnknownName),
        ({"coordinates": "y"}, UnknownName),
        ({"rtol": 0.0}, BadInput),
        ({"steps": 3}, UnknownName),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(error):
        hk.dual("relu", 1, 1, 0.5, method="hgm", **options)


def test_not_holonomic_is_refused_before_any_work():
    for method in ("hgm", "hie", "all_at_once", "taylor"):
        with pytest.raises(Unsupported, match="quadrature"):
            hk.dual("tanh", 1, 1, 0.5, method=method)


def test_matrices_that_cancel_count_as_errors():
    """The polynomials in cos θ lose digits at large deviations, which perturbations of the start do not see."""
    sigma, point = "asinh(100*u)/100", (30.0, 2.5, 0.9999)
    steps, panels = (hk.dual(sigma, *point, method=name) for name in ("hgm", "quadrature"))
    assert abs(steps.k - panels.k) <= 5 * steps.error + panels.error
    assert abs(steps.kdot - panels.kdot) <= 5 * steps.kdot_error + panels.kdot_error
    assert steps.error < 1e-10 * panels.k


@pytest.mark.parametrize(
    ("name", "c1", "c2"),
    [("erf", 1e121, 1e121), ("gelu", 1e150, 1.0), ("elu", 1e160, 1e160), ("relu", 1e-200, 1e-150)],
)
def test_deviations_that_leave_the_range_of_floats_are_refused(name, c1, c2):
    """They ended in an error of numpy's."""
    with pytest.raises(PrecisionLost, match=r"scale|another method"):
        hk.dual(name, c1, c2, 0.3, method="hgm")
