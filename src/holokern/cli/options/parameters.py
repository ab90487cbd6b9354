"""Activations on the command line: a name or an expression, and ``--param NAME=VALUE`` for a named one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from holokern.cli.options.completion import complete_parameter
from holokern.errors import BadInput

if TYPE_CHECKING:
    from holokern.activation import Activation

parameter_option = click.option(
    "--param",
    "-p",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_parameter,
    help="A parameter of a named EXPR.",
)


@contextmanager
def words_of_the_user() -> Iterator[None]:
    """Around code that reads what stands on the command line: what it cannot use is wrong usage, exit code 2.

    Raises
    ------
    click.UsageError
        In place of ``BadInput``, with its message.
    """
    try:
        yield
    except BadInput as error:
        raise click.UsageError(str(error)) from None


def read_activation(expression: str, parameters: tuple[str, ...] = ()) -> Activation:
    """The activation of a name or an expression, with its parameters.

    Raises
    ------
    click.UsageError
        If there is no such activation or parameter, or the expression cannot be read.
    """
    from holokern.activation import activation

    with words_of_the_user():
        return activation(expression, **_read_parameters(parameters))


def _read_parameters(given: tuple[str, ...]) -> dict[str, Any]:
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
