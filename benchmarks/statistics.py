"""Statistics by the holonomic gradient method beside direct quadrature, in one run: values a second and true errors.

Parameters are random, 1000 of them.  The rivals are what one would write without the HGM: product Gauss rules on the
spheres with as many nodes as 1e-12 needs, Gauss rules over the joint density of two Wishart roots, and SciPy's
`multivariate_normal.cdf` (Genz) for orthants.  Errors are relative to proved balls at a few of the parameters.  Run

    taskset -c 0 python benchmarks/statistics.py [--count 1000] [--json FILE]
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import click  # noqa: E402 (after the number of threads)
import numpy as np  # noqa: E402
from scipy import special, stats  # noqa: E402

import holokern as hk  # noqa: E402

# nodes in each direction: for |A| and |b| of about 3 the rule then leaves 1e-12
NODES = {2: 64, 3: 32, 4: 32}
# proved values, which take longer, at so many parameters
PROVED = 5


def sphere(p: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on the unit sphere of R^p."""
    if p == 2:
        angle = np.pi * np.arange(2 * count) / count
        return np.stack([np.cos(angle), np.sin(angle)], axis=1), np.full(2 * count, np.pi / count)
    inner, weights = sphere(p - 1, count)
    x, w = special.roots_gegenbauer(count, (p - 2) / 2)
    first = np.repeat(x, len(inner))
    rest = np.tile(inner, (count, 1)) * np.sqrt(1 - first**2)[:, None]
    return np.concatenate([first[:, None], rest], axis=1), np.repeat(w, len(inner)) * np.tile(weights, count)


def parameters(p: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(p)
    A = random.normal(size=(count, p, p))
    return (A + np.swapaxes(A, 1, 2)) / 2, random.normal(size=(count, p)) * 2


def correlations(d: int, count: int) -> np.ndarray:
    random = np.random.default_rng(d)
    X = random.normal(size=(count, d, 2 * d))
    return X @ np.swapaxes(X, 1, 2)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result and the CPU time of a second call."""
    work()
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def row(name: str, rank: int, count: int, ours: tuple[Any, float], other: tuple[Any, float, int], truth: Any) -> dict:
    value, seconds = ours
    rival, rival_seconds, rival_count = other
    truth = np.asarray(truth, dtype=float)
    return {
        "case": name,
        "rank": rank,
        "values a second": round(count / seconds),
        "error": float(np.max(np.abs(np.asarray(value)[: len(truth)] / truth - 1))),
        "direct, values a second": round(rival_count / rival_seconds, 1),
        "direct, error": float(np.max(np.abs(np.asarray(rival)[: len(truth)] / truth - 1))),
    }


def spheres(count: int) -> list[dict]:
    found = []
    for p in (2, 3, 4):
        A, b = parameters(p, count)
        nodes, weights = sphere(p, NODES[p])
        fewer = max(PROVED, count // 10)

        def direct(A=A, b=b, nodes=nodes, weights=weights, fewer=fewer) -> np.ndarray:
            return np.array(
                [weights @ np.exp(np.einsum("ti,ij,tj->t", nodes, A[k], nodes) + nodes @ b[k]) for k in range(fewer)]
            )

        proved = [hk.hgm.fisher_bingham(A[k], b[k], balls=True).value for k in range(PROVED)]
        ours = timed(lambda A=A, b=b: hk.hgm.fisher_bingham(A, b).value)
        found.append(row(f"Fisher-Bingham on S^{p - 1}", 2 * p, count, ours, (*timed(direct), fewer), proved))
    F = np.random.default_rng(9).normal(size=(count, 3, 3))
    nodes, weights = sphere(4, NODES[4])
    forms = np.einsum("ta,ijab,tb->tij", nodes, hk.hgm.distributions.rotation.quaternion_forms(), nodes)
    fewer = max(PROVED, count // 10)
    proved = [hk.hgm.fisher_rotation(F[k], balls=True).value for k in range(PROVED)]
    ours = timed(lambda: hk.hgm.fisher_rotation(F).value)
    direct = timed(
        lambda: np.array([weights @ np.exp(np.einsum("ij,tij->t", F[k], forms)) for k in range(fewer)]) / weights.sum()
    )
    found.append(row("Fisher on SO(3)", 4, count, ours, (*direct, fewer), proved))
    return found


def orthants(count: int) -> list[dict]:
    found = []
    for d, many in ((3, count), (4, count // 4), (5, count // 20), (6, max(PROVED, count // 100))):
        S = correlations(d, many)
        fewer = min(many, 20)

        def direct(S=S, fewer=fewer, d=d) -> np.ndarray:
            return np.array([stats.multivariate_normal(np.zeros(d), S[k]).cdf(np.zeros(d)) for k in range(fewer)])

        proved = [hk.hgm.orthant(S[k], balls=True, digits=16).value for k in range(PROVED)]
        ours = timed(lambda S=S: hk.hgm.orthant(S).value)
        found.append(row(f"orthant, d = {d}", 2 ** (d - 1), many, ours, (*timed(direct), fewer), proved))
    return found


def roots(count: int) -> list[dict]:
    found = []
    t, w = special.roots_legendre(80)

    def two(x: float, s: np.ndarray, n: int) -> float:
        """The joint density of two roots, integrated over both below x."""
        big, small = np.meshgrid(x * (t + 1) / 2, (t + 1) / 2, indexing="ij")
        small = small * big
        area = np.outer(w * x / 2, w / 2) * big
        density = (big - small) * (big * small) ** ((n - 3) / 2) * np.exp(-s.sum() * (big + small) / 4)
        return float(np.sum(area * density * special.iv(0, (s[0] - s[1]) * (big - small) / 4)))

    for m in (2, 3, 4, 5):
        variances = 1 + 0.5 * np.arange(m)
        x = np.linspace(5, 60, count)
        law = hk.hgm.largest_root(np.diag(variances), 10)
        proved = [law(float(x[k]), balls=True, digits=16).value for k in range(PROVED if m < 4 else 1)]
        ours = timed(lambda law=law, x=x: law(x).value)
        if m == 2:
            whole = two(250.0, 1 / variances, 10)
            fewer = min(count, 100)

            def direct(x=x, s=1 / variances, whole=whole, fewer=fewer) -> np.ndarray:
                return np.array([two(x[k], s, 10) for k in range(fewer)]) / whole

            found.append(row("largest root, m = 2", 4, count, ours, (*timed(direct), fewer), proved))
        else:
            # nobody integrates over the orthogonal group: the rival has no entry
            entry = row(f"largest root, m = {m}", 2**m, count, ours, (ours[0], 1.0, 1), proved)
            found.append({**entry, "direct, values a second": None, "direct, error": None})
    return found


def carried(count: int) -> list[dict]:
    """The general solver on the system of Fisher–Bingham on S¹, from one start to random targets."""
    system, seconds = timed(lambda: hk.pfaffian(hk.hgm.fisher_bingham_ideal(2)))
    start = np.array([0.0, 2.0, 0.5, -0.5])
    c = hk.hgm.fisher_bingham(np.diag(start[:2]), start[2:])
    known = {"1": c.value, "dy1": c.value * c.mean[0], "dy2": c.value * c.mean[1], "dx1": c.value * c.second[0, 0]}
    targets = start + np.random.default_rng(1).uniform(-1, 1, size=(count, 4)) * [0.5, 0.5, 1, 1]
    ours = timed(lambda: hk.hgm.solve(system, start=start, values=known, targets=targets).values[:, 0])
    direct = timed(lambda: hk.hgm.fisher_bingham(targets[:, :2, None] * np.eye(2), targets[:, 2:]).value)
    truth = hk.hgm.fisher_bingham(targets[:, :2, None] * np.eye(2), targets[:, 2:]).value
    print(f"the Pfaffian system of rank 4 was derived in {seconds:.2f} s")
    return [row("hgm.solve on S^1, ready function as rival", 4, count, ours, (*direct, count), truth)]


@click.command()
@click.option("--count", default=1000, show_default=True, help="Parameter values.")
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write the rows there.")
def main(count: int, file: Path | None) -> None:
    """Print one row a case."""
    rows = [*spheres(count), *orthants(count), *roots(count), *carried(count)]
    for entry in rows:
        print("  ".join(f"{key}: {_shown(value)}" for key, value in entry.items()))
    if file is not None:
        file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def _shown(value: object) -> str:
    return f"{value:.1e}" if isinstance(value, float) and abs(value) < 1e-3 else str(value)


if __name__ == "__main__":
    main()
