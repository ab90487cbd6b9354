import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from holokern.cli import main
from holokern.network import Network


@pytest.fixture
def data(tmp_path):
    x = np.random.default_rng(0).standard_normal((6, 3))
    np.save(tmp_path / "x.npy", x)
    np.savetxt(tmp_path / "x.csv", x, delimiter=",", fmt="%.17g")
    return tmp_path, x


def run(*arguments):
    return CliRunner().invoke(main, ["kernel", *map(str, arguments)])


def test_kernel_of_a_file(data):
    folder, x = data
    result = run(folder / "x.npy", "--activation", "gelu", "--depth", 3, "-o", folder / "k.npy", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["shape"] == [6, 6]
    assert np.array_equal(np.load(folder / "k.npy"), Network("gelu", 3).ntk(x))


def test_kernel_of_text_against_other_points(data):
    folder, x = data
    result = run(
        folder / "x.csv",
        "-a",
        "relu",
        "--kind",
        "nngp",
        "--against",
        folder / "x.npy",
        "--bias",
        0.5,
        "-o",
        folder / "k.npy",
    )
    assert result.exit_code == 0, result.output
    assert "nngp of shape 6 x 6" in result.stdout
    assert np.allclose(np.load(folder / "k.npy"), Network("relu", 1, bias=0.5).nngp(x, x), rtol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "word", "code"),
    [
        (["x.npy", "-a", "step", "-o", "k.npy"], "jumps", 1),
        (["x.npy", "-a", "relu", "-o", "k.txt"], ".npy", 2),
        (["x.npy", "-a", "relu", "-d", "0", "-o", "k.npy"], "depth", 2),
        (["bad.csv", "-a", "relu", "-o", "k.npy"], "cannot read points", 1),
        (["empty.npy", "-a", "relu", "-o", "k.npy"], "cannot read points", 1),
        (["two.npz", "-a", "relu", "-o", "k.npy"], "a, b", 1),
        (["missing.npy", "-a", "relu", "-o", "k.npy"], "does not exist", 2),
        (["x.npy", "-a", "rleu", "-o", "k.npy"], "rleu", 2),
        (["missing.npy", "-a", "relu", "-o", "nowhere/k.npy"], "does not exist", 2),
    ],
)
def test_bad_input_is_one_line(data, arguments, word, code):
    folder, _ = data
    (folder / "bad.csv").write_text("1,b\n1,2\n")
    (folder / "empty.npy").touch()
    np.savez(folder / "two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    full = [folder / a if a.endswith((".npy", ".npz", ".csv", ".txt")) else a for a in arguments]
    result = run(*full)
    assert result.exit_code == code
    (line,) = result.stderr.splitlines()
    assert line.startswith("holokern: error: ")
    assert word in line
    assert not (folder / "k.npy").exists()


def test_kernel_of_an_archive(data):
    folder, x = data
    np.savez(folder / "x.npz", X=x, y=np.ones(6))
    result = run(folder / "x.npz", "-a", "relu", "-o", folder / "k.npy")
    assert result.exit_code == 0, result.output
    assert np.array_equal(np.load(folder / "k.npy"), Network("relu", 1).ntk(x))


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to see that the file is being written")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killing_leaves_nothing_and_keeps_an_older_file(tmp_path, number):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((1500, 4)))
    np.save(tmp_path / "k.npy", np.eye(2))
    # A break without a closed form makes the work long enough to be interrupted.
    options = ["kernel", "x.npy", "-a", "Heaviside(u - 1)*sin(u - 1)", "-o", "k.npy"]
    command = [sys.executable, "-c", "from holokern.cli import main; main()", *options]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    maps = Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and str(tmp_path) not in maps.read_text():
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(timeout=60) == -number
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k.npy", "x.npy"]
    assert np.array_equal(np.load(tmp_path / "k.npy"), np.eye(2))
