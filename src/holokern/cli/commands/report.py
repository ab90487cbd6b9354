"""``holokern report``: everything about one activation, or two, on one page."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import click

from holokern.cli.options.arguments import complete_expression, parameter_option, read_activation
from holokern.cli.options.output import OutputFile, output_folder
from holokern.progress import display


@click.command()
@click.argument("expression", metavar="EXPR", shell_complete=complete_expression)
@click.argument("other", metavar="[EXPR]", required=False, shell_complete=complete_expression)
@parameter_option
@click.option(
    "--output",
    "-o",
    type=OutputFile(),
    help="The HTML file; by default the name of the activation with .html.  Its folder is made.",
)
@click.option("--no-timings", is_flag=True, help="Leave out the times of the methods; measuring them takes longest.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def report(
    expression: str,
    other: str | None,
    parameters: tuple[str, ...],
    output: Path | None,
    no_timings: bool,
    as_json: bool,
) -> None:
    """Write an HTML page about EXPR, or about two of them side by side: algebra, kernels, deep networks.

    EXPR is a name (see "holokern activations") or an expression in u.  The page is one file that opens without a
    network connection.  Its sliders for c1, c2, the depth, the weights and the biases redraw the curves.

    \b
    Examples:
      holokern report gelu
      holokern report gelu silu
      holokern report elu --param alpha=1.5 -o elu.html
      holokern report "Heaviside(u)*sin(u)" -o resin.html
    """  # noqa: D301 (click reads the backspace)
    from holokern.files import write_atomically

    if other is not None and parameters:
        raise click.BadParameter(
            "it belongs to one activation; write the second one as an expression.", param_hint="'--param'"
        )
    sigma = read_activation(expression, parameters)
    second = None if other is None else read_activation(other)
    name = _file_name(expression if other is None else f"{expression}-{other}")
    path = Path(f"{name}.html") if output is None else output
    start = time.perf_counter()
    with output_folder(path.parent), display("looking at the activation"):
        from holokern.report import page_about

        page = page_about(sigma, second, timings=not no_timings)
        write_atomically(path, page.html)
    seconds = time.perf_counter() - start
    if as_json:
        record = {"file": str(path), "title": page.title, "bytes": path.stat().st_size, "seconds": round(seconds, 3)}
        click.echo(json.dumps(record, ensure_ascii=False))
    else:
        click.echo(f"{page.title}: {path} ({seconds:.1f} s)")


def _file_name(expression: str) -> str:
    """A name made of what files may be called; unknown signs become one dash."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", expression).strip("-.")[:60] or "activation"
