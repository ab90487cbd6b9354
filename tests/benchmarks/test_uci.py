"""benchmarks/uci.py on a made-up collection: choosing, resuming, running in parallel, accounting for every set."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "uci.py"


def write_set(folder: Path, samples: int, classes: int) -> None:
    """Classes that a kernel tells apart, in the files of the collection."""
    rng = np.random.default_rng(samples)
    labels = np.arange(samples) % classes
    features = rng.normal(size=(samples, 3)) / 4 + np.eye(3)[labels]
    folder.mkdir(parents=True)
    lines = ["\tf1\tf2\tf3\tclass"]
    lines += [f"{i}\t" + "\t".join(f"{v:.5f}" for v in row) + f"\t{labels[i]}" for i, row in enumerate(features)]
    (folder / f"{folder.name}_R.dat").write_text("\n".join(lines) + "\n")
    (folder / f"{folder.name}.txt").write_text(f"n_patrons1= {samples}\nfich1= {folder.name}_R.dat\n")
    order = rng.permutation(samples)
    splits = [(order[k::4], np.setdiff1d(order, order[k::4])) for k in range(4)]
    line = " ".join
    pairs = [f"{line(map(str, rest))}\n{line(map(str, part))}\n" for part, rest in splits]
    (folder / "conxuntos.dat").write_text(f"{line(map(str, order[::2]))}\n{line(map(str, order[1::2]))}\n")
    (folder / "conxuntos_kfold.dat").write_text("".join(pairs))


@pytest.fixture
def collection(tmp_path):
    data = tmp_path / "data"
    write_set(data / "alpha", 24, 2)
    write_set(data / "beta", 30, 3)
    (data / "broken").mkdir()
    (data / "broken" / "broken.txt").write_text("fich1= missing.dat\n")
    (data / "broken" / "conxuntos_kfold.dat").write_text("")
    baselines = tmp_path / "baselines.txt"
    baselines.write_text("problema rf_caret svm_C\nalpha 90.0 91.5\nbeta 80.0 --\n")
    return tmp_path


def arguments(folder: Path, *options: str) -> list[str]:
    return [str(SCRIPT), str(folder / "data"), "--results", str(folder / "small.jsonl"), *options]


@pytest.fixture
def run(collection, monkeypatch, capsys):
    """The script in this process, which saves the imports; what it says on stderr."""

    def script(*options: str) -> str:
        monkeypatch.setattr(sys, "argv", arguments(collection, *options))
        monkeypatch.syspath_prepend(str(SCRIPT.parent))
        runpy.run_path(str(SCRIPT), run_name="__main__")
        return capsys.readouterr().err

    return script


def read_rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "small.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_is_resumed_and_every_set_accounted_for(collection, run, jobs):
    log = run("--only", "alpha")
    assert "1 sets, 1 pairs with activations, 0 already done" in log
    (alpha,) = read_rows(collection)
    assert alpha["accuracy"] > 85
    assert 0 <= alpha["fixed"] <= alpha["depth"] <= 4
    assert len(alpha["folds"]) == 4
    results = collection / "small.jsonl"
    # as an interruption leaves it
    results.write_text(results.read_text() + '{"set": "bet')
    again = results.read_text()
    if jobs == 1:
        log = run()
    else:
        command = [sys.executable, *arguments(collection, "--jobs", str(jobs))]
        log = subprocess.run(command, capture_output=True, text=True, check=True, timeout=250).stderr
    assert "3 sets, 3 pairs with activations, 1 already done" in log
    assert results.read_text().startswith(again + "\n")
    before = results.read_text()
    run("--report")
    assert results.read_text() == before
    log = run("--baselines", str(collection / "baselines.txt"), "--output", str(collection / "out"))
    assert "2 already done" in log
    summary = json.loads((collection / "out" / "small.json").read_text())
    assert [entry["set"] for entry in summary["sets"]] == ["alpha", "beta", "broken"]
    assert summary["means"]["relu"]["sets"] == 2
    assert summary["baselines"] == {
        "rf": {"sets": 1, "mean": 90.0, "std": 0.0},
        "svm": {"sets": 1, "mean": 91.5, "std": 0.0},
    }
    table = (collection / "out" / "small.md").read_text()
    assert "broken, relu failed: FileNotFoundError" in table


def test_the_activation_is_chosen_on_the_validation_split(collection, run):
    run("--only", "beta", "--activations", "relu", "abs", "--protocol", "sphere", "--output", str(collection / "out"))
    best = max(read_rows(collection), key=lambda row: row["validation"])
    summary = json.loads((collection / "out" / "small.json").read_text())
    assert summary["sets"][0]["chosen"] == best["activation"]
    assert summary["chosen"]["mean"] == pytest.approx(best["accuracy"], abs=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_interior_point_finds_the_machine_of_libsvm(classes, monkeypatch):
    from sklearn.svm import SVC

    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    svm = runpy.run_path(str(SCRIPT.parent / "_svm.py"))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 4))
    y = np.digitize(x[:, 0] * x[:, 1] + 0.3 * rng.normal(size=240), [0.0, 0.6][: classes - 1])
    kernel = np.exp(-0.5 * np.sum((x[:, None] - x[None]) ** 2, axis=2))
    theirs = SVC(kernel="precomputed", C=10.0, tol=1e-8).fit(kernel[:120, :120], y[:120])
    fit_predict = svm["fit_predict"]
    fit_predict.__globals__["MOST_STEPS"] = 3  # libsvm stops, so the interior point has to finish
    found = fit_predict(kernel[:120, :120], y[:120], kernel[120:, :120], 10.0)
    assert found.finished_inside == classes * (classes - 1) // 2
    assert found.unsolved == 0
    assert found.predicted.tolist() == theirs.predict(kernel[120:, :120]).tolist()
    if classes == 2:
        weights, offset, solved = svm["interior_point"](kernel[:120, :120], np.where(y[:120] == 1, 1.0, -1.0), 10.0)
        assert solved
        decisions = kernel[120:, :120] @ weights + offset
        np.testing.assert_allclose(decisions, theirs.decision_function(kernel[120:, :120]), atol=1e-3)
