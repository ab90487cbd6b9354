"""Expressions that nobody tuned for: every answer comes soon, in bounded memory, and its error estimate is honest.

Each batch runs in a process of its own with a limit of memory and of time for each point.  The truth is `enclose`,
which shares no code with quadrature.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

WORKER = Path(__file__).with_name("watchdog_worker.py")
MEMORY = 4 << 30
"""Bytes of address space, numpy and its libraries included."""

PATIENCE = 20
"""Seconds of CPU for a point of `dual`: the rule is five, and a busy machine may be four times slower."""


def linear(pick):
    return pick.choice(["u", "(2*u)", "(u/3)", "(u-1/2)", "(u+2)"])


def cancelling(pick):
    x = linear(pick)
    return pick.choice([
        f"sqrt(1+{x}^2)-1", f"{x}-tanh({x})", f"log(1+exp({x}))-log(2)-({x})/2", f"exp({x})-1-{x}", f"{x}-sin({x})",
        f"atan({x})-{x}", f"Heaviside({x})*(exp(-({x}))-exp(-2*({x})))", f"log(cosh({x}))",
        f"{x}*(sqrt(1+{x}^2)-Abs({x}))",
    ])  # fmt: skip


def removable(pick):
    x = linear(pick)
    return pick.choice([
        f"(1-cos({x}))/({x})", f"sin({x})/({x})", f"(exp({x})-1)/({x})", f"({x})/(exp({x})-1)", f"tanh({x})/({x})",
        f"1/tanh({x})-1/({x})", f"(cosh({x})-1)/({x})^2*exp(-({x})^2)",
    ])  # fmt: skip


def pole(pick):
    x = linear(pick)
    return pick.choice([f"tan({x})", f"1/sin({x})", f"1/({x})", f"1/cos({x})", f"1/(exp({x})-2)"])


def bump(pick):
    a = pick.choice(["10", "1000", "100000"])
    return pick.choice([
        f"exp(-{a}*(u-7/10)^2)", f"1/(1+{a}*u^2)", f"tanh({a}*u)", f"erf({a}*(u-1))", f"u*exp(-{a}*u^2)",
        f"1/(1+exp(-{a}*u))",
    ])  # fmt: skip


def oscillating(pick):
    f = pick.choice(["3", "20", "100"])
    return pick.choice([
        f"sin({f}*u)", "cos(u^2)", "airyai(u)", f"Heaviside(u)*sin({f}*u)", f"cos({f}*u)*exp(-Abs(u))", "besselj(0,u)",
        f"sin({f}*u)/u",
    ])  # fmt: skip


def tail(pick):
    b = pick.choice(["3", "8", "12"])
    return pick.choice(
        [f"Max(u-{b},0)", f"Heaviside(u-{b})", f"Max(Abs(u)-{b},0)", f"erfc(u+{b})", f"exp(-u)*Heaviside(u-{b})"]
    )


def piecewise(pick):
    return pick.choice([
        "Max(Min(u,1),-1/2)", "Max(u-1,Min(u+1,0))", "log(1+Abs(u))", "Abs(u)^(1/2)", "relu", "gelu", "mish", "selu",
        "softshrink", "hardswish", "u*exp(-u^2/2)+Heaviside(u-1)*(u-1)*exp(-u)", "resin", "u^3", "exp(u)",
    ])  # fmt: skip


KINDS = [cancelling, removable, pole, bump, oscillating, tail, piecewise]
DEVIATIONS = ["1e-8", "1e-4", "1e-2", "1", "3", "30", "1e3", "1e6"]
CORRELATIONS = ["0", "0.4", "-0.7", "0.99", "-0.999999", "0.999999999999", "1", "-1"]


def points(count, seed):
    """Expressions, deviations and correlations; a third of the points are ordinary in everything but the expression."""
    pick = random.Random(seed)
    found = []
    for _ in range(count):
        expression = pick.choice(KINDS)(pick)
        small = pick.random() < 1 / 3
        c1, c2 = (pick.choice(["1/2", "1", "2"] if small else DEVIATIONS) for _ in range(2))
        found.append([expression, c1, c2, pick.choice(["0.3", "-0.6"] if small else CORRELATIONS)])
    return found


def watched(tmp_path, chosen, truth):
    """Run a batch in a process with limits; what it says about each point. The truth may take so many seconds."""
    answers = tmp_path / "answers.jsonl"
    job = {"points": chosen, "memory": MEMORY, "patience": PATIENCE, "truth": truth, "answers": str(answers)}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(WORKER)],
        input=json.dumps(job),
        text=True,
        capture_output=True,
        env=environment,
        check=False,
    )
    found = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
    where = chosen[len(found)] if len(found) < len(chosen) else None
    assert done.returncode == 0, f"died at {where}: {done.stderr[-2000:]}"
    return found


def judge(found):
    """Every complaint about a batch."""
    complaints = []
    for answer in found:
        if answer["kind"] == "other":
            complaints.append(f"{answer['point']}: {answer['reason']}")
        elif answer["kind"] == "value":
            lies = (name for name in ("k", "kdot") if (answer[name]["ratio"] or 0.0) > 5)
            complaints.extend(f"{answer['point']}: {name} is off by {answer[name]}" for name in lies)
    return complaints


def test_a_sample(tmp_path):
    chosen = [
        ["(1-cos(u))/u", "1e-8", "1", "0.4"],
        ["sqrt(1+u^2)-1", "1e-4", "1e-4", "0.6"],
        ["Heaviside(u)*(exp(-u)-exp(-2*u))", "1e-8", "1", "0.6"],
        ["sin(u)/u", "30", "30", "0.6"],
        ["tan(u)", "1", "1", "1/2"],
        ["Max(u-8,0)", "1", "1", "1/2"],
        ["softshrink", "1/50", "1/50", "1/2"],
        *points(4, 5),
    ]
    found = watched(tmp_path, chosen, 1)
    assert not judge(found)
    assert {"value", "refused"} <= {answer["kind"] for answer in found}


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(6))
def test_hundreds(tmp_path, seed):
    found = watched(tmp_path, points(60, seed), 20)
    assert not judge(found)
    assert sum(answer["kind"] == "value" for answer in found) > 30
