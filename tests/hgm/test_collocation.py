"""Collocation towards det Σ = 0, with and without the value at the end."""

import numpy as np
import pytest

from holokern.hgm.collocation import approach, collocate
from holokern.hgm.polar.near_end import NearEnd


def relu(phi, sign):
    """k and k′ at c1 = c2 = 1, at the distance φ from the end."""
    theta = phi if sign > 0 else np.pi - phi
    return np.stack([np.sin(phi) + (np.pi - theta) * np.cos(theta), np.pi - theta], axis=-1) / (2 * np.pi)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("stop", [0.0, 0.4])
def test_one_panel(polar, sign, stop):
    _, table = polar("relu")
    end = NearEnd.of(table, 1.0, 1.0, sign)
    panel = collocate(end, np.pi / 2, stop, relu(np.array(np.pi / 2), sign), 24)
    phi = np.linspace(stop, np.pi / 2, 7)
    np.testing.assert_allclose(panel.at(phi)[:, :2], relu(phi, sign), atol=1e-15)
    np.testing.assert_allclose(panel.end.astype(float), relu(np.array(stop), sign), atol=1e-15)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
def test_all_the_way(polar, sign, known):
    _, table = polar("relu")
    end = NearEnd.of(table, 1.0, 1.0, sign)
    start = relu(np.array(np.pi / 2), sign)
    states = np.stack([start, 1e-16 * np.ones(2)], axis=1)
    phi = np.array([1.3, 0.3, 1e-3, 1e-12, 0.0])
    at_end = relu(np.array(0.0), sign)
    limit = {0: float(at_end[0]), 1: float(at_end[1])} if known else None
    values, errors = approach(end, np.pi / 2, states, phi, outputs=np.array([0, 1]), limit=limit)
    true = np.abs(values - relu(phi, sign))
    assert np.all(true <= 1e-14)
    assert np.all(true <= 5 * errors + 1e-16)
    assert np.all(errors <= 1e-12)
