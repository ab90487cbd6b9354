"""Arguments and options that commands share: activations, their parameters, numbers; and the completion of words.

In bash, ``eval "$(_HOLOKERN_COMPLETE=bash_source holokern)"`` turns completion on; zsh and fish work likewise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from holokern.activation import read_rational
from holokern.errors import BadInput

if TYPE_CHECKING:
    from holokern.activation import Activation

    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType  # older versions of click have no brackets here


def complete_expression(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of activations that begin with what was typed; expressions are not completed."""
    from holokern.activation import REGISTRY

    return [
        CompletionItem(name, help=entry.summary)
        for name, entry in sorted(REGISTRY.items())
        if name.startswith(incomplete)
    ]


def complete_parameter(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of parameters: those of the activation that was already typed, else of all activations."""
    from holokern.activation import REGISTRY

    # while an option is incomplete, click leaves the words before it in ctx.args
    typed = [ctx.params.get("expression"), *ctx.args]
    entries = [REGISTRY[word] for word in typed if word in REGISTRY] or list(REGISTRY.values())
    names = {p.name: p.default for entry in entries for p in entry.parameters}
    return [
        CompletionItem(f"{name}=", help="" if default is None else f"{default} by default")
        for name, default in sorted(names.items())
        if name.startswith(incomplete)
    ]


def complete_method(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of methods that begin with what was typed."""
    from holokern.dual import method_named, methods

    return [
        CompletionItem(name, help="" if name == "auto" else method_named(name).summary)
        for name in methods()
        if name.startswith(incomplete)
    ]


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

    Raises click.UsageError in place of ``BadInput``, with its message.
    """
    try:
        yield
    except BadInput as error:
        raise click.UsageError(str(error)) from None


def read_activation(expression: str, parameters: tuple[str, ...] = ()) -> Activation:
    """The activation of a name or an expression, with its parameters.

    Raises click.UsageError if there is no such activation or parameter, or the expression cannot be read.
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


class Real(_Type):
    """A finite float between two bounds; ``domain`` says the bounds in words."""

    name = "number"

    def __init__(self, domain: str, low: float = -math.inf, high: float = math.inf, *, open_ends: bool = False) -> None:
        self.domain, self.low, self.high, self.open_ends = domain, low, high, open_ends

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The float, or a sentence that says what is expected."""
        number = self._read(value, param, ctx)
        inside = self.low < number < self.high if self.open_ends else self.low <= number <= self.high
        if not (inside and math.isfinite(number)):
            self.fail(f"{value} is not {self.domain}.", param, ctx)
        return self._result(value, number)

    def _read(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number.", param, ctx)

    def _result(self, _value: object, number: float) -> object:
        return number


class ExactNumber(Real):
    """The same for the text of an exact rational number; the text itself is the result, so no digit is lost."""

    def _read(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(read_rational(value, "the option"))
        except (BadInput, OverflowError):
            self.fail(f"{value!r} is not a number such as 0.5 or 1/2.", param, ctx)

    def _result(self, value: object, _number: float) -> object:
        return value


#: A standard deviation of the biases, or of u and v.
DEVIATION = "a standard deviation, a number from 0 up"
POSITIVE = Real("a positive number", 0.0, open_ends=True)
TOLERANCE = Real("between 0 and 1; try 1e-12", 0.0, 1.0, open_ends=True)
CORRELATION = ExactNumber("a correlation, a number from -1 to 1", -1.0, 1.0)
ANGLE = ExactNumber("an angle in radians, from 0 to π", 0.0, math.pi)
