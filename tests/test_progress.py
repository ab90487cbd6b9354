import io
import time

import pytest

from holokern.progress import display, listen, report


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Broken(Terminal):
    def write(self, text):
        raise OSError("gone")


def test_nothing_is_shown_in_a_pipe_or_for_quick_work():
    pipe = io.StringIO()
    with display("deriving", stream=pipe, delay=0.0):
        report("rank")
        time.sleep(0.05)
    assert pipe.getvalue() == ""
    terminal = Terminal()
    with display("deriving", stream=terminal):
        report("rank")
    assert terminal.getvalue() == ""


def test_slow_work_shows_the_last_report_and_cleans_up():
    terminal = Terminal()
    with display("deriving", stream=terminal, delay=0.01):
        time.sleep(0.15)
        report("interpolating", 3, 10)
        time.sleep(0.25)
        report("checking", 4)
        time.sleep(0.25)
    shown = terminal.getvalue()
    assert "deriving" in shown
    assert "interpolating 3/10" in shown
    assert "checking 4 (" in shown
    assert shown.endswith("\r\x1b[K")


def test_the_line_is_erased_after_an_exception_and_reports_stop():
    terminal = Terminal()
    with pytest.raises(KeyboardInterrupt), display(stream=terminal, delay=0.0):
        time.sleep(0.15)
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith("\x1b[K")
    before = terminal.getvalue()
    report("nobody listens")
    assert terminal.getvalue() == before


def test_a_lost_terminal_does_not_disturb_the_work():
    with display(stream=Broken(), delay=0.0):
        time.sleep(0.15)
        result = 6 * 7
    assert result == 42


def test_listeners_nest():
    outer, inner = [], []
    with listen(lambda *event: outer.append(event)):
        report("a")
        with listen(lambda *event: inner.append(event)):
            report("b", 1)
        report("c", 1, 2)
    assert outer == [("a", None, None), ("c", 1, 2)]
    assert inner == [("b", 1, None)]
