"""The tables of a page against `dual`."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from holokern import activation, dual
from holokern.errors import BadInput
from holokern.network import edge_of_chaos
from holokern.report.subject import read_sigma, value_tables


@pytest.mark.parametrize("name", ["step", "elu"])
def test_tables_know_their_error(name: str) -> None:
    sigma = read_sigma(activation(name))
    tables = value_tables(sigma)
    assert tables.error < 3e-5
    assert tables.wide == (0.125, 8.0)
    data = json.loads(json.dumps(tables.data(), allow_nan=False))
    assert len(data["pair"]) == len(data["pair"][0]) == len(tables.pair)
    # a point that neither the tables nor their measurement saw
    c, theta = 1.3, 0.77
    series = np.polynomial.chebyshev.chebval(np.log(c) / np.log(8), np.array(data["diagonal"]))
    rho = np.polynomial.chebyshev.chebval(2 * theta / np.pi - 1, series)
    norm = np.exp(np.polynomial.chebyshev.chebval(np.log(c) / np.log(8), data["logNorm"]))
    assert rho * norm**2 == pytest.approx(dual(name, c, c, theta=theta).k, rel=1e-4)


@pytest.mark.parametrize("text", ["0", "3"])
def test_constants_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="constant"):
        read_sigma(activation(text))


def test_the_edge_of_chaos_by_its_definition() -> None:
    parts = edge_of_chaos("tanh", 0.125, 8.0)
    assert [part.stable for part in parts] == [True]
    weight, bias = parts[0].weight[100], parts[0].bias[100]
    fixed = np.geomspace(0.125, 8.0, 400)[100]
    assert weight**2 * dual("tanh", fixed, fixed, 1.0).k + bias**2 == pytest.approx(fixed**2, rel=1e-12)
    assert weight**2 * dual("tanh", fixed, fixed, 1.0).kdot == pytest.approx(1, rel=1e-12)


def test_the_edge_of_homogeneous_and_jumping_activations() -> None:
    (part,) = edge_of_chaos("relu", 0.125, 8.0)
    assert part.weight == pytest.approx([math.sqrt(2)], rel=1e-12)
    assert part.bias == pytest.approx([0], abs=1e-9)
    assert edge_of_chaos("step", 0.125, 8.0) == []
