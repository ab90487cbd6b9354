"""Initial forms and their ideals in the commutative ring Q[x, ξ]: characteristic ideal, dimension, singular locus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product as cartesian
from math import prod

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from holokern.errors import BadInput
from holokern.weyl.algebra.monomials import monomial_dimension
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import elimination, grevlex
from holokern.weyl.algebra.terms import ideal_latex
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra, fresh_names
from holokern.weyl.groebner.basis import groebner_basis
from holokern.weyl.groebner.division import Divider, interreduce, without_smaller


def initial_form(operator: Operator, weights: Sequence[int]) -> Operator:
    """The terms of largest weight; read ∂ as ξ where u + v > 0 [SST2000, Sect. 1.1].

    >>> from holokern.weyl import weyl_algebra
    >>> initial_form(weyl_algebra("x")("x*dx^2 + dx + x^3"), (-1, 1))
    x*dx^2 + dx
    """
    if not operator:
        return operator
    found = {key: sum(w * e for w, e in zip(weights, key, strict=True)) for key in operator.terms}
    top = max(found.values())
    return Operator(operator.algebra, {key: c for key, c in operator if found[key] == top})


def symbol_ring(algebra: WeylAlgebra, commuting: Sequence[int] | None = None) -> WeylAlgebra:
    """The ring Q[x, ξ], as the polynomials inside a Weyl algebra of twice as many variables.

    With ``commuting`` only the variables at those places get a ξ; the others keep their derivations.

    >>> from holokern.weyl import weyl_algebra
    >>> symbol_ring(weyl_algebra("x y")).variables
    ('x', 'y', 'xi_x', 'xi_y')
    >>> symbol_ring(weyl_algebra("x y"), [1])
    WeylAlgebra(variables=('x', 'y', 'xi_y'), derivations=('dx', 'unused_d1', 'unused_d2'))
    """
    n = algebra.dimension
    places = range(n) if commuting is None else commuting
    kept = [name for i, name in enumerate(algebra.derivations) if i not in places]
    symbols = fresh_names((*algebra.variables, *kept), (f"xi_{algebra.variables[i]}" for i in places))
    names = (*algebra.variables, *symbols)
    derivations = [f"unused_d{i}" for i in range(len(names))]
    for i in range(n):
        if i not in places:
            derivations[i] = algebra.derivations[i]
    return WeylAlgebra(names, tuple(derivations))


@dataclass(frozen=True, slots=True)
class SymbolIdeal:
    """An ideal of the commutative ring Q[x, ξ], given by its reduced Gröbner basis in the grevlex order.

    For mixed weights it is a left ideal of a ring in which only some of the variables commute with their derivations;
    ``weyl`` holds the places of the variables that do not.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> J = weyl_algebra("x").ideal("x*dx^2 - x").characteristic_ideal()
    >>> J, J.dimension()
    (<ideal in x xi_x: x*xi_x^2>, 1)
    """

    ring: WeylAlgebra
    generators: tuple[Operator, ...]
    weyl: tuple[int, ...] = ()

    def __repr__(self) -> str:
        names = [*self.ring.variables, *(self.ring.derivations[i] for i in self.weyl)]
        kind = "left ideal" if self.weyl else "ideal"
        return f"<{kind} in {' '.join(names)}: {', '.join(map(str, self.generators)) or '0'}>"

    def latex(self) -> str:
        """LaTeX source."""
        return ideal_latex(self.generators)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def dimension(self) -> int:
        """The dimension of the quotient (of the zero set, when all commutes); -1 for the ideal (1)."""
        key = grevlex(self.ring).key
        n = self.ring.dimension
        places = [*range(n), *(n + i for i in self.weyl)]
        leads = (max(g.terms, key=key) for g in self.generators)
        return monomial_dimension((tuple(lead[i] for i in places) for lead in leads), len(places))

    def __contains__(self, polynomial: object) -> bool:
        f = self.ring(polynomial)
        n = self.ring.dimension
        if any(key[n + i] for key in f.terms for i in range(n) if i not in self.weyl):
            raise BadInput(f"expected an element of the ring of {self!r}, got {f}; write xi_... for a commuting symbol")
        return not Divider(self.generators, grevlex(self.ring)).remainder(f)

    @classmethod
    def from_symbols(
        cls,
        algebra: WeylAlgebra,
        forms: Iterable[Operator],
        commuting: Sequence[int] | None = None,
        *,
        certified: bool = False,
        reduced: bool = False,
    ) -> SymbolIdeal:
        """The ideal of initial forms of operators of ``algebra``, with ∂ read as ξ (at the commuting places).

        With ``reduced`` the forms are a Gröbner basis for grevlex already, if everything commutes.
        """
        n = algebra.dimension
        places = tuple(range(n)) if commuting is None else tuple(commuting)
        weyl = tuple(i for i in range(n) if i not in places)
        ring = symbol_ring(algebra, places)

        def lifted(key: Monomial) -> Monomial:
            kept = [key[n + i] if i in weyl else 0 for i in range(n)]
            return (*key[:n], *(key[n + i] for i in places), *kept, *[0] * len(places))

        symbols = [Operator(ring, {lifted(key): c for key, c in form}) for form in forms]
        if reduced and not weyl:
            return cls(ring, tuple(interreduce(symbols, grevlex(ring))))
        return cls(ring, tuple(groebner_basis(symbols, grevlex(ring), certified=certified)), weyl)


def projected_locus(ideal: SymbolIdeal, algebra: WeylAlgebra, *, certified: bool = False) -> tuple[Operator, ...]:
    """Polynomials in x whose zero set is the projection of the zero set with ξ ≠ 0, for an ideal homogeneous in ξ.

    The union over i of the parts where ξ_i ≠ 0 is the first coordinate that is not zero; there ξ_i = 1 may be assumed
    and the later ξ are eliminated [SST2000, Sect. 1.4].  The whole image is closed, so it is the union of the closures.
    When everything is hit, the only polynomial is 0.
    """
    n = algebra.dimension
    ring = ideal.ring
    parts = []
    for i in range(n):
        without = [{key: c for key, c in g if not any(key[n : n + i])} for g in ideal.generators]
        chart = [_with_one(Operator(ring, terms), n + i) for terms in without]
        order = elimination(ring, ring.variables[n + i + 1 :]) if i < n - 1 else grevlex(ring)
        basis = groebner_basis(chart, order, certified=certified)
        parts.append([g for g in basis if not any(any(key[n : 2 * n]) for key in g.terms)])
    parts = without_smaller(parts, grevlex(ring))
    union = [_squarefree(prod(choice, start=ring.one), n) for choice in cartesian(*parts)]
    reduced = groebner_basis(union, grevlex(ring), certified=certified)
    zeros = (0,) * n
    found = tuple(Operator(algebra, {(*key[:n], *zeros): c for key, c in g}).primitive() for g in reduced)
    return found or (algebra.zero,)


def _with_one(polynomial: Operator, place: int) -> Operator:
    terms: dict[Monomial, fmpq] = {}
    for key, c in polynomial:
        short = (*key[:place], 0, *key[place + 1 :])
        terms[short] = terms.get(short, 0) + c
    return polynomial.algebra.from_terms(terms)


def _squarefree(polynomial: Operator, n: int) -> Operator:
    """The product of the different irreducible factors of a polynomial in the first n variables."""
    ring = polynomial.algebra
    context = fmpq_mpoly_ctx.get(list(ring.variables[:n]), Ordering.degrevlex)
    _, factors = context.from_dict({key[:n]: c for key, c in polynomial}).factor_squarefree()
    result = prod((factor for factor, _ in factors), start=context.constant(1))
    zeros = (0,) * (2 * ring.dimension - n)
    return ring.from_terms({(*key, *zeros): c for key, c in result.to_dict().items()})
