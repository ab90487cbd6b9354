"""Progress of long computations: a place to report to, and a display that appears after a second.

Computations call :func:`report`; it costs nothing unless someone listens.  The command line and the public functions
that may take long listen through :func:`display`.  The display writes to a terminal or to a notebook, never to a pipe
or a file.  ``HOLOKERN_PROGRESS=off`` in the environment turns it off.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

Listener = Callable[[str, int | None, int | None], None]

_listener: ContextVar[Listener | None] = ContextVar("holokern_progress", default=None)
_FRAMES = "|/-\\"  # a wheel that turns
_PAUSE = 0.1  # seconds between two frames


class Display:
    """What `display` gives: a way to print while a line of progress may be shown; this one shows none."""

    def print(self, text: str, stream: TextIO | None = None) -> None:
        """Print to stdout or ``stream``, above the line of progress."""
        target = sys.stdout if stream is None else stream
        target.write(f"{text}\n")
        target.flush()


def report(stage: str, done: int | None = None, total: int | None = None) -> None:
    """Say what is being done now, and how much of it is done.

    >>> seen = []
    >>> with listen(lambda stage, done, total: seen.append((stage, done, total))):
    ...     report("interpolating", 3, 10)
    >>> seen
    [('interpolating', 3, 10)]
    """
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


def note(text: str) -> None:
    """Say, before slow work starts, what it will cost and what to do instead; only in a terminal or a notebook."""
    stream = _place(None)
    if stream is not None:
        Display().print(f"holokern: {text}", stream)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Send the reports of the enclosed computation to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def display(
    stage: str | None = None, *, stream: TextIO | None = None, delay: float = 1.0, quiet: bool = False
) -> Iterator[Display]:
    """Show the last report once the enclosed work takes longer than ``delay`` seconds.

    Without a ``stage`` nothing is shown before the first report, so that quick work costs nothing.  A display inside
    another one leaves the outer one in charge.  The line is erased at the end, also after an exception.

    ``stage``: what is being done before the first report.
    ``stream``: where to write; by default stderr if it is a terminal, or the output of a notebook's cell.
    ``delay``: seconds before anything is shown.
    ``quiet``: whether to show nothing at all.
    """
    target = None if quiet or _listener.get() is not None else _place(stream)
    if target is None:
        yield Display()
        return
    spinner = _Spinner(target, delay)
    if stage is not None:
        spinner.update(stage, None, None)
    try:
        with listen(spinner.update):
            yield spinner
    finally:
        spinner.stop()


def _place(stream: TextIO | None) -> TextIO | None:
    """Where a line can be shown and erased, or None."""
    if os.environ.get("HOLOKERN_PROGRESS", "").lower() in ("off", "0", "no"):
        return None
    if stream is None and _in_notebook():
        return sys.stdout
    target = sys.stderr if stream is None else stream
    return target if target is not None and target.isatty() else None


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this; nothing is imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _Spinner(Display):
    """Redraws one line until stopped; its thread starts with the first report."""

    def __init__(self, stream: TextIO, delay: float) -> None:
        self.stream, self.delay = stream, delay
        self.begun = time.monotonic()
        self.text = ""
        self.step = ("", 0, self.begun)
        self.shown = 0
        self.finished = threading.Event()
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def update(self, stage: str, done: int | None, total: int | None) -> None:
        amount = "" if done is None else f" {done}" if total is None else f" {done}/{total}"
        self.text = stage + amount + self._left(stage, done, total)
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, daemon=True, name="holokern-progress")
            self.thread.start()

    def _left(self, stage: str, done: int | None, total: int | None) -> str:
        """How long this step will take at the speed that it had so far."""
        now = time.monotonic()
        if done is None or total is None or stage != self.step[0] or done < self.step[1]:
            self.step = (stage, done or 0, now)
        _, first, begun = self.step
        if total is None or done is None or done == first:
            return ""
        return f", about {(now - begun) / (done - first) * (total - done):.0f} s left"

    def run(self) -> None:
        if self.finished.wait(max(0.0, self.delay - (time.monotonic() - self.begun))):
            return
        frame = 0
        while not self.finished.is_set():
            line = f"{_FRAMES[frame % len(_FRAMES)]} {self.text} ({time.monotonic() - self.begun:.0f} s)"
            with self.lock:
                self._erase()
                self._write(line)
                self.shown = len(line)
            frame += 1
            self.finished.wait(_PAUSE)

    def print(self, text: str, stream: TextIO | None = None) -> None:
        with self.lock:
            self._erase()
            super().print(text, stream)

    def stop(self) -> None:
        self.finished.set()
        if self.thread is not None:
            self.thread.join()
        self._erase()

    def _erase(self) -> None:
        if self.shown:
            # notebooks know the carriage return, but not the control sequence that terminals have
            self._write("\r\x1b[K" if self.stream.isatty() else f"\r{' ' * self.shown}\r")
            self.shown = 0

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):
            # the terminal went away; the computation must not suffer
            self.finished.set()
