"""``holokern paper``: the paper's experiments, beside the paper's own numbers."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import fill, wrap
from typing import TYPE_CHECKING

import click

from holokern.cli.options.arguments import Real
from holokern.cli.options.output import output_folder, terminal_width
from holokern.errors import UnknownName
from holokern.progress import display

if TYPE_CHECKING:
    from holokern.paper import Table

# without a bias all points of the paper's line have the correlation 1 or -1, and nothing is left to learn with
_BIAS = Real("between 0.01 and 10; try 0.5", 0.01, 10.0)


def _names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from holokern.paper import EXPERIMENTS

    return [name for name in EXPERIMENTS if name.startswith(incomplete)]


def _known(_context: click.Context, _parameter: click.Parameter, only: tuple[str, ...]) -> tuple[str, ...]:
    from holokern.paper import check_names

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
    """Run the experiments of the paper that holokern starts from, and print its numbers beside ours.

    The paper is A. Sakoda and N. Takayama, An Application of the Holonomic Gradient Method to the Neural Tangent
    Kernel (2024).  Experiments: learning, path, hermite, derivations, hie, width.  Together they take about two
    minutes; each table is printed when it is done.  The output folder gets the page index.html, the numbers in
    results.json, and every figure as SVG and PNG.

    \b
    Examples:
      holokern paper
      holokern paper --only derivations --only hermite -o results
      holokern paper --only learning --bias 0.1 --depth 3 --json
    """  # noqa: D301
    from holokern.paper import Problem, machine, run_experiments, watching
    from holokern.report import paper_data, paper_files, write_files

    problem = Problem(depth=depth, bias=bias)
    width = terminal_width()
    with output_folder(output), display("running") as screen:

        def show(table: Table) -> None:
            if not as_json:
                screen.print(f"{table.text(width)}\n")

        if not as_json:
            screen.print("\n".join(wrap(f"Measured on: {machine()}", width)) + "\n")
        with watching(show):
            results = run_experiments(only, problem)
        files = paper_files(results, problem, machine())
        write_files(output, files)
    if as_json:
        click.echo(json.dumps(paper_data(results, problem, machine()), indent=1))
        return
    headlines = [found.headline for found in results.values() if found.headline]
    lines = [fill(line, width, initial_indent="- ", subsequent_indent="  ") for line in headlines]
    click.echo("\n".join(["In short", *lines]))
    written = f"Written: {output / 'index.html'}, results.json and {len(files) - 2} figures in the same folder"
    click.echo("\n" + fill(written, width, break_on_hyphens=False, break_long_words=False))
