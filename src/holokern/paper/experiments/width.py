"""Convergence of the tangent kernel of finite networks to Θ, as the width grows [Arora2019, Thm 3.1]."""

from __future__ import annotations

import numpy as np

from holokern.activation import Activation, activation
from holokern.network import Network
from holokern.paper.problem import ACTIVATIONS, Problem
from holokern.paper.results import Cell, Chart, Findings, Series, Table, finished
from holokern.progress import report

_WIDTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)  # powers of two over two decades, to see the rate
_NETWORKS = 24  # random networks of each width: their mean square is good to about a seventh


def width(problem: Problem) -> Findings:
    """Random networks of growing width beside the infinite one."""
    series: list[Series] = []
    rates: list[str] = []
    columns: dict[str, list[float]] = {}
    for label, source in ACTIVATIONS.items():
        errors = _errors(activation(source), problem, label)
        columns[label] = errors
        rate = float(np.polyfit(np.log(_WIDTHS), np.log(errors), 1)[0])
        rates.append(f"{label} {rate:.3f}")
        series.append(Series(label, tuple(map(float, _WIDTHS)), tuple(errors), "both"))
    rows: list[tuple[Cell, ...]] = [(size, *(columns[label][i] for label in columns)) for i, size in enumerate(_WIDTHS)]
    # the line of the expected slope through the middle of all points
    middle = np.exp(np.mean(np.log(list(columns.values()))) + np.mean(np.log(_WIDTHS)) / 2)
    expected = middle / np.sqrt(_WIDTHS)
    series.append(Series("slope −1/2", tuple(map(float, _WIDTHS)), tuple(expected.tolist()), "reference"))
    table = Table(
        "Tangent kernels of finite networks",
        ("width", *(f"{label}: relative distance from Θ" for label in columns)),
        tuple(rows),
        (
            f"The tangent kernel of a random network on the {len(problem.x)} training points, minus that of the "
            "infinite network, Θ: Frobenius norm, divided by that of Θ. Each entry is the root mean square over "
            f"{_NETWORKS} random networks ({problem}).",
            "A theorem of Arora et al. says that the distance tends to zero. It is an average over independent "
            f"neurons, so it should fall like width^(-1/2). Exponents fitted to the table: {', '.join(rates)}.",
        ),
    )
    caption = (
        "How far the tangent kernel of a finite random network is from the infinite one, Θ, that holokern computes. "
        "The dashed line has the slope −1/2 that averages over independent neurons have."
    )
    chart = Chart(
        "width", "Finite networks against Θ", "width", "relative distance", tuple(series), log="xy", caption=caption
    )
    headline = f"Finite networks approach Θ as the width grows; fitted exponents, −1/2 expected: {', '.join(rates)}."
    return Findings("Convergence with the width", (finished(table),), (chart,), headline)


def _errors(sigma: Activation, problem: Problem, label: str) -> list[float]:
    network, x = Network(sigma, problem.depth, problem.bias), problem.x[:, None]
    limit, errors = network.ntk(x), []
    for size in _WIDTHS:
        report(f"random networks with {label}, width", size)
        apart = [np.linalg.norm(network.sample(size, seed).ntk(x) - limit) for seed in range(_NETWORKS)]
        errors.append(float(np.sqrt(np.mean(np.square(apart))) / np.linalg.norm(limit)))
    return errors
