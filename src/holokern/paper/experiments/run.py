"""The experiments by name; each gives its findings for a problem."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from holokern.errors import UnknownName
from holokern.numeric import one_thread
from holokern.paper.problem import Problem
from holokern.paper.results import Findings

Experiment = Callable[[Problem], Findings]


def _in_module(module: str, name: str) -> Experiment:
    """An experiment whose module is imported when it runs."""

    def run(problem: Problem) -> Findings:
        found: Findings = getattr(import_module(f"holokern.paper.experiments.{module}"), name)(problem)
        return found

    return run


EXPERIMENTS: dict[str, Experiment] = {
    "learning": _in_module("learning", "learning"),
    "path": _in_module("path", "path"),
    "hermite": _in_module("hermite_coefficients", "hermite"),
    "derivations": _in_module("derivations", "derivations"),
    "hie": _in_module("hie_relu", "hie_relu"),
    "width": _in_module("width", "width"),
}


def check_names(names: Sequence[str]) -> None:
    """Refuse unknown experiments before any work."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise UnknownName(f"unknown experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}")


def run_experiments(names: Sequence[str] = (), problem: Problem | None = None) -> dict[str, Findings]:
    """Run the named experiments, or all of them.

    The derivations run first, so that nothing of theirs is in memory yet.  Linear algebra gets one thread: the
    matrices are small, and threads that wait for each other spoil the clocks.

    >>> found = run_experiments(["hermite"])
    >>> found["hermite"].title
    'Hermite coefficients of ReSin'
    """
    check_names(names)
    chosen = Problem() if problem is None else problem
    with one_thread():
        wanted = [name for name in EXPERIMENTS if not names or name in names]
        found = {name: EXPERIMENTS[name](chosen) for name in sorted(wanted, key=lambda name: name != "derivations")}
    return {name: found[name] for name in wanted}


def machine() -> str:
    """The machine and the versions that the seconds belong to."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("holokern", "python-flint", "numpy", "scipy", "numba"))
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
