import io
import time

import pytest

from holokern.progress import display, listen, note, report


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


def test_steps_of_known_length_say_how_long_they_will_take():
    terminal = Terminal()
    with display(stream=terminal, delay=0.0):
        report("interpolating", 0, 100)
        time.sleep(0.2)
        report("interpolating", 1, 100)
        time.sleep(0.2)
        report("interpolating", 50, 51)
        time.sleep(0.2)
        report("checking", 2, 3)
        time.sleep(0.2)
    shown = terminal.getvalue()
    assert "interpolating 0/100 (" in shown
    assert "interpolating 1/100, about 2" in shown
    assert "interpolating 50/51, about 0 s left" in shown
    assert "checking 2/3 (" in shown


def test_the_line_is_erased_after_an_exception_and_reports_stop():
    terminal = Terminal()
    with pytest.raises(KeyboardInterrupt), display("working", stream=terminal, delay=0.0):
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


def test_a_display_inside_another_leaves_the_outer_one_in_charge():
    terminal = Terminal()
    with display("outer", stream=terminal, delay=0.0), display("inner", stream=Broken(), delay=0.0):
        report("work")
        time.sleep(0.15)
    assert "work" in terminal.getvalue()


def test_without_a_stage_quick_work_starts_no_thread():
    import threading

    with display(stream=Terminal(), delay=0.0):
        assert not [t for t in threading.enumerate() if t.name == "holokern-progress"]


def test_printing_above_the_line(capsys):
    terminal = Terminal()
    with display("working", stream=terminal, delay=0.0) as screen:
        time.sleep(0.15)
        screen.print("a table")
        time.sleep(0.15)
    assert capsys.readouterr().out == "a table\n"
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_notebooks_show_progress_in_the_cell_and_the_environment_turns_it_off(monkeypatch, capsys):
    import sys
    from types import SimpleNamespace

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with display("deriving", delay=0.0):
        time.sleep(0.15)
    note("this takes a minute")
    shown = capsys.readouterr().out
    assert "deriving (0 s)" in shown
    assert "\x1b" not in shown
    assert shown.endswith("holokern: this takes a minute\n")
    monkeypatch.setenv("HOLOKERN_PROGRESS", "off")
    with display("deriving", delay=0.0):
        time.sleep(0.05)
    note("unseen")
    assert capsys.readouterr().out == ""
