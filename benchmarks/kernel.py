"""NNGP and NTK together, three hidden layers, d = 64: ours, a ReLU closed form written in numpy, and neural-tangents.

Everything runs on one core and is measured in CPU seconds; a ratio is the other's time divided by ours, so more is
better. Compile times stand apart; "closer" says how many times smaller our largest error is, and "peak" is by how much
one more run raises the peak of memory, in units of results and input. Beside ElementwiseNumerical, which serves what
neural-tangents has no formula for, stands N = 400. That package lives in a virtual environment of its own, made by

    python3 -m venv ~/.cache/holokern-bench/nt
    ~/.cache/holokern-bench/nt/bin/pip install jax==0.5.3 tf2jax==0.3.7 neural-tangents==0.6.5

(another place by --peer); without it that column is left out. Run

    python benchmarks/kernel.py --sizes 1000 2000 4000 --json kernel.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 (after the number of threads)
from _memory import memory_ratio  # noqa: E402

from holokern.dual.dual import dual  # noqa: E402
from holokern.network import Network  # noqa: E402
from holokern.paper.experiments import machine  # noqa: E402

DIMENSION, DEPTH, WEIGHT = 64, 3, 2.0
NAMES = ("relu", "gelu", "erf", "elu", "resin", "silu", "tanh", "hardtanh")
CLOSED = ("relu", "gelu", "erf")
NUMERICAL, NUMERICAL_SIZE = ("elu", "resin", "silu", "tanh", "hardtanh"), 400
SHOWN = 8
PEER = Path.home() / ".cache" / "holokern-bench" / "nt"


def network(name: str) -> Network:
    return Network(name, DEPTH, weight_variance=WEIGHT)


def closed_relu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The recursion of arc-cosine kernels as one would write it in numpy."""
    sigma = WEIGHT / DIMENSION * (x @ x.T)
    tangent = sigma.copy()
    for _ in range(DEPTH):
        length = np.sqrt(np.diag(sigma))
        scale = np.outer(length, length)
        cosine = np.clip(sigma / scale, -1, 1)
        theta = np.arccos(cosine)
        sigma = WEIGHT / (2 * np.pi) * scale * (np.sqrt(1 - cosine**2) + (np.pi - theta) * cosine)
        tangent = tangent * (WEIGHT / (2 * np.pi)) * (np.pi - theta) + sigma
    return sigma, tangent


def by_quadrature(name: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The recursion with the reference method, for a few points."""
    sigma = WEIGHT / DIMENSION * (x @ x.T)
    tangent = sigma.copy()
    for _ in range(DEPTH):
        c = np.sqrt(np.diag(sigma))
        cosine = np.clip(sigma / np.outer(c, c), -1, 1)
        np.fill_diagonal(cosine, 1.0)
        value = dual(name, c[:, None], c, cosine, method="quadrature")
        sigma = WEIGHT * value.k
        tangent = tangent * WEIGHT * value.kdot + sigma
    return sigma, tangent


def relative_error(found, exact) -> float:
    """The largest error of both matrices relative to the roots of the products of diagonal entries."""
    errors = []
    for mine, true in zip(found, exact, strict=True):
        scale = np.sqrt(np.outer(np.diag(true), np.diag(true)))
        errors.append(np.max(np.abs(np.asarray(mine)[:SHOWN, :SHOWN] - true) / scale))
    return float(max(errors))


def cpu(task, repeat: int) -> float:
    """The least CPU time of several runs."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        task()
        best = min(best, time.process_time() - start)
    return best


def peer_results(python: Path, points: Path, cases: list) -> list[dict]:
    """Run the cases inside the environment of neural-tangents, pinned like ourselves."""
    with tempfile.TemporaryDirectory() as folder:
        task, result = Path(folder) / "task.json", Path(folder) / "result.json"
        task.write_text(json.dumps({"points": str(points), "weight": WEIGHT, "depth": DEPTH, "cases": cases}))
        script = Path(__file__).with_name("kernel_neural_tangents.py")
        done = subprocess.run([python, script, task, result], check=False, capture_output=True, text=True)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["no message"]
            print(f"neural-tangents stopped ({last[0]}); its columns hold what was finished before", flush=True)
        return json.loads(result.read_text()) if result.exists() else []


def peak_memory(name: str, size: int) -> dict:
    """Growth of the peak memory of a fresh process by one pair of matrices, against results plus input."""
    done = subprocess.run(
        [sys.executable, __file__, "--memory-of", name, "--sizes", str(size)],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def memory_of(name: str, size: int) -> None:
    x = np.random.default_rng(0).standard_normal((size, DIMENSION))
    net = network(name)
    net.both(x[:300], threads=1)
    first, later = (memory_ratio(lambda: net.both(x, threads=1), 16 * size**2, x.nbytes) for _ in range(2))
    print(json.dumps({**later, "first_ratio": first["ratio"]}))


def measure(arguments: argparse.Namespace) -> dict:
    x = np.random.default_rng(0).standard_normal((max(*arguments.sizes, NUMERICAL_SIZE), DIMENSION))
    for name in ("relu", "hardtanh"):  # load the machine code, that of breaks away from zero too
        network(name).both(x[:200], threads=1)
    record: dict = {"machine": machine(), "ours": [], "numpy": [], "peer": []}
    print(record["machine"], flush=True)
    python = arguments.peer / "bin" / "python"
    if python.exists():
        with tempfile.TemporaryDirectory() as folder:
            points = Path(folder) / "points.npy"
            np.save(points, x)
            cases = [[name, size, arguments.repeat] for size in arguments.sizes for name in CLOSED]
            cases += [[name, NUMERICAL_SIZE, 1] for name in NUMERICAL]
            record["peer"] = peer_results(python, points, cases)
    else:
        print(f"no neural-tangents at {python}: its columns are left out (see --help)", flush=True)
    theirs = {(case["activation"], case["N"]): case for case in record["peer"]}
    heads = ("N", 6), ("first s", 9), ("CPU s", 8), ("numpy/ours", 12), ("error", 9)
    peer_heads = ("NT/ours", 10), ("NT error", 10), ("closer", 9), ("NT peak", 9)
    print(f"{'activation':12}" + "".join(f"{head:>{width}}" for head, width in heads + peer_heads))
    for size in (NUMERICAL_SIZE, *arguments.sizes):
        some = x[:size]
        reference = cpu(lambda some=some: closed_relu(some), arguments.repeat)
        record["numpy"].append({"N": size, "seconds": reference})
        for name in NAMES:
            start = time.process_time()
            net = network(name)
            found = net.both(some, threads=1)
            first = time.process_time() - start
            seconds = cpu(lambda some=some, net=net: net.both(some, threads=1), arguments.repeat)
            exact = by_quadrature(name, x[:SHOWN])
            error = relative_error(found, exact)
            record["ours"].append({"activation": name, "N": size, "first": first, "seconds": seconds, "error": error})
            line = f"{name:12}{size:6}{first:9.2f}{seconds:8.3f}{reference / seconds:12.2f}{error:9.1e}"
            peer = theirs.get((name, size))
            if peer:
                wrong = peer["error"] = relative_error((peer["nngp"], peer["ntk"]), exact)
                line += f"{peer['seconds'] / seconds:10.2f}{wrong:10.1e}{wrong / error:9.1e}"
                line += f"{peer['memory']['ratio']:9.2f}"
            print(line, flush=True)
    record["memory"] = {name: peak_memory(name, max(arguments.sizes)) for name in ("relu", "gelu", "hardtanh")}
    for name, memory in record["memory"].items():
        ratios = f"{memory['ratio']:.2f} times results and input, {memory['first_ratio']:.2f} when it compiles too"
        print(f"peak of {name} at N = {max(arguments.sizes)}: {ratios}")
    for case in record["peer"]:
        print(
            f"neural-tangents {case['activation']} N={case['N']}: {case['seconds']:.3f} s, first {case['first']:.2f} s"
        )
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--peer", type=Path, default=PEER, help="virtual environment of neural-tangents")
    parser.add_argument("--json", type=Path, help="also write everything that was measured")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if arguments.memory_of:
        memory_of(arguments.memory_of, arguments.sizes[0])
        return
    record = measure(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
