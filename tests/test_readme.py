"""The README's examples are real: they run, and print what it says."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_examples_print_what_the_readme_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLOKERN_CACHE", "off")
    failed, attempted = doctest.testfile(str(README), module_relative=False, verbose=False)
    assert attempted >= 10
    assert failed == 0


def test_the_two_commands_are_there() -> None:
    text = README.read_text(encoding="utf-8")
    assert "pip install . && holokern paper" in text
    assert "pip install '.[test]' && pytest" in text


def test_what_it_links_to_exists() -> None:
    text = README.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", text) + re.findall(r'src(?:set)?="([^"]+)"', text)
    assert {"docs/_static/overview.svg", "docs/_static/overview_narrow.svg"} <= set(targets)
    for target in targets:
        assert (README.parent / target).exists(), f"README.md links to {target}"


def test_a_stranger_meets_the_paper_by_its_name_and_the_limits() -> None:
    text = README.read_text(encoding="utf-8")
    assert text.index("Sakoda and N. Takayama") < text.index("the paper's own numbers")
    for heading in ("First door: machine learning", "Second door: computer algebra", "Limits"):
        assert f"## {heading}" in text
    # picture, five lines and the comparison come before anything else
    assert text.index("overview.svg") < text.index(">>> net = ") < text.index("numbers: comparison") < 4000


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", sorted((README.parent / "docs" / "pictures").glob("*.py")), ids=lambda path: path.stem
)
def test_scripts_make_the_pictures(script: Path, tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "pictures"
    folder.mkdir(parents=True)
    (tmp_path / "docs" / "_static").mkdir()
    copied = folder / script.name
    copied.write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run([sys.executable, str(copied)], check=True, env={**os.environ, "MPLBACKEND": "Agg"})
    pictures = list((tmp_path / "docs" / "_static").iterdir())
    assert pictures
    for picture in pictures:
        assert (README.parent / "docs" / "_static" / picture.name).exists()
