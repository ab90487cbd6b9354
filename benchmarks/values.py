"""Values of dual activations: CPU time and true error of every method, beside the paper's figures.

Three tables: the paper's 91 points for ReSin; the HGM with our Taylor steps against the HGM with solve_ivp at the same
true error; the paper's kernel of 15 points for ReLU, GELU and ReSin.  The truth is `enclose`, proved to 25 digits.
Derivations are timed apart; "first" is the first call of a method, with whatever it prepares and keeps.  Run

    taskset -c 0 python benchmarks/values.py [--repeat 3] [--only points --only solvers --only kernels] [--json FILE]
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import click  # noqa: E402 (after the number of threads)
import numpy as np  # noqa: E402
from flint import arb, ctx, fmpq  # noqa: E402

import holokern as hk  # noqa: E402
from holokern.dual.methods.all_at_once import run_through  # noqa: E402
from holokern.dual.methods.hgm_x import coordinates_x  # noqa: E402
from holokern.dual.methods.initial import hermite_moments  # noqa: E402
from holokern.dual.registry import Method, register  # noqa: E402
from holokern.errors import HolokernError  # noqa: E402
from holokern.hgm.ordering import clusters, order_of  # noqa: E402
from holokern.paper.experiments.learning import tangent_kernel  # noqa: E402
from holokern.paper.numbers import LEARNING  # noqa: E402
from holokern.paper.problem import ACTIVATIONS, Problem, kernel_error  # noqa: E402
from holokern.paper.results import Table  # noqa: E402

# label -> method, options
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "closed": ("closed", {}),
    "quadrature": ("quadrature", {}),
    "hgm, Taylor steps": ("hgm", {}),
    "hgm, solve_ivp as in the paper": ("hgm", {"solver": "scipy"}),
    "hgm in x, Taylor steps": ("hgm", {"coordinates": "x"}),
    "hgm in x, solve_ivp": ("hgm", {"coordinates": "x", "solver": "scipy"}),
    "all_at_once": ("all_at_once", {}),
    "taylor": ("taylor", {}),
    "hie": ("hie", {}),
    "hermite": ("hermite", {}),
    "compiled": ("compiled", {}),
    "gauss_hermite": ("gauss_hermite", {}),
}
KERNEL_WAYS = [label for label in WAYS if "in x" not in label]
PAPERS_NAMES = {
    "closed": "closed",
    "gauss_hermite": "gauss_hermite",
    "hgm, solve_ivp as in the paper": "hgm",
    "all_at_once": "all_at_once",
}
PAPER_POINTS = {"C with GSL": 2.065, "Python with scipy": 3.9166}
RUN_THROUGH = "one run through x, {} (the paper's)"
DIGITS = 25


def points() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """c1, c2 and θ of the first layer for 15 inputs on [-1, 1], β = 1/2, 0.01 ≤ det Σ ≤ 1, one point for a cluster.

    The paper does not give β; with 1/2 its rule leaves the 91 points that it counts.
    """
    x = np.linspace(-1, 1, 15)
    covariance = np.outer(x, x) + 0.25
    i, j = np.nonzero(~np.eye(15, dtype=bool))
    s11, s12, s22 = covariance[i, i], covariance[i, j], covariance[j, j]
    det = s11 * s22 - s12**2
    chosen = (det >= 0.01) & (det <= 1)
    c1, c2 = np.sqrt(s11[chosen]), np.sqrt(s22[chosen])
    theta = np.arctan2(np.sqrt(det[chosen]), s12[chosen])
    kept = np.unique(clusters(coordinates_x(c1, c2, theta), 1e-5))
    return c1[kept], c2[kept], theta[kept]


def enclosed(activation: Any, c1: Any, c2: Any, theta: Any, tolerance: float) -> tuple[Any, Any, Any, Any]:
    """The truth: k and k′ by `enclose`, rounded once."""
    rows = []
    for first, second, angle in zip(c1, c2, theta, strict=True):
        with ctx.workprec(400):
            r = arb(fmpq(*float(angle).as_integer_ratio())).cos() if angle not in (0.0, np.pi) else arb(int(angle == 0))
            k, kdot = hk.enclose(activation, Fraction(first), Fraction(second), r, digits=DIGITS)
            rows.append((float(k.mid()), float(kdot.mid())))
    k, kdot = np.array(rows).T
    eps = np.finfo(float).eps
    return k, kdot, eps * np.abs(k), eps * np.abs(kdot)


register(Method("enclose", lambda activation: None, enclosed, "rigorous balls, rounded"))


def timed(task: Callable[[], Any], repeat: int) -> tuple[float, float, Any]:
    """CPU seconds of the first call and the least of the others, with the result; slow tasks are not repeated."""
    times = []
    for _ in range(repeat + 1):
        start = time.process_time()
        result = task()
        times.append(time.process_time() - start)
        if times[0] > 10:
            break
    return times[0], min(times[1:] or times), result


def derivations() -> Table:
    """The Pfaffian systems that the methods use, cold."""
    rows = []
    for label, source in ACTIVATIONS.items():
        sigma = hk.activation(source)
        for coordinates in ("sigma", "x"):
            start = time.process_time()
            system = hk.pfaffian(sigma, coordinates=coordinates, cache=False)
            rows.append((label, coordinates, system.rank, time.process_time() - start))
    return Table("Derivations, which are kept", ("activation", "coordinates", "rank", "CPU s"), tuple(rows))


def points_table(repeat: int) -> Table:
    """Every method on the 91 points for ReSin."""
    sigma, (c1, c2, theta) = hk.activation("resin"), points()
    k, kdot, _, _ = enclosed(sigma, c1, c2, theta, 0.0)
    rows: list[tuple[Any, ...]] = []
    for label, (method, options) in WAYS.items():
        try:
            first, seconds, v = timed(
                lambda method=method, options=options: hk.dual(sigma, c1, c2, theta=theta, method=method, **options),
                repeat,
            )
        except HolokernError as error:
            rows.append((label, None, None, None, None, None, None, str(error).split(";")[0][:60]))
            continue
        errors = float(np.max(np.abs(v.k - k))), float(np.max(np.abs(v.kdot - kdot)))
        rows.append((label, first, seconds, *errors, float(np.max(v.error)), float(np.max(v.kdot_error)), None))
    x = coordinates_x(c1, c2, theta)
    tour = order_of(x, np.array([-1.0, 0.0, -1.0]), "sorted")
    root = np.sqrt(x[:, 0] * x[:, 2] - x[:, 1] ** 2) / np.pi
    for solver, paper in (("taylor", None), ("scipy", "Python with scipy")):
        first, seconds, g = timed(lambda solver=solver: run_through(sigma, x[tour], solver), repeat)
        error = float(np.max(np.abs(g * root[tour] - k[tour])))
        note = f"{paper}: {PAPER_POINTS[paper]} s" if paper else f"C with GSL: {PAPER_POINTS['C with GSL']} s"
        rows.append((RUN_THROUGH.format(solver), first, seconds, error, None, None, None, note))
    return Table(
        f"ReSin at the paper's {len(theta)} points",
        ("method", "first s", "CPU s", "error of k", "error of k′", "reported", "reported k′", "paper"),
        tuple(rows),
        ("Errors are the largest of all points, against enclosures; k itself is between 1e-4 and 0.4.",),
    )


def bare_solve_ivp(c1: Any, c2: Any, theta: Any, rtol: float, integrator: str) -> tuple[np.ndarray, np.ndarray]:
    """The least that the HGM with solve_ivp can cost: ReSin's 5 × 5 system in Σ12, its formulas typed in.

    The vector is E[(1, ab, a², b², a²b²) σσ] with a = ∂_u, b = ∂_v; the start is a product of one-dimensional moments.
    """
    from scipy.integrate import solve_ivp

    exponents = [(0, 0), (1, 1), (2, 0), (0, 2), (2, 2)]
    scale = np.array([c1**i * c2**j for i, j in exponents]).T
    start = (
        hermite_moments(hk.activation("resin"), np.concatenate([c1, c2]), 3).independent(c1, c2, exponents)[0] / scale
    )
    found = []
    for i in range(len(theta)):
        a1, a2 = c1[i] ** 2, c2[i] ** 2
        matrix = np.zeros((5, 5))
        matrix[0, 1] = matrix[1, 4] = matrix[4, 1] = 1.0
        matrix[2, 1] = matrix[3, 1] = -1.0

        def slope(s: float, y: np.ndarray, a1: float = a1, a2: float = a2, matrix: np.ndarray = matrix) -> np.ndarray:
            d = a1 * a2 - s * s
            q = (s * (1 + a2) - s**3 / a1) / d
            matrix[2, 3] = matrix[2, 4] = -s / a1
            matrix[3, 2] = matrix[3, 4] = -s / a2
            matrix[4, 0], matrix[4, 2], matrix[4, 3], matrix[4, 4] = s / d, s / d + s / a2, q, q + s / a2
            return matrix @ y

        goal = c1[i] * c2[i] * np.cos(theta[i])
        solution = solve_ivp(slope, (0.0, goal), start[i], method=integrator, rtol=rtol, atol=1e-3 * rtol)
        found.append(solution.y[:2, -1])
    k, kdot = np.array(found).T
    return k, kdot


def solvers_table(repeat: int) -> Table:
    """The HGM with solve_ivp at falling tolerances, until its error is ours."""
    sigma, (c1, c2, theta) = hk.activation("resin"), points()
    k, kdot, _, _ = enclosed(sigma, c1, c2, theta, 0.0)

    def run(**options: Any) -> tuple[float, float]:
        _, seconds, v = timed(lambda: hk.dual(sigma, c1, c2, theta=theta, method="hgm", **options), repeat)
        return seconds, max(float(np.max(np.abs(v.k - k))), float(np.max(np.abs(v.kdot - kdot))))

    ours, error = run()
    rows: list[tuple[Any, ...]] = [("Taylor steps", None, ours, error, None)]
    for integrator in ("RK45", "DOP853"):
        for rtol in (1e-10, 1e-12, 2.5e-14):
            seconds, true = run(solver="scipy", integrator=integrator, rtol=rtol)
            rows.append((f"solve_ivp, {integrator}", rtol, seconds, true, seconds / ours))
    for integrator, rtol in (("RK45", 1e-10), ("DOP853", 1e-10), ("DOP853", 2.5e-14)):
        _, seconds, values = timed(lambda way=(rtol, integrator): bare_solve_ivp(c1, c2, theta, *way), repeat)
        true = float(max(np.max(np.abs(values[0] - k)), np.max(np.abs(values[1] - kdot))))
        rows.append((f"solve_ivp, {integrator}, bare", rtol, seconds, true, seconds / ours))
    return Table(
        "hgm: Taylor steps against solve_ivp, ReSin at the 91 points",
        ("solver", "rtol", "CPU s", "true error", "times ours"),
        tuple(rows),
        (
            "The error is the largest of k and k′. Both solvers go the same way in θ with the same system; 'bare' "
            "is solve_ivp with nothing but the matrix of ReSin typed in, in Σ12.",
        ),
    )


def kernel_table(label: str, repeat: int) -> Table:
    """Every method on the kernel matrix of the 15 training points."""
    sigma, problem = hk.activation(ACTIVATIONS[label]), Problem()
    truth = tangent_kernel(sigma, problem.x, problem.x, problem, "enclose")
    rows: list[tuple[Any, ...]] = []
    for name in KERNEL_WAYS:
        method, options = WAYS[name]
        paper = LEARNING[label].get(PAPERS_NAMES.get(name, ""), (None,))[0]
        try:
            first, seconds, kernel = timed(
                lambda method=method, options=options: tangent_kernel(
                    sigma, problem.x, problem.x, problem, method, **options
                ),
                repeat,
            )
        except HolokernError as error:
            rows.append((name, None, None, None, None, paper, str(error).split(";")[0][:60]))
            continue
        largest = float(np.max(np.abs(kernel - truth)))
        rows.append((name, first, seconds, largest, kernel_error(kernel, truth), paper, None))
    return Table(
        f"Tangent kernel of 15 points, {label}",
        ("method", "first s", "CPU s", "largest error", "kernel error", "paper s", "note"),
        tuple(rows),
        (
            f"{problem.depth} hidden layers, β = {problem.bias} (the paper does not give it); entries up to "
            f"{np.max(truth):.3g}. Kernel error: Frobenius norm over the number of elements, as in the paper.",
        ),
    )


@click.command()
@click.option("--repeat", default=3, show_default=True, help="runs after the first")
@click.option("--only", multiple=True, type=click.Choice(["points", "solvers", "kernels"]), help="only these tables")
@click.option("--json", "target", type=click.Path(dir_okay=False, path_type=Path), help="write the numbers here too")
def main(repeat: int, only: tuple[str, ...], target: Path | None) -> None:
    """Time and true error of every method."""
    tasks: list[tuple[str, Callable[[], Table]]] = [
        ("points", derivations),
        ("points", lambda: points_table(repeat)),
        ("solvers", lambda: solvers_table(repeat)),
        *(("kernels", lambda label=label: kernel_table(label, repeat)) for label in ACTIVATIONS),
    ]
    tables = []
    for name, task in tasks:
        if not only or name in only:
            table = task()
            tables.append(table)
            click.echo(table.text() + "\n")
    if target is not None:
        data = {"holokern": hk.__version__, "tables": [table.data() for table in tables]}
        target.write_text(json.dumps(data, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
