"""``holokern paper``: output files, JSON, early errors, nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from holokern.cli import main
from holokern.paper import experiments
from holokern.paper.table import Table

SMALL = [Table("Small", ("case", "rank"), (("ReLU", 2),))]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"derivations": lambda: SMALL})


@pytest.mark.usefixtures("small")
def test_writes_a_page_and_data(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["paper", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "ReLU" in result.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["index.html", "results.json"]
    data = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert data["experiments"]["derivations"][0]["rows"] == [["ReLU", 2]]
    assert "<td>ReLU</td>" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("small")
def test_json(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["paper", "-o", str(tmp_path), "--only", "derivations", "--json"])
    assert json.loads(result.output)["experiments"]["derivations"][0]["title"] == "Small"


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work() -> list[Table]:
        raise AssertionError("work was started")

    monkeypatch.setattr(experiments, "EXPERIMENTS", {"derivations": work})
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(main, ["paper", "-o", str(tmp_path / "file" / "out")])
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.usefixtures("small")
def test_an_unknown_experiment(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["paper", "-o", str(tmp_path), "--only", "nothing"])
    assert result.exit_code == 2
    assert "unknown experiment" in result.stderr
    assert not list(tmp_path.iterdir())
