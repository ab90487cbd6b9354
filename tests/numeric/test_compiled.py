"""Machine code on disk."""

import os
import subprocess
import sys

import pytest

CODE = """
from holokern.numeric import machine

@machine.{kind}
def twice(x):
    return 2 * x

print(twice(21), sum(twice.stats.cache_hits.values()))
"""


def runs(folder):
    (folder / "cache").mkdir()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}

    def run():
        command = [sys.executable, str(folder / "given.py")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    return run


@pytest.mark.parametrize("kind", ["entry", "bare_entry"])
def test_damaged_files_cost_a_rebuild(tmp_path, kind):
    (tmp_path / "given.py").write_text(CODE.format(kind=kind))
    run = runs(tmp_path)
    assert run() == ["42", "0"]
    assert run() == ["42", "1"]
    (index,) = (tmp_path / "cache").rglob("*.nbi")
    # As after an update of holokern, a name in the file leads nowhere.
    index.write_bytes(index.read_bytes()[:-40] + b"cholokern.gone\nGone\n.")
    assert run() == ["42", "0"]
    assert run() == ["42", "1"]


def test_a_change_in_another_file_of_the_folder_costs_a_rebuild(tmp_path):
    other = tmp_path / "other.py"
    (tmp_path / "given.py").write_text(
        "from other import FACTOR" + CODE.format(kind="entry").replace("2 *", "FACTOR *")
    )
    other.write_text("FACTOR = 2")
    run = runs(tmp_path)
    assert run() == ["42", "0"]
    assert run() == ["42", "1"]
    other.write_text("FACTOR = 10")
    assert run() == ["210", "0"]
