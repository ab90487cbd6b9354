"""Pfaffian systems whose matrices are too large to write down: at points, and on curves, they are small.

Fisher–Bingham on S² in its nine coordinates has rank 6, and numerators of degree 15 in nine variables.  The relations
that give them are a few short rows (:mod:`holokern.pfaffian.derivation.by_prolongation`).  So a point or a curve is put
into the rows first, and elimination comes after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mpoly
from numpy.typing import NDArray

from holokern.errors import BadInput, SingularPath, TooLarge
from holokern.pfaffian.check.at_a_point import chain_below, holds_at_a_point
from holokern.pfaffian.derivation.by_prolongation import Relations, eliminated, relations_by_prolongation, valued
from holokern.pfaffian.ideal import chain_rule, names_along, read_images, read_operators, unless_first
from holokern.pfaffian.system import PfaffianSystem
from holokern.weyl import (
    FunctionField,
    LeftIdeal,
    Matrix,
    RationalFunction,
    RationalOperator,
    RationalWeylAlgebra,
    exact_rational,
    inverse_matrix,
    multiply_matrices,
    raised,
    rational_weyl_algebra,
)

Exponents = tuple[int, ...]
Scalar = TypeVar("Scalar")


@dataclass(frozen=True)
class UnexpandedSystem:
    """The Pfaffian system of an ideal, known at points and on curves; made by ``hk.pfaffian(ideal, expand=False)``.

    :func:`holokern.hgm.solve` takes it like any other system.

    Attributes
    ----------
    ideal : LeftIdeal
    basis : tuple of operators
        What makes F of a solution.
    relations : Relations
        What the matrices follow from by linear algebra.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> s = unexpanded(weyl_algebra("x y").ideal("dx^2 - dy", "x*dx + 2*y*dy - 3"))
    >>> s.rank, s.basis_text
    (2, ('1', 'dy'))
    >>> s.matrices_at(2, "1/3")[1].tolist()
    [[0, 1], [-27/2, 27/2]]
    >>> s.pull_back({"x": 1, "y": "t"}, "t")["t"]
    ((0, 1), ((-3)/(2*t^2), (6*t + 1)/(4*t^2)))
    """

    ideal: LeftIdeal
    basis: tuple[RationalOperator, ...]
    relations: Relations

    @property
    def rank(self) -> int:
        """The number of entries of F."""
        return len(self.relations.standard)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        return self.relations.field.variables

    @property
    def basis_text(self) -> tuple[str, ...]:
        """The basis as text."""
        return tuple(map(str, self.basis))

    def __repr__(self) -> str:
        return (
            f"<unexpanded Pfaffian system of rank {self.rank} in {', '.join(self.variables)}; "
            f"basis {', '.join(self.basis_text)}>"
        )

    @cached_property
    def algebra(self) -> RationalWeylAlgebra:
        """The rational Weyl algebra of the operators."""
        return rational_weyl_algebra(self.ideal.algebra)

    @cached_property
    def _moved(self) -> list[list[RationalOperator]]:
        """∂_i times the basis, for every i."""
        n = len(self.variables)
        steps = [self.algebra.from_terms({tuple(int(k == i) for k in range(n)): 1}) for i in range(n)]
        return [[step * b for b in self.basis] for step in steps]

    # -- points ------------------------------------------------------------------------------------------------------

    def matrices_at(self, *point: object) -> tuple[fmpq_mat, ...]:
        """The matrices at a rational point, exactly.

        Raises
        ------
        SingularPath
            When the point lies in the singular locus, or the basis is dependent there.
        """
        where = self._point(point)
        forms = self._forms_at(where)
        back = self._inverse(self._coordinates(self.basis, where, forms), point)
        return tuple(self._coordinates(moved, where, forms) * back for moved in self._moved)

    def evaluate(self, *point: object) -> NDArray[np.float64]:
        """The matrices at one rational point, rounded to floats; (coordinates, rank, rank)."""
        found = [[[float(int(e.p) / int(e.q)) for e in row] for row in m.tolist()] for m in self.matrices_at(*point)]
        return np.array(found)

    def row_at(self, operator: object, point: Sequence[object]) -> list[fmpq]:
        """The row r with r·F = Pf at a rational point."""
        where = self._point(point)
        forms = self._forms_at(where)
        read = self.algebra(operator)
        missing = [beta for beta, _ in read if beta not in forms]
        if missing:
            raise BadInput(
                f"the derivations of {operator} are not among the relations of this system; "
                f"use {', '.join(self.basis_text)}, or derive it with basis= that has them"
            )
        back = self._inverse(self._coordinates(self.basis, where, forms), point)
        (row,) = (self._coordinates([read], where, forms) * back).tolist()
        return list(row)

    def _point(self, point: Sequence[object]) -> list[fmpq]:
        if len(point) != len(self.variables):
            raise BadInput(f"expected {len(self.variables)} coordinates, {', '.join(self.variables)}; got {len(point)}")
        # floats are taken as the numbers that they are
        return [exact_rational(Fraction(x) if isinstance(x, float) else x) for x in point]

    def _forms_at(self, where: Sequence[fmpq]) -> dict[Exponents, list[fmpq]]:
        """Each derivation that is known at a point as a combination of the standard ones."""
        left, right = self.tables(lambda c: self._value(self.relations.field(c), where), fmpq(0))
        try:
            solved = fmpq_mat(left).solve(fmpq_mat(right))
        except ZeroDivisionError:
            raise self._singular(where) from None
        forms = {beta: [-c for c in row] for beta, row in zip(self.relations.pivots, solved.tolist(), strict=True)}
        return forms | self._units(fmpq(0), fmpq(1))

    def _value(self, function: RationalFunction, where: Sequence[fmpq]) -> fmpq:
        try:
            return fmpq(exact_rational(function(*where)))
        except ZeroDivisionError:
            raise self._singular(where) from None

    def tables(
        self, value: Callable[[fmpz_mpoly], Scalar], zero: Scalar
    ) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
        """The rows with numbers for their coefficients: the columns of the pivots, and those of the standard ones."""
        rows, relations = valued(self.relations.rows, value), self.relations
        left = [[row.get(beta, zero) for beta in relations.pivots] for row in rows]
        return left, [[row.get(beta, zero) for beta in relations.standard] for row in rows]

    def _coordinates(
        self, operators: Sequence[RationalOperator], where: Sequence[fmpq], forms: Mapping[Exponents, Sequence[fmpq]]
    ) -> fmpq_mat:
        return fmpq_mat(self._rows(operators, lambda c: self._value(c, where), forms, fmpq(0)))

    def _rows(
        self,
        operators: Sequence[RationalOperator],
        value: Callable[[RationalFunction], Any],
        forms: Mapping[Exponents, Sequence[Any]],
        zero: Any,
    ) -> list[list[Any]]:
        """Operators as combinations of the standard derivations, given the values of their coefficients."""
        rows = []
        for P in operators:
            total = [zero] * self.rank
            for beta, c in P:
                number = value(c)
                total = [t + number * f if f else t for t, f in zip(total, forms[tuple(beta)], strict=True)]
            rows.append(total)
        return rows

    def _units(self, zero: Scalar, one: Scalar) -> dict[Exponents, list[Scalar]]:
        standard = self.relations.standard
        return {beta: [one if other == beta else zero for other in standard] for beta in standard}

    def _inverse(self, matrix: fmpq_mat, point: Sequence[object]) -> fmpq_mat:
        try:
            return matrix.inv()
        except ZeroDivisionError:
            raise self._singular(point) from None

    def _singular(self, point: Sequence[object]) -> SingularPath:
        where = ", ".join(f"{name} = {value}" for name, value in zip(self.variables, point, strict=True))
        return SingularPath(
            f"the point {where} lies in the singular locus of the system, or {', '.join(self.basis_text)} are "
            "dependent there; take another point or another basis"
        )

    # -- curves ------------------------------------------------------------------------------------------------------

    def pull_back(self, images: Mapping[str, object], parameters: str | Iterable[str]) -> PfaffianSystem:
        """The system of the same F on a curve or surface: each coordinate as a function of the given parameters.

        Raises
        ------
        SingularPath
            When the curve lies in the singular locus, or the basis is dependent on it.
        """
        read = read_images(self.variables, images, parameters)
        field = next(iter(read.values())).field
        forms = self._forms_on(read, field)

        def on_curve(operators: Sequence[RationalOperator]) -> Matrix:
            return tuple(map(tuple, self._rows(operators, lambda c: c.substitute(read), forms, field.zero)))

        try:
            back = inverse_matrix(on_curve(self.basis))
            moved = [on_curve(row) for row in self._moved]
            (function,) = multiply_matrices(on_curve([self.algebra.one]), back)
        except (BadInput, ZeroDivisionError):
            raise self._on_singular(read) from None
        matrices = chain_rule(moved, read, self.rank, back)
        return PfaffianSystem("own", names_along(self.basis_text), matrices, function=unless_first(function))

    def _forms_on(
        self, images: Mapping[str, RationalFunction], field: FunctionField
    ) -> dict[Exponents, list[RationalFunction]]:
        own = self.relations.field
        rows = valued(self.relations.rows, lambda c: own(c).substitute(images))
        rows = [{beta: c for beta, c in row.items() if c} for row in rows]
        solved = eliminated([row for row in rows if row], field, self.relations.pivots)
        if solved is None or len(solved) < len(self.relations.pivots):
            raise self._on_singular(images)
        standard = self.relations.standard
        forms = {beta: [row.get(key, field.zero) for key in standard] for beta, row in solved.items()}
        return forms | self._units(field.zero, field.one)

    def _on_singular(self, images: Mapping[str, RationalFunction]) -> SingularPath:
        where = ", ".join(f"{name} = {image}" for name, image in images.items())
        return SingularPath(
            f"the curve {where} lies in the singular locus of the system, or {', '.join(self.basis_text)} are "
            "dependent on it; take another curve or another basis"
        )

    # -- checks ------------------------------------------------------------------------------------------------------

    def is_flat(self) -> bool:
        """Whether the system is integrable and annihilates the generators, at a random point modulo a large prime.

        An identity that fails is noticed except with a probability of about 2^-50.
        """
        return holds_at_a_point(self)


def unexpanded(ideal: object, basis: object = None) -> UnexpandedSystem:
    """The system of an ideal of the polynomial Weyl algebra, in the standard monomials or another basis."""
    if not isinstance(ideal, LeftIdeal):
        raise BadInput("expected an ideal with polynomial coefficients for an unexpanded system; clear denominators")
    algebra = rational_weyl_algebra(ideal.algebra)
    chosen = None if basis is None else read_operators(algebra, basis)
    n = ideal.algebra.dimension
    used = {tuple(beta) for b in chosen or () for beta, _ in b}
    used |= {tuple(map(int, key[n:])) for g in ideal.generators for key, _ in g}
    # operators times ∂_i for the matrices, and lower derivations for the check
    used |= {raised(tuple(beta), i) for b in chosen or () for beta, _ in b for i in range(n)}
    further = {lower for beta in used for lower in chain_below(beta)}
    for relations in relations_by_prolongation(ideal, further):
        standard = tuple(algebra.from_terms({key: 1}) for key in relations.standard)
        if chosen is not None and len(chosen) != len(standard):
            raise BadInput(f"expected a basis of {len(standard)} operators, got {len(chosen)}; the rank decides")
        found = UnexpandedSystem(ideal, chosen or standard, relations)
        if found.is_flat():
            return found
    raise TooLarge(
        f"a few derivatives of its generators do not give the Pfaffian system of {ideal!r}; "
        "give more operators of the ideal, or simpler coordinates"
    )
