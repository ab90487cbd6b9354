"""The numbers of README.md and of these pages, from the results that the benchmarks left in benchmarks/results.

A block between ``<!-- numbers: NAME -->`` and ``<!-- end -->`` belongs to this script; NAME is one of BLOCKS.

    python docs/numbers.py            # write every block anew
    python docs/numbers.py --check    # say which file is out of date, and exit with 1
    python docs/numbers.py --list     # the names, and whether their results are there

After a benchmark was run again (``python benchmarks/values.py --json benchmarks/results/values.json`` and so on), run
this script and commit both.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PROTOCOLS = {"arora": "published protocol", "normalised": "layers normalised", "sphere": "points on a sphere"}
# columns of words, which stand on the left
WORDS = ("activations", "data", "remark")
BLOCK = re.compile(r"(<!-- numbers: ([\w.-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class MissingResult(Exception):
    """A block needs a file that no benchmark has written yet."""


def load(name: str, folder: Path) -> Any:
    """The data of one file of results."""
    path = folder / f"{name}.json"
    if not path.is_file():
        raise MissingResult(f"{path} is missing; run the benchmark that writes it, with --json {path}")
    # results that were written with another notation stay readable
    return json.loads(path.read_text(encoding="utf-8").replace("k\\u0307", "k′").replace("k\u0307", "k′"))


def number(value: Any, digits: int = 2) -> str:
    """A cell: few digits for floats, a dash for nothing.

    Examples
    --------
    >>> number(0.012345), number(1234.6), number(3e-13), number(None), number("x"), number(7)
    ('0.012', '1235', '3e-13', '–', 'x', '7')
    """
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.0e}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.{digits}g}"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in markdown; the first column holds names, and those of ``WORDS`` hold words."""
    sides = ["---" if column in (columns[0], *WORDS) else "---:" for column in columns]
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join(sides) + "|"]
    lines += ["| " + " | ".join(number(cell).strip().replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _algebra_cell(result: dict[str, Any]) -> str:
    return number(result["seconds"]) if result["seconds"] is not None else result["note"].replace("-", "–")


def derivations(folder: Path) -> str:
    """CPU seconds of derivations beside Singular, Macaulay2 and the paper."""
    data = load("algebra", folder)
    rows = [
        [
            row["case"],
            row["ours"]["rank"],
            *(_algebra_cell(row[name]) for name in ("ours", "weyl", "singular", "macaulay2")),
            row["paper"],
        ]
        for row in data["rows"]
    ]
    used = "; ".join(f"{name} {value}" for name, value in data["versions"].items())
    heads = ("case", "rank", "holokern", "holokern by restriction", "Singular", "Macaulay2", "the paper")
    notes = f"CPU seconds, without cache; “>” means that the program was stopped after this time. {used}."
    return f"{table(heads, rows)}\n\n{notes}"


def dmodules(folder: Path) -> str:
    """Ranks, singular loci and b-functions beside Singular and Macaulay2."""
    data = load("dmodules", folder)
    tasks = {"rank": "rank", "locus": "singular locus", "b": "b-function"}
    rows = [
        [row["case"].split(", locus")[0], tasks[row["task"]]]
        + [_algebra_cell(row[name]) for name in ("ours", "singular", "macaulay2")]
        + [row["ratio"]]
        for row in data["rows"]
    ]
    used = "; ".join(f"{name} {value}" for name, value in data["versions"].items())
    others = [row[name]["agrees"] for row in data["rows"] for name in ("singular", "macaulay2")]
    same, asked = others.count("same"), sum(word != "-" for word in others)
    notes = (
        f"CPU seconds. The last column is the time of holokern divided by that of the faster of the other two, whose "
        f"times below 0.01 s count as 0.01 s. {same} of {asked} answers of the others agree with holokern. {used}."
    )
    return f"{table(('case', 'task', 'holokern', 'Singular', 'Macaulay2', 'ratio'), rows)}\n\n{notes}"


def statistics(folder: Path) -> str:
    """Values a second of normalising constants and probabilities beside direct quadrature."""
    heads = ("case", "rank", "values a second", "error", "direct, values a second", "direct, error")
    rows = [[row["case"], *(row[head] for head in heads[1:])] for row in load("statistics", folder)]
    notes = (
        "One core. Errors are relative; the true values are proved balls. “Direct” is a Gauss rule, and Genz's method "
        "for orthants."
    )
    return f"{table(heads, rows)}\n\n{notes}"


def _values(wanted: str) -> Callable[[Path], str]:
    """One of the tables of benchmarks/values.py, found by the beginning of its title."""

    def block(folder: Path) -> str:
        found = [item for item in load("values", folder)["tables"] if item["title"].startswith(wanted)]
        if not found:
            raise MissingResult(
                f"benchmarks/results/values.json has no table {wanted!r}; run all of benchmarks/values.py"
            )
        item = found[0]
        rows = [_with_remark(row) for row in item["rows"]]
        columns = [*(LABELS.get(name, name) for name in item["columns"]), "remark"]
        filled = [i for i, _ in enumerate(columns) if any(row[i] is not None for row in rows)]
        notes = " ".join(item["notes"])
        shown = table([columns[i] for i in filled], [[row[i] for i in filled] for row in rows])
        return f"*{item['title']}.*\n\n{shown}\n\n{notes}".rstrip()

    return block


#: Short names of columns in the results -> what a reader understands.
LABELS = {
    "first s": "first call, s",
    "CPU s": "next calls, s",
    "reported": "estimated error of k",
    "reported k′": "estimated error of k′",
    "times ours": "times slower than Taylor steps",
    "paper s": "the paper, s",
    "rtol": "tolerance",
}


def _with_remark(row: Sequence[Any]) -> list[Any]:
    """The row with all sentences moved from the columns of numbers into one at the end.

    Examples
    --------
    >>> _with_remark(["closed", None, "method 'closed' cannot serve resin: it"]), _with_remark(["hgm", 1.0, None])
    (['closed', None, None, 'no closed form'], ['hgm', 1.0, None, None])
    """
    words = [
        "no closed form" if text.startswith("method 'closed'") else text for text in row[1:] if isinstance(text, str)
    ]
    return [row[0], *(None if isinstance(cell, str) else cell for cell in row[1:]), "; ".join(words) or None]


def ensemble(folder: Path) -> str:
    """Gradient-descent ensembles against neural-tangents: the largest differences over all times."""
    data = load("ensemble", folder)
    worst: dict[tuple[str, str], list[float]] = {}
    for row in data["rows"]:
        mean, cov = worst.get((row["activation"], row["trained"]), [0.0, 0.0])
        worst[row["activation"], row["trained"]] = [max(mean, row["mean"]), max(cov, row["cov"])]
    times = ", ".join(dict.fromkeys(row["time"] for row in data["rows"]))
    heads = ("activation", "layers trained", "largest difference of means", "of covariances")
    setting = f"Depth {data['depth']}, bias {data['bias']}, weight variance {data['variance']}, rate {data['rate']}"
    return f"{table(heads, [[*key, *gaps] for key, gaps in worst.items()])}\n\n{setting}; at the times {times}."


def wide_network(folder: Path) -> str:
    """Trained networks of finite width within the predicted band."""
    data = load("wide_network", folder)
    rows = [[f"{n}", f"{100 * data[f'within_{n}_std']:.1f} %", normal] for n, normal in ((1, "68.3 %"), (2, "95.4 %"))]
    setting = f"{data['seeds']} networks of width {data['width']}, {data['steps']} steps of gradient descent"
    heads = ("band, in standard deviations", "outputs inside the band", "expected for a normal distribution")
    return f"{table(heads, rows)}\n\n{setting}."


def kernels(folder: Path) -> str:
    """CPU seconds of kernel matrices beside a closed form in numpy and neural-tangents."""
    data = load("kernel", folder)
    reference = {row["N"]: row["seconds"] for row in data["numpy"]}
    peers = {(row["activation"], row["N"]): row["seconds"] for row in data["peer"]}
    rows = []
    for row in data["ours"]:
        peer = peers.get((row["activation"], row["N"]))
        ratios = reference[row["N"]] / row["seconds"], peer and peer / row["seconds"]
        rows.append([row["activation"], row["N"], row["first"], row["seconds"], *ratios, row["error"]])
    heads = (
        "activation",
        "points",
        "first call, s",
        "next calls, s",
        "times faster than ReLU's closed form in numpy",
        "times faster than neural-tangents",
        "relative error",
    )
    largest = max(row["N"] for row in data["ours"])
    memory = ", ".join(f"{used['ratio']:.2f} for {name}" for name, used in data.get("memory", {}).items())
    notes = "Three hidden layers, NNGP and NTK together, CPU seconds on one core."
    if memory:
        notes += (
            f" With {largest} points the peak memory is little more than the two matrices and the input themselves; "
            f"the ratio is {memory}."
        )
    return f"{table(heads, rows)}\n\n{notes}"


def comparison(folder: Path) -> str:
    """Closed forms, quadrature and holokern beside each other: what they serve, how well and how fast."""
    data = load("kernel", folder)
    peers, ours = data["peer"], data["ours"]
    small, large = min(row["N"] for row in ours), max(row["N"] for row in ours)
    closed = [row for row in peers if row["N"] == large]
    quadrature = [row for row in peers if row["N"] == small]

    def span(rows: Sequence[dict[str, Any]], key: str) -> str:
        values = [row[key] for row in rows]
        low, high = number(min(values)), number(max(values))
        return "–" if not values else low if low == high else f"{low} – {high}"

    def cells(rows: Sequence[dict[str, Any]]) -> list[str]:
        sizes = [[row for row in rows if row["N"] == size] for size in (small, large)]
        return [span(part, key) if part else "–" for part in sizes for key in ("first", "seconds")]

    names = ", ".join(dict.fromkeys(row["activation"] for row in closed))
    others = ", ".join(dict.fromkeys(row["activation"] for row in quadrature))
    heads = (
        "",
        "activations",
        "relative error",
        *(f"{size} points, {call}, s" for size in (small, large) for call in ("first call", "next calls")),
    )
    rows = [
        ["closed forms (neural-tangents)", f"a few: {names}", span(closed, "error"), *cells(closed)],
        ["quadrature (neural-tangents)", f"any; here {others}", span(quadrature, "error"), *cells(quadrature)],
        ["**holokern**", "any; here all eight", span(ours, "error"), *cells(ours)],
    ]
    text = table(heads, rows)
    setting = (
        "NNGP and NTK of a network with three hidden layers, in CPU seconds on one core, beside neural-tangents 0.6.5 "
        "with quadrature of degree 25."
    )
    return f"{text}\n\n{setting}"


def first_use(folder: Path) -> str:
    """First calls on data whose norms vary, beside a closed form in numpy."""
    found = load("first_use", folder)
    columns = {
        "first": "first call, s",
        "again": "next calls, s",
        "second process": "first call of a new process, s",
        "second process / its next calls": "divided by its next calls",
        "times numpy": "first call / numpy",
        "again / numpy": "next calls / numpy",
    }
    columns = {key: head for key, head in columns.items() if any(key in row for row in found)}
    rows, few = [], []
    for row in found:
        start = [row["activation"], row["data"]]
        if "error" in row:
            if "numpy" in row:
                rows.append([*start, row["error"], *[None] * (len(columns) - 1)])
            else:
                few.append([*start, row["error"], None])
        elif "times numpy" in row:
            rows.append([*start, *(row.get(key) for key in columns)])
        else:
            few.append([*start, row["first"], row["again"]])
    text = table(("activation", "data", *columns.values()), rows)
    return f"{text}\n\n{table(('activation', 'data', 'first call, s', 'next calls, s'), few)}"


def large(folder: Path) -> str:
    """Conjugate gradients without the matrix, one line for each run of ``benchmarks/large.py cg``."""
    runs = [load(path.stem, folder) for path in sorted(folder.glob("large*.json"))]
    solved = sorted((run for run in runs if "residual" in run), key=lambda run: run["points"])
    if not solved:
        raise MissingResult(
            f"{folder} has no large*.json; run benchmarks/large.py cg with --json {folder}/large_cg.json"
        )
    heads = ("network", "points", "landmarks", "steps", "residual", "s", "CPU s", "peak GB", "dense matrix GB")
    keys = ("points", "landmarks", "steps", "residual", "seconds", "cpu_seconds", "peak_gb", "dense_matrix_gb")
    text = table(heads, [[f"`{run['network']}`", *(run[key] for key in keys)] for run in solved])
    kernels = " and ".join(dict.fromkeys(run["kernel"].upper() for run in solved))
    text += f"\n\nRidge regression with the {kernels}."
    unfinished = [run for run in solved if not run.get("converged", True)]
    if unfinished:
        text += " Not finished: " + ", ".join(f"{run['points']} points" for run in unfinished) + "."
    rows = [row for run in runs if "method" in run for row in _beside(run, solved)]
    if not rows:
        return text
    heads = ("points", "features", "method", "CPU s", "test error", "error of conjugate gradients", "difference, %")
    return f"{text}\n\n{table(heads, sorted(rows, key=lambda row: row[:2]))}"


def _beside(run: dict[str, Any], solved: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """A fit on features beside conjugate gradients on the same problem, if they were run."""
    same = ("points", "dimension", "network", "kernel", "alpha")
    return [
        [
            *(run[key] for key in ("points", "features", "method", "cpu_seconds")),
            f"{run['test_error']:.5f}",
            f"{exact['test_error']:.5f}",
            f"{100 * (run['test_error'] / exact['test_error'] - 1):+.2f}",
        ]
        for exact in solved
        if exact.get("converged", True) and all(run[key] == exact.get(key) for key in same)
    ]


def workers(folder: Path) -> str:
    """Kernel matrices on dask workers, one line for each run of ``benchmarks/large.py dask``."""
    runs = [load(path.stem, folder) for path in sorted(folder.glob("*dask*.json"))]
    if not runs:
        raise MissingResult(f"{folder} has no *dask*.json; run benchmarks/large.py dask with --json {folder}/dask.json")
    heads = (
        "points",
        "matrix GB",
        "blocks",
        "block GB",
        "peak GB of each worker",
        "relative difference to one process",
    )
    rows = [
        [
            *(run[key] for key in ("points", "matrix_gb", "blocks", "block_gb")),
            ", ".join(map(number, run["worker_peak_gb"])),
            run["largest_difference"],
        ]
        for run in runs
    ]
    return table(heads, rows)


def features(folder: Path) -> str:
    """Errors of features on held-out pairs, one line for each activation and method."""
    data = load("features", folder)
    kinds: dict[str, dict[int, dict[str, Any]]] = {}
    for key, run in data["runs"].items():
        name, count = key.rsplit(" ", 1)
        kinds.setdefault(name, {})[int(count)] = run
    counts = sorted({count for runs in kinds.values() for count in runs})
    rows = [
        [
            *name.split(" ")[1:],
            name.split(" ")[0].upper(),
            *(runs[count]["mean"] if count in runs else None for count in counts),
            data["slopes"].get(name),
        ]
        for name, runs in kinds.items()
    ]
    heads = ("activation", "features", "kernel", *(f"error with {count}" for count in counts), "power of the number")
    return (
        f"{table(heads, rows)}\n\nThe error is the mean of |φ·φ - K| over held-out pairs, divided by the mean of |K|. "
        "For Monte Carlo features it falls with the power -0.5 of their number. Two hidden layers, dimension 16, "
        "lengths between 1/2 and 2."
    )


def million(folder: Path) -> str:
    """Fits on features of many points, one line for each task."""
    heads = ("task", "points", "dimension", "features", "s", "CPU s", "memory over start, GB", "error or accuracy")
    rows = []
    runs = load("million", folder)["runs"].values()
    for run in runs:
        result = f"{run['test_accuracy']:.1f} %" if "test_accuracy" in run else number(run["test_error"])
        keys = ("task", "points", "dimension", "features", "seconds", "cpu_seconds", "memory_gb_over_start")
        rows.append([*(run[key] for key in keys), result])
    held = "".join(
        f" Two deviations of the {run['task']}, noise included, hold {run['inside_two_deviations']:.1f} % of new "
        "targets."
        for run in runs
        if "inside_two_deviations" in run
    )
    return (
        f"{table(heads, rows)}\n\nThree hidden layers of ReLU with bias. “s” is the time by the clock, on two cores "
        "that had other work to do. Both times include the prediction at 10 000 new points. Errors are relative to the "
        f"standard deviation of the function without its noise.{held}"
    )


def fashion(folder: Path) -> str:
    """Fashion-MNIST, one line for each model."""
    keys = ("model", "features", "images", "accuracy", "fit_cpu_seconds", "predict_cpu_seconds", "peak_gb")
    heads = ("model", "features", "images", "accuracy, %", "fit, CPU s", "predict, CPU s", "peak GB")
    rows = [
        [f"{run[key]:.2f}" if key == "accuracy" else run[key] for key in keys]
        for run in load("fashion", folder)["runs"].values()
    ]
    return table(heads, rows)


def regression(folder: Path) -> str:
    """Gaussian processes on small sets, one line for each model."""
    heads = ("set", "kernel", "points", "error", "log-likelihood of a test target", "CPU s")
    rows = [
        [
            run["set"],
            run["model"] if run["model"][0].isupper() else f"NNGP of {run['model']}, 2 hidden layers",
            run["points"],
            f"{run['error']:.3f} ± {run['error_spread']:.3f}",
            f"{run['log_likelihood']:.3f} ± {run['log_likelihood_spread']:.3f}",
            run["cpu_seconds"],
        ]
        for run in load("regression", folder)["runs"].values()
    ]
    notes = "Means and standard deviations over five splits. The targets have standard deviation one."
    return f"{table(heads, rows)}\n\n{notes}"


def _accuracy(mean: dict[str, Any]) -> str:
    return f"{mean['mean']:.2f} ± {mean['std']:.2f}" if mean["sets"] else "–"


def uci(folder: Path) -> str:
    """Mean accuracies over the UCI sets, one line for each run and activation, beside the published ones."""
    runs = {path.stem: load(path.stem, folder) for path in sorted(folder.glob("uci*.json"))}
    if not runs:
        raise MissingResult(f"{folder} has no uci*.json; run benchmarks/uci.py with --output {folder}")
    rows: list[list[Any]] = []
    for data in runs.values():
        way = f"NTK, {PROTOCOLS[data['protocol']]}"
        rows += [[f"{way}, {a}", mean["sets"], _accuracy(mean)] for a, mean in data["means"].items()]
        if "chosen" in data:
            chosen = data["chosen"]
            rows.append([f"{way}, activation chosen by validation", chosen["sets"], _accuracy(chosen)])
    published = next(iter(runs.values()))["published"]
    rows += [[f"published: {name}", 90, mean] for name, mean in published.items()]
    return table(("classifier", "sets", "mean accuracy"), rows)


def _method_row(folder: Path, title: str, method: str) -> dict[str, Any]:
    """One row of a table of benchmarks/values.py, by the names of its columns."""
    found = next(item for item in load("values", folder)["tables"] if item["title"].endswith(title))
    row = next(row for row in found["rows"] if row[0] == method)
    return dict(zip(found["columns"], row, strict=True))


def highlights(folder: Path) -> str:
    """What a reader of README.md may want to know first, in a few lines."""
    derived = {row["case"]: row for row in load("algebra", folder)["rows"]}
    lines = []
    for label, whole, paper in (
        ("ReSin", "resin", "paper's ReSin operator"),
        ("GELU", "gelu", "paper's GELU operator"),
    ):
        ours, same = derived[whole]["ours"], derived[paper]
        lines.append(
            f"- The differential equations of {label}: {number(ours['seconds'])} s for a system of rank "
            f"{ours['rank']}. From the paper's own operator, which gives rank {same['ours']['rank']}, it takes "
            f"{number(same['ours']['seconds'])} s; the paper reports {number(same['paper'], 3)} s."
        )
    for label in ("GELU", "ReSin"):
        row = _method_row(folder, label, "compiled")
        paper = _method_row(folder, label, "hgm, solve_ivp as in the paper")["paper s"]
        lines.append(
            f"- The NTK of the paper's 15 points for {label}: {number(row['CPU s'])} s from a table (first call "
            f"{number(row['first s'])} s), with an error of {number(row['largest error'])}; the paper's method took "
            f"{number(paper, 3)} s."
        )
    lines += _kernel_lines(load("kernel", folder))
    return "\n".join(lines) + "\n\nCPU seconds on one core. The paper measured its times on other machines."


def _kernel_lines(data: dict[str, Any]) -> list[str]:
    """Kernel matrices beside a closed form in numpy and neural-tangents."""
    largest = max(row["N"] for row in data["ours"])
    numpy = next(row["seconds"] for row in data["numpy"] if row["N"] == largest)
    ours = {(row["activation"], row["N"]): row["seconds"] for row in data["ours"]}
    peers = {(row["activation"], row["N"]): row["seconds"] for row in data["peer"]}
    ratios = {key: peers[key] / ours[key] for key in peers}
    closed = ", ".join(
        f"{number(ratios[name, largest])} for {name}" for name in ("relu", "gelu", "erf") if (name, largest) in ratios
    )
    smallest = min(row["N"] for row in data["ours"])
    numerical = {name: ratio for (name, size), ratio in ratios.items() if size == smallest}
    slowest = max(seconds for (_, size), seconds in ours.items() if size == largest)
    lines = [
        f"- NNGP and NTK of {largest} points through three hidden layers: {number(ours['relu', largest])} s for relu "
        f"and at most {number(slowest)} s for the others. A closed form of ReLU in numpy takes {number(numpy)} s."
    ]
    if closed and numerical:
        worst = min(numerical, key=lambda name: numerical[name])
        others = min(ratio for name, ratio in numerical.items() if name != worst)
        lines.append(
            f"- How many times faster holokern is than neural-tangents: {closed}, where neural-tangents has closed "
            f"forms. For the other activations it uses quadrature; there holokern is {number(numerical[worst])} times "
            f"faster for {worst}, and at least {number(others)} times for the rest."
        )
    return lines


#: Name of a block -> its text from the folder of results.
BLOCKS: dict[str, Callable[[Path], str]] = {
    "comparison": comparison,
    "highlights": highlights,
    "derivations": derivations,
    "dmodules": dmodules,
    "statistics": statistics,
    "values.derivations": _values("Derivations"),
    "values.points": _values("ReSin at the paper's"),
    "values.solvers": _values("hgm: Taylor"),
    "values.relu": _values("Tangent kernel of 15 points, ReLU"),
    "values.gelu": _values("Tangent kernel of 15 points, GELU"),
    "values.resin": _values("Tangent kernel of 15 points, ReSin"),
    "ensemble": ensemble,
    "wide_network": wide_network,
    "kernels": kernels,
    "first_use": first_use,
    "large": large,
    "workers": workers,
    "features": features,
    "million": million,
    "fashion": fashion,
    "regression": regression,
    "uci": uci,
}


def rewritten(text: str, folder: Path) -> str:
    """The text with every block made anew."""

    def fill(found: re.Match[str]) -> str:
        start, name, _, end = found.groups()
        if name not in BLOCKS:
            raise SystemExit(f"there is no block {name!r}; choose one of {', '.join(BLOCKS)}")
        return f"{start}\n{BLOCKS[name](folder)}\n\n{end}"

    return BLOCK.sub(fill, text)


def pages() -> list[Path]:
    """Every file that may hold blocks."""
    built = {"_build", "auto_gallery"}
    return [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").rglob("*.md")) if not built & set(p.parts))]


def main() -> int:
    """Write or check all blocks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    parser.add_argument("--list", action="store_true", help="print the names of the blocks")
    options = parser.parse_args()
    if options.list:
        for name, block in BLOCKS.items():
            try:
                block(RESULTS)
            except MissingResult as error:
                print(f"{name}: {error}")
            else:
                print(name)
        return 0
    old = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        try:
            new = rewritten(text, RESULTS)
        except MissingResult as error:
            print(f"{page.relative_to(ROOT)}: {error}", file=sys.stderr)
            return 1
        if new != text:
            old.append(str(page.relative_to(ROOT)))
            if not options.check:
                page.write_text(new, encoding="utf-8")
    if old:
        print(("out of date: " if options.check else "rewritten: ") + ", ".join(old))
    return int(options.check and bool(old))


if __name__ == "__main__":
    raise SystemExit(main())
