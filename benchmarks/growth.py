"""How the cost of a kernel matrix grows with N: CPU time and memory of the NTK, three hidden layers, d = 64, one core.

Writes a figure and the numbers beside it:

    python benchmarks/growth.py --figure docs/_static/growth.svg

Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 (after the number of threads)
from _memory import forget_peak, peak_memory  # noqa: E402

SIZES = (500, 1000, 2000, 4000, 8000, 16000)
NAMES = ("relu", "gelu")
DIMENSION, DEPTH = 64, 3


def one(name: str, size: int) -> dict:
    """CPU seconds to fill the matrix, without compile time, and by how much it raised the peak memory."""
    from holokern.network import Network

    x = np.random.default_rng(0).standard_normal((size, DIMENSION))
    net = Network(name, DEPTH, weight_variance=2.0)
    net.part(x[:400], None, net.data_range(x), (False, True))  # compile
    forget_peak()
    before = peak_memory()
    matrix = net.ntk(x, threads=1)
    peak = peak_memory()
    # Once more into the same memory: what the system takes to hand out memory is not ours.
    start = time.process_time()
    net.ntk(x, out=matrix, threads=1)
    seconds = time.process_time() - start
    return {
        "activation": name,
        "N": size,
        "seconds": seconds,
        "bytes": peak - before,
        "result": matrix.nbytes,
    }


def draw(cases: list[dict], figure: Path) -> None:
    """Time and memory against N, both axes logarithmic, with the slopes of N²."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for name in dict.fromkeys(case["activation"] for case in cases):
        own = [case for case in cases if case["activation"] == name]
        sizes = np.array([case["N"] for case in own], dtype=float)
        left.loglog(sizes, [case["seconds"] for case in own], "o-", label=name)
        right.loglog(sizes, [case["bytes"] / 2**20 for case in own], "o-", label=name)
    last = cases[-1]
    left.loglog(sizes, last["seconds"] * (sizes / sizes[-1]) ** 2, "k:", label="N²")
    right.loglog(sizes, [case["result"] / 2**20 for case in own], "k:", label="the result")
    left.set(xlabel="N", ylabel="CPU seconds, one core", title="NTK, three hidden layers")
    right.set(xlabel="N", ylabel="added peak memory, MiB", title="Memory")
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.grid(alpha=0.3)
    plt.savefig(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--figure", type=Path, default=Path("growth.svg"), help="the numbers go beside it as .json")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "N"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if arguments.one:
        print(json.dumps(one(arguments.one[0], int(arguments.one[1]))))
        return
    arguments.figure.parent.mkdir(parents=True, exist_ok=True)
    cases = []
    for name in NAMES:
        for size in arguments.sizes:
            command = [sys.executable, __file__, "--one", name, str(size)]
            cases.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            print(f"{name:8}{size:7}{cases[-1]['seconds']:10.3f} s{cases[-1]['bytes'] / 2**20:10.1f} MiB", flush=True)
    arguments.figure.with_suffix(".json").write_text(json.dumps(cases, indent=1) + "\n")
    draw(cases, arguments.figure)


if __name__ == "__main__":
    main()
