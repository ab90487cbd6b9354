"""Kernels of three hidden layers, NNGP and NTK together: ours against a ReLU closed form written in numpy.

CPU seconds on one core; ratios are the time of the numpy closed form divided by ours, so more is better. Run

    OPENBLAS_NUM_THREADS=1 taskset -c 0 python benchmarks/kernel.py --sizes 1000 2000 4000
"""

from __future__ import annotations

import argparse
import os
import time

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 (after the number of threads)

from holokern.network import Network  # noqa: E402

DIMENSION, DEPTH = 64, 3
NAMES = ("relu", "gelu", "erf", "elu", "resin", "silu", "tanh")


def closed_relu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The recursion of arc-cosine kernels as one would write it in numpy."""
    sigma = x @ x.T
    tangent = sigma.copy()
    length = np.sqrt(np.diag(sigma))
    scale = np.outer(length, length)
    for _ in range(DEPTH):
        cosine = np.clip(sigma / scale, -1, 1)
        theta = np.arccos(cosine)
        sigma = scale * (np.sqrt(1 - cosine**2) + (np.pi - theta) * cosine) / np.pi
        tangent = tangent * (np.pi - theta) / np.pi + sigma
    return sigma, tangent


def cpu(task, repeat: int) -> float:
    """The least CPU time of several runs."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        task()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    random = np.random.default_rng(0)
    x = random.standard_normal((max(arguments.sizes), DIMENSION)) / np.sqrt(DIMENSION)
    Network("relu", DEPTH).both(x[:200], threads=1)  # load the machine code
    print(f"{'activation':12}{'N':>7}{'first use s':>13}{'CPU s':>9}{'numpy ReLU s':>14}{'ratio':>8}")
    for size in arguments.sizes:
        some = x[:size]
        reference = cpu(lambda some=some: closed_relu(some), arguments.repeat)
        for name in NAMES:
            start = time.process_time()
            net = Network(name, DEPTH)
            net.both(some, threads=1)
            first = time.process_time() - start
            ours = cpu(lambda some=some, net=net: net.both(some, threads=1), arguments.repeat)
            print(f"{name:12}{size:7}{first:13.3f}{ours:9.3f}{reference:14.3f}{reference / ours:8.2f}", flush=True)


if __name__ == "__main__":
    main()
