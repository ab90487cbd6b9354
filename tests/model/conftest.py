"""Small data that the tests of learning share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def points():
    return np.random.default_rng(3).normal(size=(24, 4))


@pytest.fixture
def targets(points):
    return np.sin(points[:, 0]) + points[:, 1] * points[:, 2]


@pytest.fixture
def others():
    return np.random.default_rng(4).normal(size=(9, 4))
