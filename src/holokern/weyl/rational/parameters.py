"""Values for parameters, and whether they are generic enough for a Gröbner basis that was found with symbols.

A Gröbner basis G over Q(a, x) of the ideal of F is found without fractions: rows are multiplied and added, and now and
then divided by a common factor.  Let none of these divisors, and no leading coefficient of G, vanish for all x when
numbers are put for a.  Then the cofactors that express G by F are defined there, so G and F still generate the same
ideal, and G is still a Gröbner basis, because the division of its S-pairs by monic elements needs no other
denominators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flint import fmpz_mpoly

from holokern.errors import BadInput, UnknownName
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import grevlex
from holokern.weyl.algebra.weyl_algebra import weyl_algebra
from holokern.weyl.groebner.basis import groebner_basis
from holokern.weyl.groebner.division import without_smaller
from holokern.weyl.rational.algebra import RationalOperator, RationalWeylAlgebra, rational_weyl_algebra
from holokern.weyl.rational.fractions import RationalFunction
from holokern.weyl.rational.matrices import irreducible_factors
from holokern.weyl.rational.polynomials import by_powers

Conditions = tuple[RationalFunction, ...]


@dataclass(frozen=True)
class Substitution:
    """The map that puts values for parameters, from one rational Weyl algebra to another."""

    source: RationalWeylAlgebra
    target: RationalWeylAlgebra
    images: Mapping[str, RationalFunction]
    text: str

    def function(self, function: RationalFunction) -> RationalFunction:
        """The image of a coefficient; BadInput where its denominator vanishes."""
        try:
            return function.substitute(self.images)
        except ZeroDivisionError:
            raise BadInput(f"the values {self.text} make the denominator {function.denominator} zero") from None

    def __call__(self, operator: RationalOperator) -> RationalOperator:
        """The image of an operator."""
        return self.target.from_terms({key: self.function(c) for key, c in operator})


def substitution(algebra: RationalWeylAlgebra, values: Mapping[str, object] | None) -> Substitution:
    """The substitution of values for parameters of the algebra; the other parameters stay."""
    if not isinstance(values, Mapping) or not values:
        raise BadInput(f"expected a mapping from parameters to values, such as {{'a': '1/2'}}, got {values!r}")
    for name in values:
        if name not in algebra.parameters:
            known = " ".join(algebra.parameters) or "none"
            raise UnknownName(f"{name!r} is no parameter of this algebra; its parameters are {known}")
    stay = [name for name in algebra.parameters if name not in values]
    target = rational_weyl_algebra(algebra.polynomial_algebra, parameters=stay)
    images = {name: target.field(values.get(name, name)) for name in algebra.field.variables}
    for name in values:
        if any(images[name].derivative(x) for x in algebra.variables):
            raise BadInput(f"the value {images[name]} of {name} depends on a variable; expected a constant")
    text = ", ".join(f"{name} = {images[name]}" for name in values)
    return Substitution(algebra, target, images, text)


def exceptional_values(algebra: RationalWeylAlgebra, divided: Iterable[fmpz_mpoly]) -> tuple[Conditions, ...]:
    """The values of the parameters at which a factor of the given polynomials vanishes for all x.

    Each set is a reduced Gröbner basis of the coefficients of one factor; empty sets of zeros, and sets that lie in
    another one, are left out.
    """
    if not algebra.parameters:
        return ()
    ring = weyl_algebra(algebra.parameters)
    order = grevlex(ring)
    found: list[list[Operator]] = []
    for factor in irreducible_factors(algebra.field, [f for f in divided if not f.is_constant()]):
        conditions = by_powers(factor.numerator, range(algebra.dimension)).values()
        basis = groebner_basis([ring(str(condition)) for condition in conditions], order)
        if basis != [ring.one] and basis not in found:
            found.append(basis)
    return tuple(tuple(algebra.field(str(g.primitive())) for g in basis) for basis in without_smaller(found, order))


def substituted_basis(
    put: Substitution, basis: Sequence[RationalOperator], exceptional: Sequence[Conditions]
) -> tuple[RationalOperator, ...]:
    """The basis with the values put in; BadInput names what vanishes when they are exceptional."""
    for conditions in exceptional:
        if all(put.function(condition).is_zero for condition in conditions):
            vanishing = ", ".join(f"{condition} = 0" for condition in conditions)
            raise BadInput(
                f"the values {put.text} are exceptional, because {vanishing} there: the Gröbner basis may change; "
                "use substitute(values, check=False), and ask that ideal for its own rank"
            )
    return tuple(put(g) for g in basis)
