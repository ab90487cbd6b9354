"""Convergence of the tangent kernel of finite networks to Θ, as the width grows [Arora2019, Thm 3.1].

The network is f = √(c/m) Wσ(…√(c/m) Wσ(Wx + βb) + βb…) + βb with c = c_σ and all weights standard normal.
"""

from __future__ import annotations

import numpy as np

from holokern.activation import Activation, activation
from holokern.dual import dual
from holokern.network import Network
from holokern.numeric import Array
from holokern.paper.problem import ACTIVATIONS, Problem
from holokern.paper.results import Cell, Chart, Findings, Series, Table, finished
from holokern.progress import report

_WIDTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)  # powers of two over two decades, to see the rate
_NETWORKS = 24  # random networks of each width: their mean square is good to about a seventh
_SEED = 2024  # any will do; fixed, so that the table does not change from run to run


def empirical_kernel(sigma: Activation, x: Array, size: int, problem: Problem, random: np.random.Generator) -> Array:
    """The tangent kernel of one random network: inner products of the gradients of f in all weights and biases.

    The gradient in the weights of a layer is the outer product of what flows back with what flows in, so that each
    layer adds the product of two small matrices.
    """
    scale = np.sqrt(1 / (float(dual(sigma, 1, 1, 1.0).k) * size))
    inputs, slopes, weights = [x[:, None]], [], []
    before = x[:, None] * random.standard_normal(size) + problem.bias * random.standard_normal(size)
    for layer in range(problem.depth):
        inputs.append(scale * np.asarray(sigma(before)))
        slopes.append(scale * np.asarray(sigma.derivative(before)))
        weights.append(random.standard_normal((size, 1 if layer == problem.depth - 1 else size)))
        if layer < problem.depth - 1:
            before = inputs[-1] @ weights[-1] + problem.bias * random.standard_normal(size)
    kernel = np.zeros((len(x), len(x)))
    back = np.ones((len(x), 1))
    for layer in range(problem.depth, -1, -1):
        kernel += (back @ back.T) * (inputs[layer] @ inputs[layer].T + problem.bias**2)
        if layer:
            back = (back @ weights[layer - 1].T) * slopes[layer - 1]
    return kernel


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
    limit = Network(sigma, problem.depth, problem.bias).ntk(problem.x[:, None])
    random = np.random.default_rng(_SEED)
    errors = []
    for size in _WIDTHS:
        report(f"random networks with {label}, width", size)
        apart = [
            np.linalg.norm(empirical_kernel(sigma, problem.x, size, problem, random) - limit) for _ in range(_NETWORKS)
        ]
        errors.append(float(np.sqrt(np.mean(np.square(apart))) / np.linalg.norm(limit)))
    return errors
