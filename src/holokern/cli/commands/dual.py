"""``holokern dual``: values of a dual activation."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from holokern.cli.options.arguments import (
    ANGLE,
    CORRELATION,
    DEVIATION,
    TOLERANCE,
    ExactNumber,
    complete_expression,
    complete_method,
    parameter_option,
    read_activation,
)
from holokern.progress import display

if TYPE_CHECKING:
    from holokern.activation import Activation

_DEVIATION = ExactNumber(DEVIATION, 0.0)  # zero counts, as a limit


def _known_method(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    from holokern.dual import methods

    if name not in methods():
        raise click.BadParameter(f"there is no method {name!r}; choose one of {', '.join(methods())}.")
    return name


@click.command()
@click.argument("expression", metavar="EXPR", shell_complete=complete_expression)
@parameter_option
@click.option("--c1", required=True, type=_DEVIATION, help="Standard deviation of u.")
@click.option("--c2", required=True, type=_DEVIATION, help="Standard deviation of v.")
@click.option("--r", "r", type=CORRELATION, help="Correlation, from -1 to 1.")
@click.option(
    "--theta", type=ANGLE, help="The angle arccos r instead of r; a small angle keeps digits that r near 1 loses."
)
@click.option(
    "--method",
    default="auto",
    show_default=True,
    metavar="NAME",
    callback=_known_method,
    shell_complete=complete_method,
    help="How to compute; see above.",
)
@click.option("--tolerance", type=TOLERANCE, default=1e-12, show_default=True, help="Wanted relative error.")
@click.option("--digits", type=click.IntRange(1, 10_000), help="Prove this many digits with ball arithmetic.")
@click.option("--closed-form", is_flag=True, help="Print the closed forms too, where they exist.")
@click.option("--json", "as_json", is_flag=True, help='Print JSON for machines; an infinite k′ is the text "inf".')
def dual(
    *,
    expression: str,
    parameters: tuple[str, ...],
    c1: str,
    c2: str,
    r: str | None,
    theta: str | None,
    method: str,
    tolerance: float,
    digits: int | None,
    closed_form: bool,
    as_json: bool,
) -> None:
    """Compute k = E[σ(u)σ(v)] and k′ = E[σ′(u)σ′(v)] of EXPR, with an estimate of the error.

    EXPR is a name (see "holokern activations") or an expression in u.  Numbers are read exactly: 1/3 is one third, and
    0.1 is one tenth.  Methods: auto (the closed form if there is one, else quadrature), closed, quadrature, hgm,
    all_at_once, taylor, hie, hermite, compiled, and gauss_hermite for comparison.

    \b
    Examples:
      holokern dual relu --c1 1 --c2 1 --r 1/2
      holokern dual "Heaviside(u)*sin(u)" --c1 0.7 --c2 1.9 --r -0.3 --method quadrature
      holokern dual gelu --c1 1 --c2 2 --r 0.9 --digits 50
      holokern dual relu --c1 1 --c2 1 --theta 1e-6 --json
    """  # noqa: D301
    if digits is not None and (method != "auto" or theta is not None):
        raise click.UsageError("--digits proves the value at --r by a method of its own; drop --method and --theta")
    if (r is None) == (theta is None):
        given = "both were given" if r is not None else "neither was given"
        raise click.UsageError(f"give exactly one of --r and --theta; {given}")
    sigma = read_activation(expression, parameters)
    with display("computing"):
        if digits is not None:
            result = _proved(sigma, c1, c2, r, digits)
        else:
            numbers = {"c1": c1, "c2": c2, "r": r, "theta": theta}
            result = _estimated(sigma, numbers, method, tolerance)
        if closed_form:
            from holokern.dual import closed_form as form_of

            form = form_of(sigma)
            result |= {"k_closed_form": str(form.k), "kdot_closed_form": str(form.kdot)}
    if as_json:
        click.echo(json.dumps({name: _plain(value) for name, value in result.items()}, indent=1, allow_nan=False))
    else:
        click.echo("\n".join(_lines(result)))


def _lines(result: dict[str, object]) -> list[str]:
    """The result for readers: k′ as in the text, and errors to two digits."""
    labels = {name: name.replace("kdot", "k′").replace("_", " ") for name in result}
    width = max(map(len, labels.values()))
    return [
        f"{labels[name]:{width}s}  {f'{value:.1e}' if name.endswith('error') and value is not None else value}"
        for name, value in result.items()
    ]


def _proved(sigma: Activation, c1: str, c2: str, r: str | None, digits: int) -> dict[str, object]:
    from holokern.dual import enclose

    found = enclose(sigma, c1, c2, r, digits)
    return {"k": found.k.str(digits), "kdot": found.kdot.str(digits), "method": found.method, "digits": digits}


def _estimated(sigma: Activation, numbers: dict[str, str | None], method: str, tolerance: float) -> dict[str, object]:
    from holokern.dual import dual as dual_activation

    point = {name: None if text is None else float(Fraction(text)) for name, text in numbers.items()}
    value = dual_activation(sigma, **point, method=method, tolerance=tolerance)
    return {
        "k": value.k,
        "error": value.error,
        "kdot": value.kdot,
        "kdot_error": value.kdot_error,
        "method": value.method,
    }


def _plain(value: object) -> object:
    """The value as JSON has it: infinities as text, null for what a method does not give."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)
