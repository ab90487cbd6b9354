"""Time series of the UCR archive: recurrent networks of infinite width against dense ones.

    pip download --no-deps aeon                         # the sets lie inside the wheel
    python benchmarks/sequences.py aeon-*.whl --json benchmarks/results/sequences.json --docs docs/measured

The archive's own training and test parts. Variances, depth, NNGP or NTK and the ridge are those with the best
leave-one-out accuracy on the training part; the test part is used once. The classifier is kernel ridge regression on
indicators of the classes. Networks:

- dense: the series as one vector;
- recurrent, last: h_t = σ(W h_{t-1} + U x_t + b), then a dense layer on the last state;
- recurrent, mean: the same on the mean of all states (all pairs of steps, so only where the series are short);
- conv: two convolutions of width 9 and the mean over time.

Every finished row is kept in ``--work``, and an interrupted run goes on from there.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 (after the number of threads)
from _learning import RIDGES, Row, Rows, accuracy, bars, figure, page, table, targets  # noqa: E402

import holokern as hk  # noqa: E402
from holokern import layers as L  # noqa: E402, N812 (as in the documentation)
from holokern.files import prepare_folder, write_atomically  # noqa: E402
from holokern.paper.experiments import machine  # noqa: E402

SETS = ("ItalyPowerDemand", "GunPoint", "ArrowHead", "OSULeaf")
ACTIVATIONS = ("relu", "gelu", "erf", "tanh")
KINDS = ("dense", "recurrent, last", "recurrent, mean", "conv")
#: Pairs of steps times pairs of series that are still worth computing for the kinds that need all of them.
MOST_PAIRS = 1e9
DEPTHS, WEIGHTS, BIASES = (1, 2, 4), (1.0, 1.5, 2.0), (0.0, 0.1)


def read(source: Path, name: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Series (number, steps, 1) and labels, from a wheel of aeon or a folder with one folder a set."""
    path = f"{name}/{name}_{part}.ts"
    if source.is_dir():
        text = (source / path).read_text(encoding="utf-8")
    else:
        with zipfile.ZipFile(source) as wheel:
            text = wheel.read(f"aeon/datasets/data/{path}").decode("utf-8")
    lines = [line.rsplit(":", 1) for line in text.splitlines() if line.strip() and line[0] not in "#@"]
    series = np.array([[float(v) for v in values.split(",")] for values, _ in lines])
    return series[:, :, None], np.array([label.strip() for _, label in lines])


def networks(kind: str, activation: str) -> Iterator[tuple[Row, hk.Network]]:
    """Candidates with what distinguishes them."""
    act = L.Activation(activation)
    for weight, bias in itertools.product(WEIGHTS, BIASES):
        keys = {"W_std": weight**0.5, "b_std": bias**0.5}
        setting: Row = {"W_var": weight, "b_var": bias}
        if kind == "dense":
            for depth in DEPTHS:
                yield (
                    setting | {"depth": depth},
                    hk.Network(L.Serial(L.Flatten(), *([L.Dense(**keys), act] * depth), L.Dense(**keys))),
                )
        elif kind == "conv":
            window = L.Conv(9, padding="same", **keys)
            yield setting, hk.Network(L.Serial(window, act, window, act, L.GlobalAvgPool(), L.Dense(**keys)))
        else:
            end = L.Index(-1) if kind.endswith("last") else L.GlobalAvgPool()
            yield setting, hk.Network(L.Serial(L.Recurrent(act, U_std=1.0, **keys), end, L.Dense(**keys)))


def left_out(kernel: np.ndarray, labels: np.ndarray) -> Iterator[tuple[float, float]]:
    """(ridge, leave-one-out accuracy in percent), by the formula for the residuals."""
    wanted, classes = targets(labels), np.unique(labels)
    values, vectors = np.linalg.eigh(kernel)
    scale = float(np.trace(kernel)) / len(kernel)
    for ridge in RIDGES:
        inverse = (vectors / (np.maximum(values, 0) + ridge * scale)) @ vectors.T
        guess = wanted - (inverse @ wanted) / np.diag(inverse)[:, None]
        yield ridge, 100 * float(np.mean(classes[guess.argmax(axis=1)] == labels))


def run(name: str, kind: str, activation: str, source: Path, threads: int) -> Row:
    (x, y), (test, truth) = read(source, name, "TRAIN"), read(source, name, "TEST")
    size: Row = {"train_size": len(x), "test_size": len(test), "steps": x.shape[1]}
    pairs = (len(x) ** 2 / 2) * len(list(itertools.product(WEIGHTS, BIASES))) + len(x) * len(test)
    if kind in {"recurrent, mean", "conv"} and pairs * x.shape[1] ** 2 > MOST_PAIRS:
        return size | {"skipped": "too many pairs of steps"}
    start = time.process_time()
    chosen: tuple[float, Row, hk.Network, np.ndarray] | None = None
    for setting, net in networks(kind, activation):
        for label, kernel in zip(("nngp", "ntk"), net.both(x, threads=threads), strict=True):
            for ridge, score in left_out(kernel, y):
                if chosen is None or score > chosen[0]:
                    chosen = score, setting | {"kernel": label, "ridge": ridge}, net, kernel
    assert chosen is not None
    score, setting, net, kernel = chosen
    cross = (net.nngp if setting["kernel"] == "nngp" else net.ntk)(test, x, threads=threads)
    result = accuracy(kernel, cross, y, truth, setting["ridge"])
    return size | setting | {"left_out": score, "accuracy": result, "cpu_seconds": time.process_time() - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the wheel of aeon, or a folder with one folder a set")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--activations", nargs="+", default=list(ACTIVATIONS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "holokern-bench" / "sequences")
    parser.add_argument("--json", type=Path, help="all rows")
    parser.add_argument("--docs", type=Path, help="folder for the page and the figure, docs/measured")
    options = parser.parse_args()
    rows = Rows(options.work / "rows.jsonl")
    cases = list(itertools.product(options.sets, options.kinds, options.activations))
    for number, (name, kind, activation) in enumerate(cases, start=1):
        key = {"set": name, "kind": kind, "activation": activation}
        row = rows.get(key, lambda k=key: run(k["set"], k["kind"], k["activation"], options.source, options.threads))
        shown = row.get("skipped") or f"{row['accuracy']:.2f} % ({row['cpu_seconds']:.0f} s)"
        print(f"[{number}/{len(cases)}] {name}, {kind}, {activation}: {shown}", flush=True)
    done = [row for row in rows.found if "accuracy" in row]
    names = list(dict.fromkeys(row["set"] for row in done))
    scores = {(r["kind"], r["activation"], r["set"]): r["accuracy"] for r in done}
    sizes = {row["set"]: row["test_size"] for row in done}
    pairs = list(dict.fromkeys((r["kind"], r["activation"]) for r in done))
    columns = ("network", "activation", *names)
    lines = [[*pair, *(scores.get((*pair, name)) for name in names)] for pair in pairs]
    print(table(columns, lines))
    if options.json:
        record = {"machine": machine(), "rows": rows.found}
        write_atomically(options.json, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if options.docs:
        best: dict[str, dict[str, float]] = {}
        for row in done:  # of each kind, the activation with the best leave-one-out accuracy
            same = [r for r in done if (r["set"], r["kind"]) == (row["set"], row["kind"])]
            best.setdefault(row["set"], {})[row["kind"]] = max(same, key=lambda r: r["left_out"])["accuracy"]
        with figure(prepare_folder(options.docs) / "sequences.svg", figsize=(7, 3.5)) as axes:
            bars(axes, best, "test accuracy in percent")
            axes.set_title("UCR, activation chosen by leave-one-out accuracy", fontsize=10)
        text = "\n\n".join(__doc__.split("\n\n")[2:4]) + "\n\nTest accuracy in percent; a dash where nothing was run. "
        text += "Test series: " + ", ".join(f"{sizes[name]} of {name}" for name in names) + "."
        page(options.docs, "sequences", "Time series: UCR", text, columns, lines)


if __name__ == "__main__":
    main()
