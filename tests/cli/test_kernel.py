import json

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
    ("arguments", "word"),
    [
        (["x.npy", "-a", "step", "-o", "k.npy"], "jumps"),
        (["x.npy", "-a", "relu", "-o", "k.txt"], ".npy"),
        (["x.npy", "-a", "relu", "-d", "0", "-o", "k.npy"], "depth"),
        (["bad.csv", "-a", "relu", "-o", "k.npy"], "cannot read points"),
        (["missing.npy", "-a", "relu", "-o", "k.npy"], "does not exist"),
    ],
)
def test_bad_input_is_one_line(data, arguments, word):
    folder, _ = data
    (folder / "bad.csv").write_text("a,b\n1,2\n")
    full = [folder / a if a.endswith((".npy", ".csv", ".txt")) else a for a in arguments]
    result = run(*full)
    assert result.exit_code in (1, 2)
    (line,) = result.stderr.splitlines()
    assert line.startswith("holokern: error: ")
    assert word in line
    assert not (folder / "k.npy").exists()
