"""Closure properties over Q(x): sums, products and algebraic substitutions of holonomic functions.

A solution f of an ideal of rank r is an entry of a vector F with ∂_i F = P_i F.  The sum of two such functions is an
entry of the direct sum of the vectors, the product of their tensor product.  The derivative of r·F, r a row, is
(∂_i r + r P_i)·F, and the linear relations between such rows are the ideal that annihilates it [Chyzak2000].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holokern.errors import BadInput, Unsupported
from holokern.numeric import Dependence, bounded
from holokern.weyl.algebra.monomials import divides, grevlex_key, lowered, raised
from holokern.weyl.algebra.weyl_algebra import split_names
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.rational.algebra import Exponents, RationalOperator, RationalWeylAlgebra, rational_weyl_algebra
from holokern.weyl.rational.fractions import FunctionField, RationalFunction, function_field
from holokern.weyl.rational.ideal import RationalIdeal, rational_extension

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

    def derivative(self, row: Sequence[RationalFunction], i: int) -> Row:
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
        rows: dict[Exponents, Sequence[RationalFunction]] = {}
        basis: list[RationalOperator] = []
        leads: list[Exponents] = []
        front: set[Exponents] = {(0,) * n}
        while front:
            key = min(front, key=grevlex_key)
            front.remove(key)
            if any(divides(lead, key) for lead in leads):
                continue
            relation = search.add(key, dict(enumerate(self._of_monomial(key, rows))))
            if relation is not None:
                basis.append(self.algebra.from_terms(relation))
                leads.append(key)
                continue
            front |= {raised(key, i) for i in range(n)}
        return RationalIdeal(self.algebra, basis)

    def applied(self, terms: Iterable[tuple[Exponents, RationalFunction]]) -> Row:
        """The row of Σ c_β ∂^β of the function, from the exponents β and the coefficients; an operator has them."""
        known: dict[Exponents, Sequence[RationalFunction]] = {}
        total = [self.algebra.field.zero] * len(self.row)
        for key, c in terms:
            total = [t + c * r if r else t for t, r in zip(total, self._of_monomial(key, known), strict=True)]
        return total

    def _of_monomial(
        self, key: Exponents, known: dict[Exponents, Sequence[RationalFunction]]
    ) -> Sequence[RationalFunction]:
        """The row of ∂^key of the function; lower derivatives are kept in ``known``."""
        if not any(key):
            return self.row
        if key not in known:
            i, lower = lowered(key)
            known[key] = self.derivative(self._of_monomial(lower, known), i)
        return known[key]


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
    a, b = len(f.row), len(g.row)
    matrices = []
    for P, Q in zip(f.matrices, g.matrices, strict=True):
        rows = []
        for i in range(a):
            for j in range(b):
                row = [zero] * (a * b)
                for k in range(a):
                    row[k * b + j] = row[k * b + j] + P[i][k]
                for k in range(b):
                    row[i * b + k] = row[i * b + k] + Q[j][k]
                rows.append(row)
        matrices.append(tuple(rows))
    return Entry(f.algebra, tuple(matrices), [c * d for c in f.row for d in g.row]).annihilator()


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
    name, equation = next(iter((algebraic or {"": ""}).items()))
    extension = Extension.make(target.field, name, equation)
    phi = {old: extension(image) for old, image in images.items()}
    values: dict[str, Any] = {**phi, **{p: extension(p) for p in rational.algebra.parameters}}
    try:
        pulled = [
            [[extension(0) + entry.evaluate(values) for entry in row] for row in matrix]
            for matrix in rational.connection_matrices()
        ]
    except ZeroDivisionError:
        raise BadInput(f"the functions {dict(images)} lie in the singular locus {rational.singular_locus()}") from None
    matrices = [
        _along(extension, y, [image.derivative(y) for image in phi.values()], pulled, rational.rank()) for y in names
    ]
    row = [target.field.zero] * (rational.rank() * extension.degree)
    row[0] = target.field.one
    return Entry(target, tuple(matrices), row).annihilator()


def _along(
    extension: Extension, y: str, slopes: Sequence[Element], pulled: Sequence[Sequence[Sequence[Element]]], rank: int
) -> tuple[Row, ...]:
    """The matrix of the entries α^k F_j, j fastest last, for the derivative in one new variable."""
    rows: list[Row] = []
    for j in range(rank):
        for k in range(extension.degree):
            power = extension.power(k)
            entries = [extension(0)] * rank
            for slope, matrix in zip(slopes, pulled, strict=True):
                entries = [e + power * slope * m for e, m in zip(entries, matrix[j], strict=True)]
            entries[j] = entries[j] + power.derivative(y)
            rows.append([c for entry in entries for c in entry.coordinates])
    return tuple(rows)


@dataclass(frozen=True)
class Extension:
    """The ring of polynomials in α modulo a polynomial; ``tail`` has α^d = Σ tail_i α^i.

    >>> K = Extension.make(function_field("x"), "r", "r^2 - x")
    >>> (K("r") * K("r")).coordinates, K("1/r").coordinates, K("r").derivative("x").coordinates
    ((x, 0), (0, 1/x), (0, 1/(2*x)))
    """

    field: FunctionField
    name: str
    tail: tuple[RationalFunction, ...]

    @classmethod
    def make(cls, field: FunctionField, name: str, equation: str) -> Extension:
        """The extension by an algebraic function of the given name and equation; the field itself without a name."""
        if not name:
            return cls(field, "", (field.zero,))
        if name in field.variables:
            raise BadInput(f"the algebraic function {name!r} has the name of a variable")
        larger = function_field((*field.variables, name))
        polynomial = larger(equation)
        rows: dict[int, dict[tuple[int, ...], int]] = {}
        for key, c in polynomial.numerator.terms():
            rows.setdefault(int(key[-1]), {})[tuple(map(int, key[:-1]))] = int(c)
        degree = max(rows, default=0)
        if degree < 1:
            raise BadInput(f"expected a polynomial equation for {name!r}, got {equation!r}")
        lead = field(field.ctx.from_dict(rows[degree]))
        coefficients = [field(field.ctx.from_dict(rows.get(i, {}))) for i in range(degree)]
        return cls(field, name, tuple(-c / lead for c in coefficients))

    @property
    def degree(self) -> int:
        """The degree of α."""
        return len(self.tail)

    def power(self, k: int) -> Element:
        """α^k for k below the degree."""
        zero, one = self.field.zero, self.field.one
        return Element(self, tuple(one if i == k else zero for i in range(self.degree)))

    def __call__(self, value: object) -> Element:
        """A rational function of the variables and α, or a text of one, as an element."""
        if isinstance(value, str) and self.name:
            larger = function_field((*self.field.variables, self.name))
            images: dict[str, Element] = {v: self(self.field(v)) for v in self.field.variables}
            images[self.name] = self.power(1) if self.degree > 1 else Element(self, self.tail)
            found = larger(value).evaluate(images)
            return found if isinstance(found, Element) else self(self.field(found))
        return Element(self, (self.field(value), *[self.field.zero] * (self.degree - 1)))


@dataclass(frozen=True)
class Element:
    """Σ c_i α^i, by its coordinates c_i."""

    ring: Extension
    coordinates: tuple[RationalFunction, ...]

    def _read(self, other: object) -> Element:
        return other if isinstance(other, Element) else self.ring(self.ring.field(other))

    def __add__(self, other: object) -> Element:
        right = self._read(other)
        return Element(self.ring, tuple(a + b for a, b in zip(self.coordinates, right.coordinates, strict=True)))

    __radd__ = __add__

    def __mul__(self, other: object) -> Element:
        right = self._read(other)
        total = [self.ring.field.zero] * self.ring.degree
        shifted = right
        for k, c in enumerate(self.coordinates):
            if k:
                shifted = shifted._raised()
            if c:
                total = [a + c * b for a, b in zip(total, shifted.coordinates, strict=True)]
        return Element(self.ring, tuple(total))

    __rmul__ = __mul__

    def _raised(self) -> Element:
        """The product with α."""
        top = self.coordinates[-1]
        lower = (self.ring.field.zero, *self.coordinates[:-1])
        return Element(self.ring, tuple(a + top * t for a, t in zip(lower, self.ring.tail, strict=True)))

    def __truediv__(self, other: object) -> Element:
        return self * self._read(other).inverse()

    def __rtruediv__(self, other: object) -> Element:
        return self._read(other) * self.inverse()

    def inverse(self) -> Element:
        """1/self, by linear algebra; ZeroDivisionError for zero divisors."""
        from holokern.weyl.rational.matrices import inverse_matrix

        columns = [self]
        while len(columns) < self.ring.degree:
            columns.append(columns[-1]._raised())
        try:
            inverse = inverse_matrix(tuple(element.coordinates for element in columns))
        except BadInput:
            field = f"Q({', '.join(self.ring.field.variables)})[{self.ring.name}]"
            raise ZeroDivisionError(f"division by zero in {field}") from None
        return Element(self.ring, inverse[0])

    def derivative(self, variable: str) -> Element:
        """The derivative in a variable; α' follows from its equation."""
        ring = self.ring
        result = Element(ring, tuple(c.derivative(variable) for c in self.coordinates))
        inner = [k * c for k, c in enumerate(self.coordinates)][1:]
        if not any(inner):
            return result
        # m(α) = α^d - Σ t_i α^i = 0 gives α' = (Σ t_i' α^i)/(d α^(d-1) - Σ i t_i α^(i-1))
        top = Element(ring, tuple(t.derivative(variable) for t in ring.tail))
        slope = [-(i * t) for i, t in enumerate(ring.tail)][1:]
        bottom = Element(ring, (*slope, ring.field(ring.degree)))
        return result + Element(ring, (*inner, ring.field.zero)) * (top / bottom)
