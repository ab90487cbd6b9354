"""D-modules: holokern.weyl beside Singular and Macaulay2, each in a process of its own, in one run.

Ranks, singular loci and Bernstein–Sato polynomials from the literature.  Every system gets the same operators or the
same polynomial; times are CPU seconds of the computation inside each process, without start and import; answers are
compared.  Singular runs `holonomicRank`, `DsingularLocus` (dmodloc.lib), and the faster one of `bfct` and `bfctAnn`
(bfun.lib); Macaulay2 runs `holonomicRank`, `singLocus` and `globalBFunction` (Dmodules).

    python benchmarks/dmodules.py [--timeout 120] [--only cusp] [--json out.json]
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
from _peers import run_script

from holokern.weyl import appell, gkz, lauricella

GOAL = 3.0  # at most so many times slower than the best peer ...
FROM = 0.1  # ... where that peer needs more than so many seconds
TICK = 0.01  # Singular's clock: shorter times count as this much

CUBE = [[1] * 8, [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1]]
THREE_BY_THREE = [[int(j // 3 == i) for j in range(9)] for i in range(3)] + [
    [int(j % 3 == i) for j in range(9)] for i in range(2)
]
QUADRIC, CUBIC, QUARTIC, QUINTIC = ([[1] * (d + 1), list(range(d + 1))] for d in (2, 3, 4, 5))
PINCHED = [[1, 1, 1, 1], [0, 1, 3, 4]]

# name -> (task, system); a system is a polynomial or a function that makes an ideal
SYSTEMS: dict[str, tuple[str, str | Callable[[], Any]]] = {
    "Appell F1": ("rank", lambda: appell(1, "1/2", "1/3", "1/5", "1/7")),
    "Appell F2": ("rank", lambda: appell(2, "1/2", "1/3", "1/5", "1/7", "1/11")),
    "Appell F3": ("rank", lambda: appell(3, "1/2", "1/3", "1/5", "1/7", "1/11")),
    "Appell F4": ("rank", lambda: appell(4, "1/2", "1/3", "1/5", "1/7")),
    "Lauricella A, n = 3": (
        "rank",
        lambda: lauricella("A", "1/2", ["1/3", "1/5", "1/7"], ["1/11", "1/13", "1/17"]),
    ),
    "Lauricella B, n = 3": (
        "rank",
        lambda: lauricella("B", ["1/2", "1/3", "1/5"], ["1/7", "1/11", "1/13"], "1/17"),
    ),
    "Lauricella C, n = 3": ("rank", lambda: lauricella("C", "1/2", "1/3", ["1/5", "1/7", "1/11"])),
    "Lauricella D, n = 3": ("rank", lambda: lauricella("D", "1/2", ["1/3", "1/5", "1/7"], "1/11")),
    "GKZ pinched quartic (1, 2)": ("rank", lambda: gkz(PINCHED, [1, 2])),
    "GKZ quintic": ("rank", lambda: gkz(QUINTIC, ["1/2", "1/3"])),
    "GKZ cube": ("rank", lambda: gkz(CUBE, ["1/2", "1/3", "1/5", "1/7"])),
    "GKZ 3 x 3": ("rank", lambda: gkz(THREE_BY_THREE, ["1/2", "1/3", "1/5", "1/7", "1/11"])),
    "Appell F4, locus": ("locus", lambda: appell(4, "1/2", "1/3", "1/5", "1/7")),
    "GKZ cubic, locus": ("locus", lambda: gkz(CUBIC, ["1/2", "1/3"])),
    "GKZ pinched quartic, locus": ("locus", lambda: gkz(PINCHED, [1, 2])),
    "GKZ quartic, locus": ("locus", lambda: gkz(QUARTIC, ["1/2", "1/3"])),
    "cusp": ("b", "x^2 + y^3"),
    "E8": ("b", "x^3 + y^5 + z^2"),
    "Reiffen (4, 5)": ("b", "x^4 + y^5 + x*y^4"),
    "Reiffen (5, 6)": ("b", "x^5 + y^6 + x*y^5"),
    "Whitney umbrella": ("b", "x^2 - y^2*z"),
    "4 lines": ("b", "x*y*(x + y)*(x + 2*y)"),
    "generic planes": ("b", "x*y*z*(x + y + z)"),
    "(z^2+w^3)(2zx+3w^2y)": ("b", "(z^2 + w^3)*(2*z*x + 3*w^2*y)"),
    "cubic discriminant": ("b", "x^2*y^2 - 4*w*y^3 - 4*x^3*z + 18*w*x*y*z - 27*w^2*z^2"),
    "3 x 3 determinant": ("b", "p*v*z + q*w*x + r*u*y - r*v*x - q*u*z - p*w*y"),
}

OURS = """
import json, sys, time
from holokern.weyl import bernstein_sato, weyl_algebra
task, variables, texts = json.loads(sys.argv[1])
D = weyl_algebra(variables)
if task == "b":
    f = D(texts[0])
    bernstein_sato("x^2")
    start = time.process_time()
    b = bernstein_sato(f)
    seconds, answer = time.process_time() - start, {str(r): m for r, m in b.roots.items()}
else:
    weyl_algebra("x").ideal("x*dx - 1").rank()
    ideal = D.ideal(texts)
    start = time.process_time()
    answer = ideal.rank() if task == "rank" else [str(f) for f in ideal.singular_locus()]
    seconds = time.process_time() - start
    if task == "locus":
        from holokern.weyl.algebra.symbols import monomial_dimension
        basis = D.ideal(answer).groebner()
        from holokern.weyl import grevlex
        leads = [max(g.terms, key=grevlex(D).key)[:D.dimension] for g in basis]
        answer = monomial_dimension(leads, D.dimension)
print(json.dumps({"seconds": seconds, "answer": answer}))
"""


@dataclass(frozen=True)
class Case:
    """What all systems get: a task, the variables, and operators or one polynomial as texts."""

    task: str
    variables: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """Seconds and an answer, or the reason why there is none."""

    seconds: float | None = None
    answer: Any = None
    note: str = ""


def case_of(task: str, system: str | Callable[[], Any]) -> Case:
    if isinstance(system, str):
        return Case(task, tuple(sorted(set(re.findall(r"[a-z]", system)))), (system,))
    ideal = system()
    return Case(task, ideal.algebra.variables, tuple(map(str, ideal.generators)))


def singular_script(case: Case, command: str = "bfct") -> str:
    derivations = [f"d{name}" for name in case.variables]
    names = ",".join(case.variables if case.task == "b" else (*case.variables, *derivations))
    clock = 'system("--ticks-per-sec",1000); int TT=timer;'
    if case.task == "b":
        return (
            f'LIB "bfun.lib"; ring RR=0,({names}),dp; poly FF={case.texts[0]}; {clock} '
            f'list L={command}(FF); TT=timer-TT; print("SECONDS"); print(TT);'
            'print("ANSWER"); print(string(L[1])+";"+string(L[2]));'
        )
    body = (
        f'LIB "dmodloc.lib"; ring RR=0,({names}),dp; def W=Weyl(); setring W; ideal I={",".join(case.texts)}; {clock}'
    )
    if case.task == "rank":
        return body + 'int k=holonomicRank(I); TT=timer-TT; print("SECONDS"); print(TT); print("ANSWER"); print(k);'
    # the answer of DsingularLocus has no derivations, but lives in a ring that has
    half = len(case.variables)
    return (
        body + "def S=DsingularLocus(I); TT=timer-TT;"
        f'print("SECONDS"); print(TT); print("ANSWER"); print(dim(std(S))-{half});'
    )


def macaulay2_script(case: Case) -> str:
    head = f'needsPackage "Dmodules"; W=makeWA(QQ[{",".join(case.variables)}]);'
    if case.task == "b":
        body = (
            f"FF={case.texts[0]}; TT=cpuTime(); BB=globalBFunction FF; SS=cpuTime()-TT; AA=toString factorBFunction BB;"
        )
    elif case.task == "rank":
        body = f"I=ideal({','.join(case.texts)}); TT=cpuTime(); AA=holonomicRank I; SS=cpuTime()-TT;"
    else:
        half = len(case.variables)
        body = f"I=ideal({','.join(case.texts)}); TT=cpuTime(); L=singLocus I; SS=cpuTime()-TT; AA=dim L-{half};"
    return head + body + 'print "SECONDS"; print SS; print "ANSWER"; print AA; exit 0\n'


def peer(command: list[str], script: str, suffix: str, timeout: float, unit: float) -> Result:
    printed, note = run_script(command, script, suffix, timeout)
    found = re.search(r"SECONDS\s+([\d.e-]+)\s+ANSWER\s+(.*)", printed, re.DOTALL)
    if found is None:
        return Result(note=note or "failed: no answer")
    return Result(float(found.group(1)) * unit, found.group(2).strip())


def roots(text: str) -> dict[str, int]:
    """The roots of a b-function as Singular (roots; multiplicities) or Macaulay2 (a product of factors) prints it."""
    found: dict[Fraction, int] = {}
    lists = re.match(r"([-\d/,\s]+);([\d,\s]+)", text)
    if lists is not None:
        values, powers = (part.split(",") for part in lists.groups())
        found = {Fraction(r.strip()): int(m) for r, m in zip(values, powers, strict=True)}
    else:
        for constant, power in re.findall(r"[a-z]([+-][\d/]+)?\)?(?:\^(\d+))?", text):
            found[-Fraction(constant or 0)] = int(power or 1)
    return {str(r): m for r, m in sorted(found.items())}


def ours(case: Case, timeout: float) -> Result:
    given = json.dumps([case.task, case.variables, case.texts])
    try:
        done = subprocess.run(
            [sys.executable, "-c", OURS, given], capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return Result(note=f"> {timeout:g} s")
    if done.returncode:
        return Result(note="failed: " + done.stderr.strip().splitlines()[-1][:80])
    return Result(**json.loads(done.stdout.splitlines()[-1]))


def agreed(case: Case, own: Result, other: Result) -> str:
    """Whether a peer gives the same answer, in one word."""
    if own.seconds is None or other.seconds is None:
        return "-"
    answer = roots(other.answer) if case.task == "b" else int(other.answer)
    return "same" if answer == own.answer else f"differs: {answer}"


def versions() -> dict[str, str]:
    found = {"Python": platform.python_version(), "machine": platform.processor() or platform.machine()}
    for name, command in (("Singular", ["Singular", "--version"]), ("Macaulay2", ["M2", "--version"])):
        if shutil.which(command[0]) is None:
            found[name] = "missing: not installed on this machine"
            continue
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        match = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
        found[name] = match.group() if match else "unknown version"
    return found


def cell(result: Result) -> str:
    return result.note[:22] if result.seconds is None else f"{result.seconds:.3f}"


@click.command()
@click.option("--timeout", default=120.0, show_default=True, help="seconds for each computation")
@click.option("--only", multiple=True, type=click.Choice(list(SYSTEMS)), help="only these cases")
@click.option("--json", "target", type=click.Path(dir_okay=False, path_type=Path), help="write the numbers here too")
def main(timeout: float, only: tuple[str, ...], target: Path | None) -> None:
    """Ranks, singular loci and b-functions by holokern.weyl, Singular and Macaulay2."""
    info = versions()
    click.echo("; ".join(f"{name} {value}" for name, value in info.items()))
    click.echo(f"{'case':28s} {'ours':>10s} {'Singular':>22s} {'Macaulay2':>22s} {'ours/best':>10s}  answers")
    rows: list[dict[str, Any]] = []
    for name, (task, system) in SYSTEMS.items():
        if only and name not in only:
            continue
        case = case_of(task, system)
        own = ours(case, timeout)
        commands = ("bfct", "bfctAnn") if task == "b" else ("",)
        tries = [
            peer(["Singular", "-q"], singular_script(case, command) + "quit;\n", ".sing", timeout, 1e-3)
            for command in commands
        ]
        first = min(tries, key=lambda found: found.seconds if found.seconds is not None else 1e9)
        second = peer(["M2", "--script"], macaulay2_script(case), ".m2", timeout, 1.0)
        words = [agreed(case, own, other) for other in (first, second)]
        times = [other.seconds for other in (first, second) if other.seconds is not None]
        ratio = None if own.seconds is None or not times else own.seconds / max(min(times), TICK)
        slow = ratio is not None and ratio > GOAL and min(times) > FROM
        click.echo(
            f"{name:28s} {cell(own):>10s} {cell(first):>22s} {cell(second):>22s} "
            f"{'-' if ratio is None else f'{ratio:.2f}':>10s}{' !' if slow else '  '} {', '.join(words)}"
        )
        rows.append(
            {
                "case": name,
                "task": task,
                "ours": vars(own),
                "singular": {**vars(first), "agrees": words[0]},
                "macaulay2": {**vars(second), "agrees": words[1]},
                "ratio": ratio,
            }
        )
    if target is not None:
        target.write_text(json.dumps({"versions": info, "rows": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
