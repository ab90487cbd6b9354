"""Proofs over Q: a recorded run of F4 repeated with rational numbers, and Buchberger's criterion by exact division."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from flint import fmpq, fmpq_mat

from holokern.numeric import charge
from holokern.weyl.algebra.packing import Packing
from holokern.weyl.algebra.weyl_algebra import Monomial
from holokern.weyl.groebner.division import TERM_WORK, PackedDivider, product_coefficients
from holokern.weyl.groebner.f4 import F4Run, Step, UnluckyPrime
from holokern.weyl.groebner.macaulay import Plan, Row
from holokern.weyl.groebner.modular import echelon


def exact_basis(run: F4Run) -> list[dict[int, fmpq]]:
    """The basis of a recorded run, computed anew over Q, so that every element lies in the ideal by construction.

    A polynomial is only ever a monomial multiple of an earlier one, a rational combination of such multiples, or, in
    the homogenised algebra, the quotient of one by a power of h.  So no prime has a part in what comes out; the
    record only says which combinations are worth making.

    Raises UnluckyPrime when the record does not fit the rational numbers, that is, when its prime was misleading.
    """
    exact = _ExactPolynomials(run)
    for step in run.steps:
        if step.leads:
            exact.repeat(step)
    found = []
    for i, target, codes in zip(run.basis, run.tails.targets, run.codes, strict=True):
        tail = exact.reduced(run.tails, target)
        terms = {run.supports[i].codes[0]: fmpq(1)}
        terms |= {run.tails.codes[place]: tail[place] for place in sorted(tail)}
        if list(terms) != codes:
            raise UnluckyPrime
        found.append(terms)
    return found


def check_s_pairs(packing: Packing, basis: list[dict[int, fmpq]]) -> bool:
    """Buchberger's criterion over Q: whether every S-polynomial of a monic basis leaves the remainder 0."""
    divider = PackedDivider(packing, basis)
    return not any(divider.divide(divider.s_polynomial(pair)) for pair in divider.critical_pairs())


class _ExactPolynomials:
    """The rational coefficients of the polynomials of a run, leading coefficient 1."""

    def __init__(self, run: F4Run) -> None:
        self._run = run
        self._products: dict[tuple[int, Monomial], list[fmpq]] = {}
        self._values: list[list[fmpq]] = []
        for terms in run.generators:
            lead = next(iter(terms.values()))
            self._values.append([c / lead for c in terms.values()])

    def repeat(self, step: Step) -> None:
        """Add the new polynomials of a step."""
        residues = self._run.residues
        # Independent targets: the pivots of the transposed matrix modulo the prime of the run.
        _, chosen = echelon(residues.reduce_targets(step.plan).T, residues.p)
        rows = [self.reduced(step.plan, step.plan.targets[i]) for i in chosen]
        places = sorted({place for row in rows for place in row})
        matrix = fmpq_mat(len(rows), len(places), [row.get(place, fmpq(0)) for row in rows for place in places])
        reduced, _ = matrix.rref()
        free = step.plan.free
        for i, columns in enumerate(step.columns):
            row = {place: reduced[i, j] for j, place in enumerate(places) if reduced[i, j] != 0}
            if list(row) != free[columns].tolist():
                raise UnluckyPrime
            self._values.append(list(row.values()))

    def reduced(self, plan: Plan, target: Row) -> dict[int, fmpq]:
        """A target reduced by the pivots of its matrix: coefficients by column."""
        pivots = dict(plan.pivots)
        terms = dict(zip(target.places.tolist(), self._row_values(target), strict=True))
        waiting = list(terms)
        heapify(waiting)
        rest: dict[int, fmpq] = {}
        while waiting:
            place = heappop(waiting)
            c = terms.pop(place)
            if c == 0:
                continue
            row = pivots.get(place)
            if row is None:
                rest[place] = c
                continue
            charge(1 + TERM_WORK * len(row.places), c.height_bits())
            for other, value in zip(row.places.tolist(), self._row_values(row), strict=True):
                if other in terms:
                    terms[other] -= c * value
                else:
                    terms[other] = -c * value
                    heappush(waiting, other)
        return rest

    def _row_values(self, row: Row) -> list[fmpq]:
        key = (row.source, row.b)
        found = self._products.get(key)
        if found is None:
            support = self._run.supports[row.source]
            found = self._products[key] = product_coefficients(support, self._values[row.source], row.b)
        return found[1:] if row.headless else found
