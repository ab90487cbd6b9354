"""Learning sin πx, the paper's running example: kernels by every method, their times, errors and predictions.

Everything here is the paper's recursion, written out over :func:`holokern.dual`; nothing is shared with
:mod:`holokern.network`, so that each checks the other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation, activation
from holokern.dual import dual
from holokern.paper.numbers import LEARNING
from holokern.paper.table import Table
from holokern.progress import report

__all__ = ["Problem", "Trained", "learning_tables", "tangent_kernel", "train"]

Array = NDArray[np.float64]

#: The paper's activations; GELU is its u(1 + erf u).
ACTIVATIONS = {"ReLU": "relu", "GELU": "u*(1 + erf(u))", "ReSin": "resin"}
#: Our methods by the paper's names, with the options that make them the paper's.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "closed": ("closed", {}),
    "gauss_hermite": ("gauss_hermite", {}),
    "hermite": ("hermite", {}),
    "quadrature": ("quadrature", {}),
}
TRUTH = "quadrature"
_RIDGE = 0.01


@dataclass(frozen=True)
class Problem:
    """15 training and 20 test points of sin πx on [-1, 1], and the network that is to learn it."""

    depth: int = 2
    bias: float = 0.5
    x: Array = field(default_factory=lambda: np.linspace(-1, 1, 15))
    tests: Array = field(default_factory=lambda: np.linspace(-1, 1, 20))


@dataclass(frozen=True)
class Trained:
    """One method's kernel, its predictions at the test points and the two times."""

    kernel: Array
    predictions: Array
    training_seconds: float
    inference_seconds: float

    def mean_square_error(self, problem: Problem) -> float:
        """The true mean square error of the inference."""
        return float(np.mean((self.predictions - np.sin(np.pi * problem.tests)) ** 2))


def tangent_kernel(sigma: Activation, x: Array, y: Array, problem: Problem, method: str, **options: Any) -> Array:
    """Θ for scalar inputs with bias [SakodaTakayama2024, Sec. 2]: Θ ← Θ·Σ̇ + Σ, from Θ = Σ⁰ = xy + β².

    Points that coincide have r = 1 exactly; each of the distinct pairs is evaluated once.
    """
    same = x[:, None] == y[None, :]
    variances = [x * x + problem.bias**2, y * y + problem.bias**2]
    sigma_h = x[:, None] * y[None, :] + problem.bias**2
    normal = 1 / _second_moments(sigma, np.ones(1), method, options)[0]
    theta = sigma_h
    for _ in range(problem.depth):
        c1, c2 = (np.sqrt(v) for v in variances)
        r = np.where(same, 1.0, np.clip(sigma_h / (c1[:, None] * c2[None, :]), -1, 1))
        k, kdot = _distinct(sigma, np.broadcast_arrays(c1[:, None], c2[None, :], r), method, options)
        sigma_h = normal * k + problem.bias**2
        variances = [normal * _second_moments(sigma, c, method, options) + problem.bias**2 for c in (c1, c2)]
        theta = theta * (normal * kdot) + sigma_h
    return theta


def _second_moments(sigma: Activation, c: Array, method: str, options: dict[str, Any]) -> Array:
    return np.asarray(dual(sigma, c, c, np.ones_like(c), method=method, **options).k)


def _distinct(sigma: Activation, pairs: Any, method: str, options: dict[str, Any]) -> tuple[Array, Array]:
    """Both expectations for all pairs (c1, c2, r); a pair and its mirror image are one."""
    first, second, r = pairs
    keys = np.stack([np.minimum(first, second).ravel(), np.maximum(first, second).ravel(), r.ravel()], axis=1)
    points, where = np.unique(keys, axis=0, return_inverse=True)
    value = dual(sigma, points[:, 0], points[:, 1], points[:, 2], method=method, **options)
    where = where.reshape(r.shape)
    return np.asarray(value.k)[where], np.asarray(value.kdot)[where]


def train(sigma: Activation, problem: Problem, method: str, **options: Any) -> Trained:
    """Train (the kernel matrix) and infer (kernel ridge regression, λ = 0.01), each timed."""
    start = time.perf_counter()
    kernel = tangent_kernel(sigma, problem.x, problem.x, problem, method, **options)
    middle = time.perf_counter()
    cross = tangent_kernel(sigma, problem.tests, problem.x, problem, method, **options)
    targets = np.sin(np.pi * problem.x)
    predictions = cross @ np.linalg.solve(kernel + _RIDGE * np.eye(len(targets)), targets)
    return Trained(kernel, predictions, middle - start, time.perf_counter() - middle)


def learning_tables(problem: Problem | None = None) -> list[Table]:
    """One table an activation: times, kernel errors and the error of inference, beside the paper's."""
    chosen = Problem() if problem is None else problem
    tables = []
    for label, source in ACTIVATIONS.items():
        sigma = activation(source)
        found = {}
        for name, (method, options) in METHODS.items():
            if method == "closed" and label == "ReSin":
                continue
            report(f"learning sin πx with {label}: {name}")
            found[name] = train(sigma, chosen, method, **options)
        tables.append(_table(label, chosen, found))
    return tables


def _table(label: str, problem: Problem, found: dict[str, Trained]) -> Table:
    truth = found[TRUTH].kernel
    paper = LEARNING[label]
    rows = []
    for name, trained in found.items():
        seconds, inference, error = paper.get(name, (None, None, None))
        rows.append(
            (
                name,
                trained.training_seconds,
                seconds,
                trained.inference_seconds,
                inference,
                kernel_error(trained.kernel, truth),
                trained.mean_square_error(problem),
                error,
            )
        )
    return Table(
        f"Learning sin πx with {label}",
        (
            "method",
            "training s",
            "paper's",
            "inference s",
            "paper's ",
            "kernel error against the truth",
            "true mean square error",
            "paper's 'inference error'",
        ),
        tuple(rows),
        (
            f"{problem.depth} hidden layers, bias β = {problem.bias} (the paper does not give it), λ = {_RIDGE}, "
            "15 training and 20 test points. Kernel error: Frobenius norm of the difference divided by the number of "
            f"elements, as in the paper; the truth is {TRUTH} at full accuracy.",
            "The paper's inference errors near 0.97 cannot be mean square errors: sin² averages 0.475 over the 20 "
            "points. Averaging (f_i - y_j)² over all pairs i, j gives such numbers.",
        ),
    )


def kernel_error(one: Array, other: Array) -> float:
    """The paper's kernel error: Frobenius norm of the difference divided by the number of elements."""
    return float(np.linalg.norm(one - other) / one.size)
