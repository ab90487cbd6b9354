"""The data that fixes a solution of an ODE: on each interval, the values of its derivatives at one point.

What a caller may write:

- ``{0: [0, 1]}``: one analytic solution on the whole line with σ(0) = 0 and σ′(0) = 1;
- ``{(None, 0): 0, (0, None): {0: [0, 1]}}``: intervals that tile the line (None is infinite), each with the values at
  one point of the closed interval, one-sided at an end; a bare 0 stands for the zero function.

Numbers are read exactly: int, Fraction, a float as the decimal that it prints as, or a constant as text such as
``"1/sqrt(pi)"``.  Where data is carried elsewhere, exact constants become enclosures; one arithmetic serves both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from flint import arb

from holokern.activation.named import read_rational
from holokern.activation.ring.construct import element_of
from holokern.activation.tree.grammar import read_expression
from holokern.activation.values.constants import ExactReal, exact
from holokern.errors import BadInput
from holokern.numeric import to_ball, working_precision

_BITS = 400  # 120 digits, seven times those of a float: sums of some terms lose none that count


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A number known to lie within ``radius`` of ``middle``."""

    middle: Fraction
    radius: Fraction

    def ball(self) -> arb:
        """The number as ``arb``."""
        return to_ball(self.middle) + arb(0, to_ball(self.radius).upper())

    @staticmethod
    def of(value: arb) -> Enclosure:
        """The enclosure of a finite ``arb``."""
        return Enclosure(dyadic(value.mid()), dyadic(value.rad()))


Value: TypeAlias = ExactReal | Enclosure


def plus(a: Value, b: Value) -> Value:
    """The sum, exact if both are.

    >>> plus(exact(1), exact(2)), plus(exact(1), Enclosure(Fraction(1), Fraction(0)))
    (3, Enclosure(middle=Fraction(2, 1), radius=Fraction(0, 1)))
    """
    if isinstance(a, ExactReal) and isinstance(b, ExactReal):
        return a + b
    with working_precision(_BITS):
        return Enclosure.of(a.ball() + b.ball())


def times(a: Value, b: Value) -> Value:
    """The product, exact if both are."""
    if isinstance(a, ExactReal) and isinstance(b, ExactReal):
        return a * b
    with working_precision(_BITS):
        return Enclosure.of(a.ball() * b.ball())


def scaled(a: Value, factor: Fraction | int) -> Value:
    """The product with a rational number."""
    return a * factor if isinstance(a, ExactReal) else times(a, exact(factor))


def as_value(value: arb | Value) -> Value:
    """A constant, an enclosure or an ``arb`` as a value."""
    return Enclosure.of(value) if isinstance(value, arb) else value


def may_vanish(value: Value) -> bool:
    """Whether the number is zero, as far as is known."""
    return not value if isinstance(value, ExactReal) else abs(value.middle) <= value.radius


def dyadic(value: arb) -> Fraction:
    """An exact ``arb`` as a Fraction."""
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


_EXAMPLE = "write for example {0: [0, 1]} or {(None, 0): 0, (0, None): {0: [0, 1]}}"  # what messages show
_MAX_VALUES, _MAX_BRANCHES = 200, 200  # far above what people type; ODEs have orders up to 36


@dataclass(frozen=True, slots=True)
class Branch:
    """A solution on (low, high), None being infinite: ``values`` are σ, σ', … at ``point``; no values mean σ = 0."""

    low: Fraction | None
    high: Fraction | None
    point: Fraction
    values: tuple[Value, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether all values are exact constants."""
        return all(isinstance(value, ExactReal) for value in self.values)


def read_branches(values: object) -> tuple[Branch, ...]:
    """Read the data of an ODE activation.

    Raises BadInput for anything but the two forms above, and for intervals that do not tile the line.

    >>> read_branches({0: ["1/2", 0]})
    (Branch(low=None, high=None, point=Fraction(0, 1), values=(1/2, 0)),)
    """
    if not isinstance(values, Mapping) or not values:
        raise BadInput(f"expected the data that fixes a solution as a mapping, got {values!r:.60}; {_EXAMPLE}")
    if len(values) > _MAX_BRANCHES:
        raise BadInput(f"the data has {len(values)} intervals; at most {_MAX_BRANCHES} are read")
    if not any(isinstance(key, tuple) for key in values):
        return (_branch(None, None, values),)
    branches = []
    for key, data in values.items():
        if not isinstance(key, tuple) or len(key) != 2:
            raise BadInput(f"expected intervals (low, high) as keys of the data, got {key!r:.60}; {_EXAMPLE}")
        low, high = (None if end is None else read_rational(end, "an end of an interval") for end in key)
        branches.append(_branch(low, high, data))
    infinite = min((branch.low for branch in branches if branch.low is not None), default=Fraction(0)) - 1
    branches.sort(key=lambda branch: infinite if branch.low is None else branch.low)
    tiled = all(left.high is not None and left.high == right.low for left, right in pairwise(branches))
    if branches[0].low is not None or branches[-1].high is not None or not tiled:
        shown = ", ".join(f"({branch.low}, {branch.high})" for branch in branches)
        raise BadInput(f"the intervals {shown:.200} do not tile the line from None to None")
    return tuple(branches)


def _branch(low: Fraction | None, high: Fraction | None, data: object) -> Branch:
    if low is not None and high is not None and low >= high:
        raise BadInput(f"the interval ({low}, {high}) is empty; its low end must be below its high end")
    middle = Fraction(0) if low is None and high is None else high if low is None else low
    assert middle is not None
    if not isinstance(data, Mapping):
        if isinstance(data, int | Fraction | float) and data == 0:
            return Branch(low, high, middle)
        raise BadInput(f"expected the values at one point as {{point: [values]}} or 0, got {data!r:.60}; {_EXAMPLE}")
    if len(data) != 1:
        raise BadInput(f"expected the values at exactly one point of each interval, got {len(data)} points; {_EXAMPLE}")
    ((key, numbers),) = data.items()
    point = read_rational(key, "the point of the data")
    if (low is not None and point < low) or (high is not None and point > high):
        raise BadInput(f"the point {point} of the data lies outside its interval ({low}, {high})")
    if isinstance(numbers, str | Mapping) or not isinstance(numbers, Sequence):
        raise BadInput(f"expected a list of derivative values at u = {point}, got {numbers!r:.60}; {_EXAMPLE}")
    if not 0 < len(numbers) <= _MAX_VALUES:
        raise BadInput(f"expected between 1 and {_MAX_VALUES} derivative values at u = {point}, got {len(numbers)}")
    values = tuple(_number(value, point) for value in numbers)
    return Branch(low, high, point, values)


def _number(value: object, point: Fraction) -> ExactReal:
    if not isinstance(value, str):
        return exact(read_rational(value, f"a value at u = {point}"))
    constant = element_of(read_expression(value), None).value
    if constant is None:
        raise BadInput(f"expected a constant as a value at u = {point}, got {value!r:.60}")
    return constant
