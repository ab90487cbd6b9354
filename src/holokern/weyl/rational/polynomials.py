"""What flint's polynomials lack: values in any ring, and how often factors divide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from flint import fmpq_poly, fmpz_mpoly, fmpz_poly, nmod_poly

Polynomial = TypeVar("Polynomial", fmpz_mpoly, nmod_poly, fmpz_poly, fmpq_poly)


def evaluate_polynomial(polynomial: fmpz_mpoly, point: Sequence[Any]) -> Any:
    """An integer polynomial at a point of any ring: numbers, arrays, balls, polynomials; powers are made once.

    >>> from flint import arb_poly, fmpz_mpoly_ctx
    >>> x, y = fmpz_mpoly_ctx.get(("x", "y")).gens()
    >>> evaluate_polynomial(x**2 - y, [3, 2]), evaluate_polynomial(x * y, [arb_poly([0, 1]), 2])
    (7, 2.00000000000000*x)
    """
    total: Any = 0
    powers: list[dict[int, Any]] = [{0: 1} for _ in point]

    def power(i: int, e: int) -> Any:
        if e not in powers[i]:
            half = power(i, e // 2)
            powers[i][e] = half * half * (point[i] if e % 2 else 1)
        return powers[i][e]

    for key, c in polynomial.terms():
        term: Any = int(c)
        for i, e in enumerate(key):
            if e:
                term = term * power(i, int(e))
        total = total + term
    return total


def split_off(polynomial: Polynomial, factors: Sequence[Polynomial]) -> tuple[list[int], Polynomial]:
    """How often each factor divides a polynomial, and what is left; constants divide nothing."""
    powers = []
    for factor in factors:
        power = 0
        while not (factor.is_constant() or polynomial.is_constant()):
            quotient, rest = divmod(polynomial, factor)
            if not rest.is_zero():
                break
            polynomial, power = quotient, power + 1
        powers.append(power)
    return powers, polynomial


def multiplicity(polynomial: Polynomial, factor: Polynomial) -> int:
    """How often one factor divides a polynomial other than 0."""
    (power,), _ = split_off(polynomial, [factor])
    return power


def by_powers(polynomial: fmpz_mpoly, places: Sequence[int]) -> dict[tuple[int, ...], fmpz_mpoly]:
    """The coefficients of the powers of some variables, polynomials of the same ring in the other ones.

    >>> from flint import fmpz_mpoly_ctx
    >>> x, y = fmpz_mpoly_ctx.get(("x", "y")).gens()
    >>> by_powers((x + y) ** 2, [1])
    {(0,): x^2, (1,): 2*x, (2,): 1}
    """
    rows: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
    for key, c in polynomial.terms():
        powers = tuple(int(key[i]) for i in places)
        rows.setdefault(powers, {})[tuple(0 if i in places else int(e) for i, e in enumerate(key))] = int(c)
    return {powers: polynomial.context().from_dict(row) for powers, row in rows.items()}
