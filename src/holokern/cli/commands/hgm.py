"""``holokern hgm``: values of a holonomic function from its system in a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holokern.cli.options.arguments import words_of_the_user
from holokern.errors import BadInput
from holokern.progress import display

if TYPE_CHECKING:
    from holokern.pfaffian import PfaffianSystem

_MOST_CHARACTERS = 2_000_000  # nobody writes a longer system by hand


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--start", metavar="POINT", help='Where the function is known, such as "0", "1/2, 3" or "x=1/2, y=3".')
@click.option("--value", "values", multiple=True, metavar="[OP=]V", help="Its value, or OP applied to it; repeatable.")
@click.option(
    "--target", "targets", multiple=True, metavar="POINT", help="A point where you want the value; repeatable."
)
@click.option("--path", multiple=True, metavar="POINT", help="A corner of the path to the targets; repeatable.")
@click.option(
    "--want",
    multiple=True,
    metavar="OP",
    help="An operator to apply at the targets; by default those of the basis.  Repeatable.",
)
@click.option("--basis", metavar="LIST", help='Another basis, such as "1, x*dx".')
@click.option("--side", type=click.Choice(["left", "right"]), help="The side on which to pass singular points.")
@click.option("--loop", multiple=True, metavar="POINT", help="A corner of a loop; prints its monodromy.  Repeatable.")
@click.option("--balls", is_flag=True, help="Prove the values.")
@click.option(
    "--digits",
    type=click.IntRange(1, 1000),
    default=30,
    show_default=True,
    help="The number of proved digits, with --balls.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def hgm(
    *,
    file: Path,
    start: str | None,
    values: tuple[str, ...],
    targets: tuple[str, ...],
    path: tuple[str, ...],
    want: tuple[str, ...],
    basis: str | None,
    side: str | None,
    loop: tuple[str, ...],
    balls: bool,
    digits: int,
    as_json: bool,
) -> None:
    """Compute a solution of the holonomic system in FILE at other points, from a point where it is known.

    FILE is text or JSON.  Text has a line "variables: x y", then one operator on each line; # begins a comment.  JSON
    has "variables" and "operators", and may have "start", "values" (operators with their values) and "targets"; or it
    is a Pfaffian system as "holokern derive --json" and to_json() write it.  Without targets and loops the command
    prints the Pfaffian system.

    \b
    Examples:
      holokern hgm airy.txt
      holokern hgm airy.txt --start 0 --value 0.355028053887817 --value=-0.258819403792807 --target 1 --target 2
      holokern hgm gauss.txt --start 1/2 --value 1=1 --value dx=1 --target 2 --side left --balls
      holokern hgm gauss.txt --loop 1/2 --loop 1-1/2j --loop 3/2 --loop 1+1/2j
    """  # noqa: D301 (click reads the backspace)
    record = _read(file)
    start = start or record.get("start")
    goals = list(targets) or record.get("targets", [])
    known = _values(values) or record.get("values")
    with display("reading the system"):
        system = _system(record, basis)
        if loop:
            with words_of_the_user():
                shown = _loop(system, loop, balls, digits, as_json)
        elif goals:
            if start is None or known is None:
                raise click.UsageError("give --start and a --value for each entry of the basis, or both in the file")
            with words_of_the_user():
                corners = [_point(corner) for corner in path]
                options = {"path": corners, "outputs": list(want) or None, "side": side, "digits": digits}
                shown = _solve(system, start, known, goals, balls, as_json, options)
        else:
            shown = system.to_json(indent=1) if as_json else system.text()
    click.echo(shown)


def _read(file: Path) -> dict[str, Any]:
    """The content of a file as a record."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{file} is not a text; give a text or JSON file") from None
    if len(text) > _MOST_CHARACTERS:
        raise BadInput(f"{file} has {len(text)} characters, more than {_MOST_CHARACTERS}; is it a system?")
    if text.lstrip().startswith("{"):
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{file} begins like JSON and is none: {error}") from None
        if "archive" in record:
            record = record["archive"]
        if "format" not in record and not ("variables" in record and "operators" in record):
            raise BadInput(f"{file} has neither 'variables' and 'operators' nor a Pfaffian system")
        return dict(record)
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    names = [line for line in lines if line.replace(":", " ").split()[:1] == ["variables"]]
    if len(names) != 1:
        raise BadInput(f"expected one line 'variables: x y' in {file}, found {len(names)}")
    operators = [line for line in lines if line and line != names[0]]
    return {"variables": names[0].replace(":", " ").replace(",", " ").split()[1:], "operators": operators}


def _system(record: dict[str, Any], basis: str | None) -> PfaffianSystem:
    from holokern import PfaffianSystem, pfaffian
    from holokern.weyl import rational_weyl_algebra, weyl_algebra

    if "format" in record:
        system = PfaffianSystem.from_json(json.dumps(record))
        return system if basis is None else system.change_basis(basis)
    variables, operators = list(record["variables"]), list(record["operators"])
    if not operators:
        raise BadInput("the file has no operators; write one on each line")
    algebra = rational_weyl_algebra(weyl_algebra(variables, record.get("derivations")))
    return pfaffian(algebra.ideal(*map(str, operators)), basis=basis)


def _values(given: Sequence[str]) -> list[Any] | dict[str, Any] | None:
    """Numbers in the order of the basis, or by operators; None for nothing."""
    if not given:
        return None
    named = ["=" in item for item in given]
    if any(named) != all(named):
        raise click.UsageError("give all values by operators, as in --value dx=1, or none of them")
    if not named[0]:
        return [_number(item) for item in given]
    return {operator.strip(): _number(value) for operator, value in (item.rsplit("=", 1) for item in given)}


def _number(text: object) -> Any:
    """A rational number as text, or a complex one such as 1+1/2j."""
    plain = str(text).strip().replace(" ", "")
    if not plain.endswith(("j", "i")):
        return plain
    from fractions import Fraction

    body = plain[:-1]
    cut = max((k for k, sign in enumerate(body) if sign in "+-" and k and body[k - 1] not in "eE"), default=0)
    real, imaginary = body[:cut] or "0", body[cut:]
    imaginary = imaginary + "1" if imaginary in ("", "+", "-") else imaginary
    try:
        return complex(float(Fraction(real)), float(Fraction(imaginary)))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise BadInput(f"expected a number such as 1/2 or 1+1/2j, got {text!r}") from None


def _point(text: object) -> Any:
    if isinstance(text, dict):
        return {str(name): _number(value) for name, value in text.items()}
    parts = [str(item) for item in text] if isinstance(text, list) else str(text).split(",")
    if any("=" in part for part in parts):
        pairs = [part.split("=", 1) for part in parts]
        if any(len(pair) != 2 for pair in pairs):
            raise BadInput(f"expected a point such as 'x=1, y=2' or '1, 2', got {text!r}")
        return {name.strip(): _number(value) for name, value in pairs}
    return [_number(part) for part in parts]


def _solve(
    system: PfaffianSystem,
    start: object,
    known: Any,
    goals: Sequence[object],
    balls: bool,
    as_json: bool,
    options: dict[str, Any],
) -> str:
    from holokern.hgm import solve

    if isinstance(known, dict):
        known = {str(operator): _number(value) for operator, value in known.items()}
    else:
        known = [_number(value) for value in known]
    points = [_point(goal) for goal in goals]
    found = solve(system, start=_point(start), values=known, targets=points, balls=balls, **options)
    rows = [[_text(value, options["digits"] if balls else 17) for value in row] for row in found.values]
    if as_json:
        record = {
            "basis": list(found.basis),
            "proved": balls,
            "targets": [list(map(str, p.values() if isinstance(p, dict) else p)) for p in points],
            "values": rows,
            "error": found.error.tolist(),
        }
        return json.dumps(record, indent=1)
    lines = []
    for goal, row, errors in zip(goals, rows, found.error, strict=True):
        lines.append(f"at {goal}")
        lines += [f"  {n:<8} {v}  ± {e:.1e}" for n, v, e in zip(found.basis, row, errors, strict=True)]
    return "\n".join(lines)


def _loop(system: PfaffianSystem, loop: Sequence[str], balls: bool, digits: int, as_json: bool) -> str:
    from holokern.hgm import monodromy

    turn = monodromy(system, [_point(corner) for corner in loop], balls=balls, digits=digits)
    rows = [[_text(value, digits if balls else 15) for value in row] for row in turn.matrix]
    if as_json:
        return json.dumps({"basis": list(turn.basis), "monodromy": rows, "error": turn.error.tolist()}, indent=1)
    return "\n".join("[" + "  ".join(row) + "]" for row in rows)


def _text(value: Any, digits: int) -> str:
    """A float, a complex float or a ball, without its radius."""
    if hasattr(value, "str"):
        return str(value.str(digits, radius=False))
    number = complex(value)
    if not number.imag:
        return f"{number.real:.{digits}g}"
    return f"{number.real:.{digits}g}{number.imag:+.{digits}g}j"
