"""Image classification with exact kernels: dense and convolutional networks, several activations, a Gaussian SVM.

    python benchmarks/images.py digits --json benchmarks/results/images_digits.json --docs docs/measured
    python benchmarks/images.py fashion --folder /usr/share/datasets/fashion-mnist --docs docs/measured
    python benchmarks/images.py fashion … --train 10000 --only conv:gelu conv:relu     # the best ones on more images

Fashion-MNIST is Debian's package dataset-fashion-mnist, read where it lies; the digits (8×8) are scikit-learn's.
Every classifier sees the same images, the first ones of the training file and the first ones of the test file.
Chosen on training images only: depth and variances on the first 1000 of them, or 200 for pooled networks (70 % to fit,
30 % to check), then NNGP or NTK and the ridge on four fifths against one fifth of all of them. The test images are used
once. The classifier is kernel ridge regression on indicators of the classes. Pixels are divided by their root mean
square: black stays black.

Strips of kernels and finished rows are kept in ``--work``, and an interrupted run goes on from there.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 (after the number of threads)
from _learning import Row, Rows, accuracy, choose, figure, page, split, table  # noqa: E402
from _memory import forget_peak, peak_memory  # noqa: E402

import holokern as hk  # noqa: E402
from holokern import layers as L  # noqa: E402, N812 (as in the documentation)
from holokern.files import prepare_folder, write_atomically  # noqa: E402
from holokern.paper.experiments import machine  # noqa: E402

ACTIVATIONS = ("relu", "gelu", "erf", "elu")
KINDS = {"digits": ("dense", "conv", "pooled"), "fashion": ("dense", "conv")}
SIZES = {"digits": (500, 500), "fashion": (3000, 2000)}
#: Candidates: hidden layers of each kind of network, then (W_std², b_std²).
DEPTHS = {"dense": (2, 4), "conv": (4,), "pooled": (4,)}
#: Stride of the first convolution: 14×14 positions instead of 28×28 take a quarter of the time.
STRIDES = {"digits": 1, "fashion": 2}
VARIANCES = ((2.0, 0.01), (2.0, 0.5), (4.0, 0.1))
CHOICES, STRIP = {"dense": 1000, "conv": 1000, "pooled": 200}, 500
TITLES = {"digits": "Digits, 8×8", "fashion": "Fashion-MNIST"}
NOTES = (
    "Conv: 3×3 with the same size, flattened at the end; on Fashion-MNIST the first one has stride 2, so that 14×14 "
    "positions remain. Pooled: with a mean over positions instead of flattened. Time is that of "
    "the kernels of all pairs, on one core unless said otherwise, while other programs used the same cores; memory is "
    "what computing 500 rows of them adds. Near 86 % on 2000 images the standard error is 0.8 %, so small "
    "differences say nothing. Numbers that Novak et al. (2019) published for all images are not quoted here, because "
    "they could not be checked."
)
COSTS, WIDTHS = (1.0, 3.0, 10.0, 30.0, 100.0), (0.25, 0.5, 1.0, 2.0, 4.0)

Data = dict[str, Any]


def read_idx(path: Path) -> np.ndarray:
    """An array of bytes in the format of MNIST, compressed or not."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        raw = stream.read()
    rank = raw[3]
    shape = np.frombuffer(raw, ">u4", rank, 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(shape)


def load(name: str, folder: Path, train: int, test: int) -> Data:
    """The first images of each part, with one channel."""
    if name == "digits":
        from sklearn.datasets import load_digits

        pixels, labels = load_digits(return_X_y=True)
        parts = [pixels[:train], labels[:train], pixels[train : train + test], labels[train : train + test]]
        side = 8
    else:
        names = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
        found = [next(iter(sorted(folder.glob(f"{n}-ubyte*"))), None) for n in names]
        if None in found:
            raise SystemExit(f"no Fashion-MNIST in {folder}; install dataset-fashion-mnist or give another --folder")
        parts = [read_idx(path)[:count] for path, count in zip(found, (train, train, test, test), strict=True) if path]
        side = 28
    x, y, other, truth = parts
    scale = np.sqrt(np.mean(x.astype(float) ** 2))
    shaped = [(part / scale).reshape(len(part), side, side, 1) for part in (x, other)]
    found = {"x": shaped[0], "y": np.asarray(y), "test": shaped[1], "truth": np.asarray(truth)}
    return found | {"stride": STRIDES[name]}


def network(kind: str, activation: str, depth: int, weight: float, bias: float, stride: int) -> hk.Network:
    keys = {"W_std": weight**0.5, "b_std": bias**0.5}
    if kind == "dense":
        hidden = [L.Dense(**keys), L.Activation(activation)] * depth
        return hk.Network(L.Serial(L.Flatten(), *hidden, L.Dense(**keys)))
    strides = [stride] + [1] * (depth - 1)
    hidden = [one for s in strides for one in (L.Conv(3, stride=s, padding="same", **keys), L.Activation(activation))]
    end = L.GlobalAvgPool() if kind == "pooled" else L.Flatten()
    return hk.Network(L.Serial(*hidden, end, L.Dense(**keys)))


def strips(net: hk.Network, data: Data, threads: int, folder: Path) -> Iterator[tuple[str, int, Row]]:
    """Rows of both kernels, each part kept in a file: training images with those before them, test with training."""
    x, test = data["x"], data["test"]
    for start in range(0, len(x), STRIP):
        rows = x[start : start + STRIP]
        tasks = [(rows, None)] if not start else [(rows, x[:start]), (rows, None)]
        yield "train", start, strip(net, tasks, threads, folder / f"train_{start}.npz")
    for start in range(0, len(test), STRIP):
        yield "test", start, strip(net, [(test[start : start + STRIP], x)], threads, folder / f"test_{start}.npz")


def strip(net: hk.Network, tasks: list[Any], threads: int, path: Path) -> Row:
    """The matrices of some rows side by side, with CPU seconds and growth of the peak of memory."""
    if path.exists():
        try:
            return dict(np.load(path))
        except (OSError, ValueError, EOFError):
            path.unlink()
    forget_peak()
    before, start = peak_memory(), time.process_time()
    found = [net.both(a, b, threads=threads) for a, b in tasks]
    done: Row = {"seconds": time.process_time() - start, "bytes": peak_memory() - before}
    done |= {name: np.hstack([pair[i] for pair in found]) for i, name in enumerate(("nngp", "ntk"))}
    part = path.with_suffix(".part.npz")
    np.savez(part, **done)
    part.replace(path)
    return done


def kernels(net: hk.Network, data: Data, threads: int, folder: Path, label: str) -> tuple[Row, Row, Row]:
    """Both kernels of training images, of test with training images, and what they cost."""
    prepare_folder(folder)
    count = len(data["x"])
    train = {name: np.zeros((count, count)) for name in ("nngp", "ntk")}
    test = {name: np.zeros((len(data["test"]), count)) for name in ("nngp", "ntk")}
    cost: Row = {"seconds": 0.0, "bytes": 0}
    for part, start, found in strips(net, data, threads, folder):
        cost = {
            "seconds": cost["seconds"] + float(found["seconds"]),
            "bytes": max(cost["bytes"], int(found["bytes"])),
        }
        for name in ("nngp", "ntk"):
            block = found[name]
            if part == "test":
                test[name][start : start + len(block)] = block
            else:
                train[name][start : start + len(block), : block.shape[1]] = block
                train[name][: block.shape[1], start : start + len(block)] = block.T
        print(f"  {label}: {part} from {start}, {cost['seconds']:.0f} CPU s so far", flush=True)
    return train, test, cost


def architecture(kind: str, activation: str, data: Data, threads: int) -> Row:
    """Depth and variances by the accuracy on a part of the first training images."""
    some, labels = data["x"][: CHOICES[kind]], data["y"][: CHOICES[kind]]
    fit, check = split(len(some), 0.7)
    best: Row = {"chosen at": -1.0}
    for depth in DEPTHS[kind]:
        for weight, bias in VARIANCES:
            both = network(kind, activation, depth, weight, bias, data["stride"]).both(some, threads=threads)
            score = choose(dict(zip(("nngp", "ntk"), both, strict=True)), labels, fit, check)["validation"]
            print(f"  {kind} {activation} depth {depth}, W² = {weight}, b² = {bias}: {score:.2f}", flush=True)
            if score > best["chosen at"]:
                best = {"chosen at": score, "depth": depth, "W_var": weight, "b_var": bias}
    return best


def run(kind: str, activation: str, chosen: Row, data: Data, options: argparse.Namespace) -> Row:
    """One row of the table."""
    setting = [kind, activation, chosen["depth"], chosen["W_var"], chosen["b_var"], data["stride"]]
    net = network(*setting)
    mark = hashlib.sha256(json.dumps([options.data, len(data["x"]), len(data["test"]), *setting]).encode()).hexdigest()
    folder = options.work / mark[:16]
    train, test, cost = kernels(net, data, options.threads, folder, f"{kind} {activation}")
    picked = choose(train, data["y"], *split(len(data["x"]), 0.8))
    name = picked["kernel"]
    score = accuracy(train[name], test[name], data["y"], data["truth"], picked["ridge"])
    others = {n: accuracy(train[n], test[n], data["y"], data["truth"], picked["ridge"]) for n in train if n != name}
    row = chosen | picked | {"accuracy": score, "other kernel": others}
    return row | {"cpu_seconds": cost["seconds"], "memory_mb": cost["bytes"] / 1e6, "threads": options.threads}


def gaussian_svm(data: Data) -> Row:
    """C and the width chosen on the same part of the training images."""
    from sklearn.svm import SVC

    x, test = (part.reshape(len(part), -1) for part in (data["x"], data["test"]))
    fit, check = split(len(x), 0.8)
    spread = x.shape[1] * x.var()
    start = time.process_time()
    best: Row = {"validation": -1.0}
    for cost in COSTS:
        for width in WIDTHS:
            machine_ = SVC(C=cost, gamma=width / spread).fit(x[fit], data["y"][fit])
            score = 100 * float(machine_.score(x[check], data["y"][check]))
            if score > best["validation"]:
                best = {"validation": score, "C": cost, "gamma": width / spread}
    final = SVC(C=best["C"], gamma=best["gamma"]).fit(x, data["y"])
    score = 100 * float(final.score(test, data["truth"]))
    return best | {"accuracy": score, "cpu_seconds": time.process_time() - start, "memory_mb": None}


COLUMNS = (
    "network", "activation", "training images", "hidden layers", "W²", "b²", "kernel", "ridge", "validation %",
    "test %", "CPU s", "memory MB",
)  # fmt: skip


def cells(rows: list[Row]) -> list[list[Any]]:
    keys = ("kind", "activation", "train", "depth", "W_var", "b_var", "kernel", "ridge", "validation", "accuracy")
    return [[*(row.get(key) for key in keys), row["cpu_seconds"], row["memory_mb"]] for row in rows]


def draw(rows: list[Row], path: Path, name: str) -> None:
    """One dot for each row, with one standard error to both sides."""
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    with figure(path, figsize=(7, 1 + 0.28 * len(rows))) as axes:
        for place, row in enumerate(rows):
            share = row["accuracy"] / 100
            error = 100 * (share * (1 - share) / row["test"]) ** 0.5
            colour = f"C{kinds.index(row['kind'])}"
            axes.errorbar(row["accuracy"], place, xerr=error, fmt="o", color=colour, markersize=5, linewidth=1)
        words = [" ".join(w for w in (row["kind"], row["activation"]) if w != "–") for row in rows]
        axes.set_yticks(range(len(rows)), [f"{w}, {r['train']} images" for w, r in zip(words, rows, strict=True)])
        axes.tick_params(labelsize=8)
        axes.invert_yaxis()
        axes.grid(axis="x", linewidth=0.4)
        axes.set_xlabel("test accuracy in percent, with one standard error", fontsize=9)
        axes.set_title(TITLES[name], fontsize=10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=list(KINDS))
    parser.add_argument("--folder", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--train", type=int, help="training images (digits 500, fashion 3000)")
    parser.add_argument("--test", type=int, help="test images (digits 500, fashion 2000)")
    parser.add_argument("--only", nargs="+", metavar="KIND:ACTIVATION", help="such as conv:gelu; all by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "holokern-bench" / "images")
    parser.add_argument("--json", type=Path, help="all rows of this data set")
    parser.add_argument("--docs", type=Path, help="folder for the page and the figure, docs/measured")
    options = parser.parse_args()
    train, test = (
        given or usual for given, usual in zip((options.train, options.test), SIZES[options.data], strict=True)
    )
    data = load(options.data, options.folder, train, test)
    every = [f"{kind}:{activation}" for kind in KINDS[options.data] for activation in ACTIVATIONS]
    wanted = [pair.split(":") for pair in options.only or every]
    rows, choices = Rows(options.work / "rows.jsonl"), Rows(options.work / "choices.jsonl")
    size = {"data": options.data, "train": len(data["x"]), "test": len(data["test"])}
    prepare_folder(options.work)
    rows.get(size | {"kind": "Gaussian SVM", "activation": "–"}, lambda: gaussian_svm(data))
    for kind, activation in wanted:
        key = {"kind": kind, "activation": activation}
        chosen = choices.get(
            {"data": options.data, **key}, lambda k=kind, a=activation: architecture(k, a, data, options.threads)
        )
        plain = {name: chosen[name] for name in ("chosen at", "depth", "W_var", "b_var")}
        row = rows.get(size | key, lambda k=kind, a=activation, c=plain: run(k, a, c, data, options))
        print(f"{kind} {activation}: {row['accuracy']:.2f} %, {row['cpu_seconds']:.0f} CPU s", flush=True)
    found = sorted(
        (row for row in rows.found if row["data"] == options.data),
        key=lambda row: (row["train"], row["kind"] != "Gaussian SVM", row["kind"] != "dense", row["kind"]),
    )
    print(table(COLUMNS, cells(found)))
    protocol = " ".join(__doc__.split("\n\n")[2].split())
    if options.json:
        record = {"machine": machine(), "protocol": protocol, "rows": found}
        write_atomically(options.json, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if options.docs:
        name = f"images_{options.data}"
        draw(found, prepare_folder(options.docs) / f"{name}.svg", options.data)
        done = {f"{row['kind']}:{row['activation']}" for row in found}
        missing = ", ".join(pair.replace(":", " ") for pair in every if pair not in done)
        text = f"{protocol} {NOTES}" + (f" Not run: {missing}." if missing else "")
        page(options.docs, name, TITLES[options.data], text, COLUMNS, cells(found))


if __name__ == "__main__":
    main()
