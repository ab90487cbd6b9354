"""A peer for the textbook cases: Macaulay2 where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def run_macaulay2(tmp_path: Path) -> Callable[[str], str]:
    """Run a script in Macaulay2 with the package Dmodules; the test is skipped where Macaulay2 is missing."""
    program = shutil.which("M2")
    if program is None:
        pytest.skip("Macaulay2 is not installed, so there is nothing to compare with")

    def run(script: str) -> str:
        path = tmp_path / "case.m2"
        path.write_text(f'needsPackage "Dmodules"\n{script}\nexit 0\n', encoding="utf-8")
        done = subprocess.run(
            [program, "--script", str(path)],
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
