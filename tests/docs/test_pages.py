"""The pages are real: their examples print what they say, and the tests, commands and files that they name exist."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from holokern.cli import main
from holokern.report.formula import Typesetter

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if not {"_build", "auto_gallery"} & set(page.parts)]

FENCE = re.compile(r"^```.*$", re.MULTILINE)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED_TEST = re.compile(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$", re.DOTALL)
OTHERS = {"jax", "dask"}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


def test_there_are_pages() -> None:
    assert {"docs/index.md", "docs/tutorials/first_kernel.md", "docs/methods.md"} <= set(map(name_of, PAGES))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_the_examples_print_what_the_page_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLOKERN_CACHE", "off")
    for library in sorted(OTHERS & set(re.findall(r">>> import (\w+)", page.read_text(encoding="utf-8")))):
        pytest.importorskip(library, reason="the page shows holokern with this library")
    # a fence ends the output of an example, as an empty line does
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name_of(page), str(page), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append)
    assert runner.tries > 0
    assert not report, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_python_block_is_run(page: Path) -> None:
    for block in blocks(page, "python"):
        assert block.startswith(">>> "), f"this block of {page.name} is not run:\n{block}"


COMMANDS = [
    pytest.param(command, output, id=command[:60])
    for page in PAGES
    for block in blocks(page, "console")
    for command, output in re.findall(r"^\$ (holokern .*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


@pytest.mark.parametrize(("command", "output"), COMMANDS)
def test_commands_print_what_the_page_says(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLOKERN_CACHE", "off")
    words = shlex.split(command, comments=True)[1:]
    if not output.strip():
        # shown without its output: the command must exist, it need not be run
        assert CliRunner().invoke(main, [words[0], "--help"]).exit_code == 0
        return
    result = CliRunner().invoke(main, words)
    assert result.output == output


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for file, function in NAMED_TEST.findall(text):
        assert (ROOT / file).is_file(), f"{page.name} names {file}"
        if function:
            source = (ROOT / file).read_text(encoding="utf-8")
            assert f"def {function}(" in source, f"{page.name} names {file}::{function}"
    for target in LINK.findall(text):
        generated = target.startswith(("auto_gallery/", "../auto_gallery/"))
        assert generated or (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_formula_can_be_drawn(page: Path) -> None:
    for display, inline in FORMULA.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        text = rf"\begin{{aligned}}{display}\end{{aligned}}" if r"\\" in display else display
        drawn = Typesetter().block(text) if display else Typesetter().inline(inline)
        assert "<code>" not in drawn, f"{page.name}: {display or inline}"
