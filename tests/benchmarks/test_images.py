"""benchmarks/images.py on a few digits: its page with every row, files in the format of MNIST, resuming."""

from __future__ import annotations

import gzip
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "images.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return runpy.run_path(str(SCRIPT))


def test_bytes_are_read_compressed_or_not(script, tmp_path):
    wanted = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    raw = bytes([0, 0, 8, 3]) + np.array(wanted.shape, ">u4").tobytes() + wanted.tobytes()
    (tmp_path / "plain").write_bytes(raw)
    (tmp_path / "small.gz").write_bytes(gzip.compress(raw))
    for name in ("plain", "small.gz"):
        np.testing.assert_array_equal(script["read_idx"](tmp_path / name), wanted)


def test_a_run_writes_its_page_and_is_not_done_twice(script, tmp_path, monkeypatch, capsys):
    main = script["main"]
    for name, value in {"VARIANCES": ((2.0, 0.1),), "DEPTHS": {"dense": (1,)}, "STRIP": 60}.items():
        monkeypatch.setitem(main.__globals__, name, value)
    result = tmp_path / "images.json"
    options = ["--train", 100, "--test", 80, "--only", "dense:relu", "--work", tmp_path / "work", "--json", result]
    options += ["--docs", tmp_path / "docs"]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "digits", *map(str, options)])
    main()
    machine, network = json.loads(result.read_text(encoding="utf-8"))["rows"]
    assert (machine["kind"], network["kind"]) == ("Gaussian SVM", "dense")
    assert network["accuracy"] > 80
    page = (tmp_path / "docs" / "images_digits.md").read_text(encoding="utf-8")
    assert "| dense | relu | 100 |" in page
    assert (tmp_path / "docs" / "images_digits.svg").exists()
    capsys.readouterr()
    main()
    assert "CPU s so far" not in capsys.readouterr().out
