"""Homomorphisms between Weyl algebras, given on the generators."""

from __future__ import annotations

from collections.abc import Sequence

from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra


def widened(operator: Operator, algebra: WeylAlgebra, places: Sequence[int]) -> Operator:
    """The operator in a larger algebra, its variable i at ``places[i]``.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> widened(weyl_algebra("x")("x*dx"), weyl_algebra("t x"), [1])
    x*dx
    """
    n, m = operator.algebra.dimension, algebra.dimension
    terms = {}
    for key, c in operator:
        exponents = [0] * (2 * m)
        for i, place in enumerate(places):
            exponents[place], exponents[m + place] = key[i], key[n + i]
        terms[tuple(exponents)] = c
    return Operator(algebra, terms)


def substituted(
    operator: Operator, of_variables: Sequence[Operator], of_derivations: Sequence[Operator], target: WeylAlgebra
) -> Operator:
    """The image under the ring homomorphism that is given on the generators.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> substituted(D("x*dx"), [D("dx")], [D("-x")], D)
    -x*dx - 1
    """
    result = target.zero
    for exponents, c in operator:
        term = target.one * c
        for image, power in zip((*of_variables, *of_derivations), exponents, strict=True):
            term = term * image**power
        result = result + term
    return result
