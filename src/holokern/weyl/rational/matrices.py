"""Matrices of rational functions: product, inverse, and gauge transformations F -> TF of a system dF = PF."""

from __future__ import annotations

from collections.abc import Sequence

from holokern.errors import BadInput
from holokern.weyl.rational.fractions import FunctionField, RationalFunction

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
    """The inverse, by elimination with the shortest pivot; BadInput if there is none.

    Examples
    --------
    >>> from holokern.weyl import function_field
    >>> K = function_field("x")
    >>> inverse_matrix(((K("x"), K(1)), (K(0), K("x"))))
    ((1/x, (-1)/x^2), (0, 1/x))
    """
    n = len(matrix)
    field = matrix[0][0].field
    rows = [[*row, *(field.one if i == j else field.zero for j in range(n))] for i, row in enumerate(matrix)]
    for column in range(n):
        choices = [i for i in range(column, n) if rows[i][column]]
        if not choices:
            raise BadInput("the matrix is singular; give an invertible one")
        best = min(choices, key=lambda i: len(rows[i][column].numerator) + len(rows[i][column].denominator))
        rows[column], rows[best] = rows[best], rows[column]
        pivot = rows[column][column]
        rows[column] = [entry / pivot if entry else entry for entry in rows[column]]
        for i in range(n):
            factor = rows[i][column]
            if i != column and factor:
                rows[i] = [a - factor * b if b else a for a, b in zip(rows[i], rows[column], strict=True)]
    return tuple(tuple(row[n:]) for row in rows)


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
