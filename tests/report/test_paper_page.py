"""The page of the paper's experiments: whole files or none, plain data, and what a browser makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holokern.paper.experiments import run_experiments
from holokern.paper.problem import Problem
from holokern.paper.results import Findings, Table
from holokern.report.page import page_frame
from holokern.report.paper_page import paper_data, paper_files, write_files

# SVG text is scaled with its chart
LABELS = """[...document.querySelectorAll("svg text")].map(t => parseFloat(getComputedStyle(t).fontSize)
  * t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width)"""


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return paper_files(run_experiments(["hermite", "hie"]), Problem(), "a machine")


@pytest.fixture(scope="module")
def page(files: dict[str, bytes]) -> str:
    return files["index.html"].decode("utf-8")


def test_files(files: dict[str, bytes]) -> None:
    assert set(files) == {
        "index.html",
        "results.json",
        *(f"{name}.{kind}" for name in ("hermite", "hie-relu") for kind in ("svg", "png")),
    }
    data = json.loads(files["results.json"])
    assert data["bias"] == 0.5
    assert data["experiments"]["hie"]["charts"][0]["series"][0]["x"][:2] == [4.0, 6.0]


def test_data_without_nan() -> None:
    table = Table("T", ("a", "b"), ((float("nan"), 1.0), (float("inf"), None)))
    data = paper_data({"x": Findings("X", (table,))}, Problem(), "m")
    assert data["experiments"]["x"]["tables"][0]["rows"] == [[None, 1.0], [None, None]]
    json.dumps(data, allow_nan=False)


def test_writing_is_all_or_nothing_for_each_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"a.txt": b"old", "b.txt": b"old"})
    move = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        if target.name == "b.txt":
            raise KeyboardInterrupt
        return move(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, {"a.txt": b"new", "b.txt": b"new"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.txt": b"new", "b.txt": b"old"}


@pytest.mark.parametrize(("width", "dark"), [(360, True), (360, False), (800, True), (1400, False)])
def test_legible_and_silent_in_a_browser(
    chromium: Any, legibility_problems: Any, page: str, tmp_path: Path, width: int, dark: bool
) -> None:
    file = tmp_path / "index.html"
    file.write_text(page, encoding="utf-8")
    tab = chromium.open(file, width, dark)
    try:
        assert legibility_problems(tab) == []
        labels = tab.run(LABELS)
        assert len(labels) > 20
        assert min(labels) >= 12
        assert tab.requests == [file.as_uri()]
        assert tab.complaints == []
    finally:
        tab.close()


def test_a_page_that_asks_a_host_is_caught(chromium: Any, tmp_path: Path) -> None:
    """The policy of the frame refuses the request, and the browser says so where the other test looks."""
    file = tmp_path / "asks.html"
    file.write_text(page_frame("Asks", '<img alt="" src="https://a.test/x.png">'), encoding="utf-8")
    tab = chromium.open(file)
    assert "Content Security Policy" in "".join(tab.complaints)
    tab.close()
