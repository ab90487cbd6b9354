"""``holokern paper``: output files, JSON, early errors, nothing half-written after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from holokern.cli import main
from holokern.paper.experiments import run as experiments
from holokern.paper.problem import Problem
from holokern.paper.results import Chart, Findings, Series, Table, finished

SMALL = Findings(
    "Small ones",
    (Table("Small", ("case", "rank"), (("ReLU", 2),)),),
    (Chart("small", "Small", "x", "y", (Series("f", (0.0, 1.0), (0.0, 1.0)),), caption="A line."),),
    "ReLU has rank 2.",
)
FILES = ["index.html", "results.json", "small.png", "small.svg"]

# A run with one small experiment, in a process that can be killed; {extra} says how it ends.
SCRIPT = """
import os, signal, sys, time
from pathlib import Path

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the suite runs in the background
from holokern.cli import main
from holokern.paper.experiments import run as experiments
from holokern.paper.results import Chart, Series
from holokern.paper.results import Findings

chart = Chart("small", "Small", "x", "y", (Series("f", (0.0, 1.0), (0.0, 1.0)),))
def run(problem):
    {extra}
    return Findings("Small ones", (), (chart,))
experiments.EXPERIMENTS = {{"derivations": run}}
main(["paper", "-o", sys.argv[1]])
"""
WAIT = "Path(sys.argv[2]).touch(); time.sleep(60)"
KILL_WHILE_MOVING = """
    move, moved = Path.replace, []
    def replace(self, target):
        moved.append(target)
        if len(moved) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return move(self, target)
    Path.replace = replace
"""
KILL_WHILE_WRITING = """
    write, written = Path.write_bytes, []
    def write_bytes(self, content):
        written.append(self)
        if len(written) == 3:
            write(self, content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(self, content)
    Path.write_bytes = write_bytes
"""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(problem: Problem) -> Findings:
        for table in SMALL.tables:
            finished(table)
        return SMALL

    monkeypatch.setattr(experiments, "EXPERIMENTS", {"derivations": run})


def whole(path: Path) -> bool:
    """Whether a file has its end."""
    ends = {".html": b"</html>\n", ".svg": b"</svg>\n", ".json": b"}", ".png": b"IEND\xaeB`\x82"}
    return path.read_bytes().endswith(ends[path.suffix])


@pytest.mark.usefixtures("small")
def test_writes_a_page_data_and_figures(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["paper", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "ReLU" in result.output
    assert "Measured on" in result.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    assert all(whole(path) for path in (tmp_path / "out").iterdir())
    data = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert data["experiments"]["derivations"]["tables"][0]["rows"] == [["ReLU", 2]]
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<td>ReLU</td>" in page
    assert '<svg class="chart"' in page
    assert "<figcaption>A line.</figcaption>" in page
    # the headline is the first thing on the page and the last but one on the terminal
    assert page.index("ReLU has rank 2.") < page.index("Measured on") < page.index("<td>ReLU</td>")
    assert result.output.index("  ReLU") < result.output.index("In short\n- ReLU has rank 2.\n\nWritten: ")


@pytest.mark.usefixtures("small")
def test_json(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["paper", "-o", str(tmp_path), "--only", "derivations", "--json"])
    assert json.loads(result.output)["experiments"]["derivations"]["title"] == "Small ones"


def test_depth_and_bias_reach_the_experiments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Problem] = []

    def run(problem: Problem) -> Findings:
        seen.append(problem)
        return SMALL

    monkeypatch.setattr(experiments, "EXPERIMENTS", {"derivations": run})
    result = CliRunner().invoke(main, ["paper", "-o", str(tmp_path), "--bias", "0.1", "--depth", "3", "--json"])
    assert (seen[0].bias, seen[0].depth) == (0.1, 3)
    assert (json.loads(result.output)["bias"], json.loads(result.output)["depth"]) == (0.1, 3)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--only", "nothing"], 2),
        (["--bias", "-1"], 2),
        (["--depth", "0"], 2),
        (["--bias", "x"], 2),
        (["--bias", "nan"], 2),
    ],
)
def test_bad_options_are_refused_before_any_work(
    tmp_path: Path, options: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(problem: Problem) -> Findings:
        raise AssertionError("work was started")

    monkeypatch.setattr(experiments, "EXPERIMENTS", {"derivations": work})
    result = CliRunner().invoke(main, ["paper", "-o", str(tmp_path / "out"), *options])
    assert result.exit_code == code
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(problem: Problem) -> Findings:
        raise AssertionError("work was started")

    monkeypatch.setattr(experiments, "EXPERIMENTS", {"derivations": work})
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(main, ["paper", "-o", str(tmp_path / "file" / "out")])
    assert result.exit_code == 1
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("extra", [KILL_WHILE_WRITING, KILL_WHILE_MOVING], ids=["writing", "moving"])
@pytest.mark.usefixtures("small")
def test_a_kill_leaves_whole_files_and_the_next_run_is_clean(tmp_path: Path, extra: str) -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT.format(extra=extra), str(tmp_path)], timeout=120, check=False)
    assert run.returncode == -signal.SIGKILL
    visible = [path for path in tmp_path.iterdir() if not path.name.startswith(".")]
    assert len(visible) == (2 if extra is KILL_WHILE_MOVING else 0)
    assert all(whole(path) for path in visible)
    assert CliRunner().invoke(main, ["paper", "-o", str(tmp_path)]).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", -15)])
def test_an_interruption_at_work_leaves_nothing(tmp_path: Path, name: str, code: int) -> None:
    out, started = tmp_path / "out", tmp_path / "started"
    command = [sys.executable, "-c", SCRIPT.format(extra=WAIT), str(out), str(started)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not started.exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(getattr(signal, name))
        _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in errors
    # a signal that Python does not see cannot remove the empty folder
    assert not (list(out.iterdir()) if name == "SIGTERM" else out.exists())


@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal")
@pytest.mark.parametrize("columns", [60, 140])
def test_tables_fit_the_terminal_and_appear_when_they_are_done(tmp_path: Path, columns: int) -> None:
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    table = (
        "from holokern.paper import Table, finished; "
        "finished(Table('Wide', ('case', *(f'column number {i}' for i in range(12))), (('ReLU', *range(12)),), "
        "('word ' * 60,))); Path(sys.argv[2]).touch(); time.sleep(60)"
    )
    started = tmp_path / "started"
    command = [sys.executable, "-c", SCRIPT.format(extra=table), str(tmp_path / "out"), str(started)]
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as process:
        until = time.monotonic() + 60
        while not started.exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.kill()
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    os.close(theirs)
    lines = shown.replace("\r", "").split("\n")
    assert "Wide" in lines
    assert "column" in shown
    assert columns - 30 < max(map(len, lines)) <= columns


@pytest.mark.usefixtures("small")
def test_a_pipe_is_a_hundred_columns_wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holokern.paper.machine", lambda: "a machine " * 30)
    result = CliRunner().invoke(main, ["paper", "-o", str(tmp_path / "out")])
    written = [line for line in result.output.splitlines() if str(tmp_path) not in line]
    assert max(map(len, written)) <= 100
