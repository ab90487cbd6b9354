"""Translation of the variables: the ideal of f(x + a) from that of f(x)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product as cartesian
from math import comb, prod
from typing import TYPE_CHECKING, overload

from flint import fmpq

from holokern.errors import BadInput
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import Monomial, exact_rational
from holokern.weyl.modules.fourier import chosen_variables

if TYPE_CHECKING:
    from holokern.weyl.modules.ideal import LeftIdeal


@overload
def translate(what: Operator, shifts: Mapping[str, object]) -> Operator: ...
@overload
def translate(what: LeftIdeal, shifts: Mapping[str, object]) -> LeftIdeal: ...


def translate(what: Operator | LeftIdeal, shifts: Mapping[str, object]) -> Operator | LeftIdeal:
    """The automorphism x_i → x_i + a_i, ∂_i → ∂_i: what annihilates f(x) becomes what annihilates f(x + a).

    Parameters
    ----------
    what : Operator or LeftIdeal
        What to translate.
    shifts : mapping from str to rational number
        The numbers a_i, exact: an int, a Fraction or a text such as ``"1/3"``; variables that are not named stay.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> translate(weyl_algebra("x")("x^2*dx - 1"), {"x": 1})
    x^2*dx + 2*x*dx + dx - 1
    """
    if not isinstance(shifts, Mapping):
        raise BadInput(f"expected a mapping from names to numbers, such as {{'x': 1}}, got {shifts!r}")
    algebra = what.algebra
    places = chosen_variables(algebra, list(shifts))
    numbers = [exact_rational(shifts[algebra.variables[i]]) for i in places]
    if isinstance(what, Operator):
        return _translated(what, places, numbers)
    from holokern.weyl.modules.ideal import LeftIdeal

    moved = [_translated(operator, places, numbers) for operator in what.generators]
    return LeftIdeal(algebra, moved, certified=what.certified)


def _translated(operator: Operator, places: tuple[int, ...], numbers: list[fmpq]) -> Operator:
    """Expand (x + a)^α by the binomial theorem; the variables stand to the left, so nothing has to commute."""
    result: dict[Monomial, fmpq] = {}
    for key, c in operator:
        for kept in cartesian(*(range(key[i] + 1) for i in places)):
            image = list(key)
            for i, e in zip(places, kept, strict=True):
                image[i] = e
            factor = prod(
                (comb(key[i], e) * a ** (key[i] - e) for i, e, a in zip(places, kept, numbers, strict=True)),
                start=exact_rational(1),
            )
            result[tuple(image)] = result.get(tuple(image), 0) + c * factor
    return operator.algebra.from_terms(result)
