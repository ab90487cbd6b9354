"""Numbers or symbols as parameters: which algebra a system with such parameters lives in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from holokern.errors import BadInput
from holokern.syntax import names_in, parse
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra, exact_rational, split_names, weyl_algebra
from holokern.weyl.rational.algebra import RationalOperator, RationalWeylAlgebra, rational_weyl_algebra


def variable_names(given: str | Iterable[str] | None, count: int, default: Sequence[str]) -> tuple[str, ...]:
    """The given names, one for each of ``count`` variables, or the default ones."""
    names = tuple(default) if given is None else split_names(given)
    if len(names) != count:
        raise BadInput(f"expected names of {count} variables, got {' '.join(names)!r}")
    return names


def algebra_with(
    variables: tuple[str, ...], values: Sequence[object]
) -> tuple[WeylAlgebra | RationalWeylAlgebra, list[Operator | RationalOperator]]:
    """The algebra in which all the values are constants, and the values as its elements.

    Numbers need the Weyl algebra over Q only; names in a text become parameters of the rational Weyl algebra.

    Examples
    --------
    >>> algebra_with(("x",), ["1/2", 3])[1], algebra_with(("x",), ["a + 1", 3])[0].parameters
    ([1/2, 3], ('a',))
    """
    names: dict[str, None] = {}
    for value in values:
        if isinstance(value, str):
            names.update(dict.fromkeys(sorted(names_in(parse(value, "parameter")))))
        elif not isinstance(value, (int, Fraction)) or isinstance(value, bool):
            exact_rational(value)
    inner = weyl_algebra(variables)
    if not names:
        return inner, [inner(value) for value in values]
    outer = rational_weyl_algebra(inner, parameters=names)
    return outer, [outer(value) for value in values]
