"""Matrices of rational functions: product, inverse, gauge transformations F -> TF of dF = PF, and connections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from flint import fmpz_mpoly

from holokern.errors import BadInput
from holokern.numeric import Dependence
from holokern.weyl.algebra.monomials import raised
from holokern.weyl.rational.algebra import Exponents
from holokern.weyl.rational.fractions import FunctionField, RationalFunction

if TYPE_CHECKING:
    from holokern.weyl.rational.ideal import RationalIdeal

Matrix = tuple[tuple[RationalFunction, ...], ...]


def read_matrix(given: object, rank: int, field: FunctionField) -> Matrix:
    """A square matrix over the field from rows of functions, texts or rational numbers."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != rank:
        raise BadInput(f"expected a {rank} x {rank} matrix as {rank} rows, got {given!r}")
    rows = []
    for row in given:
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != rank:
            raise BadInput(f"expected {rank} entries in every row of the matrix, got {row!r}")
        rows.append(tuple(field(entry) for entry in row))
    return tuple(rows)


def multiply_matrices(left: Matrix, right: Matrix) -> Matrix:
    """The product of two matrices."""
    columns = list(zip(*right, strict=True))
    return tuple(tuple(_dot(row, column) for column in columns) for row in left)


def _dot(row: Sequence[RationalFunction], column: Sequence[RationalFunction]) -> RationalFunction:
    total = row[0].field.zero
    for a, b in zip(row, column, strict=True):
        if a and b:
            total = total + a * b
    return total


def inverse_matrix(matrix: Matrix) -> Matrix:
    """The inverse: its rows are the unit vectors as combinations of the given rows; BadInput if there is none.

    >>> from holokern.weyl import function_field
    >>> K = function_field("x")
    >>> inverse_matrix(((K("x"), K(1)), (K(0), K("x"))))
    ((1/x, (-1)/x^2), (0, 1/x))
    """
    places, one = range(len(matrix)), matrix[0][0].field.one
    search: Dependence[int, int, RationalFunction] = Dependence(one, shortest)
    if any(search.add(i, dict(enumerate(row))) for i, row in enumerate(matrix)):
        raise BadInput("the matrix is singular; give an invertible one")
    relations = [search.add(-1, {j: one}) or {} for j in places]
    return tuple(tuple(-relation.get(i, one - one) for i in places) for relation in relations)


def shortest(row: Mapping[int, RationalFunction]) -> int:
    """The place of the simplest entry."""
    return min(row, key=lambda place: len(row[place].numerator) + len(row[place].denominator))


def gauge_transform(matrices: Sequence[Matrix], transform: Matrix, variables: Sequence[str]) -> tuple[Matrix, ...]:
    """The matrices (∂T + T P) T⁻¹ of the vector TF."""
    back = inverse_matrix(transform)
    result = []
    for matrix, variable in zip(matrices, variables, strict=True):
        product = multiply_matrices(transform, matrix)
        moved = tuple(
            tuple(t.derivative(variable) + p for t, p in zip(row, other, strict=True))
            for row, other in zip(transform, product, strict=True)
        )
        result.append(multiply_matrices(moved, back))
    return tuple(result)


def change_of_basis(
    matrices: Sequence[Matrix],
    transform: Matrix,
    variables: Sequence[str],
    basis: Sequence[object],
    independent: object,
) -> tuple[Matrix, ...]:
    """The matrices for a vector of operators, given its rows; BadInput unless the operators are a basis."""
    rank = len(matrices[0])
    if len(transform) != rank:
        raise BadInput(f"expected a basis of {rank} operators, got {len(transform)}; the rank decides")
    try:
        return gauge_transform(matrices, transform, variables)
    except BadInput:
        raise BadInput(
            f"the operators {', '.join(map(str, basis))} are dependent modulo the ideal; independent are {independent}"
        ) from None


def irreducible_factors(field: FunctionField, polynomials: Iterable[fmpz_mpoly]) -> tuple[RationalFunction, ...]:
    """The different irreducible factors of non-zero polynomials of ``field.ctx``, the simplest first.

    >>> from holokern.weyl.rational.fractions import function_field
    >>> K = function_field("x y")
    >>> irreducible_factors(K, [K("x^3 - x*y^2").numerator, K("2*x").numerator])
    (x, x + y, x - y)
    """
    factors: dict[str, fmpz_mpoly] = {}
    for polynomial in {str(polynomial): polynomial for polynomial in polynomials}.values():
        for factor, _ in polynomial.factor()[1]:
            positive = factor if factor.leading_coefficient() > 0 else -factor
            factors[str(positive)] = positive
    ordered = sorted(factors.items(), key=lambda pair: (pair[1].total_degree(), len(pair[1]), pair[0]))
    return tuple(field(factor) for _, factor in ordered)


def connection_of_standard_monomials(ideal: RationalIdeal) -> tuple[Matrix, ...]:
    """Rows of the i-th matrix: normal forms of ∂_i times the standard monomials of the ideal."""
    field, standard = ideal.algebra.field, ideal.standard_exponents
    known: dict[Exponents, list[RationalFunction]] = {
        key: [field.one if other == key else field.zero for other in standard] for key in standard
    }
    for lead, g in zip(ideal.leading_exponents, ideal.groebner(), strict=True):
        known[lead] = [-g.terms.get(other, field.zero) for other in standard]

    def row(key: Exponents) -> list[RationalFunction]:
        """∂_i Σ c_s s = Σ (∂_i c_s) s + c_s (∂_i s), where ∂^key = ∂_i times a lower monomial that is not standard."""
        if key not in known:
            places = [i for i, e in enumerate(key) if e]
            lowers = {i: (*key[:i], key[i] - 1, *key[i + 1 :]) for i in places}
            i = next(i for i in places if lowers[i] not in standard)
            total = [c.derivative(ideal.algebra.variables[i]) for c in row(lowers[i])]
            for c, monomial in zip(row(lowers[i]), standard, strict=True):
                if c:
                    total = [a + c * b if b else a for a, b in zip(total, row(raised(monomial, i)), strict=True)]
            known[key] = total
        return known[key]

    return tuple(tuple(tuple(row(raised(key, i))) for key in standard) for i in range(ideal.algebra.dimension))
