"""``holokern kernel``: files that it must not touch, data that it must not take, tables as people save them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from holokern.cli import main
from holokern.cli.options.points import read_points
from holokern.network import Network

X = np.array([[1.0, 2.0], [3.0, 4.0], [-0.5, 1e-3]])


@pytest.fixture(autouse=True)
def points(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)


def run(*arguments):
    return CliRunner().invoke(main, ["kernel", *map(str, arguments)])


def refused(result, code=1):
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("holokern: error: ")
    return line


def _symbolic():
    Path("other.npy").symlink_to("x.npy")
    return "x.npy", "other.npy"


def _symbolic_input():
    Path("other.npy").symlink_to("x.npy")
    return "other.npy", "x.npy"


def _hard():
    Path("other.npy").hardlink_to("x.npy")
    return "x.npy", "other.npy"


def _folder():
    Path("deep").mkdir()
    return "x.npy", "deep/../x.npy"


def _missing_folder():
    return "x.npy", "deep/../x.npy"


NAMES = [lambda: ("x.npy", "x.npy"), _symbolic, _symbolic_input, _hard, _folder, _missing_folder]


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("as_columns", [False, True])
def test_an_output_that_is_an_input_is_refused(names, as_columns):
    data, output = names()
    np.save("y.npy", X)
    given = ["y.npy", "--against", data] if as_columns else [data]
    line = refused(run(*given, "-a", "relu", "-o", output), code=2)
    assert "--output" in line
    assert "would be lost" in line
    assert np.array_equal(np.load("x.npy"), X)


def test_another_file_may_be_replaced():
    np.save("k.npy", np.zeros(3))
    assert run("x.npy", "-a", "relu", "-o", "k.npy").exit_code == 0
    assert np.array_equal(np.load("k.npy"), Network("relu", 1).ntk(X))


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_rows_whose_squares_overflow_are_refused(activation):
    np.save("big.npy", np.full((3, 4), 1e200))
    line = refused(run("big.npy", "-a", activation, "-o", "k.npy"))
    assert "row 1 of 'big.npy'" in line
    assert "rescale" in line
    assert not Path("k.npy").exists()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_is_refused_and_keeps_the_old_file(monkeypatch, value):
    def fill(self, rows, columns, out):
        out[:] = 1
        out[-1, -1] = value

    monkeypatch.setattr(Network, "ntk", fill)
    np.save("k.npy", np.zeros(3))
    line = refused(run("x.npy", "-a", "relu", "-o", "k.npy"))
    assert "leaves the range of floating-point numbers" in line
    assert "--weight-variance" in line
    assert np.array_equal(np.load("k.npy"), np.zeros(3))
    assert sorted(path.name for path in Path().iterdir()) == ["k.npy", "x.npy"]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_arrays_are_refused(shape):
    np.save("e.npy", np.empty(shape))
    assert "'e.npy' is empty" in refused(run("e.npy", "-a", "relu", "-o", "k.npy"))
    assert "is empty" in refused(run("x.npy", "--against", "e.npy", "-a", "relu", "-o", "k.npy"))
    assert not Path("k.npy").exists()


def test_a_missing_folder_is_made_and_removed_when_it_was_in_vain():
    assert run("x.npy", "-a", "relu", "-o", "new/deep/k.npy").exit_code == 0
    assert np.load("new/deep/k.npy").shape == (3, 3)
    refused(run("x.npy", "-a", "step", "-o", "other/deep/k.npy"))
    assert not Path("other").exists()


def test_a_folder_that_cannot_be_made_is_one_line():
    Path("file").touch()
    assert "cannot write" in refused(run("x.npy", "-a", "relu", "-o", "file/k.npy"))


TABLES = {
    "commas": "1,2\n3,4\n-0.5,1e-3\n",
    "header": "height,weight\n1,2\n3,4\n-0.5,1e-3\n",
    "quoted header": '"height, cm","weight; kg"\n1,2\n3,4\n-0.5,1e-3\n',
    "quoted numbers": '"a","b"\n"1","2"\n"3","4"\n"-0.5","1e-3"\n',
    "numbered header": "x 1,x 2\n1,2\n3,4\n-0.5,1e-3\n",
    "byte order mark": "\ufeffa,b\n1,2\n3,4\n-0.5,1e-3\n",
    "semicolons": "a;b\n1;2\n3;4\n-0.5;1e-3\n",
    "tabs": "a\tb\n1\t2\n3\t4\n-0.5\t1e-3\n",
    "blanks": "a b\n  1 2\n3   4\n\n-0.5 1e-3",
    "comments": "# made by hand\na,b # names\n1,2\n\n3,4 # last but one\n-0.5,1e-3\n",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_tables_as_people_save_them(text):
    Path("x.csv").write_text(text, encoding="utf-8")
    assert np.array_equal(read_points(Path("x.csv")), X)


def test_a_header_row_on_the_command_line():
    Path("x.csv").write_text(TABLES["header"])
    result = run("x.csv", "-a", "relu", "-o", "k.npy")
    assert result.exit_code == 0, result.output
    assert np.array_equal(np.load("k.npy"), Network("relu", 1).ntk(X))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["is empty"]),
        ("\n  \n# nothing\n", ["is empty"]),
        ("a,b\n", ["header row", "nothing below"]),
        ("1,2\n3\n", ["line 2 has 1 columns", "line 1 has 2"]),
        ("1,2\n3,\n", ["line 2", "column 2", "gap"]),
        ("a,b\n1,2\n3,x\n", ["line 3", "'x'", "column 2"]),
        ("1,x\n3,4\n", ["line 1", "'x'"]),
        ("ann,1,2\nbob,3,4\n", ["line 1", "'ann'"]),
        ("a,b\nc,d\n1,2\n", ["line 2", "'c'"]),
        ("1,5;2,5\n3,5;4,5\n", ["two kinds of separators"]),
        ("1;2\n3,4\n5,6\n", ["line 1", "'1;2'"]),
        ("1,2\n3,nan\n", ["nan in row 2, column 2"]),
    ],
)
def test_tables_that_are_none(text, words):
    Path("x.csv").write_text(text)
    line = refused(run("x.csv", "-a", "relu", "-o", "k.npy"))
    for word in (*words, "x.csv"):
        assert word in line
    for advice in ("usecols", "skiprows", "delimiter", "loadtxt", "pickle"):
        assert advice not in line


def test_arrays_that_are_no_points():
    np.save("one.npy", np.ones(3))
    np.save("complex.npy", np.ones((2, 2)) * 1j)
    np.save("text.npy", np.array([["a"]]))
    np.save("objects.npy", np.array([[None]]), allow_pickle=True)
    np.save("wide.npy", np.ones((2, 7)))
    Path("noise.npy").write_bytes(b"no numpy file")
    Path("noise.npz").write_bytes(b"PK no archive")
    Path("noise.csv").write_bytes(b"\xff\xfe\x00")
    np.savez("objects.npz", X=np.array([[None]]))
    assert "(3,)" in refused(run("one.npy", "-a", "relu", "-o", "k.npy"))
    for name in ("complex.npy", "text.npy"):
        assert "not real numbers" in refused(run(name, "-a", "relu", "-o", "k.npy"))
    for name in ("objects.npy", "noise.npy", "noise.npz", "noise.csv", "objects.npz"):
        line = refused(run(name, "-a", "relu", "-o", "k.npy"))
        assert f"cannot read points from '{name}'" in line
        assert "pickle" not in line
    line = refused(run("x.npy", "--against", "wide.npy", "-a", "relu", "-o", "k.npy"))
    assert "'x.npy' has 2 columns and 'wide.npy' has 7" in line


def test_parameters_of_the_activation():
    result = run("x.npy", "-a", "leaky_relu", "--param", "slope=0.2", "-o", "k.npy")
    assert result.exit_code == 0, result.output
    import holokern as hk

    assert np.array_equal(np.load("k.npy"), Network(hk.activation("leaky_relu", slope=0.2), 1).ntk(X))


NOISY = """
import numpy as np
from holokern.cli import main
from holokern.network import Network
quiet = Network.ntk
def noisy(*given, **options):
    np.log(np.zeros(1)) - np.log(np.zeros(1))
    return quiet(*given, **options)
Network.ntk = noisy
main(["kernel", "x.npy", "-a", "relu", "-o", "k.npy"])
"""


def test_no_warning_reaches_the_user():
    done = subprocess.run([sys.executable, "-c", NOISY], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    shown = [sys.executable, "-W", "always", "-c", NOISY]
    assert "RuntimeWarning" in subprocess.run(shown, capture_output=True, text=True, timeout=120, check=False).stderr


def test_overflow_inside_the_library_is_an_error_of_one_line(monkeypatch):
    def overflow(*_, **__):
        raise OverflowError("cannot convert float infinity to integer")

    monkeypatch.setattr(Network, "ntk", overflow)
    assert "rescale the data" in refused(run("x.npy", "-a", "relu", "-o", "k.npy"))
