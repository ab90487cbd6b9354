"""Polynomial and rational solutions of holonomic ideals in several variables."""

from __future__ import annotations

from math import comb

from flint import fmpq

from holokern.errors import TooLarge
from holokern.numeric import bounded, nullspace
from holokern.weyl.algebra.monomials import of_degree
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import Monomial
from holokern.weyl.constructions.operations import graph
from holokern.weyl.modules.bfunction import b_function, b_function_along
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.rational.algebra import rational_weyl_algebra
from holokern.weyl.rational.fractions import RationalFunction

_MAX_UNKNOWNS = 3000  # exact linear algebra of this size takes some seconds


@bounded
def polynomial_solutions(ideal: LeftIdeal) -> tuple[Operator, ...]:
    """A basis over Q of the polynomials that the ideal annihilates.

    The part of highest degree d is annihilated by the initial ideal for the weights (1, -1), whose b-function thus
    vanishes at d; what is left is linear algebra [OakuTakayamaTsai2001].

    Raises
    ------
    NotHolonomic
        When that b-function does not exist.
    TooLarge
        When the b-function allows too high degrees.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> polynomial_solutions(weyl_algebra("x y").ideal("dx^2 - dy", "x*dx + 2*y*dy - 4"))
    (x^4 + 12*x^2*y + 12*y^2,)
    """
    algebra, n = ideal.algebra, ideal.algebra.dimension
    degree = max((-root for root in b_function_along(ideal, (-1,) * n).integer_roots), default=-1)
    if degree < 0:
        return ()
    if comb(n + degree, n) > _MAX_UNKNOWNS:
        raise TooLarge(f"the b-function of {ideal!r} allows solutions of degree {degree}; that is too large to search")
    keys = sorted(key for total in range(degree + 1) for key in of_degree(n, total))
    none = (0,) * n
    images: list[dict[tuple[int, Monomial], fmpq]] = []
    for key in keys:
        monomial = algebra.from_terms({(*key, *none): 1})
        images.append({(i, k): c for i, P in enumerate(ideal.generators) for k, c in P.apply(monomial)})
    columns = sorted({place for image in images for place in image})
    matrix = [[image.get(place, 0) for place in columns] for image in images]
    found = []
    for vector in nullspace(matrix):
        solution = algebra.from_terms({(*key, *none): c for key, c in zip(keys, vector, strict=True) if c != 0})
        found.append(solution.primitive())
    return tuple(found)


@bounded
def rational_solutions(ideal: LeftIdeal) -> tuple[RationalFunction, ...]:
    """A basis over Q of the rational functions that the ideal annihilates.

    Poles lie in the singular locus, and the order of a pole along f = 0 is at most minus the least integer root of the
    b-function of the ideal along f; with the denominator known the numerators are polynomial solutions of another ideal
    [OakuTakayamaTsai2001].

    Raises
    ------
    NotHolonomic
        When a b-function does not exist.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> rational_solutions(weyl_algebra("x y").ideal("x*dx + y*dy + 1", "(x - y)*dx*dy - dx + dy"))
    (1/(x - y),)
    """
    algebra, n = ideal.algebra, ideal.algebra.dimension
    rational = rational_weyl_algebra(algebra)
    denominator = rational.field.one
    for factor in ideal.singular_factors():
        f = algebra.from_terms({(*map(int, key), *[0] * n): int(c) for key, c in factor.numerator.terms()})
        least = min(b_function(graph(ideal, [f]), (1, *[0] * n)).integer_roots, default=None)
        if least is None:
            return ()
        denominator = denominator * factor ** max(0, -least)
    twist = rational(rational.field.one / denominator)
    twisted = [(rational(P) * twist).clear_denominators() for P in ideal.generators]
    numerators = LeftIdeal(algebra, twisted)
    if not numerators.is_holonomic:
        numerators = numerators.weyl_closure()
    tops = (rational.field(str(v)) for v in polynomial_solutions(numerators))
    return tuple(top / denominator for top in tops)
