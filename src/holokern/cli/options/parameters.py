"""Parameters of a named activation on the command line: ``--param NAME=VALUE``."""

from __future__ import annotations

from typing import Any

import click

from holokern.cli.options.completion import complete_parameter

__all__ = ["parameter_option", "read_parameters"]

parameter_option = click.option(
    "--param",
    "-p",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_parameter,
    help="A parameter of a named EXPR.",
)


def read_parameters(given: tuple[str, ...]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` texts; commas make a tuple."""
    found: dict[str, Any] = {}
    for item in given:
        name, sign, value = item.partition("=")
        name, value = name.strip(), value.strip()
        if not sign or not name or not value:
            raise click.UsageError(f"expected a parameter as NAME=VALUE such as alpha=1.5, got {item!r}")
        if name in found:
            raise click.UsageError(f"the parameter {name!r} is given twice")
        found[name] = tuple(part.strip() for part in value.split(",")) if "," in value else value
    return found
