"""The protocol of Arora et al. (2020) on the 90 small UCI sets: NTK of 1–5 layers, some of them fixed, and an SVM.

The depth, the number of fixed layers and C are chosen on one split; the mean accuracy over four folds is reported.
Each finished set is one line of the results file, so an interrupted run goes on where it stopped.

    python benchmarks/uci.py FOLDER --results uci.jsonl [--activations relu gelu erf] [--jobs 2] [--only iris wine]

FOLDER holds one folder a set (``uci/data`` of the archive). A figure is drawn when matplotlib is at hand.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from holokern.network import Network

DEPTHS = 5
COSTS = [10.0**n for n in range(-2, 5)]
MOST_STEPS = 100_000
PUBLISHED = {"NTK (Arora et al. 2020)": 81.95, "random forest": 81.56, "Gaussian SVM": 81.03}


def read_set(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of a set; its description names the data file."""
    lines = (folder / f"{folder.name}.txt").read_text(encoding="latin-1").splitlines()
    keys = dict(line.split("=", 1) for line in lines if "=" in line)
    table = np.loadtxt(folder / keys["fich1"].split()[0].strip(), skiprows=1, ndmin=2)
    return table[:, 1:-1], table[:, -1].astype(int)


def read_splits(path: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of lines: training indices, test indices."""
    rows = [
        np.array(line.split(), dtype=int) for line in path.read_text(encoding="latin-1").splitlines() if line.strip()
    ]
    return list(zip(rows[::2], rows[1::2], strict=True))


def kernels(x: np.ndarray, activation: str) -> Iterator[tuple[int, int, np.ndarray]]:
    """(depth, fixed, Θ): the first ``fixed`` layers are not trained, so Θ starts after them."""
    first = x @ x.T
    started: dict[int, np.ndarray] = {0: first}
    for depth, (sigma, dot) in enumerate(Network(activation, DEPTHS).layers(x), start=1):
        started = {fixed: theta * dot + sigma for fixed, theta in started.items()}
        for fixed, theta in started.items():
            yield depth, fixed, theta
        started[depth] = sigma


def accuracy(theta: np.ndarray, y: np.ndarray, split: tuple[np.ndarray, np.ndarray], cost: float) -> float:
    """Of the SVM that is trained on the first part and tested on the second, in percent."""
    train, test = split
    machine = SVC(kernel="precomputed", C=cost, max_iter=MOST_STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(theta[np.ix_(train, train)], y[train])
    return 100 * float(np.mean(machine.predict(theta[np.ix_(test, train)]) == y[test]))


def run_set(folder: Path, activations: list[str]) -> dict[str, object]:
    """Choose on the one split, then test on the four folds; ties keep the first choice."""
    start = time.perf_counter()
    x, y = read_set(folder)
    (choice,) = read_splits(folder / "conxuntos.dat")
    folds = read_splits(folder / "conxuntos_kfold.dat")
    best: tuple[float, dict[str, object], np.ndarray] | None = None
    for activation in activations:
        for depth, fixed, theta in kernels(x, activation):
            for cost in COSTS:
                score = accuracy(theta, y, choice, cost)
                if best is None or score > best[0]:
                    best = score, {"activation": activation, "depth": depth, "fixed": fixed, "C": cost}, theta
    assert best is not None
    validation, chosen, theta = best
    scores = [accuracy(theta, y, fold, float(chosen["C"])) for fold in folds]  # type: ignore[arg-type]
    return {
        "set": folder.name,
        "candidates": activations,
        "samples": len(y),
        "features": x.shape[1],
        "classes": len(np.unique(y)),
        **chosen,
        "validation": validation,
        "folds": scores,
        "accuracy": float(np.mean(scores)),
        "seconds": time.perf_counter() - start,
    }


def attempt(folder: Path, activations: list[str]) -> dict[str, object]:
    """The result, or the error as a result, so that every set is accounted for."""
    try:
        return run_set(folder, activations)
    except Exception as error:
        return {"set": folder.name, "candidates": activations, "error": f"{type(error).__name__}: {error}"}


def read_results(path: Path, activations: list[str]) -> dict[str, dict[str, object]]:
    """Finished sets for these activations; failures and a last line cut off by an interruption are tried again."""
    done: dict[str, dict[str, object]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["candidates"] == activations and "error" not in row:
            done[row["set"]] = row
    return done


def write_table(rows: list[dict[str, object]], failed: list[dict[str, object]]) -> None:
    columns = {"samples": 7, "features": 8, "classes": 7, "activation": 10, "depth": 5, "fixed": 5, "C": 8}
    print(f"\n{'set':32} " + " ".join(f"{name:>{width}}" for name, width in columns.items()) + " accuracy")
    for row in rows:
        cells = " ".join(f"{row[name]!s:>{width}}" for name, width in columns.items())
        print(f"{row['set']:32} {cells} {row['accuracy']:8.2f}")
    for row in failed:
        print(f"{row['set']:32} failed: {row['error']}")
    if rows:
        scores = np.array([row["accuracy"] for row in rows], dtype=float)
        print(f"\nmean {scores.mean():.2f} ± {scores.std():.2f} over {len(scores)} sets; {len(failed)} failed")
        print("published means over all 90 sets: " + ", ".join(f"{name} {mean}" for name, mean in PUBLISHED.items()))


def draw(rows: list[dict[str, object]], reference: dict[str, dict[str, object]], path: Path) -> None:
    """Differences a set: against ReLU alone when that was run, else against the mean."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("matplotlib is not installed; no figure", file=sys.stderr)
        return
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    scores = np.array([row["accuracy"] for row in rows], dtype=float)
    paired = all(row["set"] in reference for row in rows)
    base = np.array([reference[str(row["set"])]["accuracy"] for row in rows], dtype=float) if paired else scores.mean()
    order = np.argsort(scores - base)
    figure, axes = plt.subplots(figsize=(6, 2 + 0.16 * len(rows)))
    axes.barh(np.arange(len(rows)), (scores - base)[order])
    axes.set_yticks(np.arange(len(rows)), [str(rows[i]["set"]) for i in order], fontsize=6)
    axes.set_xlabel("accuracy minus that of relu, in points" if paired else "accuracy minus the mean, in points")
    figure.tight_layout()
    figure.savefig(path)
    print(f"figure: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, default=Path("uci.jsonl"))
    parser.add_argument("--activations", nargs="+", default=["relu"])
    parser.add_argument("--only", nargs="+", help="names of sets")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    # A set is known by its own description file; small sets come first.
    folders = sorted(
        (
            f
            for f in options.folder.iterdir()
            if (f / f"{f.name}.txt").is_file() and (not options.only or f.name in options.only)
        ),
        key=lambda f: (f / "conxuntos_kfold.dat").stat().st_size,
    )
    done = read_results(options.results, options.activations)
    todo = [folder for folder in folders if folder.name not in done]
    print(f"{len(folders)} sets, {len(folders) - len(todo)} already done", file=sys.stderr)
    results = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(attempt)(folder, options.activations) for folder in todo
    )
    failed = []
    with options.results.open("a", encoding="utf-8") as stream:
        for count, row in enumerate(results, start=1):
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            if "error" in row:
                failed.append(row)
            else:
                done[str(row["set"])] = row
            shown = row.get("error") or f"{row['accuracy']:.2f} ({row['seconds']:.1f} s)"
            print(f"[{count}/{len(todo)}] {row['set']}: {shown}", file=sys.stderr, flush=True)
    rows = [done[folder.name] for folder in sorted(folders) if folder.name in done]
    write_table(rows, failed)
    if options.figure and rows:
        reference = {} if options.activations == ["relu"] else read_results(options.results, ["relu"])
        draw(rows, reference, options.figure)


if __name__ == "__main__":
    main()
