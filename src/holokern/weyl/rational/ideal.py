"""Left ideals of the rational Weyl algebra: normal forms, rank, connection matrices, singular locus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holokern.errors import BadInput, NotHolonomic
from holokern.weyl.rational.algebra import Exponents, RationalOperator, RationalWeylAlgebra, rational_weyl_algebra
from holokern.weyl.rational.basis import groebner_rows, primitive_row
from holokern.weyl.rational.fractions import RationalFunction

if TYPE_CHECKING:
    from holokern.weyl.modules.ideal import LeftIdeal

__all__ = ["Matrix", "RationalIdeal", "rational_extension"]

Matrix = tuple[tuple[RationalFunction, ...], ...]


def _grevlex(key: Exponents) -> tuple[int, tuple[int, ...]]:
    """Graded reverse lexicographic order, the first derivation largest: it keeps the coefficients small."""
    return sum(key), tuple(-e for e in reversed(key))


class RationalIdeal:
    """A left ideal of Q(x)⟨∂⟩; immutable, its Gröbner basis is computed once, when needed.

    Parameters
    ----------
    algebra : RationalWeylAlgebra
        The ring.
    generators : iterable
        Anything that ``algebra`` reads: texts, operators with polynomial or rational coefficients.

    Notes
    -----
    Monomials in ∂ are compared by the graded reverse lexicographic order, the first derivation largest.

    Examples
    --------
    The Airy equation as a system of first order:

    >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
    >>> airy = rational_weyl_algebra("x").ideal(["dx^2 - x"])
    >>> airy.rank(), airy.standard_monomials()
    (2, (1, dx))
    >>> airy.connection_matrices()
    (((0, 1), (x, 0)),)
    """

    algebra: RationalWeylAlgebra
    generators: tuple[RationalOperator, ...]

    def __init__(self, algebra: RationalWeylAlgebra, generators: Iterable[object]) -> None:
        object.__setattr__(self, "algebra", algebra)
        object.__setattr__(self, "generators", tuple(algebra(g) for g in generators))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("ideals are immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return RationalIdeal, (self.algebra, self.generators)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RationalIdeal):
            return NotImplemented
        return self.algebra == other.algebra and self.groebner_basis == other.groebner_basis

    def __hash__(self) -> int:
        return hash((self.algebra, self.groebner_basis))

    def __repr__(self) -> str:
        inside = ", ".join(map(str, self.generators)) or "0"
        return f"<left ideal over Q({', '.join(self.algebra.variables)}): {inside}>"

    # -- Gröbner basis and normal forms ------------------------------------------------------------------------------

    @cached_property
    def groebner_basis(self) -> tuple[RationalOperator, ...]:
        """The reduced Gröbner basis, monic, with leading monomials ascending; empty for the ideal (0).

        Examples
        --------
        >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
        >>> R = rational_weyl_algebra("x y")
        >>> R.ideal(["x*dx + y*dy", "dx^2 - dy^2"]).groebner_basis
        (dx + (y/x)*dy, dy^2 + ((-2*y)/(x^2 - y^2))*dy)
        """
        rows = [primitive_row({k: (c.numerator, c.denominator) for k, c in g}) for g in self.generators if g]
        field = self.algebra.field
        found = []
        for row in groebner_rows(rows, _grevlex):
            lead = row[max(row, key=_grevlex)]
            found.append(RationalOperator(self.algebra, {k: field.fraction(c, lead) for k, c in row.items()}))
        return tuple(found)

    @cached_property
    def leading_exponents(self) -> tuple[Exponents, ...]:
        """The leading exponents of the Gröbner basis."""
        return tuple(max(g.terms, key=_grevlex) for g in self.groebner_basis)

    def normal_form(self, operator: object) -> RationalOperator:
        """The unique representative, modulo the ideal, without monomials divisible by a leading one.

        Examples
        --------
        >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
        >>> rational_weyl_algebra("x").ideal(["dx^2 - x"]).normal_form("dx^3")
        x*dx + 1
        """
        rest = self.algebra(operator)
        while True:
            reducible = [key for key in rest.terms if self._divisor(key) is not None]
            if not reducible:
                return rest
            key = max(reducible, key=_grevlex)
            place = self._divisor(key)
            assert place is not None
            shift = tuple(a - b for a, b in zip(key, self.leading_exponents[place], strict=True))
            rest = rest - self.algebra.from_terms({shift: rest.terms[key]}) * self.groebner_basis[place]

    def _divisor(self, key: Exponents) -> int | None:
        for place, lead in enumerate(self.leading_exponents):
            if all(a <= b for a, b in zip(lead, key, strict=True)):
                return place
        return None

    def __contains__(self, operator: object) -> bool:
        return not self.normal_form(operator)

    # -- rank and standard monomials ---------------------------------------------------------------------------------

    @cached_property
    def standard_exponents(self) -> tuple[Exponents, ...]:
        """The exponents of the standard monomials, ascending."""
        n = self.algebra.dimension
        missing = [
            name
            for i, name in enumerate(self.algebra.derivations)
            if not any(sum(lead) == lead[i] for lead in self.leading_exponents)
        ]
        if missing:
            raise NotHolonomic(
                f"the ideal has infinite holonomic rank: no power of {missing[0]} leads an element of its Gröbner "
                "basis; give more annihilating operators"
            )
        found: list[Exponents] = []
        front: set[Exponents] = {(0,) * n}
        while front:
            front = {key for key in front if self._divisor(key) is None}
            found.extend(front)
            front = {(*key[:i], key[i] + 1, *key[i + 1 :]) for key in front for i in range(n)}
        return tuple(sorted(found, key=_grevlex))

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
        border = _Border(self)
        return tuple(
            tuple(border.row(_raised(key, i)) for key in self.standard_exponents) for i in range(self.algebra.dimension)
        )

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
            When the given operators are no basis.

        Examples
        --------
        >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
        >>> bessel = rational_weyl_algebra("x").ideal(["x^2*dx^2 + x*dx + x^2"])
        >>> bessel.connection_matrices(["1", "x*dx"])
        (((0, 1/x), (-x, 0)),)
        """
        standard = self._standard_connection
        if basis is None:
            return standard
        transition = [list(self.coordinates(b)) for b in basis]
        if len(transition) != self.rank():
            raise BadInput(f"expected a basis of {self.rank()} operators, got {len(transition)}; the rank decides")
        inverse = _inverse(transition, self.algebra.field)
        if inverse is None:
            raise BadInput(
                f"the operators {', '.join(map(str, basis))} are dependent modulo the ideal; "
                f"independent are {', '.join(map(str, self.standard_monomials()))}"
            )
        result = []
        for i, matrix in enumerate(standard):
            name = self.algebra.variables[i]
            moved = _product(transition, matrix)
            changed = [
                [m + t.derivative(name) for m, t in zip(left, right, strict=True)]
                for left, right in zip(moved, transition, strict=True)
            ]
            result.append(tuple(map(tuple, _product(changed, inverse))))
        return tuple(result)

    def singular_locus(self, basis: Sequence[object] | None = None) -> tuple[RationalFunction, ...]:
        """The irreducible factors of the denominators of the connection matrices, as polynomials of the field.

        The factors depend on the basis: those beyond the singular locus of the D-module are apparent singularities.

        Examples
        --------
        >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
        >>> rational_weyl_algebra("x").ideal(["x*(1-x)*dx^2 + (1-3*x)*dx - 1"]).singular_locus()
        (x, x - 1)
        """
        factors: dict[str, Any] = {}
        for matrix in self.connection_matrices(basis):
            for denominator in {str(entry.denominator): entry.denominator for row in matrix for entry in row}.values():
                for factor, _ in denominator.factor()[1]:
                    sign = 1 if factor.leading_coefficient() > 0 else -1
                    factors[str(sign * factor)] = sign * factor
        ordered = sorted(factors.items(), key=lambda pair: (pair[1].total_degree(), len(pair[1]), pair[0]))
        return tuple(self.algebra.field(factor) for _, factor in ordered)


def rational_extension(ideal: LeftIdeal) -> RationalIdeal:
    """The ideal Q(x)⟨∂⟩ I that an ideal I of the Weyl algebra generates over the rational functions.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> rational_extension(weyl_algebra("x").ideal("x*dx - 1")).groebner_basis
    (dx + (-1)/x,)
    """
    return RationalIdeal(rational_weyl_algebra(ideal.algebra), ideal.generators)


def _raised(key: Exponents, i: int) -> Exponents:
    return (*key[:i], key[i] + 1, *key[i + 1 :])


class _Border:
    """Coordinates of monomials on the border of the standard ones, each made from a lower one."""

    def __init__(self, ideal: RationalIdeal) -> None:
        self.field = ideal.algebra.field
        self.names = ideal.algebra.variables
        self.standard = {key: place for place, key in enumerate(ideal.standard_exponents)}
        self.leading = dict(zip(ideal.leading_exponents, ideal.groebner_basis, strict=True))
        self.known: dict[Exponents, tuple[RationalFunction, ...]] = {}

    def row(self, key: Exponents) -> tuple[RationalFunction, ...]:
        if key not in self.known:
            self.known[key] = self._make(key)
        return self.known[key]

    def _make(self, key: Exponents) -> tuple[RationalFunction, ...]:
        row = [self.field.zero] * len(self.standard)
        if key in self.standard:
            row[self.standard[key]] = self.field.one
        elif key in self.leading:
            for other, c in self.leading[key]:
                if other != key:
                    row[self.standard[other]] = -c
        else:
            self._from_lower(key, row)
        return tuple(row)

    def _from_lower(self, key: Exponents, row: list[RationalFunction]) -> None:
        """∂_i Σ c_s s = Σ (∂_i c_s) s + c_s (∂_i s), where ∂^key = ∂_i times a lower monomial of the border."""
        i, lower = next(
            (i, other)
            for i, other in ((i, (*key[:i], e - 1, *key[i + 1 :])) for i, e in enumerate(key) if e)
            if other not in self.standard
        )
        inner = self.row(lower)
        for monomial, place in self.standard.items():
            c = inner[place]
            if not c:
                continue
            row[place] = row[place] + c.derivative(self.names[i])
            for column, value in enumerate(self.row(_raised(monomial, i))):
                if value:
                    row[column] = row[column] + c * value


def _product(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> list[list[Any]]:
    columns = list(zip(*right, strict=True))
    result = []
    for row in left:
        entries = []
        for column in columns:
            total = row[0] * column[0]
            for a, b in zip(row[1:], column[1:], strict=True):
                if a and b:
                    total = total + a * b
            entries.append(total)
        result.append(entries)
    return result


def _inverse(matrix: list[list[Any]], field: Any) -> list[list[Any]] | None:
    """The inverse by Gauss–Jordan elimination, or None."""
    size = len(matrix)
    rows = [[*row, *(field.one if i == j else field.zero for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        # short pivots keep the rational functions small
        candidates = [i for i in range(column, size) if rows[i][column]]
        if not candidates:
            return None
        best = min(candidates, key=lambda i: len(rows[i][column].numerator) + len(rows[i][column].denominator))
        rows[column], rows[best] = rows[best], rows[column]
        pivot = field.one / rows[column][column]
        rows[column] = [pivot * entry if entry else entry for entry in rows[column]]
        for i in range(size):
            factor = rows[i][column]
            if i != column and factor:
                rows[i] = [a - factor * b if b else a for a, b in zip(rows[i], rows[column], strict=True)]
    return [row[size:] for row in rows]
