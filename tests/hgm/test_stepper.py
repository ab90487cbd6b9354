"""Taylor steps on systems with known solutions, and the honesty of what they report."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.hgm.scipy_solver import integrate
from holokern.hgm.steps.series import (
    SeriesEquation,
    multiply_series,
    power_of_series,
    power_table,
    trigonometric_series,
)
from holokern.hgm.steps.stepper import taylor_coefficients, transport


@dataclass(frozen=True)
class Polynomials:
    """D H' = N H with polynomials in t, the same for all tracks; coefficients lowest first."""

    bottom: np.ndarray
    top: np.ndarray

    @property
    def rank(self):
        return self.top.shape[1]

    @property
    def outputs(self):
        return (0,)

    def distance(self, tracks, at):
        roots = np.roots(self.bottom[::-1]) if len(self.bottom) > 1 else np.array([np.inf])
        return np.min(np.abs(np.asarray(at)[..., None] - roots), axis=-1)

    def equation_at(self, tracks, at, order):
        series = np.zeros((len(tracks), order + 1), dtype=np.result_type(at, float))
        series[:, 0] = at
        if order:
            series[:, 1] = 1
        powers = power_table(series, max(len(self.bottom), len(self.top)) - 1, order)
        bottom = np.einsum("k,pkn->pn", self.bottom, powers[:, : len(self.bottom)])
        top = np.einsum("kij,pkn->pnij", self.top, powers[:, : len(self.top)])
        return SeriesEquation(bottom, top, None)


def carry(path, start, state, target, **options):
    columns = np.concatenate([np.array(state, dtype=complex if options.get("detour") else float)[:, None]] * 1, axis=1)
    noise = np.full((len(state), 3), 1e-16)
    both = np.concatenate([columns, noise], axis=1)
    return transport(path, np.array([start]), both[None], np.array([0]), np.array([target]), **options)


def test_rotation():
    path = Polynomials(np.array([1.0]), np.array([[[0.0, 1.0], [-1.0, 0.0]]]))
    for t in (0.5, 3.0, 40.0):
        arrival = carry(path, 0.0, [0.0, 1.0], t, every_entry=True)
        np.testing.assert_allclose(arrival.value[0, :, 0], [np.sin(t), np.cos(t)], atol=1e-13)


@settings(deadline=None, max_examples=30)
@given(st.floats(-0.9, 5.0), st.floats(-3, 3))
def test_power_functions_up_to_their_singular_point(t, a):
    """(1 + t) h' = a h has the solution (1 + t)^a."""
    path = Polynomials(np.array([1.0, 1.0]), np.array([[[a]]]))
    arrival = carry(path, 0.0, [1.0], t)
    error = abs(arrival.value[0, 0, 0] - (1 + t) ** a)
    spread = np.sqrt(np.mean(arrival.value[0, 0, 1:] ** 2))
    assert error <= 1e-12 * (1 + t) ** a + 1e-15
    assert error <= 25 * spread + 30 * arrival.tail[0, 0] + 1e-15


def apparent():
    """h = (t - 1/2)² + 1, g = h' solves a system whose matrix has a pole at t = 1/2, where nothing happens to h."""
    # h'' = h'/(t - 1/2)
    return Polynomials(np.array([-0.5, 1.0]), np.array([[[0.0, -0.5], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]]))


@pytest.mark.parametrize("t", [0.3, 0.5, 0.501, 1.0])
def test_apparent_singularities_are_passed_in_the_complex_plane(t):
    arrival = carry(apparent(), 0.0 + 0.0j, [1.25, -1.0], t, detour=True)
    assert arrival.value[0, 0, 0] == pytest.approx((t - 0.5) ** 2 + 1, abs=1e-13)


def test_real_steps_do_not_pass_a_singularity():
    arrival = carry(apparent(), 0.0, [1.25, -1.0], 1.0, most=20)
    assert arrival.tail[0, 0] == np.inf


def test_many_tracks_at_once_are_the_single_ones():
    path = Polynomials(np.array([1.0, 0.0, 1.0]), np.array([[[0.0, 1.0], [-1.0, 0.0]], [[0.3, 0.0], [0.0, -0.2]]]))
    random = np.random.default_rng(0)
    states = random.normal(size=(5, 2, 4))
    start, target = random.uniform(-1, 1, 5), random.uniform(-3, 3, 5)
    together = transport(path, start, states, np.arange(5), target, every_entry=True)
    for i in range(5):
        alone = transport(path, start[[i]], states[[i]], np.array([0]), target[[i]], every_entry=True)
        np.testing.assert_allclose(together.value[i, :, 0], alone.value[0, :, 0], rtol=1e-12)
        want = integrate(path, 0, (start[i], target[i]), states[i, :, 0], rtol=1e-12, integrator="DOP853")
        np.testing.assert_allclose(together.value[i, :, 0], want, rtol=1e-9)


def test_several_targets_on_one_track():
    path = Polynomials(np.array([1.0]), np.array([[[1.0]]]))
    target = np.array([3.0, -2.0, 0.5, 9.0])
    arrival = transport(path, np.zeros(1), np.ones((1, 1, 2)), np.zeros(4, dtype=int), target)
    np.testing.assert_allclose(arrival.value[:, 0, 0], np.exp(target), rtol=1e-13)


def test_solutions_side_by_side():
    path = Polynomials(np.array([1.0]), np.array([[[0.0, 1.0], [-1.0, 0.0]]]))
    arrival = transport(
        path, np.zeros(1), np.eye(2)[None], np.array([0]), np.array([2.0]), every_entry=True, perturbed=False
    )
    want = [[np.cos(2), np.sin(2)], [-np.sin(2), np.cos(2)]]
    np.testing.assert_allclose(arrival.value[0], want, atol=1e-14)


def test_derived_output():
    """S H / D by series: with H = e^t, D = 1 + t, N = 1 + t and S = 2 the quotient is 2e^t/(1 + t)."""
    bottom = np.array([[1.0, 1.0, 0.0, 0.0]])
    top = np.array([1.0, 1.0, 0.0, 0.0]).reshape(1, 4, 1, 1)
    slope = np.array([2.0, 0.0, 0.0, 0.0]).reshape(1, 4, 1)
    value, quotient = taylor_coefficients(SeriesEquation(bottom, top, slope), np.ones((1, 1, 1)))
    np.testing.assert_allclose(value[0, :, 0, 0], [1, 1, 1 / 2, 1 / 6])
    np.testing.assert_allclose(quotient[0, :, 0], [2, 0, 1, -2 / 3], atol=1e-15)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(-2, 2), min_size=5, max_size=5), st.sampled_from([-1.0, -0.5, 0.5, 2.0]))
def test_powers_of_series(coefficients, exponent):
    series = np.array([2.5, *coefficients])
    power = power_of_series(series, exponent)
    back = power_of_series(power, 1 / exponent)
    np.testing.assert_allclose(back, series, rtol=1e-9, atol=1e-9)
    if exponent == 2.0:
        np.testing.assert_allclose(power, multiply_series(series, series, 5), rtol=1e-12, atol=1e-12)


def test_trigonometric_series():
    cosine, sine = trigonometric_series(np.array([0.7]), 2.0, 20)
    x = 0.3
    assert cosine[0] @ x ** np.arange(21) == pytest.approx(np.cos(1.3), abs=1e-14)
    assert sine[0] @ x ** np.arange(21) == pytest.approx(np.sin(1.3), abs=1e-14)
