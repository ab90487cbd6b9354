"""Floating-point Hermite coefficients against balls, and their series against `dual`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from holokern import activation, dual
from holokern.dual import hermite_coefficients, series_values, spectrum


@pytest.mark.parametrize(("name", "c"), [("relu", "1"), ("gelu", "1/2"), ("hardtanh", "2"), ("exp", "3")])
def test_coefficients_are_those_of_difference_hgm(name: str, c: str) -> None:
    count = 40
    exact = [
        float(value) / math.sqrt(math.factorial(n)) for n, value in enumerate(hermite_coefficients(name, count, c))
    ]
    number = float(np.divide(*map(float, c.split("/")))) if "/" in c else float(c)
    scale = np.linalg.norm(exact)
    # exp(3z) is as large as 1e8 where its coefficients come from
    assert np.max(np.abs(spectrum(name, number)[:count] - exact)) < (1e-12 if name == "exp" else 2e-14) * scale


@pytest.mark.parametrize(
    ("name", "bound"),
    # measured: 5e-7, 2e-16, 7e-5, 6e-5; the worst is that of k′ where the modelled tail begins
    [("relu", 2e-6), ("tanh", 1e-14), ("step", 2e-4), ("softshrink", 2e-4)],
)
def test_the_series_holds_at_all_angles(name: str, bound: float) -> None:
    sigma = activation(name)
    theta = np.array([1e-3, 0.02, 0.1, 0.5, 1.7, 3.0, np.pi - 0.01])
    c1, c2 = np.array([1.0, 0.7]), np.array([1.0, 1.9])
    k, kdot = series_values(sigma, c1, c2, theta)
    truth = dual(sigma, c1[:, None], c2[:, None], theta=theta)
    assert np.max(np.abs(k - truth.k)) < bound
    assert np.max(np.abs(kdot - truth.kdot) / (1 + np.abs(truth.kdot))) < bound
