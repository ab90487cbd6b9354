"""Types of options that hold numbers; a number outside its domain is refused as wrong usage before any work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from holokern.activation import read_rational
from holokern.errors import BadInput

if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType  # older versions of click have no brackets here


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

    def _result(self, _value: Any, number: float) -> Any:
        return number


class ExactNumber(Real):
    """The same for the text of an exact rational number; the text itself is the result, so no digit is lost."""

    def _read(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(read_rational(value, "the option"))
        except (BadInput, OverflowError):
            self.fail(f"{value!r} is not a number such as 0.5 or 1/2.", param, ctx)

    def _result(self, value: Any, _number: float) -> Any:
        return value


#: A standard deviation of the biases, or of u and v.
DEVIATION = "a standard deviation, a number from 0 up"
POSITIVE = Real("a positive number", 0.0, open_ends=True)
TOLERANCE = Real("between 0 and 1; try 1e-12", 0.0, 1.0, open_ends=True)
CORRELATION = ExactNumber("a correlation, a number from -1 to 1", -1.0, 1.0)
ANGLE = ExactNumber("an angle in radians, from 0 to π", 0.0, math.pi)
