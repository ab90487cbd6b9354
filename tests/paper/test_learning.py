"""The paper's running example: the recursion against a closed form, the methods against the truth, true errors."""

from __future__ import annotations

import numpy as np
import pytest

from holokern import activation
from holokern.errors import BadInput
from holokern.paper.experiments import learning
from holokern.paper.experiments.learning import METHODS, learn, tangent_kernel, train
from holokern.paper.numbers import KERNEL_ERRORS
from holokern.paper.problem import ACTIVATIONS, Problem, kernel_error


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


@pytest.mark.parametrize("label", ACTIVATIONS)
def test_kernels_of_the_papers_problem_are_right_without_quadrature(label: str) -> None:
    problem = Problem()
    sigma = activation(ACTIVATIONS[label])
    truth = tangent_kernel(sigma, problem.x, problem.x, problem, "quadrature" if label == "ReSin" else "closed")
    for method in ("hgm", "all_at_once"):
        used: set[str] = set()
        kernel = tangent_kernel(sigma, problem.x, problem.x, problem, method, used)
        assert kernel_error(kernel, truth) < 1e-12
        assert used <= {method, "limit"}
    assert kernel_error(train(sigma, problem, "compiled").kernel, truth) < 1e-12


@pytest.mark.parametrize("label", ["ReLU", "ReSin"])
def test_gauss_hermite_errs_as_in_the_paper(label: str) -> None:
    problem = Problem()
    sigma = activation(ACTIVATIONS[label])
    truth = train(sigma, problem, "compiled").kernel
    rough = tangent_kernel(sigma, problem.x, problem.x, problem, "gauss_hermite", **METHODS["gauss_hermite"])
    printed = KERNEL_ERRORS[label]["gauss_hermite", "hgm"]
    assert printed / 2 < kernel_error(rough, truth) < 2 * printed


def test_the_true_error_of_inference_is_small_and_the_paper_prints_another_number() -> None:
    problem = Problem()
    trained = train(activation("relu"), problem, "compiled")
    assert 1e-4 < trained.mean_square_error(problem) < 5e-4
    assert 0.85 < trained.mean_over_pairs(problem) < 1.0


def test_tables_and_charts_of_a_small_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "ACTIVATIONS", {"ReLU": "relu"})
    found = learning.learning(Problem(depth=1, x=np.linspace(-1, 1, 3), tests=np.linspace(-1, 1, 4)))
    glossary, methods, pairs, speed = found.tables
    assert [row[0] for row in glossary.rows] == list(METHODS)
    assert [row[0] for row in methods.rows] == list(METHODS)
    errors = {row[0]: row[methods.columns.index("kernel error against the truth")] for row in methods.rows}
    assert errors.pop("quadrature") is None
    assert errors.pop("gauss_hermite") > 1e-6
    assert all(error < 1e-13 for error in errors.values())
    assert len(pairs.rows) == len(METHODS) * (len(METHODS) - 1) // 2
    assert speed.rows[0][3] == pytest.approx(1.316 / speed.rows[0][2])
    assert [chart.name for chart in found.charts] == ["learning-relu", "learning-times"]


def test_resin_has_no_closed_form() -> None:
    small = Problem(depth=1, x=np.linspace(-1, 1, 2), tests=np.linspace(-1, 1, 2))
    assert set(learn("ReSin", small).trained) == set(METHODS) - {"closed"}


@pytest.mark.parametrize("setting", [{"depth": 0}, {"depth": 1.5}, {"bias": 0.0}, {"bias": float("nan")}])
def test_a_problem_that_cannot_be_posed(setting: dict[str, float]) -> None:
    with pytest.raises(BadInput, match=r"try|the paper has"):
        Problem(**setting)
