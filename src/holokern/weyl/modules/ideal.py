"""Left ideals of the Weyl algebra: Gröbner bases, membership, elimination, initial ideals, dimension and rank.

There is one class, made by ``D.ideal(generators)`` where ``D = weyl_algebra(...)``::

    I = D.ideal("x*dx - 1", "dy")          # operators, texts or a list of them; zeros are dropped
    I.algebra, I.generators
    I.groebner(order=None)                 # tuple of Operators; the reduced basis for a well order; cached
    I.groebner(certified=True)             # the same, proved over Q; D.ideal(..., certified=True) for all that follows
    I.normal_form(f, order=None)           # remainder of left division by the Gröbner basis (well orders only)
    f in I, I.contains(f), J <= I, I == J  # exact membership, inclusion and equality
    I.eliminate(names)                     # tuple of Operators: generators of I ∩ (subalgebra without those generators)
    I.contraction(variables)               # LeftIdeal in the smaller Weyl algebra: I ∩ D_variables
    I.initial(weights)                     # LeftIdeal for u + v = 0, e.g. (-w, w); SymbolIdeal for other weights
    I.initial_forms(weights)               # tuple of Operators: initial forms of the Gröbner basis, any u + v >= 0
    I.characteristic_ideal(), I.dimension(), I.is_holonomic
    I.rank(), I.standard_monomials(), I.singular_locus(), I.singular_factors(), I.latex()
    I.restriction(names or {name: value}), I.integration(names), I.b_function(weights), I.fourier(names)
    I & J, I.quotient(P), I.saturation(f), I.localization(f), I.weyl_closure()

An ``order`` is an :class:`~holokern.weyl.algebra.orders.Order`, the name ``"grevlex"`` (default, also ``"degrevlex"``),
``"lex"`` or ``"order"``, or 2n integer weights (u, v) with u + v >= 0, ties broken by grevlex.  The basis for weights
that do not give a well order, such as (-w, w), is not reduced; its initial forms generate the initial ideal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from holokern.errors import BadInput, UnknownName
from holokern.weyl.algebra.monomials import monomial_dimension
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order, as_order, derivations_first, elimination, grevlex
from holokern.weyl.algebra.symbols import SymbolIdeal, initial_form, projected_locus
from holokern.weyl.algebra.terms import GeneratedIdeal
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra, split_names
from holokern.weyl.groebner.basis import groebner_basis
from holokern.weyl.groebner.division import Divider, interreduce

if TYPE_CHECKING:
    from holokern.weyl.constructions.localization import Localization
    from holokern.weyl.modules.bfunction import BFunction
    from holokern.weyl.rational.fractions import RationalFunction

OrderLike = Order | str | Sequence[int] | None


class LeftIdeal(GeneratedIdeal[WeylAlgebra, Operator]):
    """A left ideal of a Weyl algebra, immutable; see the module's text for the list of methods.

    Parameters
    ----------
    algebra : WeylAlgebra
        The ring.
    generators : iterable
        Operators or texts; zeros are dropped.
    certified : bool
        Prove every Gröbner basis of this ideal, and of the ideals that are made of it, over Q.  Without it a basis is
        checked modulo random primes; :func:`~holokern.weyl.groebner.basis.groebner_basis` says what is left unproved.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x y")
    >>> I = D.ideal("x*dx + y*dy", "dx*dy")
    >>> I.groebner()
    (dx*dy, x*dx + y*dy, y*dy^2 + dy)
    >>> "x^2*dx^3 - x*dx" in I, I.is_holonomic, I.rank()
    (False, True, 2)
    """

    __slots__ = ("_bases", "_dividers", "_proved", "certified")

    certified: bool
    _proved: set[Order]
    _bases: dict[Order, tuple[Operator, ...]]
    _dividers: dict[Order, Divider]

    def __init__(self, algebra: WeylAlgebra, generators: Iterable[object], *, certified: bool = False) -> None:
        super().__init__(algebra, generators)
        object.__setattr__(self, "certified", bool(certified))
        object.__setattr__(self, "_bases", {})
        object.__setattr__(self, "_proved", set())
        object.__setattr__(self, "_dividers", {})

    def __reduce__(self) -> tuple[object, ...]:
        return partial(LeftIdeal, certified=self.certified), (self.algebra, self.generators)

    @classmethod
    def _with_basis(cls, algebra: WeylAlgebra, basis: Sequence[Operator], order: Order, certified: bool) -> LeftIdeal:
        """An ideal whose reduced Gröbner basis is known, and proved when ``certified``."""
        ideal = cls(algebra, basis, certified=certified)
        ideal._bases[order] = tuple(basis)
        if certified:
            ideal._proved.add(order)
        return ideal

    def __repr__(self) -> str:
        inside = ", ".join(map(str, self.generators)) or "0"
        return f"<left ideal in {' '.join(self.algebra.variables)}: {inside}>"

    # -- Gröbner bases and membership --------------------------------------------------------------------------------

    def groebner(self, order: OrderLike = None, *, certified: bool = False) -> tuple[Operator, ...]:
        """The reduced Gröbner basis for a well order (grevlex by default), a Gröbner basis for other weights.

        With ``certified`` it is proved over Q, as it is for every order when the ideal itself is certified.

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> D = weyl_algebra("x")
        >>> D.ideal("x^2*dx^2", "dx^3").groebner((-1, 1))
        (dx^2,)
        >>> D.ideal("x*dx - 2147483648", "dx^2").groebner(certified=True)
        (1,)
        """
        chosen = as_order(self.algebra, order)
        proof = certified or self.certified
        if chosen not in self._bases or (proof and chosen not in self._proved):
            self._bases[chosen] = tuple(groebner_basis(self.generators, chosen, certified=proof))
            self._dividers.pop(chosen, None)
            if proof:
                self._proved.add(chosen)
        return self._bases[chosen]

    def normal_form(self, operator: object, order: OrderLike = None) -> Operator:
        """The remainder of ``operator`` modulo the ideal; it depends only on the class of ``operator``."""
        chosen = as_order(self.algebra, order)
        if chosen not in self._dividers:
            self._dividers[chosen] = Divider(self.groebner(chosen), chosen)
        return self._dividers[chosen].remainder(self.algebra(operator))

    def contains(self, operator: object) -> bool:
        """Whether ``operator`` lies in the ideal; any Gröbner basis that is already known is used."""
        well = (order for order in self._bases if order.is_well_order)
        return not self.normal_form(operator, next(well, None))

    def __add__(self, other: LeftIdeal) -> LeftIdeal:
        self.expect_same_algebra(other)
        certified = self.certified or other.certified
        return LeftIdeal(self.algebra, (*self.generators, *other.generators), certified=certified)

    # -- subalgebras -------------------------------------------------------------------------------------------------

    def eliminate(self, names: str | Iterable[str]) -> tuple[Operator, ...]:
        """Generators of the intersection with the subalgebra that is generated by all but the given generators.

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> D = weyl_algebra("x")
        >>> D.ideal("x*dx - 3").eliminate("x"), D.ideal("dx^2", "x*dx - 1").eliminate("x")
        ((), (dx^2,))
        """
        order = elimination(self.algebra, names)
        return tuple(g for g in self.groebner(order) if g.weight(order.rows[0]) == 0)

    def contraction(self, variables: str | Iterable[str]) -> LeftIdeal:
        """The intersection with the Weyl algebra in some of the variables, as an ideal of that algebra.

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> weyl_algebra("x y").ideal("x*dx + y*dy", "dx*dy").contraction("x")
        <left ideal in x: x*dx^2 + dx>
        """
        keep, known = split_names(variables), self.algebra.variables
        for name in keep:
            if name not in known:
                raise UnknownName(f"unknown variable {name!r}; this Weyl algebra has {' '.join(known)}")
        if not keep:
            raise BadInput("expected at least one variable to keep")
        places = [i for i, name in enumerate(known) if name in keep]
        pairs = list(zip(known, self.algebra.derivations, strict=True))
        smaller = WeylAlgebra(tuple(pairs[i][0] for i in places), tuple(pairs[i][1] for i in places))
        names = [name for i, pair in enumerate(pairs) if i not in places for name in pair]
        every = [*places, *(i + len(known) for i in places)]
        found = [{tuple(key[i] for i in every): c for key, c in g} for g in self.eliminate(names)]
        basis = [Operator(smaller, terms) for terms in found]
        return LeftIdeal._with_basis(smaller, basis, grevlex(smaller), self.certified)

    # -- initial ideals ----------------------------------------------------------------------------------------------

    def initial_forms(self, weights: Sequence[int]) -> tuple[Operator, ...]:
        """The initial forms of a Gröbner basis for ``weights``; they generate the ideal in(I) [SST2000, Sect. 1.1]."""
        basis = self.groebner(tuple(weights))
        return tuple(initial_form(g, tuple(weights)) for g in basis)

    def initial(self, weights: Sequence[int]) -> LeftIdeal | SymbolIdeal:
        """The initial ideal for 2n weights (u, v): in the Weyl algebra when u + v = 0, in Q[x, ξ] when u + v > 0.

        When u_i + v_i = 0 for some i only, those ∂_i stay derivations and the others become commuting symbols ξ_j
        [SST2000, Sect. 1.1].

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> I = weyl_algebra("x").ideal("x*dx^2 + dx + x^3")
        >>> I.initial((-1, 1))
        <left ideal in x: x*dx^2 + dx>
        >>> I.initial((0, 1)).generators
        (x*xi_x^2,)
        >>> weyl_algebra("x y").ideal("dx^2 - dy", "x*dx + 2*y*dy - 3").initial((-1, 0, 1, 1))
        <left ideal in x y xi_y dx: dx^2, y*xi_y>
        """
        n = self.algebra.dimension
        weights = tuple(weights)
        forms = self.initial_forms(weights)
        sums = [weights[i] + weights[n + i] for i in range(n)]
        # the forms are a Gröbner basis for the tie breaker already
        if not any(sums):
            order = grevlex(self.algebra)
            return LeftIdeal._with_basis(self.algebra, interreduce(forms, order), order, self.certified)
        commuting = [i for i in range(n) if sums[i]]
        return SymbolIdeal.from_symbols(self.algebra, forms, commuting, certified=self.certified, reduced=True)

    def characteristic_ideal(self) -> SymbolIdeal:
        """The characteristic ideal in_(0,1)(I) in Q[x, ξ] [SST2000, Sect. 1.4]."""
        n = self.algebra.dimension
        found = self.initial((0,) * n + (1,) * n)
        assert isinstance(found, SymbolIdeal)
        return found

    def dimension(self) -> int:
        """The dimension of D/I: 2n for (0), at least n unless I = (1), and -1 for (1).

        Computed from the Bernstein filtration, which gives the same number as the order filtration
        [SST2000, Sect. 1.4].
        """
        key = grevlex(self.algebra).key
        return monomial_dimension((max(g.terms, key=key) for g in self.groebner()), 2 * self.algebra.dimension)

    @property
    def is_holonomic(self) -> bool:
        """Whether D/I is holonomic: of dimension n, or zero.

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> weyl_algebra("x y").ideal("dx").is_holonomic, weyl_algebra("x").ideal("x").is_holonomic
        (False, True)
        """
        return self.dimension() <= self.algebra.dimension

    # -- rank and singularities --------------------------------------------------------------------------------------

    def standard_monomials(self) -> tuple[Operator, ...]:
        """The derivations ∂^β that are a basis of Q(x)⟨∂⟩ modulo the ideal, smallest first [SST2000, Sect. 1.4].

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> weyl_algebra("x y").ideal("dx^2 - dy", "x*dx + 2*y*dy - 3").standard_monomials()
        (1, dy)
        """
        from holokern.weyl.modules.rank import standard_monomials

        return standard_monomials(self)

    def rank(self) -> int:
        """The holonomic rank: the dimension of Q(x)⟨∂⟩/Q(x)⟨∂⟩I over Q(x) [SST2000, Cor. 1.4.14].

        It is found modulo two random primes, unless the ideal is certified.

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> weyl_algebra("x").ideal("x*dx^2 - x").rank(), weyl_algebra("x").ideal("x").rank()
        (2, 0)
        """
        from holokern.weyl.modules.rank import holonomic_rank

        known = self.certified or derivations_first(self.algebra) in self._bases
        return len(self.standard_monomials()) if known else holonomic_rank(self)

    def singular_locus(self) -> tuple[Operator, ...]:
        """Squarefree polynomials in x whose common zeros are the singular locus [SST2000, Sect. 1.4].

        The singular locus is the projection of the characteristic variety without its zero section; it is
        defined for every ideal, holonomic or not.  ``(1,)`` stands for the empty set, ``(0,)`` for the whole space.

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> weyl_algebra("x").ideal("x^2*(1-x)*dx^2 + dx - 1").singular_locus()
        (x^2 - x,)
        >>> weyl_algebra("x y").ideal("x*dx").singular_locus()
        (0,)
        """
        return projected_locus(self.characteristic_ideal(), self.algebra, certified=self.certified)

    def singular_factors(self) -> tuple[RationalFunction, ...]:
        """The irreducible polynomials whose zeros are the part of the singular locus of codimension one.

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> weyl_algebra("x").ideal("x^2*(1-x)*dx^2 + dx - 1").singular_factors()
        (x, x - 1)
        """
        from holokern.weyl.modules.rank import singular_factors

        return singular_factors(self)

    # -- D-module algorithms -----------------------------------------------------------------------------------------

    def restriction(self, names: str | Iterable[str] | Mapping[str, object]) -> LeftIdeal:
        """The restriction ideal to the subspace where the given variables vanish, or take the given values."""
        from holokern.weyl.modules.restriction import restriction_ideal

        return restriction_ideal(self, names)

    def integration(self, names: str | Iterable[str]) -> LeftIdeal:
        """The integration ideal with respect to the given variables."""
        from holokern.weyl.modules.restriction import integration_ideal

        return integration_ideal(self, names)

    def b_function(self, weights: Sequence[int]) -> BFunction:
        """The b-function with respect to the weights w."""
        from holokern.weyl.modules.bfunction import b_function

        return b_function(self, weights)

    def fourier(self, names: str | Iterable[str] | None = None) -> LeftIdeal:
        """The Fourier transform in the given variables."""
        from holokern.weyl.modules.automorphisms import fourier_transform

        return fourier_transform(self, names)

    # -- operations on functions ------------------------------------------------------------------------------------

    def __and__(self, other: LeftIdeal) -> LeftIdeal:
        """The intersection; it annihilates f + g when the ideals annihilate f and g."""
        from holokern.weyl.constructions.operations import intersection

        return intersection(self, other)

    def quotient(self, operator: object) -> LeftIdeal:
        """The ideal quotient I : P = {Q : Q P ∈ I}; when I is the ideal of f, it is that of P f."""
        from holokern.weyl.constructions.operations import annihilator_of_image

        return annihilator_of_image(self, operator)

    def saturation(self, polynomial: Operator | str) -> LeftIdeal:
        """The ideal {P : f^k P ∈ I for some k}, for a polynomial f outside whose zeros the ideal is holonomic."""
        from holokern.weyl.constructions.localization import saturation

        return saturation(self, polynomial)

    def localization(self, polynomial: Operator | str) -> Localization:
        """The module (D/I)[1/f] as D/J, with the power of f that generates it."""
        from holokern.weyl.constructions.localization import localization

        return localization(self, polynomial)

    def weyl_closure(self) -> LeftIdeal:
        """The Weyl closure Q(x)⟨∂⟩I ∩ D, in any number of variables."""
        from holokern.weyl.constructions.localization import weyl_closure_ideal

        return weyl_closure_ideal(self)
