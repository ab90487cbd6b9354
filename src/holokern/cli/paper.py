"""``holokern paper``: the paper's experiments, beside the paper's own numbers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from holokern.cli.numbers import Real
from holokern.errors import UnknownName
from holokern.progress import display

__all__ = ["paper"]

# without a bias all points of the paper's line have the correlation 1 or -1, and nothing is left to learn with
_BIAS = Real("between 0.01 and 10; try 0.5", 0.01, 10.0)


def _names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from holokern.paper.experiments import EXPERIMENTS

    return [name for name in EXPERIMENTS if name.startswith(incomplete)]


def _known(_context: click.Context, _parameter: click.Parameter, only: tuple[str, ...]) -> tuple[str, ...]:
    from holokern.paper.experiments import check_names

    try:
        check_names(only)
    except UnknownName as error:
        raise click.BadParameter(f"{error}.") from None
    return only


@click.command()
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("holokern-paper"),
    show_default=True,
    help="The folder for index.html, results.json and the figures.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    callback=_known,
    shell_complete=_names,
    help="Only this experiment; may be given again.",
)
@click.option("--bias", type=_BIAS, default=0.5, show_default=True, help="Standard deviation β of the biases.")
@click.option("--depth", type=click.IntRange(1, 20), default=2, show_default=True, help="Number of hidden layers.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def paper(output: Path, only: tuple[str, ...], bias: float, depth: int, as_json: bool) -> None:
    """Run the paper's experiments again and print each table with the paper's number beside ours.

    Experiments: learning, path, hermite, derivations, hie, width.  Together they take about two minutes.  The output
    folder receives one page, index.html, the numbers, results.json, and every figure as SVG and PNG.

    \b
    Examples:
      holokern paper
      holokern paper --only derivations --only hermite -o results
      holokern paper --only learning --bias 0.1 --depth 3 --json
    """  # noqa: D301
    from holokern.files import prepare_folder
    from holokern.paper.experiments import machine, run_experiments
    from holokern.paper.problem import Problem
    from holokern.report.paper_page import paper_data, paper_files, write_files

    problem = Problem(depth=depth, bias=bias)
    folder = prepare_folder(output)
    with display("running"):
        results = run_experiments(only, problem)
        files = paper_files(results, problem, machine())
        write_files(folder, files)
    if as_json:
        click.echo(json.dumps(paper_data(results, problem, machine()), indent=1))
        return
    click.echo(f"Measured on: {machine()}\n")
    click.echo("\n\n".join(found.text() for found in results.values()))
    click.echo(f"\nWritten: {folder / 'index.html'}, results.json and {len(files) - 2} figures in the same folder")
