"""Other programs, each in a process of its own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path


def run_script(command: list[str], script: str, suffix: str, timeout: float) -> tuple[str, str]:
    """What a program prints when it runs a script, and then a note that is empty if it could be run to the end."""
    if shutil.which(command[0]) is None:
        return "", "missing"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"case{suffix}"
        path.write_text(script, encoding="utf-8")
        try:
            done = subprocess.run(
                [*command, str(path)],
                capture_output=True,
                text=True,
                timeout=timeout,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "", f"> {timeout:g} s"
    if "SECONDS" not in done.stdout:
        return "", "failed: " + (done.stdout + done.stderr).strip()[-80:].replace("\n", " ")
    return done.stdout, ""
