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


@pytest.mark.parametrize("kind", ["entry", "bare_entry"])
def test_damaged_files_cost_a_rebuild(tmp_path, kind):
    (tmp_path / "given.py").write_text(CODE.format(kind=kind))
    (tmp_path / "cache").mkdir()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        command = [sys.executable, str(tmp_path / "given.py")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert run() == ["42", "0"]
    assert run() == ["42", "1"]
    (index,) = (tmp_path / "cache").rglob("*.nbi")
    # As after an update of holokern, a name in the file leads nowhere.
    index.write_bytes(index.read_bytes()[:-40] + b"cholokern.gone\nGone\n.")
    assert run() == ["42", "0"]
    assert run() == ["42", "1"]
