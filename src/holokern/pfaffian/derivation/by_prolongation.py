"""Connection matrices of a holonomic ideal without a Gröbner basis over the rational functions.

Derivatives ∂^β g of the generators are linear relations between the derivations ∂^γ with coefficients in Q(x).  At a
random point modulo a prime, elimination tells in microseconds which derivations are standard, and which few relations
express the border of the standard ones.  Only those are eliminated over Q(x), sparse rows first.

Every relation lies in the ideal, so the standard derivations span the quotient.  They are a basis when the matrices are
integrable and annihilate the generators, which is checked at random points; otherwise more derivatives are taken.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from flint import fmpz_mpoly, nmod_mat

from holokern.errors import TooLarge
from holokern.numeric import subtract
from holokern.pfaffian.check.flatness import flatness
from holokern.pfaffian.derivation.interpolate import value_modulo
from holokern.pfaffian.derivation.quotient import PRIMES, echelon, needed, sparse_table
from holokern.weyl import (
    Entry,
    FunctionField,
    LeftIdeal,
    Matrix,
    Operator,
    RationalFunction,
    derivatives_of,
    differentiate,
    function_field,
    grevlex_key,
    of_degree,
    raised,
    rational_weyl_algebra,
)

Exponents = tuple[int, ...]
Row = dict[Exponents, fmpz_mpoly]
Solved = dict[Exponents, RationalFunction]
Scalar = TypeVar("Scalar")

_FURTHER = 3  # derivatives beyond the orders of the generators; systems of textbooks need one or two
# terms of a product before it is reduced: Lauricella F_C in three variables needs 6000; ten times as many take minutes
_MOST_TERMS = 50_000
_LARGEST = 4_000_000  # columns times rows of the matrix at a point; about a second


@dataclass(frozen=True)
class Relations:
    """Linear relations between derivations that express the ``pivots`` by the standard ones."""

    field: FunctionField
    standard: tuple[Exponents, ...]
    rows: tuple[Row, ...]
    pivots: tuple[Exponents, ...]

    @property
    def border(self) -> set[Exponents]:
        """The derivations next to the standard ones."""
        n = len(self.field.variables)
        return {raised(beta, i) for beta in self.standard for i in range(n)} - set(self.standard)


@dataclass(frozen=True)
class Connection:
    """The standard derivations, as exponents, and a matrix for every variable."""

    standard: tuple[Exponents, ...]
    matrices: tuple[Matrix, ...]


def connection_by_prolongation(ideal: LeftIdeal) -> Connection | None:
    """The connection matrices in the standard monomials; None when a few more derivatives do not give them.

    >>> from holokern.weyl import weyl_algebra
    >>> found = connection_by_prolongation(weyl_algebra("x y").ideal("dx^2 - dy", "x*dx + 2*y*dy - 3"))
    >>> found.standard, found.matrices[1]
    (((0, 0), (0, 1)), ((0, 1), ((-3)/(2*y^2), (x^2 + 6*y)/(4*y^2))))
    """
    for found in relations_by_prolongation(ideal):
        symbolic = eliminated(found.rows, found.field, found.pivots)
        if symbolic is not None and found.border <= set(symbolic):
            matrices = _matrices(found.standard, symbolic, found.field)
            if flatness(matrices, ideal.algebra.variables).flat and _annihilates(matrices, ideal):
                return Connection(found.standard, matrices)
    return None


def _annihilates(matrices: Sequence[Matrix], ideal: LeftIdeal) -> bool:
    """Whether Σ c_β r(∂^β) = 0 for the generators Σ c_β ∂^β, where r(∂_i P) = ∂_i r(P) + r(P) P_i."""
    algebra = rational_weyl_algebra(ideal.algebra)
    unit = [algebra.field.one if i == 0 else algebra.field.zero for i in range(len(matrices[0]))]
    entry = Entry(algebra, matrices, unit)
    return not any(any(entry.applied(algebra(g))) for g in ideal.generators)


def relations_by_prolongation(ideal: LeftIdeal, further: Collection[Exponents] = ()) -> Iterator[Relations]:
    """Relations that express the border of the standard derivations and ``further`` ones.

    They are not checked: where the rank is too large more derivatives are needed, which come next.
    """
    field = function_field(ideal.algebra.variables)
    generators = [relation(g, field) for g in ideal.generators]
    lowest = max([0, *map(sum, further), *(max(map(sum, row)) for row in generators)])
    for order in range(lowest, lowest + _FURTHER + 1) if generators else ():
        found = _Prolonged(generators, field, order).relations(further)
        if found is not None:
            yield found


def relation(operator: Operator, field: FunctionField) -> Row:
    """An operator with integer polynomials as coefficients of the derivations."""
    n = len(field.variables)
    collected: dict[Exponents, dict[Exponents, int]] = {}
    for key, c in operator.primitive():
        collected.setdefault(tuple(key[n:]), {})[tuple(key[:n])] = int(c.p)
    return {beta: field.ctx.from_dict(terms) for beta, terms in collected.items()}


class _Prolonged:
    """All derivatives of the generators up to one order."""

    def __init__(self, generators: Sequence[Row], field: FunctionField, order: int) -> None:
        self.generators, self.field, self.order = generators, field, order
        self.n = len(field.variables)
        self.rows = self._rows()
        columns = {beta for row in self.rows for beta in row}
        self.columns = sorted(columns, key=grevlex_key, reverse=True)
        self.place = {beta: k for k, beta in enumerate(self.columns)}
        self.random = random.Random(7)

    def _rows(self) -> list[Row]:
        found: list[Row] = []
        for generator in self.generators:
            spare = self.order - max(map(sum, generator))
            derivatives = derivatives_of(generator, differentiate)
            found += [derivatives(key) for size in range(spare + 1) for key in of_degree(self.n, size)]
        # simple relations first, so that they are the ones that are used
        return sorted(found, key=lambda row: (sum(len(c) for c in row.values()), len(row)))

    def relations(self, further: Iterable[Exponents] = ()) -> Relations | None:
        """The standard derivations and the relations that express their border and ``further`` derivations."""
        if len(self.rows) * len(self.columns) > _LARGEST:
            return None
        prime = PRIMES[0]
        table = self._at_random_point(self.rows, prime)
        reduced, pivots = echelon(table)
        leading = {self.columns[p] for p in pivots}
        standard = [(0,) * self.n] if (0,) * self.n not in leading else []
        for beta in standard:
            steps = [raised(beta, i) for i in range(self.n)]
            if any(step not in self.place for step in steps):
                return None
            standard += [step for step in steps if step not in leading and step not in standard]
        if not standard:
            return None
        goals = {raised(beta, i) for beta in standard for i in range(self.n)}
        goals = (goals | set(further)) - set(standard)
        inside = {self.place[beta] for beta in standard if beta in self.place}
        # what is wanted must be a combination of standard derivations
        targets = {self.columns[p]: row for p, row in zip(pivots, reduced, strict=False)}
        for beta in goals:
            if beta not in targets:
                return None
            tail = [k for k, c in enumerate(targets[beta]) if c and k != self.place[beta]]
            if not set(tail) <= inside:
                return None
        chosen = needed(table, pivots, [self.place[beta] for beta in goals])
        rows = tuple(self.rows[k] for k in chosen)
        final = tuple(self.columns[p] for p in echelon(self._at_random_point(rows, prime))[1])
        return Relations(self.field, tuple(sorted(standard, key=grevlex_key)), rows, final)

    def _at_random_point(self, rows: Sequence[Row], prime: int) -> nmod_mat:
        point = [self.random.randrange(2, prime) for _ in range(self.n)]
        return sparse_table(valued(rows, lambda c: value_modulo(c, point, prime)), self.columns, prime)


def valued(rows: Sequence[Row], value: Callable[[fmpz_mpoly], Scalar]) -> list[dict[Exponents, Scalar]]:
    """The relations with other coefficients; derivatives share theirs, each of which is asked for once."""
    shared = {id(c): c for row in rows for c in row.values()}
    known = {name: value(c) for name, c in shared.items()}
    return [{beta: known[id(c)] for beta, c in row.items()} for row in rows]


def eliminated(
    rows: Sequence[Mapping[Exponents, fmpz_mpoly | RationalFunction]], field: FunctionField, pivots: Sequence[Exponents]
) -> dict[Exponents, Solved] | None:
    """Each pivot as a combination of derivations that are none, by Gauss–Jordan elimination with short pivots."""
    left = [{beta: field(c) for beta, c in row.items()} for row in rows]
    wanted = set(pivots)
    done: list[tuple[Exponents, Solved]] = []
    while left:
        counts: dict[Exponents, int] = {}
        for row in left:
            for beta in row:
                counts[beta] = counts.get(beta, 0) + 1
        choices = [
            ((len(row) - 1) * (counts[beta] - 1), _length(row[beta]), k, beta)
            for k, row in enumerate(left)
            for beta in row
            if beta in wanted
        ]
        if not choices:
            return None
        _, _, k, beta = min(choices, key=lambda choice: (choice[0], choice[1], choice[2], grevlex_key(choice[3])))
        row = left.pop(k)
        lead = field.one / row.pop(beta)
        row = {key: lead * c for key, c in row.items()}
        wanted.discard(beta)
        for other in left:
            if beta in other:
                _subtract(other, other.pop(beta), row)
        left = [other for other in left if other]
        done.append((beta, row))
    solved: dict[Exponents, Solved] = {}
    for beta, row in reversed(done):
        for key in [key for key in row if key in solved]:
            _subtract(row, row.pop(key), solved[key])
        solved[beta] = row
    return {beta: {key: -c for key, c in row.items()} for beta, row in solved.items()}


def _subtract(row: Solved, factor: RationalFunction, other: Solved) -> None:
    """Add -factor times one relation to another."""
    if any(_length(factor) * _length(c) > _MOST_TERMS for c in other.values()):
        raise TooLarge(
            "the Pfaffian matrices of this ideal need very large rational functions; choose simpler coordinates "
            "(diagonal matrices, fewer parameters), or take them at points and on curves only: "
            "hk.pfaffian(ideal, expand=False)"
        )
    subtract(row, factor, other)


def _length(function: RationalFunction) -> int:
    return len(function.numerator) + len(function.denominator)


def _matrices(
    standard: Sequence[Exponents], known: dict[Exponents, Solved], field: FunctionField
) -> tuple[Matrix, ...]:
    def row(beta: Exponents) -> tuple[RationalFunction, ...]:
        if beta in standard:
            return tuple(field.one if key == beta else field.zero for key in standard)
        return tuple(known[beta].get(key, field.zero) for key in standard)

    return tuple(tuple(row(raised(beta, i)) for beta in standard) for i in range(len(field.variables)))
