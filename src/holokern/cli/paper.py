"""``holokern paper``: the paper's experiments, beside the paper's own numbers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from holokern.progress import display

__all__ = ["paper"]


@click.command()
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("holokern-paper"),
    show_default=True,
    help="The folder for results.json and index.html.",
)
@click.option("--only", multiple=True, metavar="NAME", help="Only this experiment; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
def paper(output: Path, only: tuple[str, ...], as_json: bool) -> None:
    """Run the paper's experiments again and print each table with the paper's number beside ours.

    \b
    Examples:
      holokern paper
      holokern paper --only derivations -o results
    """  # noqa: D301
    from holokern.files import prepare_folder, write_atomically
    from holokern.paper.experiments import machine, run_experiments
    from holokern.report.page import html_page

    folder = prepare_folder(output)
    with display("running"):
        results = run_experiments(only)
    tables = [table for found in results.values() for table in found]
    data = {"machine": machine(), "experiments": {name: [t.data() for t in found] for name, found in results.items()}}
    introduction = [
        "The experiments of Sakoda and Takayama, An Application of the Holonomic Gradient Method to the Neural "
        "Tangent Kernel (2024), run again by holokern and set beside the paper's own numbers.",
        f"Measured on: {machine()}.",
    ]
    write_atomically(folder / "results.json", json.dumps(data, indent=1))
    write_atomically(folder / "index.html", html_page("The paper's experiments, again", introduction, tables))
    if as_json:
        click.echo(json.dumps(data, indent=1))
        return
    click.echo("\n\n".join(table.text() for table in tables))
    click.echo(f"\nWritten: {folder / 'index.html'} and {folder / 'results.json'}")
