"""What the scripts on real data share: results that a later run goes on from, ridge regression on labels, figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

#: Ridges relative to the mean of the kernel's diagonal.
RIDGES = tuple(10.0 ** (n / 2) for n in range(-10, 1))

Row = dict[str, Any]


class Rows:
    """Finished rows, one JSON line each; a line cut off by an interruption is made again."""

    def __init__(self, path: Path) -> None:
        self.path, self.found = path, list[Row]()
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            try:
                self.found.append(json.loads(line))
            except json.JSONDecodeError:
                continue

    def get(self, key: Row, make: Callable[[], Row]) -> Row:
        """The row with these entries, made and written down if it is not there yet."""
        for row in self.found:
            if all(row.get(name) == value for name, value in key.items()):
                return row
        row = key | make()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
        self.found.append(row)
        return row


def targets(labels: np.ndarray) -> np.ndarray:
    """One column for each class: its indicator without the mean."""
    classes = np.unique(labels)
    hot = (labels[:, None] == classes).astype(float)
    return hot - 1 / len(classes)


def scores(train: np.ndarray, test: np.ndarray, labels: np.ndarray, truth: np.ndarray) -> Iterator[tuple[float, float]]:
    """(ridge, accuracy in percent) of kernel ridge regression on labels, from one eigendecomposition."""
    classes = np.unique(labels)
    values, vectors = np.linalg.eigh(train)
    left, right = test @ vectors, vectors.T @ targets(labels)
    scale = float(np.trace(train)) / len(train)
    for ridge in RIDGES:
        found = left @ (right / (np.maximum(values, 0) + ridge * scale)[:, None])
        yield ridge, 100 * float(np.mean(classes[found.argmax(axis=1)] == truth))


def choose(kernels: Mapping[str, np.ndarray], labels: np.ndarray, fit: np.ndarray, check: np.ndarray) -> Row:
    """The kernel and ridge with the best accuracy on ``check`` after training on ``fit``; the first of equals."""
    best: Row = {"validation": -1.0}
    for name, kernel in kernels.items():
        train, test = kernel[np.ix_(fit, fit)], kernel[np.ix_(check, fit)]
        for ridge, score in scores(train, test, labels[fit], labels[check]):
            if score > best["validation"]:
                best = {"validation": score, "kernel": name, "ridge": ridge}
    return best


def accuracy(train: np.ndarray, test: np.ndarray, labels: np.ndarray, truth: np.ndarray, ridge: float) -> float:
    """In percent, of kernel ridge regression with one ridge."""
    classes = np.unique(labels)
    ridged = train + ridge * float(np.trace(train)) / len(train) * np.eye(len(train))
    found = test @ np.linalg.solve(ridged, targets(labels))
    return 100 * float(np.mean(classes[found.argmax(axis=1)] == truth))


def split(count: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random places to fit on and to check on."""
    order = np.random.default_rng(seed).permutation(count)
    some = round(count * share)
    return np.sort(order[:some]), np.sort(order[some:])


@contextmanager
def figure(path: Path, **options: Any) -> Iterator[Any]:
    """Axes of a figure that is saved in the end, always in the same bytes for the same numbers."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "holokern"})
    from matplotlib import pyplot as plt

    drawn, axes = plt.subplots(**options)
    yield axes
    drawn.tight_layout()
    drawn.savefig(path, metadata={"Date": None})
    plt.close(drawn)
    print(f"figure: {path}")


def bars(axes: Any, groups: Mapping[str, Mapping[str, float]], unit: str) -> None:
    """Grouped bars of percentages: one group for each key, one colour for each inner key, from zero up."""
    inner = list(dict.fromkeys(name for group in groups.values() for name in group))
    width = 0.8 / len(inner)
    for place, name in enumerate(inner):
        at = [g + (place - (len(inner) - 1) / 2) * width for g, group in enumerate(groups.values()) if name in group]
        heights = [group[name] for group in groups.values() if name in group]
        axes.bar(at, heights, width * 0.9, label=name)
        for x, height in zip(at, heights, strict=True):
            axes.text(x, height, f"{height:.1f}", ha="center", va="bottom", fontsize=8)
    every = [value for group in groups.values() for value in group.values()]
    axes.set_ylim(0, 1.25 * max(every))  # room for the legend
    axes.set_yticks(range(0, 101, 20))
    axes.set_xticks(range(len(groups)), list(groups))
    axes.set_ylabel(unit)
    axes.legend(fontsize=8, ncols=len(inner), loc="upper center")


def page(folder: Path, name: str, title: str, text: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """``NAME.md`` for the documentation: what was measured, a table and, if it is there, the figure ``NAME.svg``."""
    lines = [f"# {title}", "", text, "", "| " + " | ".join(columns) + " |", "|---" + "|---:" * (len(columns) - 1) + "|"]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    if (folder / f"{name}.svg").exists():
        lines += ["", f"![{title}]({name}.svg)"]
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"page: {folder / name}.md")


def cell(value: Any) -> str:
    """Two decimals below 100, none above, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return (
            f"{value:.0e}"
            if 0 < abs(value) < 1e-2 or abs(value) >= 1e6
            else f"{value:.{2 if abs(value) < 100 else 0}f}"
        )
    return str(value)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Plain text for the terminal."""
    cells = [[cell(value) for value in row] for row in [columns, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    return "\n".join("  ".join(text.rjust(w) for text, w in zip(row, widths, strict=True)) for row in cells)
