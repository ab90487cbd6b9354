"""Learning sin πx, the paper's running example: kernels by every method, and how long each takes.

This module writes out the paper's recursion and runs it with the methods of :func:`holokern.dual`. It shares nothing
with :mod:`holokern.network`, which computes the compiled kernels, so each checks the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from holokern.activation import Activation, activation
from holokern.dual import dual
from holokern.network import Network
from holokern.numeric import Array
from holokern.paper.experiments.timing import best_of
from holokern.paper.problem import ACTIVATIONS, RIDGE, Problem
from holokern.progress import report

#: Our methods by the paper's names, with the options that make them the paper's.
METHODS: dict[str, dict[str, object]] = {
    "closed": {},
    "gauss_hermite": {"most": 100},  # degrees 25, 50, 100: the size of the paper's errors
    "hgm": {},
    "all_at_once": {},
    "compiled": {},
    "quadrature": {},
}
TRUTH = "quadrature"

Kernel = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Trained:
    """One method's kernel and predictions, its seconds, and the methods of `dual` that took part.

    ``first_seconds`` belongs to the first training, which derives or compiles what is not yet in memory.
    """

    kernel: Array
    predictions: Array
    first_seconds: float
    training_seconds: float
    inference_seconds: float
    used: frozenset[str]

    def mean_square_error(self, problem: Problem) -> float:
        """The true mean square error of the inference."""
        return float(np.mean((self.predictions - problem.answers) ** 2))

    def mean_over_pairs(self, problem: Problem) -> float:
        """The mean of (f_i - y_j)² over all pairs i, j, which is what the paper seems to print."""
        return float(np.mean((self.predictions[:, None] - problem.answers) ** 2))


@dataclass(frozen=True)
class Learned:
    """What all methods made of one activation, with the fitted curve of the exact kernel."""

    label: str
    trained: dict[str, Trained]
    curve: tuple[Array, Array]


def tangent_kernel(
    sigma: Activation, x: Array, y: Array, problem: Problem, method: str, used: set[str] | None = None, **options: Any
) -> Array:
    """Θ for scalar inputs with bias [SakodaTakayama2024, Sec. 2]: Θ ← Θ·Σ′ + Σ, from Θ = Σ⁰ = xy + β².

    Points that coincide have r = 1 exactly; each of the distinct pairs is evaluated once.  The names of the methods
    that `dual` used are added to ``used``.
    """
    names: set[str] = set() if used is None else used

    def both(c1: Array, c2: Array, r: Array) -> tuple[Array, Array]:
        value = dual(sigma, c1, c2, r, method=method, **options)
        names.update(value.method.split(" + "))
        return np.asarray(value.k), np.asarray(value.kdot)

    same = x[:, None] == y[None, :]
    variances = [x * x + problem.bias**2, y * y + problem.bias**2]
    sigma_h = x[:, None] * y[None, :] + problem.bias**2
    normal = 1 / both(np.ones(1), np.ones(1), np.ones(1))[0][0]
    theta = sigma_h
    for _ in range(problem.depth):
        c1, c2 = (np.sqrt(v) for v in variances)
        r = np.where(same, 1.0, np.clip(sigma_h / (c1[:, None] * c2[None, :]), -1, 1))
        # the pairs, then each point with itself
        first = np.concatenate([np.repeat(c1, len(c2)), c1, c2])
        second = np.concatenate([np.tile(c2, len(c1)), c1, c2])
        k, kdot = _distinct(both, first, second, np.append(r.ravel(), np.ones(len(c1) + len(c2))))
        pairs, *alone = np.split(normal * k + problem.bias**2, [r.size, r.size + len(c1)])
        sigma_h, variances = pairs.reshape(r.shape), alone
        theta = theta * (normal * kdot[: r.size].reshape(r.shape)) + sigma_h
    return np.asarray(theta)


def _distinct(both: Callable[..., tuple[Array, Array]], first: Array, second: Array, r: Array) -> tuple[Array, Array]:
    """Both expectations for all pairs (c1, c2, r); a pair and its mirror image are one."""
    keys = np.stack([np.minimum(first, second), np.maximum(first, second), r], axis=1)
    points, where = np.unique(keys, axis=0, return_inverse=True)
    k, kdot = both(*points.T)
    return k[where.ravel()], kdot[where.ravel()]


def predict(kernel: Array, cross: Array, problem: Problem) -> Array:
    """Kernel ridge regression, λ = 0.01."""
    return np.asarray(cross @ np.linalg.solve(kernel + RIDGE * np.eye(len(kernel)), problem.targets))


def train(sigma: Activation, problem: Problem, method: str, **options: Any) -> Trained:
    """Train (the kernel matrix) and infer (kernel ridge regression), each timed."""
    used: set[str] = set()
    compute = _kernel(sigma, problem, method, used, options)
    kernel, first, training = best_of(lambda: compute(problem.x, problem.x), least=2)
    predictions, _, inference = best_of(lambda: predict(kernel, compute(problem.tests, problem.x), problem))
    return Trained(kernel, predictions, first, training, inference, frozenset(used))


def _kernel(sigma: Activation, problem: Problem, method: str, used: set[str], options: dict[str, Any]) -> Kernel:
    """The kernel as a function of two sets of points."""
    if method != "compiled":
        return lambda x, y: tangent_kernel(sigma, x, y, problem, method, used, **options)
    network = Network(sigma, problem.depth, problem.bias)
    used.add(method)
    return lambda x, y: network.ntk(x[:, None]) if x is y else network.ntk(x[:, None], y[:, None])


def learn(label: str, problem: Problem) -> Learned:
    """All methods that apply to one of the paper's activations."""
    from holokern.dual import method_named

    sigma = activation(ACTIVATIONS[label])
    found = {}
    names = [name for name in METHODS if method_named(name).serves(sigma) is None]
    for done, name in enumerate(names):
        report(f"learning sin πx with {label}: {name}", done, len(names))
        found[name] = train(sigma, problem, name, **METHODS[name])
    fine = np.linspace(-1, 1, 201)
    cross = Network(sigma, problem.depth, problem.bias).ntk(fine[:, None], problem.x[:, None])
    return Learned(label, found, (fine, predict(found["compiled"].kernel, cross, problem)))
