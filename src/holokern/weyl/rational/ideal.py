"""Left ideals of the rational Weyl algebra: normal forms, rank, connection matrices, singular locus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import prod

from flint import fmpz_mpoly

from holokern.weyl.algebra.monomials import divides, grevlex_key, outside
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order, as_order
from holokern.weyl.algebra.terms import GeneratedIdeal
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.rational.algebra import Exponents, RationalOperator, RationalWeylAlgebra, rational_weyl_algebra
from holokern.weyl.rational.basis import groebner_rows, key_of, primitive_row
from holokern.weyl.rational.fractions import RationalFunction
from holokern.weyl.rational.matrices import (
    Matrix,
    change_of_basis,
    connection_of_standard_monomials,
    irreducible_factors,
)

OrderLike = Order | str | Sequence[int] | None


class RationalIdeal(GeneratedIdeal[RationalWeylAlgebra, RationalOperator]):
    """A left ideal of Q(x)⟨∂⟩; immutable, its Gröbner bases are computed once each, when needed.

    It has the methods of :class:`~holokern.weyl.LeftIdeal` that make sense over Q(x), and connection matrices.

    Parameters
    ----------
    algebra : RationalWeylAlgebra
        The ring.
    generators : iterable
        Anything that ``algebra`` reads: texts, operators with polynomial or rational coefficients; zeros are dropped.

    Notes
    -----
    Monomials in ∂ are compared by the graded reverse lexicographic order, the first derivation largest, unless another
    order is given.  The arithmetic is exact, so every Gröbner basis is proved.

    Examples
    --------
    The Airy equation as a system of first order:

    >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
    >>> airy = rational_weyl_algebra("x").ideal("dx^2 - x")
    >>> airy.rank(), airy.standard_monomials()
    (2, (1, dx))
    >>> airy.connection_matrices()
    (((0, 1), (x, 0)),)
    """

    _bases: dict[Order, tuple[tuple[RationalOperator, ...], list[fmpz_mpoly]]]

    def __init__(self, algebra: RationalWeylAlgebra, generators: Iterable[object]) -> None:
        super().__init__(algebra, generators)
        object.__setattr__(self, "_bases", {})

    def __reduce__(self) -> tuple[object, ...]:
        return RationalIdeal, (self.algebra, self.generators)

    def __add__(self, other: RationalIdeal) -> RationalIdeal:
        self.expect_same_algebra(other)
        return RationalIdeal(self.algebra, (*self.generators, *other.generators))

    def __and__(self, other: RationalIdeal) -> RationalIdeal:
        """The intersection: the ideal of all sums of solutions; both ranks must be finite."""
        from holokern.weyl.constructions.closure import direct_sum

        return direct_sum(self, other)

    def __repr__(self) -> str:
        inside = ", ".join(map(str, self.generators)) or "0"
        return f"<left ideal over Q({', '.join(self.algebra.field.variables)}): {inside}>"

    @property
    def certified(self) -> bool:
        """True: the arithmetic is exact, so every Gröbner basis is proved."""
        return True

    # -- Gröbner basis and normal forms ------------------------------------------------------------------------------

    def groebner(self, order: OrderLike = None, *, certified: bool = True) -> tuple[RationalOperator, ...]:
        """The reduced Gröbner basis, monic, with leading monomials ascending; empty for the ideal (0).

        Parameters
        ----------
        order : Order, str or sequence of int, optional
            A name, 2n weights or an order of the polynomial Weyl algebra; only the derivations are compared.
        certified : bool
            Has no effect: the arithmetic is exact, so the basis is proved in any case.

        Examples
        --------
        >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
        >>> R = rational_weyl_algebra("x y")
        >>> R.ideal("x*dx + y*dy", "dx^2 - dy^2").groebner()
        (dx + (y/x)*dy, dy^2 + ((-2*y)/(x^2 - y^2))*dy)
        """
        return self._basis(order)[0]

    def _basis(self, order: OrderLike = None) -> tuple[tuple[RationalOperator, ...], list[fmpz_mpoly]]:
        """The basis, and all polynomials that were divided by on the way."""
        chosen = as_order(self.algebra.polynomial_algebra, order)
        if chosen in self._bases:
            return self._bases[chosen]
        key = key_of(chosen)
        divided: list[fmpz_mpoly] = []
        rows = [primitive_row({k: (c.numerator, c.denominator) for k, c in g}, divided) for g in self.generators]
        field = self.algebra.field
        found = []
        for row in groebner_rows(rows, key, divided):
            lead = row[max(row, key=key)]
            divided.append(lead)
            found.append(RationalOperator(self.algebra, {k: field.fraction(c, lead) for k, c in row.items()}))
        self._bases[chosen] = tuple(found), divided
        return self._bases[chosen]

    # -- parameters --------------------------------------------------------------------------------------------------

    def exceptional_values(self) -> tuple[tuple[RationalFunction, ...], ...]:
        """Where parameters may not be generic: sets of polynomials in the parameters, each given by its members.

        Values are exceptional when all polynomials of one set vanish.  Everywhere else the Gröbner basis, the rank and
        the connection matrices are those found with symbols.

        Examples
        --------
        The first two equations of Appell's F1 have rank 3 unless a = c - 1:

        >>> from holokern.weyl import appell
        >>> F1 = appell(1, "a", "b1", "b2", "c")
        >>> F1.algebra.ideal(F1.generators[:2]).exceptional_values()
        ((a - c + 1,),)
        """
        from holokern.weyl.rational.parameters import exceptional_values

        return exceptional_values(self.algebra, self._basis()[1])

    def substitute(
        self, values: Mapping[str, object] | None = None, *, check: bool = True, **named: object
    ) -> RationalIdeal:
        """The ideal with values for some or all of its parameters, as a mapping or by name.

        Parameters
        ----------
        values, **named : mapping from str to number or text
            An exact number, or a rational function of the parameters that stay.
        check : bool
            Make sure that the values are generic, so that the Gröbner basis can be handed on.  Without it only the
            generators are substituted.

        Raises
        ------
        BadInput
            When the values are exceptional; the message names what vanishes.

        Examples
        --------
        >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
        >>> R = rational_weyl_algebra("x", parameters="a")
        >>> R.ideal("a*x*dx - 1").substitute(a="1/3").groebner()
        (dx + (-3)/x,)
        >>> R.ideal("a*x*dx - 1").substitute({"a": 0})
        Traceback (most recent call last):
            ...
        holokern.errors.BadInput: the values a = 0 are exceptional, because a = 0 there: the Gröbner basis may ...
        """
        from holokern.weyl.rational.parameters import substituted_basis, substitution

        put = substitution(self.algebra, {**values, **named} if isinstance(values, Mapping) else named or values)
        basis = substituted_basis(put, self.groebner(), self.exceptional_values()) if check else None
        found = RationalIdeal(put.target, [put(g) for g in self.generators])
        if basis is not None:
            default = as_order(self.algebra.polynomial_algebra, None)
            found._bases[default] = basis, [c.denominator for g in (*found.generators, *basis) for _, c in g]
        return found

    @cached_property
    def leading_exponents(self) -> tuple[Exponents, ...]:
        """The exponents of the leading monomials of the Gröbner basis, ascending."""
        return tuple(max(g.terms, key=grevlex_key) for g in self.groebner())

    def normal_form(self, operator: object, order: OrderLike = None) -> RationalOperator:
        """The remainder modulo the ideal: a combination of standard monomials that is unique for a given order.

        Examples
        --------
        >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
        >>> rational_weyl_algebra("x").ideal("dx^2 - x").normal_form("dx^3")
        x*dx + 1
        """
        key = key_of(as_order(self.algebra.polynomial_algebra, order))
        divisors = [(max(g.terms, key=key), g) for g in self.groebner(order)]
        rest = self.algebra(operator)
        while True:
            steps = [(k, lead, g) for k in rest.terms for lead, g in divisors if divides(lead, k)]
            if not steps:
                return rest
            top, lead, g = max(steps, key=lambda step: key(step[0]))
            shift = tuple(a - b for a, b in zip(top, lead, strict=True))
            rest = rest - self.algebra.from_terms({shift: rest.terms[top]}) * g

    def contains(self, operator: object) -> bool:
        """Whether ``operator`` lies in the ideal."""
        return not self.normal_form(operator)

    # -- rank and standard monomials ---------------------------------------------------------------------------------

    @cached_property
    def standard_exponents(self) -> tuple[Exponents, ...]:
        """The exponents of the standard monomials, ascending."""
        found = outside(self.leading_exponents, self.algebra.derivations, self)
        return tuple(sorted(found, key=grevlex_key))

    def standard_monomials(self) -> tuple[RationalOperator, ...]:
        """The monomials in ∂ outside the initial ideal: a basis of the quotient over Q(x)."""
        return tuple(self.algebra.from_terms({key: 1}) for key in self.standard_exponents)

    def rank(self) -> int:
        """The holonomic rank: the dimension of the quotient over Q(x) [SST2000, §1.4].

        Raises
        ------
        NotHolonomic
            When the dimension is infinite.
        """
        return len(self.standard_exponents)

    # -- connection matrices -----------------------------------------------------------------------------------------

    @cached_property
    def _standard_connection(self) -> tuple[Matrix, ...]:
        """Rows of the i-th matrix: normal forms of ∂_i times the standard monomials."""
        return connection_of_standard_monomials(self)

    def coordinates(self, operator: object) -> tuple[RationalFunction, ...]:
        """The coordinates of an operator, modulo the ideal, in the standard monomials."""
        rest = self.normal_form(operator).terms
        zero = self.algebra.field.zero
        return tuple(rest.get(key, zero) for key in self.standard_exponents)

    def connection_matrices(self, basis: Sequence[object] | None = None) -> tuple[Matrix, ...]:
        """Matrices P_i with ∂_i F = P_i F for F = (b_1 f, …, b_r f), f any solution.

        This is the Pfaffian system of the ideal [SakodaTakayama2024, Alg. 1; Hibi2013, §6.2].

        Parameters
        ----------
        basis : sequence of operators or texts, optional
            A basis b_1, …, b_r of the quotient over Q(x); the standard monomials by default.

        Raises
        ------
        NotHolonomic
            When the rank is infinite.
        BadInput
            When the given operators are not a basis.

        Examples
        --------
        >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
        >>> bessel = rational_weyl_algebra("x").ideal("x^2*dx^2 + x*dx + x^2")
        >>> bessel.connection_matrices(["1", "x*dx"])
        (((0, 1/x), (-x, 0)),)
        """
        standard = self._standard_connection
        if basis is None:
            return standard
        transition = tuple(self.coordinates(b) for b in basis)
        independent = ", ".join(map(str, self.standard_monomials()))
        return change_of_basis(standard, transition, self.algebra.variables, basis, independent)

    def singular_locus(self, basis: Sequence[object] | None = None) -> tuple[Operator, ...]:
        """One squarefree polynomial in x whose zeros are the poles of the connection matrices; 1 without poles.

        It depends on the basis: what it has beyond the singular locus of the D-module are apparent singularities.

        Examples
        --------
        >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
        >>> rational_weyl_algebra("x").ideal("x*(1-x)*dx^2 + (1-3*x)*dx - 1").singular_locus()
        (x^2 - x,)
        """
        product = prod(self.singular_factors(basis), start=self.algebra.field.one).numerator
        wide = self.algebra.wide_algebra
        none = (0,) * wide.dimension
        return (wide.from_terms({(*key, *none): c for key, c in product.terms()}),)

    def singular_factors(self, basis: Sequence[object] | None = None) -> tuple[RationalFunction, ...]:
        """The irreducible factors of the singular locus, as polynomials of the field.

        Examples
        --------
        >>> from holokern.weyl import gauss
        >>> gauss("a", "b", "c").singular_factors()
        (x, x - 1)
        """
        matrices = self.connection_matrices(basis)
        return irreducible_factors(self.algebra.field, (e.denominator for m in matrices for row in m for e in row))


def rational_extension(ideal: LeftIdeal) -> RationalIdeal:
    """The ideal Q(x)⟨∂⟩ I that an ideal I of the Weyl algebra generates over the rational functions.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> rational_extension(weyl_algebra("x").ideal("x*dx - 1")).groebner()
    (dx + (-1)/x,)
    """
    return RationalIdeal(rational_weyl_algebra(ideal.algebra), ideal.generators)
