"""``holokern hgm`` on systems in files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import special

import holokern as hk
from holokern.cli import main
from holokern.weyl import weyl_algebra

AIRY = "# Airy's equation\nvariables: x\ndx^2 - x\n"
GAUSS = "variables x\nx*(1-x)*dx^2 + (3/4 - 11/6*x)*dx - 1/6\n"


def run(*arguments):
    return CliRunner().invoke(main, ["hgm", *map(str, arguments)])


@pytest.fixture
def airy(tmp_path):
    file = tmp_path / "airy.txt"
    file.write_text(AIRY)
    return file


def test_the_system_of_a_text_file(airy):
    shown = run(airy)
    assert shown.exit_code == 0
    assert "rank            2" in shown.output
    record = run(airy, "--json").output
    assert hk.PfaffianSystem.from_json(record).rank == 2


@pytest.mark.parametrize("extra", [[], ["--balls", "--digits", "20"]])
def test_values(airy, extra):
    start = ["--start", "0", "--value", str(special.airy(0)[0]), f"--value={special.airy(0)[1]}"]
    shown = run(airy, *start, "--target", "1", "--target=-2", "--json", *extra)
    assert shown.exit_code == 0, shown.output
    record = json.loads(shown.output)
    assert record["proved"] == bool(extra)
    assert record["basis"] == ["1", "dx"]
    assert np.allclose([[float(v) for v in row] for row in record["values"]], [special.airy(x)[:2] for x in (1, -2)])
    text = run(airy, *start, "--target", "1", "--want", "dx^2").output
    assert "at 1" in text
    assert abs(float(text.split()[3]) - special.airy(1)[0]) < 1e-14


def test_json_files_and_archives(tmp_path):
    file = tmp_path / "wave.json"
    record = {"variables": ["x", "y"], "operators": ["dx^2 + 1", "dy - dx"], "start": [0, 0]}
    file.write_text(json.dumps({**record, "values": {"1": 0, "dx": 1}, "targets": [["1/2", "1/4"]]}))
    shown = run(file, "--want", "1")
    assert abs(float(shown.output.splitlines()[1].split()[1]) - np.sin(0.75)) < 1e-14
    archive = tmp_path / "system.json"
    archive.write_text(hk.pfaffian(weyl_algebra("x").ideal("dx^2 + 1")).to_json())
    assert "dx" in run(archive, "--start", 0, "--value", "1=1", "--value", "dx=0", "--target", "1").output


def test_detours_and_loops(tmp_path):
    file = tmp_path / "gauss.txt"
    file.write_text(GAUSS)
    known = ["--start", "1/2", "--value", "1", "--value", "1", "--target", "2"]
    refused = run(file, *known)
    assert refused.exit_code == 1
    assert "x - 1 = 0 at x = 1" in refused.output or "x - 1 = 0 at x = 1" in refused.stderr
    assert "j" in run(file, *known, "--side", "left").output
    turn = run(file, "--loop", "1/2", "--loop", "1-1/2j", "--loop", "3/2", "--loop", "1+1/2j", "--json")
    matrix = np.array([[complex(v) for v in row] for row in json.loads(turn.output)["monodromy"]])
    assert abs(np.linalg.det(matrix) - np.exp(2j * np.pi * (3 / 4 - 5 / 6))) < 1e-12


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("dx^2", [], "variables: x y"),
        ("variables: x\n", [], "no operators"),
        ("variables: x y\ndx\n", [], "infinite holonomic rank"),
        ('{"variables": ["x"]}', [], "neither 'variables' and 'operators'"),
        ("{", [], "begins like JSON"),
        (AIRY, ["--start", "0", "--value", "1", "--target", "1"], "expected 2 initial values"),
        (AIRY, ["--target", "1"], "give --start"),
        (AIRY, ["--start", "a", "--value", "1", "--value", "1", "--target", "1"], "expected a number"),
        (AIRY, ["--start", "0", "--value", "1=1", "--value", "1", "--target", "1"], "all values by operators"),
    ],
)
def test_bad_files_and_options_end_with_one_line(tmp_path, content, arguments, message):
    file = tmp_path / "system.txt"
    file.write_text(content)
    shown = run(file, *arguments)
    assert shown.exit_code in (1, 2)
    assert message in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1
