"""Derivations: holokern beside Singular and Macaulay2, each in a process of its own, in one run.

Every system derives the holonomic system of E[σ(u)σ(v)] from the same operators: the peers by restricting the
Koyama–Takemura ideal to y = 0, holokern by Stein and Price (the whole Pfaffian system, cold, without cache) and, where
asked, by the same restriction in `holokern.weyl`.  Times are CPU seconds of the computation inside each process;
ratios are what travels between machines.

    python benchmarks/algebra.py [--timeout 120] [--only relu --only resin] [--json out.json]
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from _peers import run_script

# name -> (what to give to hk.pfaffian, the operators in u and D that the peers get, the paper's seconds)
CASES: dict[str, tuple[str, list[str], float | None]] = {
    "relu": ("relu", ["u*D - 1"], None),
    "step": ("step", ["u*D"], None),
    "1+erf(u)": ("1 + erf(u)", ["D^2 + 2*u*D"], None),
    "gelu": ("gelu", ["D^3 + 2*u*D^2 + u^2*D - u", "u*D^3 + u^2*D^2 + 2*u*D - 2"], None),
    "resin": ("resin", ["u*(D^2 + 1)"], None),
    "elu": ("elu", ["u*(D^3 - D^2)"], None),
    "paper's ReSin operator": ("operator", ["u^2*(D^2 + 1)"], 13.114),
    "paper's GELU operator": ("operator", ["u^2*D^2 - 2*u*(1 - u^2)*D + 2*(1 - u^2)"], 338.8),
}
RESTRICTION = {"relu", "step", "resin"}

OURS = """
import json, sys, time
start = time.process_time()
import holokern as hk
imported = time.process_time() - start
what, operators = json.loads(sys.argv[1])
start = time.process_time()
if what == "operator":
    system = hk.pfaffian(operator=operators, cache=False)
else:
    system = hk.pfaffian(hk.activation(what), cache=False)
print(json.dumps({"seconds": time.process_time() - start, "rank": system.rank, "import": imported}))
"""
OURS_RESTRICTION = """
import json, sys, time
from holokern.weyl import weyl_algebra
from holokern.weyl.modules.koyama_takemura import koyama_takemura_ideal_of_product
D = weyl_algebra("u", "D")
_, operators = json.loads(sys.argv[1])
start = time.process_time()
ideal = koyama_takemura_ideal_of_product([[D(text) for text in operators]] * 2)
restricted = ideal.restriction([name for name in ideal.algebra.variables if name.startswith("y")])
print(json.dumps({"seconds": time.process_time() - start, "rank": restricted.rank()}))
"""


@dataclass(frozen=True)
class Result:
    """One measurement: seconds and rank, or the reason why there is none."""

    seconds: float | None = None
    rank: int | None = None
    note: str = ""


def substituted(text: str, variable: str, derivation: str) -> str:
    """The operator text with u and D replaced; the order of factors is kept."""
    return re.sub(r"\b[uD]\b", lambda m: variable if m.group() == "u" else derivation, text)


def generators(operators: list[str]) -> list[str]:
    pairs = (("dy1", "(-y1-2*x11*dy1-2*x12*dy2)"), ("dy2", "(-y2-2*x12*dy1-2*x22*dy2)"))
    images = [substituted(text, variable, derivation) for variable, derivation in pairs for text in operators]
    return [*images, "dx12-2*dy1*dy2", "dx11-dy1^2", "dx22-dy2^2"]


def singular(operators: list[str], timeout: float) -> Result:
    script = f"""
LIB "dmodapp.lib";
ring r0 = 0,(y1,y2,x11,x12,x22,dy1,dy2,dx11,dx12,dx22),dp;
def W = Weyl(); setring W;
ideal I = {", ".join(generators(operators))};
intvec w = 1,1,0,0,0;
system("--ticks-per-sec",1000); int t = timer;
def R = restrictionIdeal(I,w); setring R;
print("SECONDS"); print(timer-t); print("RANK"); print(holonomicRank(resIdeal));
"""
    return peer(["Singular", "-q"], script, ".sing", timeout, 1e-3)


def macaulay2(operators: list[str], timeout: float) -> Result:
    script = f"""
needsPackage "Dmodules"
W = makeWA(QQ[y1,y2,x11,x12,x22])
I = ideal({", ".join(generators(operators))})
t = cpuTime(); R = DrestrictionIdeal(I,{{1,1,0,0,0}}); s = cpuTime()-t
print "SECONDS"; print s; print "RANK"; print holonomicRank R
exit 0
"""
    return peer(["M2", "--script"], script, ".m2", timeout, 1.0)


def peer(command: list[str], script: str, suffix: str, timeout: float, unit: float) -> Result:
    printed, note = run_script(command, script, suffix, timeout)
    found = re.search(r"SECONDS\s+([\d.e-]+)\s+RANK\s+(\d+)", printed)
    if found is None:
        return Result(note=note or "failed: no answer")
    return Result(float(found.group(1)) * unit, int(found.group(2)))


def ours(code: str, case: tuple[str, list[str]], timeout: float) -> tuple[Result, float | None]:
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, json.dumps(case)], capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return Result(note=f"> {timeout:g} s"), None
    if done.returncode:
        return Result(note="failed: " + done.stderr.strip().splitlines()[-1][:60]), None
    data = json.loads(done.stdout.splitlines()[-1])
    return Result(data["seconds"], data["rank"]), data.get("import")


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
    return result.note if result.seconds is None else f"{result.seconds:.3f} (rank {result.rank})"


def ratio(result: Result, own: Result) -> str:
    if own.seconds is None or (result.seconds is None and not result.note.startswith(">")):
        return "-"
    if result.seconds is None:
        return f"> {float(result.note.split()[1]) / own.seconds:.0f}"
    return f"{result.seconds / own.seconds:.1f}"


@click.command()
@click.option("--timeout", default=120.0, show_default=True, help="seconds for each derivation of a peer")
@click.option("--only", multiple=True, type=click.Choice(list(CASES)), help="only these cases")
@click.option("--json", "target", type=click.Path(dir_okay=False, path_type=Path), help="write the numbers here too")
def main(timeout: float, only: tuple[str, ...], target: Path | None) -> None:
    """Derive the same holonomic systems with holokern, Singular and Macaulay2."""
    info = versions()
    click.echo("; ".join(f"{name} {value}" for name, value in info.items()))
    columns = ["holokern: Pfaffian", "holokern.weyl", "Singular", "Macaulay2"]
    click.echo(
        f"{'case':24s} "
        + " ".join(f"{name:>22s}" for name in columns)
        + f" {'paper':>8s}   {'Singular/ours':>13s}  {'M2/ours':>7s}  {'paper/ours':>10s}"
    )
    rows: list[dict[str, Any]] = []
    imports: list[float] = []
    for name, (what, operators, paper) in CASES.items():
        if only and name not in only:
            continue
        own, seconds = ours(OURS, (what, operators), timeout)
        if seconds is not None:
            imports.append(seconds)
        same = ours(OURS_RESTRICTION, (what, operators), timeout)[0] if name in RESTRICTION else Result(note="-")
        first, second = singular(operators, timeout), macaulay2(operators, timeout)
        third = Result(paper) if paper else Result(note="-")
        ratios = [ratio(other, own) for other in (first, second, third)]
        click.echo(
            f"{name:24s} {cell(own):>22s} {cell(same):>22s} {cell(first):>22s} {cell(second):>22s} "
            f"{paper or '-':>8}   {ratios[0]:>13s}  {ratios[1]:>7s}  {ratios[2]:>10s}"
        )
        rows.append(
            {
                "case": name,
                "ours": vars(own),
                "weyl": vars(same),
                "singular": vars(first),
                "macaulay2": vars(second),
                "paper": paper,
            }
        )
    if imports:
        click.echo(f"import holokern: {sorted(imports)[len(imports) // 2]:.2f} s CPU (median of {len(imports)})")
    if target is not None:
        target.write_text(json.dumps({"versions": info, "rows": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
