"""``holokern report``: where it writes, what it prints, and that a failure leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from holokern.cli import main
from holokern.report import activation_page as module


def run(*arguments: object):
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def refused(result, code: int = 1) -> str:
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("holokern: error: ")
    return line


def test_a_page_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "leaky.html"
    result = run("leaky_relu", "-p", "slope=0.2", "-o", path, "--no-timings", "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["file"] == str(path)
    assert record["title"] == "The activation leaky_relu (slope = 1/5)"
    assert record["bytes"] == path.stat().st_size
    assert [file.name for file in path.parent.iterdir()] == ["leaky.html"]
    assert "Time per method" not in path.read_text(encoding="utf-8")


def test_two_activations_on_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []

    def made(*activations: object, timings: bool) -> module.ActivationPage:
        seen.append(tuple(map(str, activations)))
        return module.ActivationPage("T", "<p>")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "page_about", made)
    assert run("gelu", "silu").exit_code == 0
    assert seen == [("gelu", "silu")]
    assert (tmp_path / "gelu-silu.html").exists()
    refusal = run("gelu", "silu", "-p", "beta=2")
    assert refusal.exit_code == 2
    assert "belongs to one activation" in refusal.stderr


def test_the_default_name_is_that_of_the_activation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "page_about", lambda *_, **__: module.ActivationPage("T", "<p>"))
    for expression, name in (("relu", "relu.html"), ("Heaviside(u)*sin(u)", "Heaviside-u-sin-u.html")):
        result = run(expression)
        assert result.exit_code == 0, result.output
        assert name in result.stdout
        assert (tmp_path / name).read_text(encoding="utf-8") == "<p>"


def test_an_unwritable_place_is_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("work was started")

    monkeypatch.setattr(module, "page_about", work)
    (tmp_path / "file").write_text("")
    assert "cannot write" in refused(run("relu", "-o", tmp_path / "file" / "page.html"))
    assert "cannot write" in refused(run("relu", "-o", "/proc/page.html"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["rellu"], 2), (["u +* 2"], 2), (["elu", "-p", "beta=1"], 2), (["3"], 1), (["exp(u^2)"], 1)],
)
def test_bad_activations_are_one_line_and_leave_no_file(arguments: list[str], code: int, tmp_path: Path) -> None:
    refused(run(*arguments, "-o", tmp_path / "page.html", "--no-timings"), code)
    assert list(tmp_path.iterdir()) == []


KILLED_AT_WORK = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the suite runs in the background
import holokern.report.subject as module
def killed(*_):
    os.kill(os.getpid(), signal.{sign})
    time.sleep(20)
module.value_tables = killed
from holokern.cli import main
main(["report", "relu", "-o", sys.argv[1]])
"""
KILLED_WHILE_WRITING = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the suite runs in the background
import holokern.report.activation_page as module
module.page_about = lambda *_, **__: module.ActivationPage("T", "<p>")
def killed(self, target):
    os.kill(os.getpid(), signal.{sign})
    time.sleep(20)
pathlib.Path.replace = killed
from holokern.cli import main
main(["report", "relu", "-o", sys.argv[1]])
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("program", "sign", "code"),
    [(KILLED_AT_WORK, "SIGINT", 130), (KILLED_AT_WORK, "SIGKILL", -9), (KILLED_WHILE_WRITING, "SIGINT", 130)],
)
def test_a_kill_leaves_the_old_page_and_nothing_else(tmp_path: Path, program: str, sign: str, code: int) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    command = [sys.executable, "-c", program.format(sign=sign), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
