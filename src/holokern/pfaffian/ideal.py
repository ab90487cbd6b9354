"""Pfaffian systems of holonomic ideals and of given matrices, their bases, and their pull-back to subvarieties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from flint import fmpz_mpoly

from holokern.errors import BadInput, SingularPath, UnknownName
from holokern.pfaffian.check.flatness import flatness
from holokern.pfaffian.derivation.by_prolongation import connection_by_prolongation
from holokern.pfaffian.gauge import Matrix, gauge_transform, inverse, multiply, read_matrix
from holokern.pfaffian.system import PfaffianSystem
from holokern.weyl import (
    LeftIdeal,
    Operator,
    RationalFunction,
    RationalIdeal,
    RationalOperator,
    RationalWeylAlgebra,
    function_field,
    rational_extension,
    rational_weyl_algebra,
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

    Raises
    ------
    NotHolonomic
        When the rank is infinite.
    BadInput
        When the rank is 0, so that only the function 0 is a solution, or the basis is none.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x y")
    >>> from_ideal(D.ideal("dx^2 - dy", "x*dx + 2*y*dy - 3")).basis_text
    ('1', 'dy')
    """
    rational = rational_extension(ideal) if isinstance(ideal, LeftIdeal) else ideal
    found = connection_by_prolongation(ideal) if isinstance(ideal, LeftIdeal) else None
    if found is not None:
        monomials = tuple(rational.algebra.from_terms({key: 1}) for key in found.standard)
        system = PfaffianSystem("own", monomials, found.matrices, (tuple(ideal.generators),))
        return system if basis is None else change_basis(system, basis)
    if rational.rank() == 0:
        raise BadInput(f"{ideal!r} has rank 0: it contains a polynomial, so only the function 0 is a solution")
    system = PfaffianSystem(
        "own", rational.standard_monomials(), rational.connection_matrices(), (tuple(ideal.generators),)
    )
    return system if basis is None else change_basis(system, basis)


def from_matrices(
    variables: str | Iterable[str],
    matrices: Sequence[object],
    names: Iterable[str] | None = None,
    parameters: str | Iterable[str] = (),
) -> PfaffianSystem:
    """The system with given matrices, whose first entry of F is the function itself.

    Parameters
    ----------
    variables : str or iterable of str
        The coordinates.
    matrices : sequence of tables
        One a variable: rows of rational functions, texts or numbers.
    names : iterable of str, optional
        What the entries of F are called; F1, F2, … by default.
    parameters : str or iterable of str
        Symbols in the entries that are no coordinates.

    Raises
    ------
    BadInput
        If the matrices do not fit each other, or the system is not integrable.
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


def row_of(system: PfaffianSystem, operator: object) -> Row:
    """The row r with r·F = Pf: r(∂_i P) = ∂_i r(P) + r(P) P_i, from the row of f itself."""
    read = _algebra(system)(operator)
    known: dict[tuple[int, ...], Row] = {(0,) * len(system.variables): system.function_row}
    total = [system.field.zero] * system.rank
    for key, coefficient in read:
        row = _row_of_monomial(system, tuple(key), known)
        total = [t + coefficient * r if r else t for t, r in zip(total, row, strict=True)]
    return tuple(total)


def _row_of_monomial(system: PfaffianSystem, key: tuple[int, ...], known: dict[tuple[int, ...], Row]) -> Row:
    if key not in known:
        i = next(place for place, e in enumerate(key) if e)
        lower = _row_of_monomial(system, (*key[:i], key[i] - 1, *key[i + 1 :]), known)
        (moved,) = multiply((lower,), system.matrices[i])
        name = system.variables[i]
        known[key] = tuple(a.derivative(name) + b for a, b in zip(lower, moved, strict=True))
    return known[key]


def change_basis(system: PfaffianSystem, basis: object) -> PfaffianSystem:
    """The system of the vector that given operators make of a solution."""
    if isinstance(basis, str):
        basis = [part for part in basis.strip().strip("()[]").split(",") if part.strip()]
    if not isinstance(basis, Iterable):
        raise BadInput(f"expected a basis such as '1, dx' or a list of operators, got {basis!r}")
    algebra = _algebra(system)
    operators = tuple(algebra(element) for element in basis)
    if len(operators) != system.rank:
        raise BadInput(f"expected a basis of {system.rank} operators, got {len(operators)}; the rank decides")
    transform = tuple(row_of(system, P) for P in operators)
    try:
        moved = gauge_transform(system.matrices, transform, system.variables)
    except BadInput:
        raise BadInput(
            f"the operators {', '.join(map(str, operators))} are dependent modulo the ideal; "
            f"independent are {', '.join(system.basis_text)}"
        ) from None
    (function,) = multiply((system.function_row,), inverse(transform))
    return replace(system, basis=operators, matrices=moved, frame=None, function=_unless_first(function))


def _unless_first(row: Row) -> Row | None:
    """None for the first unit vector, the default."""
    one = row[0].field.one
    return None if row[0] == one and not any(row[1:]) else row


def _algebra(system: PfaffianSystem) -> RationalWeylAlgebra:
    """The rational Weyl algebra in the coordinates, with the names of derivations that the ideal has."""
    if system.annihilators and not system.of_dual_activation:
        algebra = system.annihilators[0][0].algebra
        return algebra if isinstance(algebra, RationalWeylAlgebra) else rational_weyl_algebra(algebra)
    return rational_weyl_algebra(system.variables, parameters=system.parameters)


def substituted(system: PfaffianSystem, values: Mapping[str, object] | None, check: bool = True) -> PfaffianSystem:
    """Values for parameters of a system; the other parameters stay."""
    if not isinstance(values, Mapping):
        raise BadInput(f"expected a mapping from parameters to values, such as {{'a': '1/2'}}, got {values!r}")
    unknown = [name for name in values if name not in system.parameters]
    if unknown or not values:
        raise UnknownName(
            f"expected values of {', '.join(system.parameters) or 'no parameters'}, got {', '.join(values) or 'none'}"
        )
    source = _algebra(system)
    stay = [name for name in system.parameters if name not in values]
    target = rational_weyl_algebra(source.polynomial_algebra, parameters=stay)
    images = {name: target.field(values.get(name, name)) for name in system.field.variables}
    for name in values:
        if any(images[name].derivative(x) for x in system.variables):
            raise BadInput(f"expected a value of the parameter {name} without {', '.join(system.variables)}")
    if check and system.annihilators:
        # refuses values for which the rank may differ
        RationalIdeal(source, [source(P) for P in system.annihilators[0]]).substitute(values)

    def moved(row: Sequence[RationalFunction]) -> Row:
        try:
            return tuple(entry.substitute(images) for entry in row)
        except ZeroDivisionError:
            where = ", ".join(f"{name} = {value}" for name, value in values.items())
            raise BadInput(f"a denominator vanishes for {where}; derive the system of these values anew") from None

    matrices = tuple(tuple(moved(row) for row in matrix) for matrix in system.matrices)
    function = None if system.function is None else moved(system.function)
    frame = None if system.frame is None else tuple(moved(row) for row in system.frame)

    def operator(P: Operator | RationalOperator) -> RationalOperator:
        return target.from_terms({key: moved([c])[0] for key, c in source(P)})

    basis = tuple(operator(e) if isinstance(e, (Operator, RationalOperator)) else e for e in system.basis)
    generators = tuple(tuple(operator(P) for P in side) for side in system.annihilators)
    return PfaffianSystem("own", basis, matrices, generators, frame=frame, function=function)


def genuine_factors(system: PfaffianSystem) -> list[fmpz_mpoly]:
    """The factors of the singular locus of the D-module itself; every other factor of a denominator is apparent."""
    if system.of_dual_activation:
        from holokern.pfaffian.derivation.by_stein import present
        from holokern.pfaffian.derivation.locus import expected_locus

        return expected_locus(present(*system._sides, system._system), system.field)
    if not system.annihilators:
        raise BadInput("a system that is given by its matrices does not tell apparent singularities from others")
    generators = system.annihilators[0]
    cleared = [P if isinstance(P, Operator) else P.clear_denominators() for P in generators]
    return [factor.numerator for factor in LeftIdeal(cleared[0].algebra, cleared).singular_factors()]


def pull_back_system(
    system: PfaffianSystem, images: Mapping[str, object], parameters: str | Iterable[str]
) -> PfaffianSystem:
    """The system of the same F along a rational map from the parameters to the coordinates, by the chain rule."""
    field = function_field(parameters)
    if set(images) != set(system.variables):
        raise UnknownName(f"expected images of {', '.join(system.variables)}, got {', '.join(images) or 'none'}")
    read = {name: field(images[name]) for name in system.variables}
    try:
        moved = [[[entry.substitute(read) for entry in row] for row in matrix] for matrix in system.matrices]
        function = tuple(entry.substitute(read) for entry in system.function_row)
    except ZeroDivisionError:
        where = ", ".join(f"{name} = {image}" for name, image in read.items())
        raise SingularPath(
            f"the subvariety {where} lies in the singular locus of the system; restrict the ideal instead"
        ) from None
    matrices: list[Matrix] = []
    for parameter in field.variables:
        speeds = [read[name].derivative(parameter) for name in system.variables]
        matrices.append(
            tuple(
                tuple(
                    sum((m[i][j] * v for m, v in zip(moved, speeds, strict=True) if m[i][j] and v), field.zero)
                    for j in range(system.rank)
                )
                for i in range(system.rank)
            )
        )
    names = tuple(f"({text})" if "+" in text or "-" in text else text for text in system.basis_text)
    return PfaffianSystem("own", names, tuple(matrices), function=_unless_first(function))
