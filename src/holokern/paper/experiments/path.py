"""The paper's experiment on paths: the straighter the path through all points, the faster the run."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from holokern.activation import activation
from holokern.dual import dual, run_through
from holokern.hgm import clusters, length_of, order_of, resampled
from holokern.numeric import Array
from holokern.paper.numbers import PATH, PATH_SCIPY
from holokern.paper.problem import Problem
from holokern.paper.results import Cell, Chart, Findings, Series, Table, finished
from holokern.progress import report

_TITLE = "One run through many points"  # of the section
_START = np.array([-1.0, 0.0, -1.0])  # the paper's point of independence, Σ = ½ times the identity
_DETERMINANTS = (0.01, 1.0)  # the paper's choice of points by det Σ
_CLUSTER = 1e-5  # the paper's distance below which points are one
_ROUNDING = 1e-12  # so that points with det Σ = 0.01 or 1 exactly are in, however they are rounded
_DRAWN = (1, 5, 20)  # steps whose paths are drawn: the given one, a straighter one and nearly a line


def path_points(problem: Problem) -> Array:
    """The points x = -½Σ⁻¹ of the first layer, by the paper's choice [SakodaTakayama2024, Sect 5].

    All ordered pairs of different training points with 0.01 ≤ det Σ ≤ 1; points closer than 1e-5 are one.  With β = 0.5
    (indeed with 0.35 ≤ β ≤ 0.5) that makes the paper's 91.

    >>> path_points(Problem()).shape
    (91, 3)
    """
    x, y = (values[~np.eye(len(problem.x), dtype=bool)] for values in np.meshgrid(problem.x, problem.x, indexing="ij"))
    square = problem.bias**2
    first, mixed, second = x * x + square, x * y + square, y * y + square
    # without cancellation: det Σ = β²(x - y)²
    det = square * (x - y) ** 2
    kept = (det >= _DETERMINANTS[0] * (1 - _ROUNDING)) & (det <= _DETERMINANTS[1] * (1 + _ROUNDING))
    points = (np.stack([-second, mixed, -first], axis=1) / (2 * det[:, None]))[kept]
    return np.asarray(points[np.unique(clusters(points, _CLUSTER))])


def exact_integral(x: Array) -> Array:
    """The unnormalised expectation of ReSin at points x, by quadrature."""
    return _integral(x, "quadrature")


def _integral(x: Array, method: str) -> Array:
    det = x[:, 0] * x[:, 2] - x[:, 1] ** 2
    c1, c2 = np.sqrt(-x[:, 2] / (2 * det)), np.sqrt(-x[:, 0] / (2 * det))
    r = x[:, 1] / np.sqrt(x[:, 0] * x[:, 2])
    return np.asarray(dual("resin", c1, c2, r, method=method).k * np.pi / np.sqrt(det))


def path(problem: Problem) -> Findings:
    """Run through the points along the sorted, the straightened and the shortened path."""
    points = path_points(problem)
    if len(points) < 2:
        note = f"With β = {problem.bias:g} no pairs of training points have 0.01 ≤ det Σ ≤ 1; β = 0.5 gives 91 points."
        return Findings(_TITLE, (Table("Paths: time against step", ("step", "seconds"), (), (note,)),))
    # coordinates that are equal but for rounding must not decide the order
    ordered = points[order_of(np.round(points, 9), _START, "sorted")]
    ways = {step: resampled(ordered, step) for step in PATH}
    run_through(activation("resin"), points[:1])  # the system is derived before any clock starts
    steps, seconds = _steps(ways)
    finished(steps)
    shortest = points[order_of(points, _START, "short")]
    orders = finished(_orders(steps.rows[0], shortest, problem))
    charts = (*_drawings(ways, shortest), _clock(seconds))
    return Findings(_TITLE, (steps, orders), charts, _headline(orders))


def _headline(orders: Table) -> str:
    (_, far, *_, slow, _), (_, near, *_, quick, _), polar = orders.rows
    return (
        f"One run through many points: a better order shortens the path from {far:.0f} to {near:.0f} and the run from "
        f"{slow:.2g} s to {quick:.2g} s; in polar coordinates it takes {polar[-2]:.2g} s with an error of "
        f"{polar[-1]:.0e}."
    )


def _timed(work: Callable[[], Array], truth: Array) -> tuple[float, float]:
    """Seconds, and the largest relative error."""
    start = time.perf_counter()
    values = work()
    return time.perf_counter() - start, float(np.max(np.abs(np.real(values) / truth - 1)))


def _runs(label: str, points: Array) -> list[float]:
    """Seconds and error by the paper's solver, then by our Taylor steps."""
    resin, truth = activation("resin"), exact_integral(points)
    cells: list[float] = []
    for solver in ("scipy", "taylor"):
        report(f"running through {len(points)} points: {label}, {solver}")
        cells += _timed(lambda: run_through(resin, points, solver), truth)  # noqa: B023 (called at once)
    return cells


def _steps(ways: dict[int, Array]) -> tuple[Table, dict[str, dict[int, float]]]:
    rows: list[tuple[Cell, ...]] = []
    seconds: dict[str, dict[int, float]] = {"scipy": {}, "Taylor steps": {}}
    for step, points in ways.items():
        cells = _runs(f"step {step}", points)
        seconds["scipy"][step], seconds["Taylor steps"][step] = cells[0], cells[2]
        rows.append((step, length_of(points, _START), PATH[step], *cells))
    table = Table(
        "Paths: time against step",
        ("step", "length of the path", "paper's s, GSL in C", "scipy s", "its error", "Taylor steps s", "their error"),
        tuple(rows),
        (
            f"The integral of ReSin at {len(next(iter(ways.values())))} points, in the coordinates x and in the "
            "paper's order. A path of step s visits every s-th point and is then divided into equal parts. Errors are "
            "the largest relative differences from quadrature.",
            "scipy is solve_ivp (RK45, rtol 1e-10, atol 1e-13 of the largest component) on our system of rank 5. The "
            f"paper needs {PATH_SCIPY} s with scipy for step 1; it does not state its atol. Errors grow from point to "
            "point along the path, which is why they exceed 1e-10.",
        ),
    )
    return table, seconds


def _orders(first: tuple[Cell, ...], shortest: Array, problem: Problem) -> Table:
    """Three runs through the same points; the sorted one is the first of the table of steps."""
    rows: tuple[tuple[Cell, ...], ...] = (
        ("x: sorted, as in the paper", first[1], *first[3:]),
        ("x: as short as 2-opt makes it", length_of(shortest, _START), *_runs("short", shortest)),
        ("polar coordinates of Σ: method all_at_once", None, None, None, *_polar(shortest)),
    )
    return Table(
        "Paths: the sorted order against a better one",
        ("order of the points", "length of the path", "scipy s", "its error", "Taylor steps s", "their error"),
        rows,
        (
            f"The same {len(shortest)} points ({problem}). A shorter path is faster, and errors grow less along it. "
            "In polar coordinates every point is reached from the uncorrelated case directly, so errors do not grow.",
        ),
    )


def _polar(points: Array) -> tuple[float, float]:
    """One run of the method all_at_once through the same points."""
    _integral(points, "all_at_once")  # the system in these coordinates is derived before the clock starts
    return _timed(lambda: _integral(points, "all_at_once"), exact_integral(points))


def _drawings(ways: dict[int, Array], shortest: Array) -> list[Chart]:
    """The paths in the plane of (x11, x12)."""
    drawn = [(f"path-step-{step}", f"Path, step {step}", ways[step]) for step in _DRAWN]
    drawn.append(("path-short", "Path, short order", shortest))
    return [
        Chart(
            name,
            title,
            "−x₁₁",
            "x₁₂",
            (Series("", tuple((-p[:, 0]).tolist()), tuple(p[:, 1].tolist()), "both"),),
            log="x",
            caption=f"The path through {len(p)} points, seen in two of its three coordinates; its length is "
            f"{length_of(p, _START):.0f}.",
        )
        for name, title, p in drawn
    ]


def _clock(seconds: dict[str, dict[int, float]]) -> Chart:
    series = [Series(name, tuple(map(float, s)), tuple(s.values()), "both") for name, s in seconds.items()]
    series.append(Series("paper, GSL in C", tuple(map(float, PATH)), tuple(PATH.values()), "reference"))
    caption = (
        "The larger the step, the straighter the path and the faster the run. The paper's times are from its own "
        "machine."
    )
    title = "Time of one run against step"
    return Chart("path-timing", title, "step", "seconds", tuple(series), log="y", caption=caption)
