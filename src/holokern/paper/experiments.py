"""The experiments by name; each gives tables."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path

from holokern.errors import UnknownName
from holokern.paper.table import Table

__all__ = ["EXPERIMENTS", "machine", "run_experiments"]


def _derivations() -> list[Table]:
    from holokern.paper.derivations import derivations

    return [derivations()]


def _learning() -> list[Table]:
    from holokern.paper.learning import learning_tables

    return learning_tables()


def _hermite() -> list[Table]:
    from holokern.paper.hermite_coefficients import hermite_table

    return [hermite_table()]


EXPERIMENTS: dict[str, Callable[[], list[Table]]] = {
    "learning": _learning,
    "derivations": _derivations,
    "hermite": _hermite,
}


def run_experiments(names: Sequence[str] = ()) -> dict[str, list[Table]]:
    """Run the named experiments, or all of them, in the paper's order."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise UnknownName(f"unknown experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}")
    return {name: run() for name, run in EXPERIMENTS.items() if not names or name in names}


def machine() -> str:
    """The machine and the versions that the seconds belong to."""
    from importlib.metadata import version

    packages = ", ".join(f"{name} {version(name)}" for name in ("holokern", "python-flint", "numpy"))
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {packages}"
    )


def _processor() -> str:
    """The processor's own name where the system tells it."""
    listing = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in listing.read_text().splitlines() if line.startswith("model name")]
        if listing.is_file()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()
