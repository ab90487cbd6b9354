"""Operators in one variable: greatest common right divisor, least common left multiple, symmetric product."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeVar

from holokern.errors import BadInput
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.constructions.closure import direct_sum, tensor_product
from holokern.weyl.rational.algebra import RationalOperator, RationalWeylAlgebra, rational_weyl_algebra
from holokern.weyl.rational.ideal import RationalIdeal

AnyOperator = TypeVar("AnyOperator", Operator, RationalOperator)


def gcrd(*operators: AnyOperator) -> AnyOperator:
    """The greatest common right divisor over Q(x): its solutions are the common ones.

    Parameters
    ----------
    operators : Operator or RationalOperator
        At least one, in one variable.

    Returns
    -------
    Operator or RationalOperator
        Of the kind given; primitive with polynomial coefficients, or monic.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> gcrd(D("dx^2 - 1"), D("x*dx^2 - (x + 1)*dx + 1"))
    dx - 1
    """
    return _combined(operators, RationalIdeal.__add__)


def lclm(*operators: AnyOperator) -> AnyOperator:
    """The least common left multiple over Q(x): its solutions are the sums of solutions.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> lclm(D("dx - 1"), D("x*dx - 1"))
    x*dx^2 - dx^2 - x*dx + 1
    """
    return _combined(operators, direct_sum)


def symmetric_product(*operators: AnyOperator) -> AnyOperator:
    """The operator of least order that annihilates all products of solutions.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> symmetric_product(D("dx^2 - x"), D("dx^2 - x"))
    dx^3 - 4*x*dx - 2
    """
    return _combined(operators, tensor_product)


def _combined(
    operators: tuple[AnyOperator, ...], combine: Callable[[RationalIdeal, RationalIdeal], RationalIdeal]
) -> AnyOperator:
    """The generator of the ideal that the ideals of the operators are combined to, one after another."""
    if not operators or not all(isinstance(P, (Operator, RationalOperator)) for P in operators):
        raise BadInput(f"expected operators in one variable, got {operators!r}")
    own = operators[0].algebra
    if own.dimension != 1 or any(P.algebra != own for P in operators) or not all(operators):
        raise BadInput("expected operators other than 0, all in one algebra with one variable")
    algebra = own if isinstance(own, RationalWeylAlgebra) else rational_weyl_algebra(own)
    (monic,) = reduce(combine, (algebra.ideal(P) for P in operators)).groebner()
    return monic.clear_denominators() if isinstance(operators[0], Operator) else monic
