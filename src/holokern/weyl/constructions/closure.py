"""Closure properties over Q(x): sums, products and algebraic substitutions of holonomic functions.

A solution f of an ideal of rank r is an entry of a vector F with ∂_i F = P_i F.  The sum of two such functions is an
entry of the direct sum of the vectors, the product of their tensor product.  The derivative of r·F, r a row, is
(∂_i r + r P_i)·F, and the linear relations between such rows are the ideal that annihilates it [Chyzak2000].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flint import fmpz_mpoly

from holokern.errors import BadInput, Unsupported
from holokern.numeric import Dependence, bounded
from holokern.weyl.algebra.monomials import derivatives_of, divides, grevlex_key, raised
from holokern.weyl.algebra.weyl_algebra import split_names
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.rational.algebra import Exponents, RationalOperator, RationalWeylAlgebra, rational_weyl_algebra
from holokern.weyl.rational.fractions import FunctionField, RationalFunction, function_field
from holokern.weyl.rational.ideal import RationalIdeal, rational_extension
from holokern.weyl.rational.matrices import inverse_matrix, multiply_matrices
from holokern.weyl.rational.polynomials import by_powers

Row = list[RationalFunction]


@dataclass(frozen=True)
class Entry:
    """The function r·F of a vector F with ∂_i F = P_i F: its ring, the matrices P_i and the row r."""

    algebra: RationalWeylAlgebra
    matrices: Sequence[Sequence[Sequence[RationalFunction]]]
    row: Sequence[RationalFunction]

    @classmethod
    def of(cls, ideal: RationalIdeal) -> Entry:
        """A solution of the ideal, with its standard derivatives."""
        field = ideal.algebra.field
        row = [field.one if i == 0 else field.zero for i in range(ideal.rank())]
        return cls(ideal.algebra, ideal.connection_matrices(), row)

    def derivative(self, row: Sequence[RationalFunction], i: int) -> Sequence[RationalFunction]:
        """The row of the derivative in the i-th variable."""
        name = self.algebra.variables[i]
        result = [c.derivative(name) for c in row]
        for c, line in zip(row, self.matrices[i], strict=True):
            if c:
                result = [a + c * b if b else a for a, b in zip(result, line, strict=True)]
        return result

    def annihilator(self) -> RationalIdeal:
        """The ideal of all operators that annihilate the function, for every solution F of the system.

        Monomials are treated in the order grevlex, as in the algorithm FGLM; a monomial whose row depends on those of
        smaller ones leads an element of the Gröbner basis.
        """
        n, field = self.algebra.dimension, self.algebra.field
        search: Dependence[Exponents, int, RationalFunction] = Dependence(field.one)
        derivatives = derivatives_of(self.row, self.derivative)
        basis: list[RationalOperator] = []
        leads: list[Exponents] = []
        front: set[Exponents] = {(0,) * n}
        while front:
            key = min(front, key=grevlex_key)
            front.remove(key)
            if any(divides(lead, key) for lead in leads):
                continue
            relation = search.add(key, dict(enumerate(derivatives(key))))
            if relation is not None:
                basis.append(self.algebra.from_terms(relation))
                leads.append(key)
                continue
            front |= {raised(key, i) for i in range(n)}
        return RationalIdeal(self.algebra, basis)

    def applied(self, terms: Iterable[tuple[Exponents, RationalFunction]]) -> Row:
        """The row of Σ c_β ∂^β of the function, from the exponents β and the coefficients; an operator has them."""
        derivatives = derivatives_of(self.row, self.derivative)
        total = [self.algebra.field.zero] * len(self.row)
        for key, c in terms:
            total = [t + c * r if r else t for t, r in zip(total, derivatives(key), strict=True)]
        return total


def _entries(first: RationalIdeal, second: RationalIdeal) -> tuple[Entry, Entry]:
    first.expect_same_algebra(second)
    return Entry.of(first), Entry.of(second)


@bounded
def direct_sum(first: RationalIdeal, second: RationalIdeal) -> RationalIdeal:
    """The ideal of all sums f + g of solutions: the intersection of the ideals."""
    f, g = _entries(first, second)
    zero = f.algebra.field.zero
    a, b = len(f.row), len(g.row)
    matrices = tuple(
        (*([*row, *[zero] * b] for row in P), *([*[zero] * a, *row] for row in Q))
        for P, Q in zip(f.matrices, g.matrices, strict=True)
    )
    return Entry(f.algebra, matrices, [*f.row, *g.row]).annihilator()


@bounded
def tensor_product(first: RationalIdeal, second: RationalIdeal) -> RationalIdeal:
    """The ideal of all products f·g of solutions.

    >>> R = rational_weyl_algebra("x")
    >>> tensor_product(R.ideal("dx^2 + 1"), R.ideal("dx^2 + 1")).groebner()
    (dx^3 + 4*dx,)
    """
    f, g = _entries(first, second)
    zero = f.algebra.field.zero
    pairs = [(i, j) for i in range(len(f.row)) for j in range(len(g.row))]
    matrices = tuple(
        [[(P[i][k] if j == m else zero) + (Q[j][m] if i == k else zero) for k, m in pairs] for i, j in pairs]
        for P, Q in zip(f.matrices, g.matrices, strict=True)
    )
    return Entry(f.algebra, matrices, [c * d for c in f.row for d in g.row]).annihilator()


@bounded
def compose(
    ideal: LeftIdeal | RationalIdeal,
    images: Mapping[str, object],
    variables: str | Iterable[str],
    algebraic: Mapping[str, str] | None = None,
) -> RationalIdeal:
    """The ideal of f(φ(y)) for solutions f of an ideal and rational or algebraic functions φ.

    Parameters
    ----------
    ideal : LeftIdeal or RationalIdeal
        Of finite rank.
    images : mapping from str to rational function or text
        φ for each variable of the ideal, in the new variables and in an algebraic function.
    variables : str or iterable of str
        The new variables y.
    algebraic : mapping from str to str, optional
        The name of one algebraic function and a polynomial that vanishes at it, such as ``{"r": "r^2 - x^2 - y^2"}``.

    Raises
    ------
    Unsupported
        For more than one algebraic function; express them by one.
    BadInput
        When φ lies in the singular locus.

    Examples
    --------
    The exponential of a square root, and a Gauss function at a rational place:

    >>> R = rational_weyl_algebra("z")
    >>> compose(R.ideal("dz - 1"), {"z": "r"}, "x", {"r": "r^2 - x"}).groebner()
    (dx^2 + (1/(2*x))*dx + (-1)/(4*x),)
    >>> compose(R.ideal("dz - 1"), {"z": "x*y"}, "x y").groebner()
    (dy - x, dx - y)
    """
    rational = rational_extension(ideal) if isinstance(ideal, LeftIdeal) else ideal
    names = split_names(variables)
    if set(images) != set(rational.algebra.variables):
        raise BadInput(f"expected an image for each of {' '.join(rational.algebra.variables)}, got {' '.join(images)}")
    if algebraic is not None and len(algebraic) > 1:
        raise Unsupported("expected one algebraic function; express several ones by one, a primitive element")
    target = rational_weyl_algebra(names, parameters=rational.algebra.parameters)
    branch = Branch.of(target.field, *next(iter((algebraic or {"": ""}).items())))
    phi = {old: branch(image) for old, image in images.items()}
    values = {**phi, **{p: branch(p) for p in rational.algebra.parameters}}
    try:
        pulled = [
            [[entry.substitute(values) for entry in row] for row in matrix] for matrix in rational.connection_matrices()
        ]
        matrices = [_along(branch, y, list(phi.values()), pulled, rational.rank()) for y in names]
    except ZeroDivisionError:
        raise BadInput(f"the functions {dict(images)} lie in the singular locus {rational.singular_locus()}") from None
    row = [target.field.zero] * (rational.rank() * branch.degree)
    row[0] = target.field.one
    return Entry(target, tuple(matrices), row).annihilator()


def _along(
    branch: Branch, y: str, phi: Sequence[RationalFunction], pulled: Sequence[Sequence[Row]], rank: int
) -> tuple[Row, ...]:
    """The matrix of the entries α^k F_j, j fastest last, for the derivative in one new variable."""
    slopes = [branch.derivative(image, y) for image in phi]
    rows: list[Row] = []
    for j in range(rank):
        pairs = [(slope, matrix[j]) for slope, matrix in zip(slopes, pulled, strict=True) if slope]
        line = [sum((slope * row[i] for slope, row in pairs), branch.larger.zero) for i in range(rank)]
        for k in range(branch.degree):
            power = branch.larger.gens[-1] ** k
            entries = [power * f for f in line]
            entries[j] = entries[j] + branch.derivative(power, y)
            rows.append([c for entry in entries for c in branch.coordinates(entry)])
    return tuple(rows)


@dataclass(frozen=True)
class Branch:
    """An algebraic function α of the variables of a field: functions of both lie in the larger field Q(y, α).

    ``tail`` has α^d = Σ tail_i α^i; it is empty, and the larger field is no larger, where there is no α.

    >>> branch = Branch.of(function_field("x"), "r", "r^2 - x")
    >>> branch("r^3"), branch.coordinates(1 / branch("r")), branch.coordinates(branch.derivative(branch("r"), "x"))
    (x*r, [0, 1/x], [0, 1/(2*x)])
    """

    field: FunctionField
    larger: FunctionField
    tail: tuple[RationalFunction, ...]
    slopes: Mapping[str, RationalFunction]

    @classmethod
    def of(cls, field: FunctionField, name: str, equation: str) -> Branch:
        """The function of the given name and equation; none without a name."""
        if not name:
            return cls(field, field, (), {})
        if name in field.variables:
            raise BadInput(f"the algebraic function {name!r} has the name of a variable")
        larger = function_field((*field.variables, name))
        polynomial = larger(larger(equation).numerator)
        plain = cls(field, larger, (), {})
        *lower, lead = plain._coefficients(polynomial.numerator) or [field.zero]
        if not lower:
            raise BadInput(f"expected a polynomial equation for {name!r}, got {equation!r}")
        slopes = {y: -polynomial.derivative(y) / polynomial.derivative(name) for y in field.variables}
        return cls(field, larger, tuple(-c / lead for c in lower), slopes)

    @property
    def degree(self) -> int:
        """The degree of α."""
        return len(self.tail) or 1

    def __call__(self, value: object) -> RationalFunction:
        """A rational function of the variables, or a text that may have α as well, without needless powers of α."""
        given = value if isinstance(value, str) else str(self.field(value))
        embedded = dict(zip(self.field.variables, self.larger.gens, strict=False))
        pairs = enumerate(self.coordinates(self.larger(given)))
        return sum((c.substitute(embedded) * self.larger.gens[-1] ** k for k, c in pairs), self.larger.zero)

    def derivative(self, function: RationalFunction, y: str) -> RationalFunction:
        """The derivative in a variable; that of α follows from its equation."""
        own = function.derivative(y)
        return own + function.derivative(self.larger.variables[-1]) * self.slopes[y] if self.tail else own

    def coordinates(self, function: RationalFunction) -> Row:
        """The c_i with function = Σ c_i α^i, by linear algebra; ZeroDivisionError where the denominator vanishes."""
        if not self.tail:
            return [function]
        top, bottom = (self._remainder(self._coefficients(p)) for p in (function.numerator, function.denominator))
        if not any(bottom[1:]) and bottom[0]:
            return [c / bottom[0] for c in top]
        multiples = [bottom]
        while len(multiples) < self.degree:
            multiples.append(self._raised(multiples[-1]))
        try:
            inverse = inverse_matrix(tuple(map(tuple, multiples)))
        except BadInput:
            raise ZeroDivisionError(f"division by zero in {function}") from None
        return list(multiply_matrices((tuple(top),), inverse)[0])

    def _coefficients(self, polynomial: fmpz_mpoly) -> Row:
        """The coefficients of the powers of α, ascending."""
        found = by_powers(polynomial, [len(self.field.variables)])
        rows = [found.get((k,), polynomial * 0) for k in range(max(found, default=(-1,))[0] + 1)]
        return [self.field(row.project_to_context(self.field.ctx)) for row in rows]

    def _remainder(self, coefficients: Row) -> Row:
        """A polynomial in α reduced by its equation."""
        total = [self.field.zero] * self.degree
        for c in reversed(coefficients):
            total = self._raised(total)
            total[0] = total[0] + c
        return total

    def _raised(self, row: Row) -> Row:
        """The product with α."""
        return [a + row[-1] * t for a, t in zip([self.field.zero, *row[:-1]], self.tail, strict=True)]
