"""Beyond a dense matrix: kernel ridge regression by conjugate gradients on tiles, and kernel matrices on dask workers.

    python benchmarks/large.py cg --points 100000 --depth 3 --landmarks 4000 --checkpoint cg.npz    # K is never stored
    python benchmarks/large.py dask --points 20000           # two workers against the local matrix

Both print a table and, with ``--json FILE``, write their numbers. Points are Gaussian, seeded; the targets of ``cg``
are a smooth function with noise. Times are wall-clock and CPU seconds of this process; memory is the peak resident set
of each process, Python and its libraries included.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _memory import peak_memory

from holokern.files import write_atomically
from holokern.model.features.landmarks import draw
from holokern.model.kernel import NetworkKernel
from holokern.model.solvers.conjugate_gradients import NystromPreconditioner, TiledKernel, conjugate_gradients
from holokern.network import Network
from holokern.paper.experiments import machine
from holokern.progress import listen


class Clock:
    """Wall-clock and CPU seconds since it was made."""

    def __init__(self) -> None:
        self.start = time.perf_counter(), time.process_time()

    def __call__(self) -> tuple[float, float]:
        """(wall-clock, CPU)."""
        return time.perf_counter() - self.start[0], time.process_time() - self.start[1]


def data(points: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((points, dimension)) / np.sqrt(dimension)
    y = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(points)
    return x, y


def solve(options: argparse.Namespace) -> dict[str, Any]:
    """Solve (K + αI) c = y, and compare predictions at new points with the function without its noise."""
    x, y = data(options.points + 1000, options.dimension)
    x, new = x[: options.points], x[options.points :]
    y, truth = y[: options.points, None], np.sin(3 * new[:, 0]) + new[:, 1] * new[:, 2]
    kernel = NetworkKernel(Network(options.activation, options.depth, bias=options.bias), options.kernel)
    clock = Clock()
    landmarks = draw(x, options.landmarks, np.random.RandomState(0))
    preconditioner = NystromPreconditioner.of(kernel, landmarks, x, options.alpha)
    prepared = clock()
    print(
        f"preconditioner with {options.landmarks} landmarks: {prepared[0]:.1f} s, CPU {prepared[1]:.1f} s", flush=True
    )
    tiles, products = TiledKernel(kernel, x), []

    def product(vectors: np.ndarray) -> np.ndarray:
        own = Clock()
        result = tiles @ vectors + options.alpha * vectors
        products.append(own())
        print(f"product {len(products)}: {products[-1][0]:.1f} s, CPU {products[-1][1]:.1f} s", flush=True)
        return result

    def show(stage: str, done: int | None, total: int | None) -> None:
        if stage.startswith("conjugate gradients"):
            print(f"step {done} after {clock()[0]:.0f} s: {stage}", flush=True)

    with listen(show):
        found = conjugate_gradients(
            product,
            y,
            lambda v: preconditioner @ v,
            tolerance=options.tolerance,
            max_steps=options.steps,
            checkpoint=options.checkpoint,
        )
    total = clock()
    predicted = kernel(new, x) @ found.solution[:, 0]
    return {
        "machine": machine(),
        "points": options.points,
        "dimension": options.dimension,
        "network": repr(kernel.network),
        "kernel": options.kernel,
        "alpha": options.alpha,
        "landmarks": options.landmarks,
        "preconditioner_seconds": prepared[0],
        "steps": found.steps,
        "residuals": found.residuals,
        "residual": found.residual,
        "converged": found.converged,
        "seconds": total[0],
        "cpu_seconds": total[1],
        "seconds_a_product": float(np.median([p[0] for p in products])),
        "cpu_seconds_a_product": float(np.median([p[1] for p in products])),
        "peak_gb": peak_memory() / 1e9,
        "dense_matrix_gb": 8e-9 * options.points**2,
        "test_error": float(np.sqrt(np.mean((predicted - truth) ** 2))),
    }


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
    parser.add_argument("task", choices=["cg", "dask"])
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
    parser.add_argument("--checkpoint", type=Path, default=None, help="file from which an interrupted cg goes on")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    found = solve(options) if options.task == "cg" else on_workers(options)
    for name, value in found.items():
        print(f"{name:>24}  {value}")
    if options.json:
        write_atomically(options.json, json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
