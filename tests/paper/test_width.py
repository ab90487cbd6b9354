"""Finite networks: gradients against differences, convergence to the infinite network."""

from __future__ import annotations

import numpy as np
import pytest

from holokern import activation
from holokern.paper.experiments import width as module
from holokern.paper.experiments.width import empirical_kernel, width
from holokern.paper.problem import Problem


def by_differences(sigma, x, size, problem, seed):
    """The same network as one function of all its parameters, differentiated numerically."""
    random = np.random.default_rng(seed)
    z = np.polynomial.hermite_e.hermegauss(100)
    scale = np.sqrt(1 / (np.sum(z[1] * sigma(z[0]) ** 2) / np.sqrt(2 * np.pi)) / size)
    shapes = [(1, size), (size,)]
    for layer in range(problem.depth):
        shapes += [(size, size), (size,)] if layer < problem.depth - 1 else [(size, 1), (1,)]
    start = np.concatenate(
        [np.zeros(1) if shape == (1,) else random.standard_normal(shape).ravel() for shape in shapes]
    )

    def output(flat):
        parts = np.split(flat, np.cumsum([int(np.prod(s)) for s in shapes])[:-1])
        parts = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        value = x[:, None] @ parts[0] + problem.bias * parts[1]
        for weight, bias in zip(parts[2::2], parts[3::2], strict=True):
            value = scale * sigma(value) @ weight + problem.bias * bias
        return value[:, 0]

    h = 1e-5
    rows = [(output(start + h * e) - output(start - h * e)) / (2 * h) for e in np.eye(len(start))]
    return np.array(rows).T @ np.array(rows)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_kernel_of_a_network_is_that_of_its_gradients(depth: int) -> None:
    problem = Problem(depth=depth, bias=0.4)
    sigma = activation("u*(1 + erf(u))")
    x = np.array([-0.9, 0.1, 0.7])
    kernel = empirical_kernel(sigma, x, 5, problem, np.random.default_rng(7))
    assert kernel == pytest.approx(by_differences(sigma, x, 5, problem, 7), rel=1e-7)


def test_the_distance_falls_like_the_square_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ACTIVATIONS", {"ReLU": "relu"})
    monkeypatch.setattr(module, "_WIDTHS", (16, 64, 256))
    found = width(Problem(x=np.linspace(-1, 1, 5)))
    curve, expected = found.charts[0].series
    assert -0.7 < np.polyfit(np.log(curve.x), np.log(curve.y), 1)[0] < -0.3
    assert expected.y[0] / expected.y[-1] == pytest.approx(4.0)
    assert found.tables[0].rows[-1][0] == 256
