"""benchmarks/graphs.py on made-up graphs: its kernels beside the published recursion, and the page that it writes."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "graphs.py"


def write_graphs(folder: Path, count: int) -> None:
    """Paths with label 1 and rings with label -1, in the files of MUTAG."""
    arcs, places, kinds, labels = [], [], [], []
    start = 1
    for number in range(1, count + 1):
        size, label = 3 + number % 4, 1 if number % 2 else -1
        ends = [(i, i + 1) for i in range(start, start + size - 1)] + ([(start, start + size - 1)] * (label < 0))
        arcs += [f"{a}, {b}" for pair in ends for a, b in (pair, pair[::-1])]
        places += [str(number)] * size
        kinds += [str(i % 3) for i in range(size)]
        labels.append(str(label))
        start += size
    for name, lines in (("A", arcs), ("graph_indicator", places), ("node_labels", kinds), ("graph_labels", labels)):
        (folder / f"MUTAG_{name}.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


def gntk(features: list[np.ndarray], matrices: list[np.ndarray], how: str, blocks: int, dense: int) -> float:
    """One entry by the recursion of Du et al. (2019) for ReLU, input and all blocks summed."""
    near = [matrix + np.eye(len(matrix)) for matrix in matrices]
    if how == "mean":
        near = [matrix / matrix.sum(axis=1, keepdims=True) for matrix in near]
    pairs = [(p, q) for p in (0, 1) for q in (0, 1)]
    sigma = {(p, q): features[p] @ features[q].T for p, q in pairs}
    total, theta = sigma[0, 1].copy(), sigma[0, 1]
    for _ in range(blocks):
        sigma = {(p, q): near[p] @ sigma[p, q] @ near[q].T for p, q in pairs}
        theta = near[0] @ theta @ near[1].T
        for _ in range(dense):
            roots = [np.sqrt(np.diag(sigma[p, p])) for p in (0, 1)]
            angles = {(p, q): np.arccos(np.clip(sigma[p, q] / np.outer(roots[p], roots[q]), -1, 1)) for p, q in pairs}
            sigma = {
                (p, q): np.outer(roots[p], roots[q]) * (np.sin(t) + (np.pi - t) * np.cos(t)) / np.pi
                for (p, q), t in angles.items()
            }
            theta = theta * (1 - angles[0, 1] / np.pi) + sigma[0, 1]
        total += theta
    return float(total.sum())


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return runpy.run_path(str(SCRIPT))


def test_kernels_follow_the_published_recursion(script, tmp_path):
    write_graphs(tmp_path, 6)
    features, matrices, labels = script["read"](tmp_path)
    assert labels.tolist() == [1, -1] * 3
    kernels = script["grams"]("relu", features, matrices, 1)
    assert len(kernels) == 24
    for how, blocks, dense in (("sum", 3, 2), ("mean", 1, 3)):

        def entry(i: int, j: int, how: str = how, blocks: int = blocks, dense: int = dense) -> float:
            return gntk([features[i], features[j]], [matrices[i], matrices[j]], how, blocks, dense)

        wanted = entry(0, 5) / np.sqrt(entry(0, 0) * entry(5, 5))
        assert kernels[how, blocks, dense, "diagonal"][0, 5] == pytest.approx(wanted, rel=1e-8)
        ratio = entry(0, 5) / entry(1, 2)
        whole = kernels[how, blocks, dense, "least entry"]
        assert whole.min() == 1.0
        assert whole[0, 5] / whole[1, 2] == pytest.approx(ratio, rel=1e-8)


def test_a_run_writes_its_page_and_is_not_done_twice(script, tmp_path, monkeypatch, capsys):
    write_graphs(tmp_path, 60)
    names = {"DENSE": (1,), "WAYS": ("sum",), "COSTS": [1.0, 1e4], "NESTED_COSTS": [1.0, 1e4]}
    main = script["main"]
    for name, value in names.items():
        monkeypatch.setitem(main.__globals__, name, value)
    result = tmp_path / "graphs.json"
    options = ["--activations", "relu", "--work", tmp_path / "work", "--json", result, "--docs", tmp_path / "docs"]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(tmp_path), *map(str, options)])
    main()
    (row,) = json.loads(result.read_text(encoding="utf-8"))["rows"]
    assert row["graphs"] == 60
    assert row["kernels"] == 4
    assert row["nested"]["mean"] > 80  # a ring has no ends
    page = (tmp_path / "docs" / "graphs.md").read_text(encoding="utf-8")
    assert "| relu |" in page
    assert (tmp_path / "docs" / "graphs.svg").exists()
    capsys.readouterr()
    main()
    assert "nested, fold" not in capsys.readouterr().out
