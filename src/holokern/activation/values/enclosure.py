"""Numbers that are exact constants where possible and proven enclosures elsewhere, with one arithmetic for both."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from flint import arb

from holokern.activation.values.constants import ExactReal, exact
from holokern.numeric import to_fmpq, working_precision

# 120 digits, seven times those of a float: sums of some terms lose none that count
_BITS = 400


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A number known to lie within ``radius`` of ``middle``."""

    middle: Fraction
    radius: Fraction

    def ball(self) -> arb:
        """The number as ``arb``."""
        return arb(to_fmpq(self.middle)) + arb(0, arb(to_fmpq(self.radius)).upper())

    @staticmethod
    def of(value: arb) -> Enclosure:
        """The enclosure of a finite ``arb``."""
        return Enclosure(dyadic(value.mid()), dyadic(value.rad()))


Value: TypeAlias = ExactReal | Enclosure


def plus(a: Value, b: Value) -> Value:
    """The sum, exact if both are.

    Examples
    --------
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


def as_ball(value: arb | Value) -> arb:
    """A constant, an enclosure or an ``arb`` as an ``arb``."""
    return value if isinstance(value, arb) else value.ball()


def may_vanish(value: Value) -> bool:
    """Whether the number is zero, as far as is known."""
    return not value if isinstance(value, ExactReal) else abs(value.middle) <= value.radius


def dyadic(value: arb) -> Fraction:
    """An exact ``arb`` as a Fraction."""
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
