"""benchmarks/sequences.py on a made-up set: leaving one out, the page, what was not computed, resuming."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "sequences.py"


def write_set(folder: Path) -> None:
    """Rising series with label 1 and falling ones with label 2, in the files of the archive."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for part, count in (("TRAIN", 12), ("TEST", 10)):
        lines = ["#made up", "@data"]
        for number in range(count):
            series = (1 - 2 * (number % 2)) * np.linspace(-1, 1, 8) + 0.1 * rng.normal(size=8)
            lines.append(",".join(f"{value:.4f}" for value in series) + f":{number % 2 + 1}")
        (folder / f"{folder.name}_{part}.ts").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return runpy.run_path(str(SCRIPT))


def test_leaving_one_out_is_what_refitting_gives(script):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(15, 4))
    kernel, labels = points @ points.T + np.eye(15), np.arange(15) % 3
    scale = np.trace(kernel) / 15
    for ridge, score in script["left_out"](kernel, labels):
        right = 0
        for place in range(15):
            rest = np.delete(np.arange(15), place)
            ridged = kernel[np.ix_(rest, rest)] + ridge * scale * np.eye(14)
            wanted = (labels[rest, None] == np.arange(3)) - 1 / 3
            right += (kernel[place, rest] @ np.linalg.solve(ridged, wanted)).argmax() == labels[place]
        assert score == pytest.approx(100 * right / 15)


def test_a_run_writes_its_page_and_is_not_done_twice(script, tmp_path, monkeypatch, capsys):
    write_set(tmp_path / "Slopes")
    main = script["main"]
    for name, value in {"DEPTHS": (1,), "WEIGHTS": (2.0,), "BIASES": (0.1,), "MOST_PAIRS": 1.0}.items():
        monkeypatch.setitem(main.__globals__, name, value)
    result = tmp_path / "sequences.json"
    options = ["--sets", "Slopes", "--kinds", "dense", "recurrent, last", "conv", "--activations", "relu"]
    options += ["--work", tmp_path / "work", "--json", result, "--docs", tmp_path / "docs"]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(tmp_path), *map(str, options)])
    main()
    rows = json.loads(result.read_text(encoding="utf-8"))["rows"]
    assert [row.get("accuracy") for row in rows] == [100.0, 100.0, None]
    assert rows[2]["skipped"]
    page = (tmp_path / "docs" / "sequences.md").read_text(encoding="utf-8")
    assert "| recurrent, last | relu | 100 |" in page
    assert (tmp_path / "docs" / "sequences.svg").exists()
    written = (tmp_path / "work" / "rows.jsonl").read_text(encoding="utf-8")
    main()
    assert (tmp_path / "work" / "rows.jsonl").read_text(encoding="utf-8") == written
