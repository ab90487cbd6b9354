"""HIE for ReLU: errors fall with the basis, and fall faster in the angle."""

from __future__ import annotations

import numpy as np
import pytest

from holokern import dual
from holokern.paper.experiments.hie_relu import fit_in_angle, hie_relu, relu_integral
from holokern.paper.problem import Problem


def test_the_exact_function_is_the_unnormalised_expectation() -> None:
    """At x = (-1, x12, -1): Σ = -½x⁻¹ has the variances 1/(2(1 - x12²)) and the correlation x12."""
    x = np.array([-0.8, 0.0, 0.3, 0.9])
    c = np.sqrt(0.5 / (1 - x**2))
    assert relu_integral(x) == pytest.approx(dual("relu", c, c, x).k * np.pi / np.sqrt(1 - x**2), rel=1e-12)
    assert relu_integral(np.array(0.0)) == pytest.approx(0.25)


def test_errors_fall() -> None:
    (table,) = hie_relu(Problem()).tables
    columns = list(zip(*table.rows, strict=True))
    for name, errors in zip(table.columns[1:], columns[1:], strict=True):
        assert errors[-1] < 1e-8, name
        assert errors[-1] < 1e-6 * errors[0], name
    at_twenty = next(dict(zip(table.columns, row, strict=True)) for row in table.rows if row[0] == 20)
    assert at_twenty["Chebyshev in θ, exact"] < 1e-13
    assert at_twenty["Chebyshev in x, exact"] > 1e-3


def test_eight_functions_of_the_angle() -> None:
    assert 1e-6 < fit_in_angle(8) < 1e-3
