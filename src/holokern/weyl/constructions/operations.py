"""Operations on ideals, for sums, images and products of functions; the same for operators in one variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

from holokern.errors import BadInput
from holokern.numeric import bounded
from holokern.weyl.algebra.operator import Operator, substituted, widened
from holokern.weyl.algebra.weyl_algebra import enlarged
from holokern.weyl.constructions.closure import direct_sum, tensor_product
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.modules.module import first_components
from holokern.weyl.rational.algebra import RationalOperator, RationalWeylAlgebra, rational_weyl_algebra
from holokern.weyl.rational.ideal import RationalIdeal

AnyIdeal = TypeVar("AnyIdeal", LeftIdeal, RationalIdeal)
AnyOperator = TypeVar("AnyOperator", Operator, RationalOperator)


@bounded
def intersection(first: LeftIdeal, *others: LeftIdeal) -> LeftIdeal:
    """The intersection of left ideals of one algebra; it annihilates f + g when they annihilate f and g.

    I ∩ J has the a with (a, 0) in the module of the (f, f), f ∈ I, and (0, g), g ∈ J [SST2000, §1.1].

    Examples
    --------
    The sum exp(x) + y:

    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x y")
    >>> intersection(D.ideal("dx - 1", "dy"), D.ideal("dx", "y*dy - 1")).groebner()
    (dx*dy, dx + y*dy - 1, dx^2 - dx)
    """
    result = first
    for other in others:
        result.expect_same_algebra(other)
        certified, zero = result.certified or other.certified, first.algebra.zero
        # the row of zeros is for two ideals (0)
        rows = [(zero, zero), *((f, f) for f in result.generators), *((zero, g) for g in other.generators)]
        result = LeftIdeal(first.algebra, first_components(first.algebra, rows, certified), certified=certified)
    return result


@bounded
def annihilator_of_image(ideal: LeftIdeal, operator: object) -> LeftIdeal:
    """The left ideal {Q : Q P ∈ I}: when I annihilates f, this annihilates P f.

    The kernel of D → D/I, Q ↦ QP, by elimination in a free module of rank two.

    Examples
    --------
    The derivative of x² + exp(x):

    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> annihilator_of_image(intersection(D.ideal("dx - 1"), D.ideal("x*dx - 2", "dx^3")), "dx").groebner()
    (dx^3 - dx^2, x*dx^2 - dx^2 - x*dx + 1)
    """
    algebra = ideal.algebra
    image = algebra(operator)
    rows = [(algebra.one, image), *((algebra.zero, g) for g in ideal.generators)]
    return LeftIdeal(algebra, first_components(algebra, rows, ideal.certified), certified=ideal.certified)


def product_of_functions(first: AnyIdeal, second: AnyIdeal) -> AnyIdeal:
    """An ideal that annihilates f·g when the given ones annihilate f and g.

    In the Weyl algebra, f(x)g(x') with x' = x + z is annihilated by P(x, ∂_x - ∂_z) and Q(x + z, ∂_z); its restriction
    to z = 0 is f·g [SST2000, §5.2].  Over Q(x) the tensor product of the systems is enough, and much faster.

    Raises
    ------
    NotHolonomic
        When there is no b-function, which does not happen for holonomic ideals.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> product_of_functions(D.ideal("dx - 1"), D.ideal("dx^2 - x")).generators
    (dx^2 - 2*dx - x + 1,)
    """
    if isinstance(first, RationalIdeal) and isinstance(second, RationalIdeal):
        return tensor_product(first, second)
    small = first.algebra
    if not isinstance(first, LeftIdeal) or not isinstance(second, LeftIdeal) or second.algebra != small:
        raise BadInput(f"the ideals {first!r} and {second!r} belong to different algebras")
    n = small.dimension
    large = enlarged(small, *(f"z_{name}" for name in small.variables))
    x, z, dx, dz = (large.gens[i * n : (i + 1) * n] for i in range(4))
    images = [substituted(P, x, [a - b for a, b in zip(dx, dz, strict=True)], large) for P in first.generators]
    images += [substituted(Q, [a + b for a, b in zip(x, z, strict=True)], dz, large) for Q in second.generators]
    return LeftIdeal(large, images, certified=first.certified or second.certified).restriction(large.variables[n:])


def graph(ideal: LeftIdeal, polynomials: Sequence[Operator]) -> LeftIdeal:
    """The image of an ideal when space is embedded as the graph t_i = f_i(x): new variables t come first.

    The t_i - f_i and the P(x, ∂_j + Σ (∂f_i/∂x_j) ∂_(t_i)), P in the ideal, generate it [SST2000, §5.3].
    """
    small, r = ideal.algebra, len(polynomials)
    n = small.dimension
    large = enlarged(small, *(["t"] if r == 1 else [f"t{i + 1}" for i in range(r)]), first=True)
    t, x, dt, d = large.gens[:r], large.gens[r : r + n], large.gens[r + n : 2 * r + n], large.gens[2 * r + n :]

    def lifted(f: Operator) -> Operator:
        return widened(f, large, range(r, r + n))

    derivations = [
        sum((lifted(derivation.apply(f)) * dt[i] for i, f in enumerate(polynomials)), d[j])
        for j, derivation in enumerate(small.gens[n:])
    ]
    images = [substituted(P, x, derivations, large) for P in ideal.generators]
    return LeftIdeal(
        large, [*(t[i] - lifted(f) for i, f in enumerate(polynomials)), *images], certified=ideal.certified
    )


def adjoint(operator: Operator) -> Operator:
    """The formal adjoint: x^α ∂^β becomes (-∂)^β x^α, so that the order of products is reversed.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> adjoint(weyl_algebra("x")("x*dx^2 + 1"))
    x*dx^2 + 2*dx + 1
    """
    algebra, n = operator.algebra, operator.algebra.dimension
    none = (0,) * n
    result = algebra.zero
    for key, c in operator:
        derivation = algebra.from_terms({(*none, *key[n:]): c * (-1) ** sum(key[n:])})
        result = result + derivation * algebra.from_terms({(*key[:n], *none): 1})
    return result


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
