"""The tables and figures of learning sin πx, with the paper's numbers beside ours."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from holokern.paper.chart import Chart, Series
from holokern.paper.findings import Findings
from holokern.paper.learning import METHODS, TRUTH, Learned, learn
from holokern.paper.numbers import KERNEL_ERRORS, LEARNING
from holokern.paper.problem import ACTIVATIONS, RIDGE, Problem, kernel_error
from holokern.paper.table import Cell, Table

__all__ = ["learning"]

# methods whose curves are drawn; those of the others cover that of hgm
_SHOWN = ("gauss_hermite", "hgm")


def learning(problem: Problem) -> Findings:
    """Learn sin πx with ReLU, GELU and ReSin by every method."""
    learned = [learn(label, problem) for label in ACTIVATIONS]
    tables = [_methods(one, problem) for one in learned]
    tables[0] = _explained(tables[0], problem)
    tables += [_pairs(learned), _speed(learned)]
    charts = [_curves(one, problem) for one in learned] + [_times(learned)]
    return Findings("Learning sin πx", tuple(tables), tuple(charts))


def _methods(learned: Learned, problem: Problem) -> Table:
    truth = learned.trained[TRUTH].kernel
    rows: list[tuple[Cell, ...]] = []
    for name, trained in learned.trained.items():
        seconds, inference, error = LEARNING[learned.label].get(name, (None, None, None))
        rows.append(
            (
                name,
                trained.training_seconds,
                seconds,
                trained.inference_seconds,
                inference,
                trained.first_seconds,
                None if name == TRUTH else kernel_error(trained.kernel, truth),
                trained.mean_square_error(problem),
                trained.mean_over_pairs(problem),
                error,
            )
        )
    used = sorted(set().union(*(t.used for name, t in learned.trained.items() if name in ("hgm", "all_at_once"))))
    return Table(
        f"Learning sin πx with {learned.label}",
        (
            "method",
            "training s",
            "paper's training s",
            "inference s",
            "paper's inference s",
            "first training s",
            "kernel error against the truth",
            "true mean square error",
            "mean of (f_i - y_j)² over all i, j",
            "paper's 'inference error'",
        ),
        tuple(rows),
        (
            f"{problem} (the paper does not state β), λ = {RIDGE}, {len(problem.x)} training and "
            f"{len(problem.tests)} test points; the truth is {TRUTH} at full accuracy.",
            f"hgm and all_at_once used: {', '.join(used)} (limit: r = ±1 exactly, where the integral is "
            "one-dimensional); there is no fallback to quadrature near det Σ = 0.",
        ),
    )


def _explained(table: Table, problem: Problem) -> Table:
    """The first table with what holds for all of them."""
    notes = (
        "Kernel error: Frobenius norm of the difference divided by the number of elements, as in the paper. "
        "gauss_hermite doubles its degree from 25 to 100 until the relative change is below 1e-10.",
        "Training is the kernel matrix, inference the rectangular kernel and the predictions; best of up to 20 runs. "
        "The first training contains what is done once for an activation: deriving its system, or compiling its "
        "kernel, and once after an installation numba's compilation of the code.",
        "The paper's inference errors near 0.97 cannot be mean square errors: sin² πx averages "
        f"{np.mean(problem.answers**2):.3f} over the {len(problem.tests)} points. The mean over all pairs i, j, as a "
        "slip in broadcasting would give, is of that size.",
    )
    return replace(table, notes=(*table.notes, *notes))


def _pairs(learned: list[Learned]) -> Table:
    """Kernel errors between every two methods."""
    rows: list[tuple[Cell, ...]] = []
    for pair in combinations(METHODS, 2):
        cells: list[Cell] = [" - ".join(pair)]
        for one in learned:
            both = [one.trained.get(name) for name in pair]
            apart = kernel_error(both[0].kernel, both[1].kernel) if both[0] and both[1] else None
            cells += [apart, KERNEL_ERRORS[one.label].get(pair)]
        rows.append(tuple(cells))
    heads = [head for one in learned for head in (one.label, f"paper's {one.label}")]
    notes = ("Frobenius norm of the difference of the two kernel matrices, divided by the number of elements.",)
    return Table("Kernel errors between every two methods", ("methods", *heads), tuple(rows), notes)


def _speed(learned: list[Learned]) -> Table:
    """Our compiled kernel beside the paper's HGM."""
    rows = []
    for one in learned:
        paper = LEARNING[one.label]["hgm"][0] or np.nan
        ours = one.trained["compiled"]
        rows.append(
            (
                one.label,
                paper,
                ours.training_seconds,
                paper / ours.training_seconds,
                ours.first_seconds,
                paper / ours.first_seconds,
            )
        )
    return Table(
        "Training: the compiled kernel beside the paper's hgm",
        (
            "activation",
            "paper's hgm s",
            "compiled s",
            "times faster",
            "with compilation s",
            "times faster, with compilation",
        ),
        tuple(rows),
        (
            "The paper's seconds are its own (Intel Core i5-12400, scipy); ours belong to the machine named above. "
            "Nothing is scaled.",
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
    return Chart(name, f"Inference with {learned.label}", "x", "f(x)", tuple(series))


def _times(learned: list[Learned]) -> Chart:
    """Training times of each method, and those of the paper's HGM."""
    series = []
    for name in METHODS:
        known = [(float(i), one.trained[name]) for i, one in enumerate(learned) if name in one.trained]
        series.append(Series(name, tuple(i for i, _ in known), tuple(t.training_seconds for _, t in known), "both"))
    paper = [LEARNING[one.label]["hgm"][0] or np.nan for one in learned]
    series.append(Series("the paper's hgm", tuple(map(float, range(len(paper)))), tuple(paper), "reference"))
    labels = tuple(one.label for one in learned)
    return Chart("learning-times", "Training times", "activation", "seconds", tuple(series), log="y", names=labels)
