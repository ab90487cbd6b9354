"""The matrices of F4: rows are monomial multiples of polynomials, columns are monomials; reduced modulo a prime."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from holokern.errors import TooLarge
from holokern.numeric import charge, how_many_fit
from holokern.weyl.algebra.packing import Support
from holokern.weyl.algebra.weyl_algebra import Monomial
from holokern.weyl.groebner.divisors import Divisors, Multiple
from holokern.weyl.groebner.modular import Level, Places, Residues, add_multiple, eliminate

_BLOCK = 128  # targets that are reduced at once, to bound the memory
_ENTRY = 200  # bytes of an entry in lists, arrays and products; a million of them were seen to take 150 to 300 MB
_MOST_ENTRIES = 1 << 40  # more than any machine has room for
# units of `holokern.numeric.charge`: an entry of a row in Python, and a product of residues in an array
_ENTRY_WORK, _PRODUCT_WORK = 0.1, 3e-3
# what a refusal proposes
_HINT = "choose another order of the variables, or fewer generators"


@dataclass(frozen=True, slots=True)
class Row:
    """A multiple as a row: ``places`` are the columns of its terms; without its first term when ``headless``."""

    source: int
    b: Monomial
    places: Places
    headless: bool


@dataclass(frozen=True)
class Plan:
    """A matrix without its numbers, so that it can be filled modulo any prime."""

    codes: list[int]
    pivots: list[tuple[int, Row]]
    targets: list[Row]
    free: Places

    @cached_property
    def levels(self) -> list[Level]:
        """The pivots in groups, such that a group only changes the heads of later ones: each is one array operation."""
        level = [0] * len(self.codes)
        own = []
        for head, row in self.pivots:
            own.append(level[head])
            for place in row.places.tolist():
                if level[place] <= own[-1]:
                    level[place] = own[-1] + 1
        sizes = [len(row.places) for _, row in self.pivots]
        by_level = np.argsort(own, kind="stable")
        position = np.empty(len(own), dtype=np.intp)
        ends = np.cumsum(np.bincount(own))
        position[by_level] = np.arange(len(own)) - np.repeat(ends - np.diff(ends, prepend=0), np.diff(ends, prepend=0))
        pivot = np.repeat(np.arange(len(own)), sizes)
        places = np.concatenate([row.places for _, row in self.pivots])
        order = np.lexsort((places, np.array(own)[pivot]))
        cuts = np.cumsum(np.bincount(np.array(own)[pivot], minlength=len(ends)))
        heads = np.array([head for head, _ in self.pivots], dtype=np.intp)[by_level]
        found = []
        for some, entries in zip(np.split(heads, ends[:-1]), np.split(order, cuts[:-1]), strict=True):
            targets, starts = np.unique(places[entries], return_index=True)
            found.append(Level(some, entries, position[pivot[entries]], targets, starts))
        return found

    @cached_property
    def pivot_products(self) -> tuple[list[tuple[int, Monomial]], Places]:
        """The different products of which the pivots are made, and where in all of them the entries are found."""
        start: dict[tuple[int, Monomial], int] = {}
        total = 0
        for _, row in self.pivots:
            if (row.source, row.b) not in start:
                start[row.source, row.b] = total
                total += len(row.places) + 1
        # the first entry of a product is the pivot itself
        begins = np.array([start[row.source, row.b] + 1 for _, row in self.pivots], dtype=np.intp)
        sizes = np.array([len(row.places) for _, row in self.pivots], dtype=np.intp)
        bounds = np.cumsum(sizes)
        return list(start), np.repeat(begins - bounds + sizes, sizes) + np.arange(sizes.sum())


def check_room(entries: int) -> None:
    """Refuse matrices of so many entries where memory ends."""
    how_many_fit(
        float(_ENTRY * entries), 1, f"a matrix of {entries:.3g} entries for a Gröbner basis", hint=_HINT, error=TooLarge
    )


def build_plan(
    supports: list[Support],
    targets: list[Multiple],
    pivots: dict[int, Multiple],
    divisors: Divisors,
    headless: bool = False,
) -> Plan:
    """Symbolic preprocessing [Faugere1999]: add a pivot row for every monomial that some leading monomial divides.

    ``pivots`` maps leading monomials to rows that are wanted as pivots in any case.  With ``headless`` the first terms
    of the targets are left out.
    """
    column: dict[int, int] = {}
    entries: list[int] = []  # the columns of all rows, one row after the other
    ends: list[int] = []
    rows: list[Multiple] = []

    most = how_many_fit(_ENTRY, _MOST_ENTRIES, "an entry")

    def register(multiple: Multiple, skip: int) -> None:
        if len(entries) > most:
            check_room(2 * len(entries))
        shift = multiple.shift
        codes = supports[multiple.source].expansion(multiple.b).codes
        charge(_ENTRY_WORK * len(codes))
        entries.extend([column.setdefault(code + shift, len(column)) for code in (codes[skip:] if skip else codes)])
        ends.append(len(entries))
        rows.append(multiple)

    for multiple in targets:
        register(multiple, int(headless))
    seen = 0
    while seen < len(column):
        pending = list(islice(column, seen, None))
        seen = len(column)
        for code, found in zip(pending, divisors.find_all(pending), strict=True):
            pivot = pivots.get(code, found)
            if pivot is not None:
                register(pivot, 0)
    codes = list(column)
    by_size = sorted(range(len(codes)), key=codes.__getitem__, reverse=True)
    rank = np.empty(len(codes), dtype=np.intp)
    rank[by_size] = np.arange(len(codes))
    flat = rank[np.array(entries, dtype=np.intp)]
    places = [flat[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    split = len(targets)
    goals = [Row(row.source, row.b, where, headless) for row, where in zip(rows[:split], places[:split], strict=True)]
    heads = [
        (int(where[0]), Row(row.source, row.b, where[1:], True))
        for row, where in zip(rows[split:], places[split:], strict=True)
    ]
    heads.sort(key=lambda head: head[0])
    is_free = np.ones(len(codes), dtype=bool)
    is_free[[place for place, _ in heads]] = False
    return Plan([codes[i] for i in by_size], heads, goals, np.flatnonzero(is_free))


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

    def reduce_targets(self, plan: Plan) -> Residues:
        """Reduce the targets by the pivots; the result has a row for each target and a column for each free column."""
        check_room(len(plan.targets) * len(plan.free) * 8 // _ENTRY)
        parts = [np.zeros((0, len(plan.free)), dtype=np.uint64)]
        for start in range(0, len(plan.targets), _BLOCK):
            block = plan.targets[start : start + _BLOCK]
            columns = np.zeros((len(plan.codes), len(block)), dtype=np.uint64)
            for k, row in enumerate(block):
                columns[row.places, k] = self._row_values(row)
            parts.append(self._reduce(columns, plan))
        return np.vstack(parts)

    def reduce_combinations(self, plan: Plan, count: int) -> Residues:
        """Reduce ``count`` random linear combinations of the targets instead of the targets themselves.

        They span the same space when its dimension is at most ``count``, with probability about 1 - 1/p.
        """
        factors = self._random.integers(1, self.p, size=(len(plan.targets), count), dtype=np.uint64)
        columns = np.zeros((len(plan.codes), count), dtype=np.uint64)
        for k, row in enumerate(plan.targets):
            charge(1 + _PRODUCT_WORK * len(row.places) * count)
            add_multiple(columns, row.places, self._row_values(row), factors[k], self.p)
        return self._reduce(columns, plan)

    def _reduce(self, columns: Residues, plan: Plan) -> Residues:
        if plan.pivots:
            products, places = plan.pivot_products
            values = np.concatenate([self._product(*product) for product in products])[places]
            for level in plan.levels:
                charge(1 + _PRODUCT_WORK * len(level.entries) * columns.shape[1])
                eliminate(columns, level, values[level.entries], self.p)
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
