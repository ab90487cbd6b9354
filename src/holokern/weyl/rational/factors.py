"""Irreducible factors of polynomials, as elements of the field of rational functions."""

from __future__ import annotations

from collections.abc import Iterable

from flint import fmpz_mpoly

from holokern.weyl.rational.fractions import FunctionField, RationalFunction


def irreducible_factors(field: FunctionField, polynomials: Iterable[fmpz_mpoly]) -> tuple[RationalFunction, ...]:
    """The different irreducible factors of non-zero polynomials of ``field.ctx``, the simplest first.

    Examples
    --------
    >>> from holokern.weyl.rational.fractions import function_field
    >>> K = function_field("x y")
    >>> irreducible_factors(K, [K("x^3 - x*y^2").numerator, K("2*x").numerator])
    (x, x + y, x - y)
    """
    factors: dict[str, fmpz_mpoly] = {}
    for polynomial in {str(polynomial): polynomial for polynomial in polynomials}.values():
        for factor, _ in polynomial.factor()[1]:
            positive = factor if factor.leading_coefficient() > 0 else -factor
            factors[str(positive)] = positive
    ordered = sorted(factors.items(), key=lambda pair: (pair[1].total_degree(), len(pair[1]), pair[0]))
    return tuple(field(factor) for _, factor in ordered)
