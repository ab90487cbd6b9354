"""Every example of the gallery runs by itself; those that take minutes are only read."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
EXAMPLES = sorted(GALLERY.glob("*.py"))
RUN = [path for path in EXAMPLES if path.name.startswith("plot_")]


def test_there_are_examples() -> None:
    assert len(RUN) >= 8


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_the_example_runs(path: Path, tmp_path: Path) -> None:
    # the matrices are small: threads of the linear algebra would only wait for each other
    settings = {"MPLBACKEND": "Agg", "HOLOKERN_CACHE_DIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **settings}
    command = [sys.executable, "-W", "error::UserWarning", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_begins_with_a_title(path: Path) -> None:
    title, line = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "\n").splitlines()[:2]
    assert len(line) >= len(title) and set(line) == {"="}
