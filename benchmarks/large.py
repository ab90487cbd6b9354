r"""Beyond a dense matrix: kernel ridge regression by conjugate gradients on tiles, and kernel matrices on dask workers.

    python benchmarks/large.py cg --points 100000 --depth 3 --landmarks 4000 --checkpoint cg.npz    # K is never stored
    python benchmarks/large.py cg --points 200000 --depth 3 --landmarks 4000 --tolerance 4e-3 --workers 2 --tile 8192 \
        --checkpoint cg.npz                                  # tiles on dask workers
    python benchmarks/large.py features --points 100000 --depth 3 --landmarks 3000 --method harmonics --remainder
    python benchmarks/large.py dask --points 20000           # two workers against the local matrix

Steps multiply in single precision, and a product in double precision gives the true residual from time to time.
All print a table and, with ``--json FILE``, write their numbers. Points are Gaussian, seeded; the targets of ``cg``
and ``features`` are a smooth function with noise. Times are wall-clock and CPU seconds of this process and of the
workers; memory is the peak resident set of this process, Python and its libraries included. With a checkpoint, times of
a run that was interrupted count until its last finished product.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _memory import peak_memory

from holokern.files import write_atomically
from holokern.model.features.feature_map import Landmarks, draw
from holokern.model.features.harmonics import HarmonicFeatures
from holokern.model.kernel import NetworkKernel
from holokern.model.solvers.conjugate_gradients import (
    DistributedKernel,
    NystromPreconditioner,
    conjugate_gradients,
)
from holokern.model.solvers.solution import FeatureRidge
from holokern.network import KernelProduct, Network
from holokern.paper.experiments import machine
from holokern.progress import listen

_NEW = 1000
"""New points for the test error."""

Seconds = tuple[float, float]
"""Wall-clock and CPU."""


class Clock:
    """Wall-clock and CPU seconds since it was made."""

    def __init__(self, cpu: Callable[[], float] = time.process_time) -> None:
        self.cpu = cpu
        self.start = time.perf_counter(), cpu()

    def __call__(self) -> Seconds:
        """Both."""
        return time.perf_counter() - self.start[0], self.cpu() - self.start[1]


Product = tuple[float, float, bool]
"""Seconds of a product, and whether it was in single precision."""


class Diary:
    """What runs that were interrupted did, in a file beside their checkpoint; another problem starts anew."""

    def __init__(self, checkpoint: Path | None, problem: dict[str, Any]) -> None:
        self.path = None if checkpoint is None else checkpoint.with_suffix(".json")
        self.problem, self.products, self.before = problem, list[Product](), (0.0, 0.0)
        if self.path is not None and self.path.exists():
            kept = json.loads(self.path.read_text())
            if kept["problem"] == problem:
                self.products, self.before = [tuple(one) for one in kept["products"]], tuple(kept["seconds"])
                return
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)

    def total(self, clock: Clock) -> Seconds:
        """Seconds of all runs together."""
        now = clock()
        return self.before[0] + now[0], self.before[1] + now[1]

    def median(self, single: bool) -> Seconds:
        """Of the products of one precision; 0 if there were none."""
        found = [one[:2] for one in self.products if one[2] == single] or [(0.0, 0.0)]
        wall, cpu = np.median(found, axis=0)
        return float(wall), float(cpu)

    def write(self, product: Product, clock: Clock) -> None:
        """One more product."""
        self.products.append(product)
        if self.path is not None:
            kept = {"problem": self.problem, "products": self.products, "seconds": self.total(clock)}
            write_atomically(self.path, json.dumps(kept) + "\n")


def data(points: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((points, dimension)) / np.sqrt(dimension)
    y = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(points)
    return x, y


def task(options: argparse.Namespace) -> tuple[np.ndarray, ...]:
    """Points and targets, then new points and the function without noise there."""
    x, y = data(options.points + _NEW, options.dimension)
    x, new = x[: options.points], x[options.points :]
    return x, y[: options.points, None], new, np.sin(3 * new[:, 0]) + new[:, 1] * new[:, 2]


def problem_of(options: argparse.Namespace, kernel: NetworkKernel) -> dict[str, Any]:
    return {
        "machine": machine(),
        "points": options.points,
        "dimension": options.dimension,
        "network": repr(kernel.network),
        "kernel": options.kernel,
        "alpha": options.alpha,
    }


def errors(predicted: np.ndarray, new: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Root mean squares at new points: from the function, and from new observations of it, noise included."""
    observed = truth + 0.1 * np.random.default_rng(1).standard_normal(len(new))
    return {
        "test_error": root_mean_square(predicted, truth),
        "test_error_of_observations": root_mean_square(predicted, observed),
    }


def root_mean_square(predicted: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


@contextmanager
def multiplier(options: argparse.Namespace, kernel: NetworkKernel, x: np.ndarray) -> Iterator[tuple[Any, Any]]:
    """The kernel matrix as something to multiply with, and the CPU seconds of all processes."""
    if not options.workers:
        yield KernelProduct(kernel.network, x, kernel.kind), time.process_time
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield (
            DistributedKernel(client, kernel, x, options.tile),
            lambda: time.process_time() + sum(client.run(time.process_time).values()),
        )


def solve(options: argparse.Namespace) -> dict[str, Any]:
    """Solve (K + αI) c = y, and compare predictions at new points with the function without its noise."""
    x, y, new, truth = task(options)
    kernel = NetworkKernel(Network(options.activation, options.depth, bias=options.bias), options.kernel)
    problem = problem_of(options, kernel) | {"landmarks": options.landmarks, "workers": options.workers}
    with multiplier(options, kernel, x) as (tiles, cpu):
        clock, diary = Clock(cpu), Diary(options.checkpoint, problem)
        landmarks = draw(x, options.landmarks, np.random.RandomState(0))
        preconditioner = NystromPreconditioner.of(kernel, landmarks, x, options.alpha)
        prepared = clock()
        print(
            f"preconditioner, {options.landmarks} landmarks: {prepared[0]:.1f} s, CPU {prepared[1]:.1f} s", flush=True
        )

        def product(vectors: np.ndarray, single: bool = False) -> np.ndarray:
            own = Clock(cpu)
            result = tiles.times(vectors, single=single) + options.alpha * vectors
            spent = own()
            diary.write((*spent, single), clock)
            kind = "single" if single else "double"
            print(f"product {len(diary.products)}, {kind}: {spent[0]:.1f} s, CPU {spent[1]:.1f} s", flush=True)
            return np.asarray(result)

        def show(stage: str, done: int | None, total: int | None) -> None:
            if stage.startswith("conjugate gradients"):
                print(f"step {done} after {diary.total(clock)[0]:.0f} s: {stage}", flush=True)

        with listen(show):
            found = conjugate_gradients(
                product,
                y,
                lambda v: preconditioner @ v,
                rough=partial(product, single=True),
                tolerance=options.tolerance,
                max_steps=options.steps,
                checkpoint=options.checkpoint,
            )
        total = diary.total(clock)
    return (
        problem
        | {
            "preconditioner_seconds": prepared[0],
            "preconditioner_cpu_seconds": prepared[1],
            "tolerance": options.tolerance,
            "steps": found.steps,
            "residuals": found.residuals,
            "residual": found.residual,
            "converged": found.converged,
            "seconds": total[0],
            "cpu_seconds": total[1],
            "products": {
                "single": sum(one[2] for one in diary.products),
                "double": sum(not p[2] for p in diary.products),
            },
            "seconds_a_product": diary.median(False)[0],
            "cpu_seconds_a_product": diary.median(False)[1],
            "seconds_a_single_product": diary.median(True)[0],
            "cpu_seconds_a_single_product": diary.median(True)[1],
            "peak_gb": peak_memory() / 1e9,
            "dense_matrix_gb": 8e-9 * options.points**2,
        }
        | errors(kernel(new, x) @ found.solution[:, 0], new, truth)
    )


def on_features(options: argparse.Namespace) -> dict[str, Any]:
    """The problem of `solve` on features, in one pass over blocks of points."""
    x, y, new, truth = task(options)
    kernel = NetworkKernel(Network(options.activation, options.depth, bias=options.bias), options.kernel)
    clock, rng = Clock(), np.random.RandomState(0)
    if options.method == "harmonics":
        features: Any = HarmonicFeatures.of(kernel, x, options.landmarks, rng)
    else:
        features = Landmarks.at(kernel, draw(x, options.landmarks, rng))
    ridge = FeatureRidge.of(features, x, y, options.alpha, options.remainder)
    total = clock()
    return (
        problem_of(options, kernel)
        | {
            "features": features.count,
            "method": options.method + (", the rest as noise" if options.remainder else ""),
            "seconds": total[0],
            "cpu_seconds": total[1],
            "peak_gb": peak_memory() / 1e9,
        }
        | errors(ridge.mean(new)[:, 0], new, truth)
    )


def compare_block(block: np.ndarray, path: str, block_info: Any = None) -> np.ndarray:
    """Largest difference between a block and its place in the local matrix; runs on a worker."""
    (rows, columns) = block_info[0]["array-location"]
    local = np.load(path, mmap_mode="r")[slice(*rows), slice(*columns)]
    return np.array([[np.max(np.abs(block - local))]])


def on_workers(options: argparse.Namespace) -> dict[str, Any]:
    """The matrix by two workers, never gathered: each block is compared with the local matrix where it is made."""
    import dask.array as da
    from distributed import Client, LocalCluster

    x, _ = data(options.points, options.dimension)
    network = Network(options.activation, options.depth, bias=options.bias)
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        path = str(Path(folder) / "local.npy")
        clock = Clock()
        local = getattr(network, options.kernel)(x, out=path)
        alone = clock()
        scale = float(np.max(np.abs(np.diagonal(local))))
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            started = client.run(peak_memory)
            clock = Clock()
            matrix = getattr(network, options.kernel)(da.from_array(x, chunks=(options.chunk, -1)))
            worst = da.map_blocks(compare_block, matrix, path, dtype=float, chunks=(1, 1)).max().compute()
            together = clock()
            memory = client.run(peak_memory)
    return {
        "points": options.points,
        "network": repr(network),
        "kernel": options.kernel,
        "chunk": options.chunk,
        "blocks": int(np.prod(matrix.numblocks)),
        "block_gb": 8e-9 * options.chunk**2,
        "matrix_gb": 8e-9 * options.points**2,
        "largest_difference": float(worst) / scale,
        "local_seconds": alone[0],
        "workers_seconds": together[0],
        "worker_gb_at_start": sorted(size / 1e9 for size in started.values()),
        "worker_peak_gb": sorted(size / 1e9 for size in memory.values()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["cg", "features", "dask"])
    parser.add_argument("--points", type=int, default=20000)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--activation", default="relu")
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--bias", type=float, default=0.1)
    parser.add_argument("--kernel", choices=["ntk", "nngp"], default="ntk")
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--landmarks", type=int, default=2000)
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--chunk", type=int, default=2048)
    parser.add_argument("--scratch", default=None, help="folder for the local matrix of the task dask")
    parser.add_argument("--workers", type=int, default=0, help="dask workers for the products of cg; 0 for none")
    parser.add_argument("--tile", type=int, default=4096, help="rows and columns of a tile on workers")
    parser.add_argument("--method", choices=["landmarks", "harmonics"], default="landmarks", help="of features")
    parser.add_argument("--remainder", action="store_true", help="what features miss of the diagonal counts as noise")
    parser.add_argument("--checkpoint", type=Path, default=None, help="file from which an interrupted cg goes on")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    found = {"cg": solve, "features": on_features, "dask": on_workers}[options.task](options)
    for name, value in found.items():
        print(f"{name:>24}  {value}")
    if options.json:
        write_atomically(options.json, json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
