"""The experiment on paths: the paper's 91 points, straightened paths, errors against quadrature."""

from __future__ import annotations

import numpy as np
import pytest

from holokern.paper.experiments import path as module
from holokern.paper.experiments.path import exact_integral, path, path_points
from holokern.paper.numbers import PATH
from holokern.paper.problem import Problem


@pytest.mark.parametrize(("bias", "count"), [(0.34, 78), (0.35, 91), (0.42, 91), (0.5, 91), (0.51, 90)])
def test_the_papers_choice_gives_91_points_for_these_biases(bias: float, count: int) -> None:
    points = path_points(Problem(bias=bias))
    assert points.shape == (count, 3)
    det = points[:, 0] * points[:, 2] - points[:, 1] ** 2
    # det Σ = 1/(4 det x)
    assert np.all((det * 4 >= 1 - 1e-9) & (det * 4 <= 100 + 1e-6))


def test_the_truth_at_independent_points() -> None:
    """Σ = ½ at x = (-1, 0, -1): the integral is (∫ sin u exp(-u²) over u > 0)² = F(1/2)², F Dawson's function."""
    from scipy.special import dawsn

    assert exact_integral(np.array([[-1.0, 0.0, -1.0]])) == pytest.approx(dawsn(0.5) ** 2, rel=1e-13)


def test_tables_and_charts_of_three_training_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATH", {step: PATH[step] for step in (1, 2)})
    monkeypatch.setattr(module, "_DRAWN", (1, 2))
    found = path(Problem(x=np.linspace(-1, 1, 3)))
    steps, orders = found.tables
    assert [row[0] for row in steps.rows] == [1, 2]
    assert steps.rows[1][1] <= steps.rows[0][1]
    for row in steps.rows:
        assert row[4] < 1e-7  # scipy, rtol 1e-10 from point to point
        assert row[6] < 1e-11
    sorted_way, short_way, polar = orders.rows
    assert short_way[1] <= sorted_way[1]
    assert polar[5] < 1e-12
    assert [chart.name for chart in found.charts] == ["path-step-1", "path-step-2", "path-short", "path-timing"]


def test_a_bias_without_points_is_said() -> None:
    found = path(Problem(bias=0.02))
    assert found.tables[0].rows == ()
    assert "no pairs" in found.tables[0].text()
