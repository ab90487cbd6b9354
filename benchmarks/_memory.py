"""Peak memory of this process, for scripts of this folder; Linux only and without other packages.

Not getrusage: a process would inherit the peak of the one that started it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path


def peak_memory() -> int:
    """Largest resident set so far, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    """Give free memory back and let the peak start again from what is resident now, where the system allows it."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except (AttributeError, OSError):
        return


def memory_ratio(task: Callable[[], object], results: int, given: int, before: int | None = None) -> dict[str, float]:
    """By how much a task raises the peak, in units of its results and its input, both in bytes.

    ``before`` is the memory to count from, for processes that keep what earlier tasks used; None counts from now.
    """
    forget_peak()
    before = peak_memory() if before is None else before
    task()
    peak = peak_memory()
    return {"before": before, "peak": peak, "ratio": (peak - before + given) / (results + given)}
