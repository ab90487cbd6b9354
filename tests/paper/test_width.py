"""Convergence of finite networks to the infinite one."""

from __future__ import annotations

import numpy as np
import pytest

from holokern.paper.experiments import width as module
from holokern.paper.experiments.width import width
from holokern.paper.problem import Problem


def test_the_distance_falls_like_the_square_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ACTIVATIONS", {"ReLU": "relu"})
    monkeypatch.setattr(module, "_WIDTHS", (16, 64, 256))
    found = width(Problem(x=np.linspace(-1, 1, 5)))
    curve, expected = found.charts[0].series
    assert -0.7 < np.polyfit(np.log(curve.x), np.log(curve.y), 1)[0] < -0.3
    assert expected.y[0] / expected.y[-1] == pytest.approx(4.0)
    assert found.tables[0].rows[-1][0] == 256
