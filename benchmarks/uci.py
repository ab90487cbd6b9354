"""The protocol of Arora et al. (2020) on the 90 small UCI sets: an SVM with the NTK of several depths.

The depth, the number of fixed layers and C are chosen on one split; the mean accuracy over four folds is reported.
Every machine is solved to the end (`_svm.py`). Where several choices do equally well on the split the first one stays,
and "ties" counts them.
Every finished pair (set, activation) is one line of the results file, so an interrupted run goes on where it stopped.
With several activations, the one that did best on the split for choosing is the "chosen" one.

    python benchmarks/uci.py FOLDER --results uci.jsonl [--protocol sphere] [--activations relu gelu erf] [--jobs 2]
        [--only iris wine] [--baselines baselines.txt] [--output FOLDER] [--report]

FOLDER holds one folder a set (``uci/data`` of the archive). ``--output`` receives ``NAME.md``, ``NAME.json`` and, when
matplotlib is at hand, ``NAME.svg``, where NAME is that of the results file.

Protocols:

- ``arora``: the kernels behind the published number. 0 to 4 hidden layers (their depths 1 to 5), any number of the
  first layers fixed. Without a hidden layer the kernel is linear. For ReLU the weights have variance one, as published.
  Other activations are normalised by c_σ, and their kernels divided by 2 a layer, which is what the variance one does
  to those of ReLU, so that C means the same.
- ``normalised``: 1 to 5 hidden layers, normalised by c_σ, the last hidden layer always trained.
- ``sphere``: the same on (x/√d, 1) divided by its length, which keeps all of x. Every layer of every activation has the
  deviation 1 then, and activations differ in nothing but their dual activation on [-1, 1].
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _svm import fit_predict
from joblib import Parallel, delayed
from scipy.stats import wilcoxon

from holokern import progress
from holokern.files import prepare_folder, write_atomically
from holokern.network import Network

DEPTHS = 5
COSTS = [10.0**n for n in range(-2, 5)]
PUBLISHED = {"NTK, ReLU (Arora et al. 2020)": "81.95 ± 14.10", "random forest": "81.56", "Gaussian SVM": "81.03"}
NOTES = {
    "ties_sets": "several choices did equally well on the split for choosing",
    "finished_inside_sets": "an interior point finished machines that libsvm did not",
    "unsolved_sets": "some machine was not solved",
    "missing_sets": "no result yet",
}
BASELINES = {"rf": "rf_caret", "svm": "svm_C"}

Row = dict[str, Any]
Split = tuple[np.ndarray, np.ndarray]


def read_set(folder: Path) -> Split:
    """Features and labels of a set; its description names the data file."""
    lines = (folder / f"{folder.name}.txt").read_text(encoding="latin-1").splitlines()
    keys = dict(line.split("=", 1) for line in lines if "=" in line)
    table = np.loadtxt(folder / keys["fich1"].split()[0].strip(), skiprows=1, ndmin=2)
    return table[:, 1:-1], table[:, -1].astype(int)


def read_splits(path: Path) -> list[Split]:
    """Pairs of lines: training indices, test indices."""
    rows = [
        np.array(line.split(), dtype=int) for line in path.read_text(encoding="latin-1").splitlines() if line.strip()
    ]
    return list(zip(rows[::2], rows[1::2], strict=True))


def read_baselines(path: Path | None) -> dict[str, dict[str, float]]:
    """Published accuracies of a random forest and a Gaussian SVM for every set."""
    if path is None:
        return {}
    lines = [line.split() for line in path.read_text(encoding="latin-1").splitlines() if line.strip()]
    columns = {short: lines[0].index(name) for short, name in BASELINES.items()}
    return {
        cells[0]: {short: float(cells[place]) for short, place in columns.items()}
        for cells in lines[1:]
        if len(cells) == len(lines[0]) and all(cells[place] != "--" for place in columns.values())
    }


def on_sphere(x: np.ndarray) -> np.ndarray:
    """(x/√d, 1) divided by its length."""
    extended = np.hstack([x / np.sqrt(x.shape[1]), np.ones((len(x), 1))])
    return extended / np.linalg.norm(extended, axis=1, keepdims=True)


def kernels(x: np.ndarray, activation: str, protocol: str) -> Iterator[tuple[int, int, np.ndarray]]:
    """(depth, fixed, Θ): the first ``fixed`` layers are not trained, so Θ starts after them."""
    x = on_sphere(x) if protocol == "sphere" else x
    started: dict[int, np.ndarray] = {0: x @ x.T}
    published = protocol == "arora"
    if published:
        yield 0, 0, started[0]
    network = Network(activation, DEPTHS - published)
    # ReLU is homogeneous, so weights of variance one divide its kernels by a power of c_σ = 2.
    shrink = 0.5 if published else 1.0
    for depth, (sigma, dot) in enumerate(network.layers(x), start=1):
        started = {fixed: theta * dot + sigma for fixed, theta in started.items()}
        ended = started | {depth: sigma} if published else started
        for fixed, theta in ended.items():
            yield depth, fixed, theta * shrink**depth
        started = started | {depth: sigma}


@dataclass
class Count:
    """Pairs of classes that an interior point finished because libsvm did not, and those that nothing solved."""

    finished_inside: int = 0
    unsolved: int = 0

    def accuracies(self, theta: np.ndarray, y: np.ndarray, split: Split, costs: list[float]) -> list[float]:
        """Of machines trained on the first part and tested on the second, in percent, one for each C."""
        train, test = split
        inner, outer = theta[np.ix_(train, train)], theta[np.ix_(test, train)]
        scores = []
        for cost in costs:
            found = fit_predict(inner, y[train], outer, cost)
            self.finished_inside += found.finished_inside
            self.unsolved += found.unsolved
            scores.append(100 * float(np.mean(found.predicted == y[test])))
        return scores


def run(folder: Path, activation: str, protocol: str) -> Row:
    """Choose on the one split, then test on the four folds; ties keep the first choice."""
    start = time.perf_counter(), time.process_time()
    x, y = read_set(folder)
    (choice,) = read_splits(folder / "conxuntos.dat")
    folds = read_splits(folder / "conxuntos_kfold.dat")
    best: tuple[float, tuple[int, int, float], np.ndarray] | None = None
    count, seen = Count(), []
    for depth, fixed, theta in kernels(x, activation, protocol):
        scores = count.accuracies(theta, y, choice, COSTS)
        seen += scores
        place = int(np.argmax(scores))
        if best is None or scores[place] > best[0]:
            best = scores[place], (depth, fixed, COSTS[place]), theta
    assert best is not None
    validation, (depth, fixed, cost), theta = best
    scores = [count.accuracies(theta, y, fold, [cost])[0] for fold in folds]
    return {
        "set": folder.name,
        "activation": activation,
        "protocol": protocol,
        "samples": len(y),
        "features": x.shape[1],
        "classes": len(np.unique(y)),
        "depth": depth,
        "fixed": fixed,
        "C": cost,
        "validation": validation,
        "ties": seen.count(validation) - 1,
        "folds": scores,
        "accuracy": float(np.mean(scores)),
        "finished_inside": count.finished_inside,
        "unsolved": count.unsolved,
        "seconds": time.perf_counter() - start[0],
        "cpu_seconds": time.process_time() - start[1],
    }


def attempt(folder: Path, activation: str, protocol: str) -> Row:
    """The result, or the error as a result, so that every set is accounted for."""
    try:
        return run(folder, activation, protocol)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return {"set": folder.name, "activation": activation, "protocol": protocol, "error": reason}


def read_results(path: Path, protocol: str) -> dict[tuple[str, str], Row]:
    """Finished pairs (set, activation); failures and a last line cut off by an interruption are tried again."""
    done: dict[tuple[str, str], Row] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["protocol"] == protocol and "error" not in row:
            done[row["set"], row["activation"]] = row
    return done


def work(todo: list[tuple[Path, str]], protocol: str, results: Path, jobs: int) -> Iterator[Row]:
    """Rows as they are finished, each of them written down at once."""
    rows: Iterable[Row] = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(attempt)(folder, activation, protocol) for folder, activation in todo
    )
    with results.open("a", encoding="utf-8") as stream, progress.display("UCI"):
        if results.stat().st_size and not results.read_bytes().endswith(b"\n"):
            stream.write("\n")
        for count, row in enumerate(rows, start=1):
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            progress.report("pairs of set and activation", count, len(todo))
            shown = row.get("error") or f"{row['accuracy']:.2f} ({row['seconds']:.1f} s)"
            erase = "\r\x1b[K" if sys.stderr.isatty() else ""
            print(
                f"{erase}[{count}/{len(todo)}] {row['set']}, {row['activation']}: {shown}", file=sys.stderr, flush=True
            )
            yield row


def summarise(
    names: list[str], activations: list[str], protocol: str, rows: dict[tuple[str, str], Row], baselines: Any
) -> Row:
    """What the table, the figure and the JSON file say. "chosen" is on sets where every activation is finished."""
    first = activations[0]
    sets = []
    for name in names:
        found = {a: rows[name, a] for a in activations if (name, a) in rows}
        entry: Row = {"set": name, **baselines.get(name, {})}
        if found:
            some = next(iter(found.values()))
            entry |= {key: some[key] for key in ("samples", "features", "classes")}
        keys = ("accuracy", "validation", "depth", "fixed", "C", "ties", "finished_inside", "unsolved", "cpu_seconds")
        entry["results"] = {a: {key: row[key] for key in keys} for a, row in found.items()}
        if len(activations) > 1 and len(found) == len(activations):
            entry["chosen"] = max(activations, key=lambda a: found[a]["validation"])
        sets.append(entry)
    whole = [entry for entry in sets if "chosen" in entry]
    summary: Row = {
        "protocol": protocol,
        "published": PUBLISHED,
        "means": {a: _mean([e["results"][a]["accuracy"] for e in sets if a in e["results"]]) for a in activations},
        "baselines": {
            short: _mean([e[short] for e in sets if short in e and first in e["results"]]) for short in BASELINES
        },
        **{
            f"{key}_sets": {a: [e["set"] for e in sets if e["results"].get(a, {}).get(key)] for a in activations}
            for key in ("finished_inside", "unsolved", "ties")
        },
        "missing_sets": {a: [e["set"] for e in sets if a not in e["results"]] for a in activations},
    }
    if whole:
        summary["chosen"] = _mean([e["results"][e["chosen"]]["accuracy"] for e in whole])
        summary["same_sets"] = {a: _mean([e["results"][a]["accuracy"] for e in whole]) for a in activations}
        summary["times_chosen"] = {a: sum(e["chosen"] == a for e in whole) for a in activations}
        ours = {"chosen": [e["results"][e["chosen"]]["accuracy"] for e in whole]}
        ours |= {a: [e["results"][a]["accuracy"] for e in whole] for a in activations}
        summary["paired"] = {a: _paired(ours[a], ours[first]) for a in ours if a != first}
    return summary | {"sets": sets}


def _paired(ours: list[float], theirs: list[float]) -> Row:
    """Wilcoxon's signed rank test over the sets, two-sided, with the wins, losses and draws."""
    gaps = np.subtract(ours, theirs)
    tested = wilcoxon(gaps) if np.any(gaps) else None
    return {
        "mean_difference": round(float(np.mean(gaps)), 4),
        "wins": int(np.sum(gaps > 0)),
        "losses": int(np.sum(gaps < 0)),
        "draws": int(np.sum(gaps == 0)),
        "p": float(f"{tested.pvalue:.3g}") if tested else 1.0,
    }


def _mean(scores: list[float]) -> Row:
    if not scores:
        return {"sets": 0}
    return {"sets": len(scores), "mean": round(float(np.mean(scores)), 4), "std": round(float(np.std(scores)), 4)}


def _shown(mean: Row) -> str:
    return f"{mean['mean']:.2f} ± {mean['std']:.2f} ({mean['sets']} sets)" if mean["sets"] else "no set"


def markdown(summary: Row, failed: list[Row]) -> str:
    """The means, then one line a set."""
    activations = list(summary["means"])
    lines = [f"# UCI, protocol {summary['protocol']}", "", "| | mean accuracy over sets |", "|---|---|"]
    lines += [f"| NTK, {name} | {_shown(summary['means'][name])} |" for name in activations]
    if "chosen" in summary:
        lines.append(f"| NTK, activation chosen on the validation split | {_shown(summary['chosen'])} |")
        lines += [f"| the same sets, {name} alone | {_shown(mean)} |" for name, mean in summary["same_sets"].items()]
        times = ", ".join(f"{name} {count}" for name, count in summary["times_chosen"].items())
        lines.append(f"| how often chosen | {times} |")
        first = activations[0]
        lines += [
            f"| {name} against {first}, paired | {test['mean_difference']:+.2f}; {test['wins']} wins, {test['losses']} "
            f"losses, {test['draws']} draws; Wilcoxon p = {test['p']:.2g} |"
            for name, test in summary["paired"].items()
        ]
    lines += [f"| {name}, on the same sets | {_shown(mean)} |" for name, mean in summary["baselines"].items()]
    lines += [f"| {name}, published | {mean} |" for name, mean in PUBLISHED.items()]
    heads = ["set", "samples", "features", "classes", *activations, *BASELINES]
    heads += ["chosen"] if "chosen" in summary else ["depth", "fixed", "C", "ties"]
    lines += ["", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += ["| " + " | ".join(_cell(entry, head, activations) for head in heads) + " |" for entry in summary["sets"]]
    for name in activations:
        for key, text in NOTES.items():
            if summary[key][name]:
                lines.append(f"\n{name}: {text} on {len(summary[key][name])} sets ({', '.join(summary[key][name])}).")
    lines += [f"\n{row['set']}, {row['activation']} failed: {row['error']}" for row in failed]
    return "\n".join(lines) + "\n"


def _cell(entry: Row, head: str, activations: list[str]) -> str:
    results = entry["results"]
    if head in activations:
        return f"{results[head]['accuracy']:.2f}" if head in results else "–"
    if head in {"depth", "fixed", "C", "ties"}:
        return str(results.get(activations[0], {}).get(head, "–"))
    return str(entry.get(head, "–"))


def draw(summary: Row, path: Path) -> None:
    """Differences a set, in points: against the baselines, and of the chosen activation against the first one."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("matplotlib is not installed; no figure", file=sys.stderr)
        return
    mpl.use("Agg")
    # text stays text and names do not depend on the run: small files that compare well
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "holokern"})
    from matplotlib import pyplot as plt

    first = next(iter(summary["means"]))
    mine = "chosen" if "chosen" in summary else first
    sets = [e for e in summary["sets"] if (mine in e if mine == "chosen" else first in e["results"])]
    ours = {e["set"]: e["results"][e["chosen"] if mine == "chosen" else first]["accuracy"] for e in sets}
    panels = {f"{mine} - {b}": {e["set"]: ours[e["set"]] - e[b] for e in sets if b in e} for b in BASELINES}
    if mine == "chosen":
        panels[f"chosen - {first}"] = {e["set"]: ours[e["set"]] - e["results"][first]["accuracy"] for e in sets}
    panels = {title: gaps for title, gaps in panels.items() if gaps}
    if not panels:
        print("nothing to compare with; give --baselines or several --activations for a figure", file=sys.stderr)
        return
    figure, axes = plt.subplots(1, len(panels), figsize=(4.5 * len(panels), 1 + 0.13 * len(sets)), squeeze=False)
    for panel, (title, gaps) in zip(axes[0], panels.items(), strict=True):
        names = sorted(gaps, key=lambda name: gaps[name])
        values = [gaps[name] for name in names]
        panel.barh(names, values, color=["tab:blue" if value >= 0 else "tab:orange" for value in values])
        panel.axvline(float(np.mean(values)), color="black", linewidth=0.8, linestyle="--")
        panel.set_title(f"{title}: mean {np.mean(values):+.2f}", fontsize=9)
        panel.set_xlabel("points of accuracy")
        panel.tick_params(axis="y", labelsize=5)
        panel.set_ylim(-1, len(names))
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    print(f"figure: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, default=Path("uci.jsonl"))
    parser.add_argument("--activations", nargs="+", default=["relu"])
    parser.add_argument("--protocol", choices=["arora", "normalised", "sphere"], default="arora")
    parser.add_argument("--only", nargs="+", help="names of sets")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--baselines", type=Path, help="published accuracies (baselines.txt)")
    parser.add_argument("--output", type=Path, help="folder for the table, the figure and the summary")
    parser.add_argument("--report", action="store_true", help="run nothing, report what is done")
    options = parser.parse_args()
    baselines = read_baselines(options.baselines)
    # A set is known by its own description file; small sets come first.
    folders = sorted(
        (
            f
            for f in options.folder.iterdir()
            if (f / f"{f.name}.txt").is_file() and (not options.only or f.name in options.only)
        ),
        key=lambda f: (f / "conxuntos_kfold.dat").stat().st_size,
    )
    if not folders:
        parser.error(f"no data sets in {options.folder}; give the folder that holds one folder a set")
    if options.output:
        prepare_folder(options.output)
    done = read_results(options.results, options.protocol)
    todo = [(f, a) for f in folders for a in options.activations if (f.name, a) not in done]
    total = len(folders) * len(options.activations)
    print(f"{len(folders)} sets, {total} pairs with activations, {total - len(todo)} already done", file=sys.stderr)
    failed = []
    for row in [] if options.report else work(todo, options.protocol, options.results, options.jobs):
        if "error" in row:
            failed.append(row)
        else:
            done[row["set"], row["activation"]] = row
    names = sorted(f.name for f in folders)
    summary = summarise(names, options.activations, options.protocol, done, baselines)
    table = markdown(summary, failed)
    print(table)
    if options.output:
        stem = options.output / options.results.stem
        write_atomically(stem.with_suffix(".md"), table)
        write_atomically(stem.with_suffix(".json"), json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
        draw(summary, stem.with_suffix(".svg"))


if __name__ == "__main__":
    main()
