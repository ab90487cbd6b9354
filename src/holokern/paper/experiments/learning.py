"""Learning sin πx, the paper's running example: kernels by every method, how long each takes, tables and figures.

This module writes out the paper's recursion and runs it with the methods of :func:`holokern.dual`. It shares nothing
with :mod:`holokern.network`, which computes the compiled kernels, so each checks the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from holokern.activation import Activation, activation
from holokern.dual import dual
from holokern.network import Network
from holokern.numeric import Array
from holokern.paper.numbers import KERNEL_ERRORS, LEARNING
from holokern.paper.problem import ACTIVATIONS, RIDGE, Problem, best_of, kernel_error
from holokern.paper.results import Cell, Chart, Findings, Series, Table, finished
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


_SHOWN = ("gauss_hermite", "hgm")  # methods whose curves are drawn; those of the others cover that of hgm


def learning(problem: Problem) -> Findings:
    """Learn sin πx with ReLU, GELU and ReSin by every method."""
    learned, tables = [], [finished(_glossary())]
    for label in ACTIVATIONS:
        learned.append(learn(label, problem))
        table = _methods(learned[-1], problem)
        tables.append(finished(_explained(table, problem) if len(learned) == 1 else table))
    tables += [finished(_pairs(learned)), finished(_speed(learned))]
    charts = [_curves(one, problem) for one in learned] + [_times(learned)]
    return Findings("Learning sin πx", tuple(tables), tuple(charts), _headline(learned))


def _glossary() -> Table:
    """What the names of the methods mean, said once for all tables."""
    rows = (
        ("closed", "a formula, where there is one"),
        ("gauss_hermite", "Gauss–Hermite quadrature, the usual rule, with 25 to 100 nodes per variable"),
        ("hgm", "holonomic gradient method: solve the differential equations of the kernel, pair by pair"),
        ("all_at_once", "the same equations, solved once along a path through all pairs"),
        ("compiled", "holokern's tables of the kernel, which networks use"),
        ("quadrature", "holokern's own quadrature, which knows the kinks of σ; here it is the truth"),
    )
    return Table("Methods", ("method", "what it does"), rows)


def _headline(learned: list[Learned]) -> str:
    errors = [kernel_error(one.trained["compiled"].kernel, one.trained[TRUTH].kernel) for one in learned]
    rough = [kernel_error(one.trained["gauss_hermite"].kernel, one.trained[TRUTH].kernel) for one in learned]
    gains = [
        f"{one.label} {(LEARNING[one.label]['hgm'][0] or np.nan) / one.trained['compiled'].training_seconds:,.0f}"
        for one in learned
    ]
    return (
        f"Learning sin πx: the compiled kernels err by at most {max(errors):.0e}, Gauss–Hermite by up to "
        f"{max(rough):.0e}. Times faster than the paper's HGM on its machine, once compiled: {', '.join(gains)}."
    )


def _methods(learned: Learned, problem: Problem) -> Table:
    truth = learned.trained[TRUTH].kernel
    rows: list[dict[str, Cell]] = []
    for name, trained in learned.trained.items():
        seconds, inference, error = LEARNING[learned.label].get(name, (None, None, None))
        rows.append(
            {
                "method": name,
                "training s": trained.training_seconds,
                "paper's training s": seconds,
                "inference s": trained.inference_seconds,
                "paper's inference s": inference,
                "first training s": trained.first_seconds,
                "kernel error against the truth": None if name == TRUTH else kernel_error(trained.kernel, truth),
                "true mean square error": trained.mean_square_error(problem),
                "mean of (f_i - y_j)² over all i, j": trained.mean_over_pairs(problem),
                "paper's 'inference error'": error,
            }
        )
    used = sorted(set().union(*(t.used for name, t in learned.trained.items() if name in ("hgm", "all_at_once"))))
    return Table.of(
        f"Learning sin πx with {learned.label}",
        rows,
        (
            f"Setting: {problem} (the paper does not state β), ridge λ = {RIDGE}, {len(problem.x)} training and "
            f"{len(problem.tests)} test points.",
            f"The rows hgm and all_at_once were computed by {', '.join(used)} and by nothing else: there is no "
            "quadrature behind them. limit stands for correlation ±1, where the integral has one dimension.",
        ),
    )


def _explained(table: Table, problem: Problem) -> Table:
    """The first table with what holds for all of them."""
    notes = (
        "Kernel error: Frobenius norm of the difference divided by the number of elements, as in the paper. "
        "gauss_hermite doubles its degree from 25 to 100 until the relative change is below 1e-10.",
        "Training makes the kernel matrix; inference makes the kernel between test and training points and predicts. "
        "Times are the best of up to 20 runs. The first training also derives the system of the activation or compiles "
        "its kernel, and after an installation it compiles machine code (numba).",
        "The paper's inference errors, near 0.97, cannot be mean square errors: sin² πx averages only "
        f"{np.mean(problem.answers**2):.3f} over the {len(problem.tests)} points. The mean of (f_i - y_j)² over all "
        "pairs i, j has that size; NumPy broadcasting gives it when one of the two arrays is a column.",
    )
    return replace(table, notes=(*table.notes, *notes))


def _pairs(learned: list[Learned]) -> Table:
    """Kernel errors between every two methods."""
    rows: list[dict[str, Cell]] = []
    for pair in combinations(METHODS, 2):
        row: dict[str, Cell] = {"methods": " - ".join(pair)}
        for one in learned:
            both = [one.trained.get(name) for name in pair]
            row[one.label] = kernel_error(both[0].kernel, both[1].kernel) if both[0] and both[1] else None
            row[f"paper's {one.label}"] = KERNEL_ERRORS[one.label].get(pair)
        rows.append(row)
    notes = ("Frobenius norm of the difference of the two kernel matrices, divided by the number of elements.",)
    return Table.of("Kernel errors between every two methods", rows, notes)


def _speed(learned: list[Learned]) -> Table:
    """Our compiled kernel beside the paper's HGM."""
    rows: list[dict[str, Cell]] = []
    for one in learned:
        paper, ours = LEARNING[one.label]["hgm"][0] or np.nan, one.trained["compiled"]
        rows.append(
            {
                "activation": one.label,
                "paper's hgm s": paper,
                "compiled s": ours.training_seconds,
                "times faster": paper / ours.training_seconds,
                "with compilation s": ours.first_seconds,
                "times faster, with compilation": paper / ours.first_seconds,
            }
        )
    return Table.of(
        "Training: the compiled kernel beside the paper's hgm",
        rows,
        (
            "The paper measured its seconds on an Intel Core i5-12400 with scipy, we measured ours on this machine; "
            "nothing is rescaled.",
        ),
    )


def _curves(learned: Learned, problem: Problem) -> Chart:
    fine, fitted = learned.curve
    series = [
        Series("sin πx", tuple(fine.tolist()), tuple(np.sin(np.pi * fine).tolist()), "reference"),
        Series("fit, exact kernel", tuple(fine.tolist()), tuple(fitted.tolist())),
        Series("training points", tuple(problem.x.tolist()), tuple(problem.targets.tolist()), "points"),
    ]
    for name in _SHOWN:
        values = learned.trained[name].predictions
        series.append(Series(name, tuple(problem.tests.tolist()), tuple(values.tolist()), "points"))
    name = f"learning-{learned.label.lower()}"
    caption = (
        f"sin πx learned from {len(problem.x)} points by kernel regression with the tangent kernel of {learned.label}: "
        "the fitted curve, and what two methods predict at the test points."
    )
    return Chart(name, f"Inference with {learned.label}", "x", "f(x)", tuple(series), caption=caption)


def _times(learned: list[Learned]) -> Chart:
    """Training times of each method, and those of the paper's HGM."""
    series = []
    for name in METHODS:
        known = [(float(i), one.trained[name]) for i, one in enumerate(learned) if name in one.trained]
        series.append(Series(name, tuple(i for i, _ in known), tuple(t.training_seconds for _, t in known), "points"))
    paper = [LEARNING[one.label]["hgm"][0] or np.nan for one in learned]
    series.append(Series("the paper's hgm", tuple(map(float, range(len(paper)))), tuple(paper), "marks"))
    labels = tuple(one.label for one in learned)
    caption = (
        "Seconds for the kernel matrix of the training points, by every method (lower is faster; the axis is "
        "logarithmic). The paper's times are from its own machine."
    )
    return Chart(
        "learning-times", "Training times", "activation", "seconds", tuple(series), "y", names=labels, caption=caption
    )
