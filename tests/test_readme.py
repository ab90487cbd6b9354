"""The README's examples are real: they run, and print what it says."""

from __future__ import annotations

import doctest
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
