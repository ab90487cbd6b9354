"""Sums and products of floats together with their rounding errors, which are floats themselves."""

from __future__ import annotations

from holokern.numeric.panels import Array

_SPLIT = 2.0**27 + 1
"""Splits a float into two halves of 26 bits, whose products are exact [Dekker1971]."""


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """The rounded sum, and its exact error [Dekker1971].

    Examples
    --------
    >>> two_sum(1.0, 2.0**-60) == (1.0, 2.0**-60)
    True
    """
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def two_product(x: Array, y: Array) -> tuple[Array, Array]:
    """The rounded product, and its exact error unless something overflows or underflows [Dekker1971].

    Examples
    --------
    >>> two_product(1 + 2.0**-30, 1 + 2.0**-30) == (1 + 2.0**-29, 2.0**-60)
    True
    """
    product = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _halves(x: Array) -> tuple[Array, Array]:
    large = _SPLIT * x
    high = large - (large - x)
    return high, x - high
