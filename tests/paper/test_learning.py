"""The paper's running example: the recursion against a closed form, the methods against each other, true errors."""

from __future__ import annotations

import numpy as np
import pytest

from holokern import activation
from holokern.paper.learning import Problem, kernel_error, tangent_kernel, train


def relu_kernel(x: np.ndarray, y: np.ndarray, depth: int, bias: float) -> np.ndarray:
    """The ReLU tangent kernel by the arc-cosine formulas, written for this test alone."""
    cov, first, second = np.multiply.outer(x, y) + bias**2, x**2 + bias**2, y**2 + bias**2
    theta = cov
    for _ in range(depth):
        scale = np.sqrt(np.multiply.outer(first, second))
        r = np.where(np.equal.outer(x, y), 1, np.clip(cov / scale, -1, 1))
        angle = np.arccos(r)
        dot = (np.pi - angle) / np.pi
        cov = scale * (np.sin(angle) + (np.pi - angle) * r) / np.pi + bias**2
        first, second = first + bias**2, second + bias**2
        theta = theta * dot + cov
    return theta


@pytest.mark.parametrize(("depth", "bias"), [(1, 0.2), (2, 0.5), (3, 0.1)])
def test_relu_equals_the_closed_recursion(depth: int, bias: float) -> None:
    problem = Problem(depth=depth, bias=bias, x=np.array([-1.0, -0.3, 0.4, 1.0]), tests=np.array([-0.5, 0.4]))
    sigma = activation("relu")
    for method in ("closed", "quadrature"):
        kernel = tangent_kernel(sigma, problem.tests, problem.x, problem, method)
        assert kernel == pytest.approx(relu_kernel(problem.tests, problem.x, depth, bias), rel=1e-12, abs=1e-13)


def test_methods_agree_and_gauss_hermite_errs_as_in_the_paper() -> None:
    problem = Problem(x=np.linspace(-1, 1, 5), tests=np.linspace(-1, 1, 3))
    sigma = activation("resin")
    truth = train(sigma, problem, "quadrature")
    series = train(sigma, problem, "hermite")
    rough = train(sigma, problem, "gauss_hermite", degree=25)
    assert kernel_error(series.kernel, truth.kernel) < 1e-13
    assert 1e-5 < kernel_error(rough.kernel, truth.kernel) < 1e-1
    assert np.array_equal(truth.kernel, truth.kernel.T)


def test_the_true_error_of_inference_is_small() -> None:
    problem = Problem()
    trained = train(activation("relu"), problem, "closed")
    assert 1e-4 < trained.mean_square_error(problem) < 5e-4
    # what the paper prints looks like the mean over all pairs
    pairs = np.mean((trained.predictions[:, None] - np.sin(np.pi * problem.tests)[None, :]) ** 2)
    assert 0.85 < pairs < 1.0
