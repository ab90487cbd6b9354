"""The time of every method for one activation, measured in a process of its own that can be stopped.

Some methods take minutes for some activations, and nothing but the end of the process stops them.
"""

from __future__ import annotations

import json
import pickle
import queue
import subprocess
import sys
import threading
import time
from typing import IO

import numpy as np

from holokern.activation import Activation
from holokern.dual import dual
from holokern.errors import HolokernError
from holokern.numeric import Array
from holokern.paper import Cell, Table
from holokern.progress import report

# quick ones first
_METHODS = ("closed", "hermite", "quadrature", "gauss_hermite", "compiled", "hgm", "taylor", "all_at_once", "hie")
# the paper's baseline with a fixed degree, since doubling it would be timed as well
_OPTIONS: dict[str, dict[str, int]] = {"gauss_hermite": {"degree": 100}}
_ANGLES = 19  # correlations from -0.9 to 0.9 in steps of 0.1
_PATIENCE = 12.0  # seconds for one method, so that a page takes two minutes at most
# what is made once and then kept may take longer: its time per call is that of the second one
_MAKING = {"compiled": 120.0}
_LONG = 40  # characters: longer remarks are not repeated
_START = 30.0  # seconds for Python and holokern to start on a slow machine
_WORKER = "from holokern.report.method_times import work; work()"  # what the process that is timed runs


def method_times(activation: Activation, *, patience: float = _PATIENCE) -> Table:
    """A table with the times of every method at 19 correlations and c1 = c2 = 1: first call, second call, error.

    ``activation``: the activation.
    ``patience``: seconds for one method.
    """
    found: dict[str, tuple[Cell, ...]] = {}
    while missing := [name for name in _METHODS if name not in found]:
        found |= _measure(activation, missing, patience)
    rows = tuple((name, *found[name][:-1], remark) for name, remark in _remarks(found).items())
    notes = (
        f"Seconds for k and k′ at {_ANGLES} correlations from −0.9 to 0.9 and c₁ = c₂ = 1, on this machine. The first "
        "call in a new process also derives a system or makes a table; the next call finds it there.",
        "Difference: the largest difference of k from the value of method auto, relative to E[σ(z)²].",
        "closed: a formula. hermite: a series of Hermite coefficients. quadrature: holokern's own, which knows the "
        "kinks of σ. gauss_hermite: the usual product rule, here with 100 nodes per variable. compiled: a table that "
        "is made once. hgm, taylor, all_at_once: the differential equations, solved in three ways. hie: a fit to the "
        "equations.",
    )
    return Table(
        f"Time per method: {activation}",
        ("method", "first call, s", "next call, s", "difference", "remark"),
        rows,
        notes,
    )


def _remarks(found: dict[str, tuple[Cell, ...]]) -> dict[str, Cell]:
    """The remark of every method; a reason that several share is written once."""
    first: dict[Cell, str] = {}
    remarks: dict[str, Cell] = {}
    for name in _METHODS:
        remark = found[name][-1]
        remarks[name] = f"as for {first[remark]}" if remark in first else remark
        if isinstance(remark, str) and len(remark) > _LONG:
            first.setdefault(remark, name)
    return remarks


def _measure(activation: Activation, methods: list[str], patience: float) -> dict[str, tuple[Cell, ...]]:
    """Results of one process, until it is done or a method takes too long."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None and process.stdout is not None
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True).start()
    found: dict[str, tuple[Cell, ...]] = {}
    remark = ""
    try:
        with process.stdin as stream:
            stream.write(pickle.dumps((activation, methods)))
        json.loads(lines.get(timeout=_START))
        for name in methods:
            report(f"timing {name}")
            found[name] = tuple(json.loads(lines.get(timeout=max(patience, _MAKING.get(name, 0.0)))))
    except queue.Empty:
        remark = f"stopped after {patience:g} s"
    except (BrokenPipeError, json.JSONDecodeError):
        remark = "its process ended without a result"
    finally:
        process.kill()
        process.wait()
    # another process goes on after the method that took too long or took the process down
    for name in [name for name in methods if name not in found][:1]:
        found[name] = (None, None, None, remark)
    return found


def _forward(stream: IO[bytes], lines: queue.Queue[bytes]) -> None:
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(b"")


def work() -> None:
    """The other process: read an activation and methods, write a line of JSON for each."""
    activation, methods = pickle.loads(sys.stdin.buffer.read())
    theta = np.arccos(np.linspace(-0.9, 0.9, _ANGLES))
    truth, scale = np.asarray(dual(activation, 1, 1, theta=theta).k), float(np.asarray(dual(activation, 1, 1, 1.0).k))
    print(json.dumps("ready"), flush=True)
    for name in methods:
        print(json.dumps(_timed(activation, name, theta, truth, scale)), flush=True)


def _timed(activation: Activation, method: str, theta: Array, truth: Array, scale: float) -> tuple[Cell, ...]:
    times = []
    try:
        for _ in range(2):
            start = time.perf_counter()
            value = dual(activation, 1, 1, theta=theta, method=method, **_OPTIONS.get(method, {}))
            times.append(time.perf_counter() - start)
    except HolokernError as error:
        # the row names the method, and the page the activation: the reason is left, without what to try next
        prefix = f"method {method!r} cannot serve {activation}: "
        return None, None, None, str(error).removeprefix(prefix).partition(";")[0]
    return times[0], times[1], float(np.max(np.abs(value.k - truth))) / scale, None
