"""``holokern derive``: from an activation or an operator to its Pfaffian system."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from holokern.cli.options.arguments import (
    complete_expression,
    complete_parameter,
    parameter_option,
    read_activation,
    words_of_the_user,
)
from holokern.progress import display

if TYPE_CHECKING:
    from holokern.pfaffian import PfaffianSystem


@click.command()
@click.argument("expression", required=False, metavar="[EXPR]", shell_complete=complete_expression)
@parameter_option
@click.option("--operator", multiple=True, metavar="P", help="An operator in u and D instead of EXPR; repeatable.")
@click.option(
    "--other", metavar="EXPR", shell_complete=complete_expression, help="A second activation, for E[σ1(u)σ2(v)]."
)
@click.option(
    "--other-param",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_parameter,
    help="A parameter of a named --other.",
)
@click.option("--other-operator", multiple=True, metavar="P", help="Operators of the second activation; repeatable.")
@click.option(
    "--coordinates",
    type=click.Choice(["sigma", "x"]),
    default="sigma",
    show_default=True,
    help="The covariance Σ, or the paper's x = -Σ⁻¹/2.",
)
@click.option("--basis", metavar="LIST", help='The entries of F, such as "1, a*b, a^2" or "1, d12".')
@click.option("--cache-dir", type=click.Path(file_okay=False), help="Keep derived systems in this folder.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache on disk.")
@click.option("--latex", "style", flag_value="latex", help="Print LaTeX.")
@click.option("--json", "style", flag_value="json", help="Print JSON for machines.")
def derive(
    *,
    expression: str | None,
    parameters: tuple[str, ...],
    operator: tuple[str, ...],
    other: str | None,
    other_param: tuple[str, ...],
    other_operator: tuple[str, ...],
    coordinates: str,
    basis: str | None,
    cache_dir: str | None,
    no_cache: bool,
    style: str | None,
) -> None:
    """Derive the holonomic system of the dual activation of EXPR.

    EXPR is a name (see "holokern activations") or an expression in u.  The command prints the annihilator, the rank,
    the basis, the matrices and the singular locus.  Write -- before an EXPR that begins with a minus sign.

    \b
    Examples:
      holokern derive gelu
      holokern derive elu --param alpha=1.5
      holokern derive "Heaviside(u)*sin(u)" --json
      holokern derive relu --other sin
      holokern derive --operator "u^2*(D^2 + 1)"
      holokern derive relu --coordinates x --basis "1, d12" --latex
      holokern derive -- "-u*exp(-u^2)"
    """  # noqa: D301 (click reads the backspace)
    if no_cache and cache_dir is not None:
        raise click.UsageError("give --cache-dir or --no-cache, not both")
    first = _side(expression, parameters, operator, name="EXPR", option="--operator")
    second = _side(other, other_param, other_operator, name="--other", option="--other-operator", required=False)
    with display("deriving"), words_of_the_user():
        from holokern.pfaffian import pfaffian

        system = pfaffian(
            first.get("activation"),
            second.get("activation"),
            operator=first.get("operator"),
            other_operator=second.get("operator"),
            coordinates=coordinates,
            basis=basis,
            cache=False if no_cache else cache_dir,
        )
        shown = _show(system, style)
    click.echo(shown)


def _side(
    text: str | None,
    parameters: tuple[str, ...],
    operators: tuple[str, ...],
    *,
    name: str,
    option: str,
    required: bool = True,
) -> dict[str, Any]:
    """One of the two activations: an Activation or a list of operators."""
    if text is not None and operators:
        raise click.UsageError(f"give {name} or {option}, not both")
    if text is None:
        if parameters:
            raise click.UsageError(f"parameters need a named activation as {name}")
        if operators:
            return {"operator": list(operators)}
        if required:
            raise click.UsageError(
                f"give {name}, a name or an expression in u, or {option}; see 'holokern derive --help'"
            )
        return {}
    return {"activation": read_activation(text, parameters)}


def _show(system: PfaffianSystem, style: str | None) -> str:
    if style == "json":
        return json.dumps(_record(system), indent=1)
    if style == "latex":
        return _latex_page(system)
    return system.text()


def _record(system: PfaffianSystem) -> dict[str, object]:
    """Readable fields for any program, and the archive record for ``from_json``."""
    return {
        "annihilators": [[str(operator) for operator in operators] for operators in system.annihilators],
        "rank": system.rank,
        "coordinates": system.coordinates,
        "variables": list(system.variables),
        "basis": list(system.basis_text),
        "matrices": {name: [[str(entry) for entry in row] for row in system[name]] for name in system.variables},
        "singular_locus": [
            {"factor": str(factor), "multiplicity": power}
            for factor, power in zip(system.singular_locus, system.multiplicities, strict=True)
        ],
        "archive": json.loads(system.to_json()),
    }


def _latex_page(system: PfaffianSystem) -> str:
    from holokern.pfaffian import latex_polynomial

    left, right = system.annihilators
    sides = [left] if left == right else [left, right]
    blocks = [",\\quad ".join(operator.latex() for operator in side) for side in sides]
    blocks.append(system.latex())
    locus = " \\cdot ".join(latex_polynomial(factor) for factor in system.singular_locus)
    if locus:
        blocks.append(f"{locus} = 0")
    return "\n".join(f"\\[\n{block}\n\\]" for block in blocks)
