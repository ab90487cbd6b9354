"""Pfaffian systems of holonomic ideals and of given matrices, their bases, and their pull-back to subvarieties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from flint import fmpz_mpoly

from holokern.errors import BadInput, SingularPath, UnknownName
from holokern.pfaffian.check.flatness import flatness
from holokern.pfaffian.derivation.by_prolongation import connection_by_prolongation
from holokern.pfaffian.system import PfaffianSystem
from holokern.weyl import (
    LeftIdeal,
    Matrix,
    Operator,
    RationalFunction,
    RationalIdeal,
    RationalOperator,
    RationalWeylAlgebra,
    change_of_basis,
    function_field,
    inverse_matrix,
    multiply_matrices,
    rational_extension,
    rational_weyl_algebra,
    read_matrix,
    substitution,
)

Row = tuple[RationalFunction, ...]


def ideal_of(given: object) -> LeftIdeal | RationalIdeal | None:
    """The ideal that an ideal, an operator or a list of operators stands for; None for anything else."""
    if isinstance(given, (LeftIdeal, RationalIdeal)):
        return given
    operators = [given] if isinstance(given, (Operator, RationalOperator)) else given
    if not isinstance(operators, (list, tuple)) or not operators:
        return None
    if all(isinstance(P, Operator) for P in operators):
        return LeftIdeal(operators[0].algebra, operators)
    if all(isinstance(P, RationalOperator) for P in operators):
        return RationalIdeal(operators[0].algebra, operators)
    return None


def from_ideal(ideal: LeftIdeal | RationalIdeal, basis: object = None) -> PfaffianSystem:
    """The Pfaffian system of a holonomic ideal [SST2000, Sect. 1.4]; F has the standard monomials by default.

    Raises NotHolonomic when the rank is infinite; BadInput when the rank is 0, so that only the function 0 is a
    solution, or the basis is none.

    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x y")
    >>> from_ideal(D.ideal("dx^2 - dy", "x*dx + 2*y*dy - 3")).basis_text
    ('1', 'dy')
    """
    rational = rational_extension(ideal) if isinstance(ideal, LeftIdeal) else ideal
    found = connection_by_prolongation(ideal) if isinstance(ideal, LeftIdeal) else None
    if found is None and rational.rank() == 0:
        raise BadInput(f"{ideal!r} has rank 0: it contains a polynomial, so only the function 0 is a solution")
    standard = rational.standard_exponents if found is None else found.standard
    matrices = rational.connection_matrices() if found is None else found.matrices
    monomials = tuple(rational.algebra.from_terms({key: 1}) for key in standard)
    system = PfaffianSystem("own", monomials, matrices, (tuple(ideal.generators),))
    return system if basis is None else change_basis(system, basis)


def from_matrices(
    variables: str | Iterable[str],
    matrices: Sequence[object],
    names: Iterable[str] | None = None,
    parameters: str | Iterable[str] = (),
) -> PfaffianSystem:
    """The system with given matrices, whose first entry of F is the function itself.

    ``variables``: the coordinates.
    ``matrices``: one a variable: rows of rational functions, texts or numbers.
    ``names``: what the entries of F are called; F1, F2, … by default.
    ``parameters``: symbols in the entries that are no coordinates.
    Raises BadInput if the matrices do not fit each other, or the system is not integrable.
    """
    algebra = rational_weyl_algebra(variables, parameters=parameters)
    field = algebra.field
    if len(matrices) != algebra.dimension:
        raise BadInput(f"expected {algebra.dimension} matrices, one a variable, got {len(matrices)}")
    first = matrices[0]
    rank = len(first) if isinstance(first, Sequence) and not isinstance(first, str) else 0
    if not rank:
        raise BadInput(f"expected matrices as rows of entries, got {first!r}")
    tables = tuple(read_matrix(matrix, rank, field) for matrix in matrices)
    failing = flatness(tables, algebra.variables).failing
    if failing is not None:
        raise BadInput(
            f"the matrices of {failing[0]} and {failing[1]} do not belong to one integrable system: ∂_jP_i + P_iP_j "
            "and ∂_iP_j + P_jP_i differ; correct an entry"
        )
    named = tuple(f"F{i + 1}" for i in range(rank)) if names is None else tuple(names)
    if len(named) != rank:
        raise BadInput(f"expected {rank} names of entries, got {len(named)}")
    return PfaffianSystem("own", named, tables)


def change_basis(system: PfaffianSystem, basis: object) -> PfaffianSystem:
    """The system of the vector that given operators make of a solution."""
    operators = read_operators(system.algebra, basis)
    transform, independent = tuple(system.row(P) for P in operators), ", ".join(system.basis_text)
    moved = change_of_basis(system.matrices, transform, system.variables, operators, independent)
    (function,) = multiply_matrices((system.function_row,), inverse_matrix(transform))
    return replace(system, basis=operators, matrices=moved, frame=None, function=unless_first(function))


def read_operators(algebra: RationalWeylAlgebra, basis: object) -> tuple[RationalOperator, ...]:
    """The operators of a basis, given as a list or as one text with commas."""
    if isinstance(basis, str):
        basis = [part for part in basis.strip().strip("()[]").split(",") if part.strip()]
    if not isinstance(basis, Iterable):
        raise BadInput(f"expected a basis such as '1, dx' or a list of operators, got {basis!r}")
    return tuple(algebra(element) for element in basis)


def unless_first(row: Row) -> Row | None:
    """None for the first unit vector, the default."""
    one = row[0].field.one
    return None if row[0] == one and not any(row[1:]) else row


def substituted(system: PfaffianSystem, values: Mapping[str, object] | None, check: bool = True) -> PfaffianSystem:
    """Values for parameters of a system; the other parameters stay."""
    put = substitution(system.algebra, values)
    if check and system.annihilators:
        # refuses values for which the rank may differ
        RationalIdeal(put.source, [put.source(P) for P in system.annihilators[0]]).substitute(values)

    def moved(rows: Sequence[Row]) -> Matrix:
        return tuple(tuple(map(put.function, row)) for row in rows)

    (function,) = (None,) if system.function is None else moved([system.function])
    frame = None if system.frame is None else moved(system.frame)
    basis = tuple(put(put.source(e)) if isinstance(e, (Operator, RationalOperator)) else e for e in system.basis)
    generators = tuple(tuple(put(put.source(P)) for P in side) for side in system.annihilators)
    return PfaffianSystem("own", basis, tuple(map(moved, system.matrices)), generators, frame=frame, function=function)


def genuine_factors(system: PfaffianSystem) -> list[fmpz_mpoly]:
    """The factors of the singular locus of the D-module itself; every other factor of a denominator is apparent."""
    if system.of_dual_activation:
        from holokern.pfaffian.derivation.by_stein import present
        from holokern.pfaffian.derivation.relations import expected_locus

        return expected_locus(present(*system._sides, system._system), system.field)
    if not system.annihilators:
        raise BadInput("a system that is given by its matrices does not tell apparent singularities from others")
    generators = system.annihilators[0]
    cleared = [P if isinstance(P, Operator) else P.clear_denominators() for P in generators]
    return [factor.numerator for factor in LeftIdeal(cleared[0].algebra, cleared).singular_factors()]


def read_images(
    variables: Sequence[str], images: Mapping[str, object], parameters: str | Iterable[str]
) -> dict[str, RationalFunction]:
    """The coordinates as functions of the parameters."""
    if set(images) != set(variables):
        raise UnknownName(f"expected images of {', '.join(variables)}, got {', '.join(images) or 'none'}")
    field = function_field(parameters)
    return {name: field(images[name]) for name in variables}


def pull_back_system(
    system: PfaffianSystem, images: Mapping[str, object], parameters: str | Iterable[str]
) -> PfaffianSystem:
    """The system of the same F along a rational map from the parameters to the coordinates, by the chain rule."""
    read = read_images(system.variables, images, parameters)
    matrices = matrices_along(system.matrices, read)
    (function,) = _on_image([system.function_row], read)
    return PfaffianSystem("own", names_along(system.basis_text), matrices, function=unless_first(function))


def matrices_along(matrices: Sequence[Matrix], images: Mapping[str, RationalFunction]) -> tuple[Matrix, ...]:
    """The matrices in the parameters of a map; SingularPath if its image lies in the singular locus."""
    # the matrix of a coordinate that does not move is not asked for, and may be singular
    pairs = zip(matrices, images.values(), strict=True)
    moved = [
        _on_image(matrix, images) if any(image.derivative(name) for name in image.field.variables) else ()
        for matrix, image in pairs
    ]
    return chain_rule(moved, images, len(matrices[0]))


def _on_image(rows: Sequence[Row], images: Mapping[str, RationalFunction]) -> Matrix:
    try:
        return tuple(tuple(entry.substitute(images) for entry in row) for row in rows)
    except ZeroDivisionError:
        where = ", ".join(f"{name} = {image}" for name, image in images.items())
        raise SingularPath(
            f"the subvariety {where} lies in the singular locus of the system; choose another, or restrict the ideal"
        ) from None


def chain_rule(
    moved: Sequence[Matrix], images: Mapping[str, RationalFunction], rank: int, back: Matrix | None = None
) -> tuple[Matrix, ...]:
    """The matrices in the parameters of a map from those of the coordinates on its image, times ``back``."""
    field, places = next(iter(images.values())).field, range(rank)
    matrices: list[Matrix] = []
    for parameter in field.variables:
        speeds = [image.derivative(parameter) for image in images.values()]
        pairs = [(matrix, speed) for matrix, speed in zip(moved, speeds, strict=True) if speed]
        total = [[sum((m[i][j] * v for m, v in pairs if m[i][j]), field.zero) for j in places] for i in places]
        matrix = tuple(map(tuple, total))
        matrices.append(matrix if back is None else multiply_matrices(matrix, back))
    return tuple(matrices)


def names_along(basis: Sequence[str]) -> tuple[str, ...]:
    """What entries of F are called that are no operators in the new variables."""
    return tuple(f"({text})" if "+" in text or "-" in text else text for text in basis)
