"""Progress of long computations: a place to report to, and a display that appears after a second.

Computations call :func:`report`; it costs nothing unless someone listens.  The command line listens through
:func:`display`, which stays silent when the stream is not a terminal or the work is quick.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

__all__ = ["display", "listen", "report"]

Listener = Callable[[str, int | None, int | None], None]

_listener: ContextVar[Listener | None] = ContextVar("holokern_progress", default=None)
_FRAMES = "|/-\\"
_PAUSE = 0.1


def report(stage: str, done: int | None = None, total: int | None = None) -> None:
    """Say what is being done now, and how much of it is done.

    Examples
    --------
    >>> seen = []
    >>> with listen(lambda stage, done, total: seen.append((stage, done, total))):
    ...     report("interpolating", 3, 10)
    >>> seen
    [('interpolating', 3, 10)]
    """
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Send the reports of the enclosed computation to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def display(stage: str = "working", *, stream: TextIO | None = None, delay: float = 1.0) -> Iterator[None]:
    """Show a spinner with the last report on ``stream`` (stderr) once the enclosed work takes longer than ``delay``.

    Nothing is written when the stream is not a terminal.  The line is erased at the end, also after an exception.
    """
    target = sys.stderr if stream is None else stream
    if not target.isatty():
        yield
        return
    spinner = _Spinner(stage, target, delay)
    spinner.start()
    try:
        with listen(spinner.update):
            yield
    finally:
        spinner.stop()


class _Spinner(threading.Thread):
    """Redraws one line until stopped."""

    def __init__(self, stage: str, stream: TextIO, delay: float) -> None:
        super().__init__(daemon=True, name="holokern-progress")
        self.stream, self.delay = stream, delay
        self.text = stage
        self.finished = threading.Event()
        self.shown = False

    def update(self, stage: str, done: int | None, total: int | None) -> None:
        amount = "" if done is None else f" {done}" if total is None else f" {done}/{total}"
        self.text = stage + amount

    def run(self) -> None:
        start = time.monotonic()
        if self.finished.wait(self.delay):
            return
        frame = 0
        while not self.finished.is_set():
            seconds = time.monotonic() - start
            self._write(f"\r{_FRAMES[frame % len(_FRAMES)]} {self.text} ({seconds:.0f} s)\x1b[K")
            self.shown = True
            frame += 1
            self.finished.wait(_PAUSE)

    def stop(self) -> None:
        self.finished.set()
        self.join()
        if self.shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):
            # the terminal went away; the computation must not suffer
            self.finished.set()
