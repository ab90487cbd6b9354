"""Convolutional kernels, NNGP and NTK together: ours and neural-tangents in one run on one core.

Every case runs in a fresh process: CPU time until the first result, with imports of the library and all that is
compiled; the least of later calls; and by how much the first full call raises the peak of memory. A ratio is theirs
divided by ours. Images are random numbers; half of them have black borders. A pair-layer is one entry of a covariance
(pair of inputs and position, or pair of positions) taken through one hidden layer; all N² pairs count. Nothing is
batched on either side. The virtual environment of neural-tangents is made as kernel.py says; without it that part is
left out.

    python benchmarks/architectures.py --peer ~/.cache/holokern-bench/nt --json benchmarks/results/architectures.json
        --docs docs/measured
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402 (after the number of threads)
from _learning import page  # noqa: E402
from _memory import forget_peak, peak_memory  # noqa: E402

PEER = Path.home() / ".cache" / "holokern-bench" / "nt"
W_STD, B_STD = 1.4, 0.1
SHOWN = 4
LIMIT = 1800  # seconds for one case, so that a run ends
#: name: hidden layers, side of the images, channels, images, whether global pooling ends the network
SETTINGS: dict[str, tuple[int, int, int, int, bool]] = {
    "8 layers, 28×28, no pooling": (8, 28, 1, 100, False),
    "4 layers, 8×8, global pooling": (4, 8, 1, 32, True),
    "4 layers, 14×14, global pooling": (4, 14, 1, 8, True),
    "21 layers, 32×32, no pooling": (21, 32, 3, 24, False),
    "21 layers, 32×32, global pooling": (21, 32, 3, 2, True),
}
CLOSED, OTHERS = ("relu", "erf", "gelu"), ("elu", "tanh")
#: Milliseconds an entry that the README of neural-tangents reports for the last two, on more than 56 cores.
PUBLISHED = {"21 layers, 32×32, no pooling": 0.341, "21 layers, 32×32, global pooling": 258.6}
#: Found with 30 digits: the tangent kernel of an input with itself needs no angles, only sums.
OFF = (
    "Where the difference for relu is about 5e-9 it is on the diagonal of the tangent kernel, and neural-tangents is "
    "off: the exact recursion of an image with itself, with 30 digits, agrees with holokern to 1e-15."
)

Case = dict[str, Any]


def images(side: int, channels: int, count: int) -> np.ndarray:
    """Random images with a black border of two pixels on half of them, as scans have."""
    found = np.random.default_rng(0).standard_normal((count, side, side, channels))
    found[::2, :2] = found[::2, -2:] = 0
    return found


def ours(case: Case) -> Callable[[], Any]:
    """Prepared on a few images: machine code and tables are there."""
    import holokern as hk
    from holokern import layers as L  # noqa: N812 (as in the documentation)

    depth, side, channels, count, pooled = SETTINGS[case["setting"]]
    hidden = [L.Conv(3, W_std=W_STD, b_std=B_STD, padding="same"), L.Activation(case["activation"])] * depth
    end = L.GlobalAvgPool() if pooled else L.Flatten()
    network = hk.Network(L.Serial(*hidden, end, L.Dense(W_std=W_STD, b_std=B_STD)))
    points = images(side, channels, count)
    network.both(points[:2], threads=1)
    return lambda: network.both(points, threads=1)


def theirs(case: Case) -> Callable[[], Any]:
    """Compiled, not yet run."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from neural_tangents import stax

    depth, side, channels, count, pooled = SETTINGS[case["setting"]]
    act = {"relu": stax.Relu, "erf": stax.Erf, "gelu": stax.Gelu}[case["activation"]]
    hidden = [stax.Conv(1, (3, 3), padding="SAME", W_std=W_STD, b_std=B_STD), act()] * depth
    end = stax.GlobalAvgPool() if pooled else stax.Flatten()
    function = stax.serial(*hidden, end, stax.Dense(1, W_std=W_STD, b_std=B_STD))[2]
    points = jax.numpy.asarray(images(side, channels, count))
    compiled = jax.jit(lambda x: tuple(function(x, None, ("nngp", "ntk")))).lower(points).compile()
    return lambda: jax.block_until_ready(compiled(points))


def measure(case: Case) -> Case:
    """CPU seconds until the first result and of the best later call, and by how much the first raises the peak."""
    start = time.process_time()
    task = (theirs if case["peer"] else ours)(case)
    forget_peak()
    before = peak_memory()
    both = task()
    first, memory = time.process_time() - start, peak_memory() - before
    shown = [np.asarray(matrix)[:SHOWN, :SHOWN].tolist() for matrix in both]
    del both
    seconds: list[float] = []
    while not seconds or (len(seconds) < 3 and sum(seconds) < 20):
        start = time.process_time()
        task()
        seconds.append(time.process_time() - start)
    depth, side, _, count, pooled = SETTINGS[case["setting"]]
    best = min(seconds)
    pairs = count**2 * depth * (side**4 if pooled else side**2)
    return case | {
        "first": first,
        "seconds": best,
        "memory_mb": memory / 1e6,
        "pair_layers_a_second": pairs / best,
        "ms_an_entry": 1000 * best / count**2,
        "shown": shown,
    }


def run(python: Path | str, case: Case) -> Case:
    """The case in a process of its own; a failure is a result too."""
    command = [str(python), __file__, "--case", json.dumps(case)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return case | {"error": f"more than {LIMIT} s"}
    if done.returncode:
        return case | {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: Case = json.loads(done.stdout.splitlines()[-1])
    return found


def gap(mine: Case, other: Case) -> float:
    """Largest difference of the shown corners, relative to the largest entry."""
    pairs = zip(mine["shown"], other["shown"], strict=True)
    return max(float(np.max(np.abs(np.subtract(a, b))) / np.max(np.abs(b))) for a, b in pairs)


def report(rows: list[Case]) -> None:
    for row in rows:
        if row["peer"]:
            continue
        head = f"{row['setting']:34}{row['activation']:6}"
        if "error" in row:
            print(f"{head} {row['error']}", flush=True)
            continue
        line = f"{head}{row['seconds']:9.3f} s {row['ms_an_entry']:9.3f} ms an entry"
        line += f"{row['pair_layers_a_second']:10.2e} pair-layers/s {row['memory_mb']:8.1f} MB"
        same = [r for r in rows if r["peer"] and (r["setting"], r["activation"]) == (row["setting"], row["activation"])]
        for other in same:
            if "error" in other:
                line += f"  neural-tangents: {other['error']}"
            else:
                line += f"  NT/ours: time {other['seconds'] / row['seconds']:.2f}"
                line += f", memory {other['memory_mb'] / max(row['memory_mb'], 0.1):.1f}, gap {gap(row, other):.0e}"
        print(line, flush=True)


def documented(rows: list[Case], folder: Path) -> None:
    """The table as a page."""
    peers = {(r["setting"], r["activation"]): r for r in rows if r["peer"] and "error" not in r}
    lines = []
    for row in rows:
        if row["peer"] or "error" in row:
            continue
        other = peers.get((row["setting"], row["activation"]))
        ratios = [None, None, None]
        if other:
            ratios = [other["seconds"] / row["seconds"], other["memory_mb"] / row["memory_mb"], gap(row, other)]
        keys = ("setting", "activation", "first", "seconds", "ms_an_entry", "pair_layers_a_second", "memory_mb")
        lines.append([*(row[key] for key in keys), *ratios])
    columns = (
        "network", "activation", "first call, s", "next calls, s", "ms an entry", "pair-layers a second", "memory MB",
        "times faster than neural-tangents", "its memory over ours", "difference",
    )  # fmt: skip
    text = (
        " ".join(__doc__.split("\n\n")[1].split()) + " CPU seconds. The script may be started several times; ours and "
    )
    text += "theirs of one case run one after the other. The README of neural-tangents reports "
    text += " and ".join(f"{ms} ms an entry for {name}" for name, ms in PUBLISHED.items()) + " on more than 56 cores."
    page(folder, "architectures", "Convolutional kernels", f"{text}\n\n{verdict(rows)}", columns, lines)


def verdict(rows: list[Case]) -> str:
    """What the measurements meet and miss of what was aimed at, as a list."""
    good = {(r["setting"], r["activation"], r["peer"]): r for r in rows if "error" not in r}
    met: dict[str, list[str]] = {name: [] for name in ("met", "missed", "not measured")}
    for setting in SETTINGS:
        for activation in (*CLOSED, *OTHERS):
            mine, other = (good.get((setting, activation, peer)) for peer in (False, True))
            relu = good.get((setting, "relu", False))
            name = f"{activation} ({setting}): "
            if not mine or (activation in CLOSED and setting not in PUBLISHED and not other):
                met["not measured"].append(name[:-2])
            elif other:
                faster, less = other["seconds"] / mine["seconds"], other["memory_mb"] / mine["memory_mb"]
                met["met" if faster >= 3 else "missed"].append(f"{name}{faster:.1f} times faster")
                met["met" if less >= 4 else "missed"].append(f"{name}{less:.1f} times less memory")
            elif activation in OTHERS and relu:
                slower = mine["seconds"] / relu["seconds"]
                met["met" if slower <= 2 else "missed"].append(f"{name}{slower:.1f} times the time of relu")
    aims = "Aims: 3 times faster than neural-tangents with a quarter of its memory for relu, erf and gelu; elu and tanh"
    lines = [f"- {name}: {'; '.join(found) or 'none'}." for name, found in met.items()]
    return "\n".join([f"{aims} in at most twice the time of relu.", "", *lines, "", OFF])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, default=PEER, help="virtual environment of neural-tangents")
    parser.add_argument("--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--activations", nargs="+", default=[*CLOSED, *OTHERS])
    parser.add_argument("--json", type=Path, help="everything that was measured; other cases in it stay")
    parser.add_argument("--docs", type=Path, help="folder for the page, docs/measured")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if options.case:
        print(json.dumps(measure(json.loads(options.case))))
        return
    from holokern.paper.experiments import machine

    python = options.peer / "bin" / "python"
    if not python.exists():
        print(f"no neural-tangents at {python}: its part is left out (see --help)", flush=True)
    rows: list[Case] = json.loads(options.json.read_text())["rows"] if options.json and options.json.exists() else []
    for setting in options.settings:
        for activation in options.activations:
            case = {"setting": setting, "activation": activation, "peer": False}
            found = [run(sys.executable, case)]
            if activation in CLOSED and python.exists() and setting not in PUBLISHED:
                found.append(run(python, case | {"peer": True}))
            report(found)
            rows = [r for r in rows if (r["setting"], r["activation"]) != (setting, activation)] + found
            if options.json:
                record = {"machine": machine(), "published_ms": PUBLISHED, "rows": rows}
                options.json.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.docs:
        order = list(SETTINGS)
        documented(sorted(rows, key=lambda row: order.index(row["setting"])), options.docs)


if __name__ == "__main__":
    main()
