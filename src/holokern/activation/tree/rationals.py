"""Rational numbers inside expressions: their size is limited, and roots of them are taken where they are exact."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from holokern.errors import TooLarge

# at most 400 digits, so that every number that is printed can be read again
_MAX_BITS = 1_320


def check_bits(value: Fraction, times: int = 1) -> None:
    """Raise :class:`~holokern.errors.TooLarge` when the power ``value^times`` would be too long to print."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) * times > _MAX_BITS:
        raise TooLarge("a number of the expression becomes too long; use smaller numbers or exponents")


def shown(value: Fraction) -> str:
    """The number for a message, never longer than a line."""
    if value.numerator.bit_length() + value.denominator.bit_length() > 120:
        return "of many digits"
    return str(value)


def exact_root(value: int, degree: int) -> int | None:
    """The integer root of a non-negative integer, if there is one.

    Examples
    --------
    >>> exact_root(27, 3), exact_root(28, 3)
    (3, None)
    """
    if degree == 2:
        root = isqrt(value)
    else:
        # Newton from above stays above the root, so it stops at the floor of it
        root = 1 << -(-value.bit_length() // degree)
        while (better := ((degree - 1) * root + value // root ** (degree - 1)) // degree) < root:
            root = better
    return root if root**degree == value else None
