"""A million points of dimension 64: ridge regression, classification and a Gaussian process on features.

    python benchmarks/million.py --json benchmarks/results/million.json [--points 1000000] [--features 1000]

Points are Gaussian and lie in a file that is mapped, not read, so the memory is that of one block beside Python and its
libraries. The targets are a smooth function with noise, or its sign; errors are those at 10 000 new points against the
function without noise, relative to its deviation. The deviations of the Gaussian process are those of new
targets, noise included. A task that is done is written at once, and not done again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _memory import forget_peak, peak_memory

from holokern.files import write_atomically
from holokern.model import NNGPRegressor, NTKClassifier, NTKRegressor
from holokern.paper.experiments import machine
from holokern.progress import listen

TESTS = 10_000


def write_points(path: Path, points: int, dimension: int) -> None:
    """Block by block."""
    rng = np.random.default_rng(0)
    made = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(points, dimension))
    for start in range(0, points, 10_000):
        made[start : start + 10_000] = rng.standard_normal((min(10_000, points - start), dimension)) / 8
    made.flush()


def function(x: np.ndarray) -> np.ndarray:
    return np.sin(12 * x[:, 0]) + 32 * x[:, 1] * x[:, 2] + np.abs(8 * x[:, 3])


def run(task: str, x: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    truth = np.concatenate([function(x[start : start + 10_000]) for start in range(0, len(x), 10_000)])
    truth -= truth.mean()
    y = truth + 0.5 * rng.standard_normal(len(truth))
    new, held, noisy = np.array(x[-TESTS:]), truth[-TESTS:], y[-TESTS:]
    common = {"solver": "nystrom", "n_landmarks": options.features, "random_state": 0, "alpha": 1.0}
    x, y = x[:-TESTS], y[:-TESTS]
    forget_peak()
    before = peak_memory()
    begun, started = time.perf_counter(), time.process_time()

    def show(stage: str, done: int | None, total: int | None) -> None:
        if done and total and stage == "features":
            left = (time.perf_counter() - begun) * (total - done) / done
            print(f"\r{task}: {done}/{total}, about {left:.0f} s left ", end="", flush=True)

    with listen(show):
        if task == "classification":
            model = NTKClassifier("relu", 3, bias=0.1, **common).fit(x, y > 0)
        else:
            cls = NTKRegressor if task == "regression" else NNGPRegressor
            model = cls("relu", 3, bias=0.1, **common).fit(x, y)
    fitted = time.perf_counter() - begun, time.process_time() - started
    found: dict[str, Any] = {"fit_seconds": fitted[0], "fit_cpu_seconds": fitted[1]}
    found["memory_gb_over_start"] = (peak_memory() - before) / 1e9
    if task == "classification":
        found["test_accuracy"] = 100 * float(np.mean(model.predict(new) == (held > 0)))
    else:
        mean = model.predict(new)
        found["test_error"] = float(np.sqrt(np.mean((mean - held) ** 2)) / held.std())
        if task == "gaussian process":
            mean, std = model.predict(new, return_std=True)
            # Of the function alone they hold less: what this network cannot be taught counts as noise.
            inside = np.abs(noisy - mean) <= 2 * np.sqrt(std**2 + model.alpha_)
            found |= {
                "inside_two_deviations": 100 * float(np.mean(inside)),
                "evidence": model.log_marginal_likelihood(),
            }
    found["seconds"] = time.perf_counter() - begun
    found["cpu_seconds"] = time.process_time() - started
    return {"task": task, "points": len(x), "dimension": x.shape[1], "features": options.features, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--dimension", type=int, default=64)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--scratch", default=None, help="folder for the file of points")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    done: dict[str, Any] = (
        json.loads(options.json.read_text()) if options.json.exists() else {"machine": machine(), "runs": {}}
    )
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        path = Path(folder) / "points.npy"
        write_points(path, options.points + TESTS, options.dimension)
        x = np.load(path, mmap_mode="r")
        for task in ("regression", "classification", "gaussian process"):
            key = f"{task} {options.points} {options.features}"
            if key not in done["runs"]:
                done["runs"][key] = run(task, x, options)
                write_atomically(options.json, json.dumps(done, indent=1) + "\n")
            print(done["runs"][key], flush=True)


if __name__ == "__main__":
    main()
