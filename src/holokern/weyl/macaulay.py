"""The matrices of F4: rows are monomial multiples of polynomials, columns are monomials; reduced modulo a prime."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from holokern.weyl.algebra import Monomial
from holokern.weyl.modular import Places, Residues, add_multiple, eliminate
from holokern.weyl.packing import Packing, Support

__all__ = ["Multiple", "Plan", "ResiduePolynomials", "build_plan", "divisor_finder"]


@dataclass(frozen=True, slots=True)
class Multiple:
    """The product of the polynomial number ``source`` by ∂^b from the left and then by the monomial code ``shift``."""

    source: int
    b: Monomial
    shift: int


@dataclass(frozen=True, slots=True)
class Row:
    """A multiple as a row: ``places`` are the columns of its terms; without its first term when ``headless``."""

    source: int
    b: Monomial
    places: Places
    headless: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A matrix without its numbers, so that it can be filled modulo any prime."""

    codes: list[int]
    pivots: list[tuple[int, Row]]
    targets: list[Row]
    free: Places


def multiple_of(packing: Packing, support: Support, source: int, packed: int) -> Multiple:
    """The multiple of polynomial ``source`` whose leading monomial has the exponents ``packed``."""
    exponents = packing.unpack(packed - support.lead)
    n = packing.n
    derivations = exponents[n : 2 * n]
    shift = sum(
        e * c for j, (e, c) in enumerate(zip(exponents, packing.codes, strict=True)) if e and not n <= j < 2 * n
    )
    return Multiple(source, derivations, shift)


def divisor_finder(packing: Packing, supports: list[Support], basis: Iterable[int]) -> Callable[[int], Multiple | None]:
    """Return a function that finds the multiple of a basis element with a given leading monomial."""
    leads = [(supports[i].lead, i) for i in basis]
    guard = packing.guard

    def find(code: int) -> Multiple | None:
        packed = packing.exponents_part(code)
        guarded = packed | guard
        for lead, i in leads:
            if (guarded - lead) & guard == guard:
                return multiple_of(packing, supports[i], i, packed)
        return None

    return find


def build_plan(
    supports: list[Support],
    targets: list[Multiple],
    pivots: dict[int, Multiple],
    find: Callable[[int], Multiple | None],
    headless: bool = False,
) -> Plan:
    """Symbolic preprocessing [Faugere1999]: add a pivot row for every monomial that some leading monomial divides.

    ``pivots`` maps leading monomials to rows that are wanted as pivots in any case.  With ``headless`` the first terms
    of the targets are left out.
    """
    column: dict[int, int] = {}
    pending: list[int] = []

    def register(multiple: Multiple, skip: int) -> list[int]:
        shift = multiple.shift
        codes = [code + shift for code in supports[multiple.source].expansion(multiple.b).codes[skip:]]
        fresh = [code for code in codes if code not in column]
        for code in fresh:
            column[code] = len(column)
        pending.extend(fresh)
        return [column[code] for code in codes]

    target_places = [register(multiple, int(headless)) for multiple in targets]
    pivot_places: list[tuple[Multiple, list[int]]] = []
    while pending:
        code = pending.pop()
        multiple = pivots.get(code) or find(code)
        if multiple is not None:
            pivot_places.append((multiple, register(multiple, 0)))
    codes = sorted(column, reverse=True)
    rank = np.empty(len(codes), dtype=np.intp)
    for place, code in enumerate(codes):
        rank[column[code]] = place
    rows = [
        (int(rank[places[0]]), Row(multiple.source, multiple.b, rank[places[1:]], True))
        for multiple, places in pivot_places
    ]
    rows.sort(key=lambda row: row[0])
    is_free = np.ones(len(codes), dtype=bool)
    is_free[[place for place, _ in rows]] = False
    goals = [
        Row(multiple.source, multiple.b, rank[places], headless)
        for multiple, places in zip(targets, target_places, strict=True)
    ]
    return Plan(codes, rows, goals, np.flatnonzero(is_free))


class ResiduePolynomials:
    """The coefficients of the polynomials of a computation modulo one prime, leading coefficient 1."""

    def __init__(self, p: int, supports: list[Support]) -> None:
        self.p = p
        self._supports = supports
        self._values: list[Residues] = []
        self._products: dict[tuple[int, Monomial], Residues] = {}
        self._random = np.random.default_rng(p)

    def append(self, values: Residues) -> None:
        """Add the coefficients of the next polynomial."""
        self._values.append(values)

    def __getitem__(self, source: int) -> Residues:
        return self._values[source]

    def reduce(self, plan: Plan, combinations: int | None) -> Residues:
        """Reduce the targets by the pivots; the result's columns are the free columns.

        Instead of all targets, the given number of their random linear combinations is reduced: their span is that of
        the targets when it has at most that dimension, with probability about 1 - 1/p.
        """
        count = len(plan.targets) if combinations is None else combinations
        columns = np.zeros((len(plan.codes), count), dtype=np.uint64)
        if combinations is None:
            for k, row in enumerate(plan.targets):
                columns[row.places, k] = self._row_values(row)
        else:
            factors = self._random.integers(1, self.p, size=(len(plan.targets), count), dtype=np.uint64)
            for k, row in enumerate(plan.targets):
                add_multiple(columns, row.places, self._row_values(row), factors[k], self.p)
        eliminate(columns, ((place, row.places, self._row_values(row)) for place, row in plan.pivots), self.p)
        return np.ascontiguousarray(columns[plan.free].T) % np.uint64(self.p)

    def _row_values(self, row: Row) -> Residues:
        values = self._product(row.source, row.b)
        return values[1:] if row.headless else values

    def _product(self, source: int, b: Monomial) -> Residues:
        key = (source, b)
        found = self._products.get(key)
        if found is None:
            found = self._products[key] = self._multiply(source, b)
        return found

    def _multiply(self, source: int, b: Monomial) -> Residues:
        values = self._values[source]
        expansion = self._supports[source].expansion(b)
        if expansion.sources is None:
            return values
        modulus = np.uint64(self.p)
        factors = np.array([factor % self.p for factor in expansion.factors], dtype=np.uint64)
        return np.add.reduceat(values[expansion.sources] * factors % modulus, expansion.starts) % modulus
