"""Numbers in README.md and in the pages are those of the committed results; the script says what is missing."""

from __future__ import annotations

import doctest
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "numbers.py"


@pytest.fixture(scope="module")
def numbers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("numbers_of_the_docs", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_block_is_what_the_script_makes(numbers: ModuleType) -> None:
    blocks = 0
    for page in numbers.pages():
        text = page.read_text(encoding="utf-8")
        blocks += len(numbers.BLOCK.findall(text))
        assert numbers.rewritten(text, numbers.RESULTS) == text, f"{page.name}: run python docs/numbers.py"
    assert blocks >= 2


def test_a_block_is_replaced_and_nothing_else(numbers: ModuleType, tmp_path: Path) -> None:
    row = {"seconds": 0.5, "rank": 2, "note": ""}
    lost = {"seconds": None, "rank": None, "note": "> 60 s"}
    case = {"case": "relu", "ours": row, "weyl": lost, "singular": row, "macaulay2": lost, "paper": None}
    (tmp_path / "algebra.json").write_text(json.dumps({"versions": {"Python": "3.11"}, "rows": [case]}))
    text = "before\n<!-- numbers: derivations -->\nold\n<!-- end -->\nafter\n"
    new = numbers.rewritten(text, tmp_path)
    assert new.startswith("before\n<!-- numbers: derivations -->\n\n| case |")
    assert "| relu | 2 | 0.5 | > 60 s | 0.5 | > 60 s | – |" in new
    assert new.endswith("Python 3.11.\n\n<!-- end -->\nafter\n")
    assert numbers.rewritten(new, tmp_path) == new


def test_missing_results_and_names_are_told(numbers: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(numbers.MissingResult, match=r"algebra\.json is missing; run the benchmark"):
        numbers.rewritten("<!-- numbers: derivations -->\n<!-- end -->", tmp_path)
    with pytest.raises(SystemExit, match="no block 'nothing'"):
        numbers.rewritten("<!-- numbers: nothing -->\n<!-- end -->", tmp_path)


def test_cells(numbers: ModuleType) -> None:
    failed, tried = doctest.testmod(numbers)
    assert tried > 0 and failed == 0


def test_kernels_beside_their_peers(numbers: ModuleType, tmp_path: Path) -> None:
    ours = [
        {"activation": "relu", "N": 1000, "first": 1.5, "seconds": 0.02, "error": 3e-13},
        {"activation": "elu", "N": 1000, "first": 2.0, "seconds": 0.1, "error": 2e-12},
    ]
    record = {
        "ours": ours,
        "numpy": [{"N": 1000, "seconds": 0.06}],
        "peer": [{"activation": "relu", "N": 1000, "seconds": 0.08, "first": 1.0}],
        "memory": {"relu": {"ratio": 1.1}},
    }
    (tmp_path / "kernel.json").write_text(json.dumps(record))
    text = numbers.kernels(tmp_path)
    assert "| relu | 1000 | 1.5 | 0.02 | 3 | 4 | 3e-13 |" in text
    assert "| elu | 1000 | 2 | 0.1 | 0.6 | – | 2e-12 |" in text
    assert text.endswith("the ratio is 1.10 for relu.")


def test_accuracies_of_all_runs(numbers: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(numbers.MissingResult, match=r"no uci\*\.json"):
        numbers.uci(tmp_path)
    mean = {"sets": 90, "mean": 81.5, "std": 14.0}
    record = {
        "protocol": "sphere",
        "means": {"relu": mean},
        "published": {"random forest": "81.56"},
        "chosen": {**mean, "sets": 3},
    }
    (tmp_path / "uci_relu.json").write_text(json.dumps(record))
    text = numbers.uci(tmp_path)
    assert "| NTK, points on a sphere, relu | 90 | 81.50 ± 14.00 |" in text
    assert "| NTK, points on a sphere, activation chosen by validation | 3 |" in text
    assert text.endswith("| published: random forest | 90 | 81.56 |")


def test_runs_beyond_a_dense_matrix(numbers: ModuleType, tmp_path: Path) -> None:
    for block in (numbers.large, numbers.workers):
        with pytest.raises(numbers.MissingResult, match=r"run benchmarks/large\.py"):
            block(tmp_path)
    solved = {"points": 100000, "landmarks": 1000, "steps": 9, "residual": 6e-7, "seconds": 500.0, "cpu_seconds": 900.0}
    solved |= {"peak_gb": 2.5, "dense_matrix_gb": 80.0, "kernel": "ntk", "network": "Network('relu', depth=1)"}
    (tmp_path / "large_100000.json").write_text(json.dumps(solved))
    assert "| `Network('relu', depth=1)` | 100000 | 1000 | 9 | 6e-07 | 500 | 900 | 2.5 | 80 |" in numbers.large(
        tmp_path
    )
    problem = {"dimension": 10, "alpha": 1.0}
    (tmp_path / "large_100000.json").write_text(json.dumps({**solved, **problem, "test_error": 0.25}))
    (tmp_path / "large_begun.json").write_text(json.dumps({**solved, **problem, "converged": False}))
    fitted = {**problem, "points": 100000, "kernel": "ntk", "network": "Network('relu', depth=1)", "test_error": 0.255}
    fitted |= {"features": 4000, "method": "landmarks", "cpu_seconds": 90.0}
    (tmp_path / "large_features.json").write_text(json.dumps(fitted))
    text = numbers.large(tmp_path)
    assert "Not finished: 100000 points." in text
    assert "| 100000 | 4000 | landmarks | 90 | 0.25500 | 0.25000 | +2.00 |" in text
    shared = {"points": 20000, "matrix_gb": 3.2, "blocks": 100, "block_gb": 0.032}
    shared |= {"worker_peak_gb": [0.5, 0.6], "largest_difference": 2e-16}
    (tmp_path / "large_dask.json").write_text(json.dumps(shared))
    assert numbers.workers(tmp_path).endswith("| 20000 | 3.2 | 100 | 0.032 | 0.5, 0.6 | 2e-16 |")
    assert "20000" not in numbers.large(tmp_path)


def test_the_comparison_is_taken_from_the_results(numbers: ModuleType, tmp_path: Path) -> None:
    ours = [
        {"activation": "relu", "N": 400, "first": 0.1, "seconds": 0.01, "error": 2e-15},
        {"activation": "elu", "N": 400, "first": 0.3, "seconds": 0.02, "error": 1e-14},
        {"activation": "relu", "N": 4000, "first": 0.5, "seconds": 0.4, "error": 2e-15},
    ]
    peer = [
        {"activation": "relu", "N": 4000, "first": 3.0, "seconds": 2.0, "error": 9e-9},
        {"activation": "elu", "N": 400, "first": 12.0, "seconds": 11.0, "error": 0.1},
    ]
    (tmp_path / "kernel.json").write_text(json.dumps({"ours": ours, "peer": peer, "numpy": []}))
    text = numbers.comparison(tmp_path)
    assert "| a few: relu | 9e-09 | – | – | 3 | 2 |" in text
    assert "| any; here elu | 0.1 | 12 | 11 | – | – |" in text
    assert "| 2e-15 – 1e-14 | 0.1 – 0.3 | 0.01 – 0.02 | 0.5 | 0.4 |" in text
