"""F4 in the (homogenised) Weyl algebra modulo one prime, recorded so that it can be replayed modulo others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import fmpq

from holokern.errors import TooLarge
from holokern.numeric import charge
from holokern.weyl.algebra.packing import Packing, Support
from holokern.weyl.groebner.divisors import Divisors, Multiple
from holokern.weyl.groebner.macaulay import Plan, ResiduePolynomials, build_plan, check_room
from holokern.weyl.groebner.modular import Places, Residues, echelon
from holokern.weyl.groebner.pairs import PairQueue

_BATCH = 32  # random combinations of rows that are reduced at once
_PAIR_WORK = 0.2  # units of `holokern.numeric.charge` of a pair or element that a new polynomial is compared with
_MAX_SUGAR = 30_000  # exponents are packed into 15 bits


class UnluckyPrime(Exception):
    """A prime whose run differs from the recorded one, so that one of the two primes is misleading."""


@dataclass(frozen=True, slots=True)
class Step:
    """One matrix of a run, and the new polynomials that it gave: their leading columns and all their columns."""

    plan: Plan
    leads: list[int]
    columns: list[Places]


class F4Run:
    """The reduced Gröbner basis modulo a prime [Faugere1999], with the record of how it was found.

    ``packing``: the order; in a homogenised algebra polynomials are divided by powers of h, which is allowed as long as
    one sets h = 1 in the end.
    ``generators``: packed monomials, largest first, with rational coefficients.
    ``p``: a prime below 2^31 that divides no numerator and no denominator of the generators.

    Its attributes are
    ``generators``, ``supports``, ``residues``: the generators, the monomials of all polynomials that were found, and
    their coefficients modulo p.
    ``steps``: the matrices, in order; also those in which everything was reduced to zero.
    ``basis``, ``tails``: which polynomials are the basis, and the matrix that reduces all but their leading monomials.
    ``codes``: the monomials of each element of the basis, largest first.
    ``values``: their coefficients modulo p.
    """

    def __init__(self, packing: Packing, generators: list[dict[int, fmpq]], p: int) -> None:
        self._packing = packing
        self.generators = generators
        self.supports = [Support(packing, list(terms)) for terms in generators]
        self.steps: list[Step] = []
        self._entries = 0
        self.residues = self._start(p)
        self._queue = PairQueue(packing, self.supports)
        self._known: dict[int, Multiple] = {}
        self._treat_pairs(list(range(len(generators))))
        while True:
            self.basis, self.tails = self._plan_tails()
            self.codes, self.values = self._reduce_tails(self.residues)
            stale = [i for i, codes in zip(self.basis, self.codes, strict=True) if self._power_of_h(codes)]
            if not stale:
                break
            # Reduced by later elements these turn out to be divisible by h: divide and go on.
            for i in stale:
                others = Divisors(packing, self.supports, [j for j in self._queue.active if j != i])
                self._enlarge(build_plan(self.supports, [Multiple(i, (0,) * packing.n, 0)], {}, others), 0)
            self._treat_pairs([])

    def replay(self, p: int, thorough: bool) -> list[Residues]:
        """The coefficients of the same basis modulo another prime, without symbolic work.

        A thorough replay repeats the reductions to zero as well, so an S-polynomial that vanishes modulo the prime of
        the run only is not lost: one random combination more than there are new polynomials shows it.
        """
        residues = self._start(p)
        for step in self.steps:
            if not (step.leads or thorough):
                continue
            rows, leads = echelon(residues.reduce_combinations(step.plan, len(step.leads) + thorough), p)
            if leads != step.leads:
                raise UnluckyPrime
            for row, columns in zip(rows, step.columns, strict=True):
                if np.count_nonzero(row) != len(columns) or not row[columns].all():
                    raise UnluckyPrime
                residues.append(row[columns])
        codes, values = self._reduce_tails(residues)
        if codes != self.codes:
            raise UnluckyPrime
        return values

    def _start(self, p: int) -> ResiduePolynomials:
        residues = ResiduePolynomials(p, self.supports)
        for terms in self.generators:
            values = [int(c.p) * pow(int(c.q), -1, p) % p for c in terms.values()]
            inverse = pow(values[0], -1, p)
            residues.append(np.array([value * inverse % p for value in values], dtype=np.uint64))
        return residues

    def _treat_pairs(self, waiting: list[int]) -> None:
        """Let the ``waiting`` generators enter and treat pairs, lowest sugar first, until none is left."""
        supports, queue = self.supports, self._queue
        # until nothing is left, or the constant 1 has been found
        while (waiting or queue) and [supports[i].lead for i in queue.active] != [0]:
            sugars = [supports[i].sugar for i in waiting]
            sugar = min([*sugars, queue.lowest_sugar] if queue else sugars)
            if sugar > _MAX_SUGAR:
                raise TooLarge(f"the Gröbner basis needs degrees above {_MAX_SUGAR}")
            entering = [i for i in waiting if supports[i].sugar <= sugar]
            waiting = [i for i in waiting if supports[i].sugar > sugar]
            self._enlarge(self._plan_pairs(entering, sugar), sugar)

    def _plan_pairs(self, entering: list[int], sugar: int) -> Plan:
        packing, supports = self._packing, self.supports
        targets = [Multiple(i, (0,) * packing.n, 0) for i in entering]
        pivots: dict[int, Multiple] = {}
        sources: dict[int, dict[int, None]] = {}
        for pair in self._queue.pop(sugar):
            sources.setdefault(pair.lcm, {}).update({pair.first: None, pair.second: None})
        divisors = Divisors(packing, supports, self._queue.active, self._known)
        for lcm, found in sources.items():
            code = packing.encode(packing.unpack(lcm))
            first, *others = (divisors.multiple(i, code) for i in found)
            pivots[code] = first
            targets += others
        return build_plan(supports, targets, pivots, divisors)

    def _enlarge(self, plan: Plan, sugar: int) -> None:
        """Reduce the targets of a plan; what is new joins the basis."""
        packing, supports = self._packing, self.supports
        rows, leads = self._echelon_of_targets(plan)
        columns = []
        for row in rows:
            places = np.flatnonzero(row)
            codes = [plan.codes[place] for place in plan.free[places]]
            power = self._power_of_h(codes) * packing.codes[-1]
            # In the homogenised algebra the sugar is the degree, which a division by h lowers.
            supports.append(Support(packing, [c - power for c in codes], None if packing.homogenized else sugar))
            self.residues.append(row[places])
            columns.append(places)
        self.steps.append(Step(plan, leads, columns))
        # all matrices are kept for other primes
        self._entries += sum(len(row.places) for row in plan.targets) + sum(len(row.places) for _, row in plan.pivots)
        check_room(self._entries)
        for new in range(len(supports) - len(leads), len(supports)):
            charge(_PAIR_WORK * self._queue.size)
            self._queue.add(new)

    def _echelon_of_targets(self, plan: Plan) -> tuple[Residues, list[int]]:
        count = _BATCH
        while count < len(plan.targets):
            rows, leads = echelon(self.residues.reduce_combinations(plan, count), self.residues.p)
            # Two combinations to spare make a missed row as unlikely as 1/p².
            if len(leads) <= count - 2:
                return rows, leads
            count *= 4
        return echelon(self.residues.reduce_targets(plan), self.residues.p)

    def _power_of_h(self, codes: list[int]) -> int:
        packing = self._packing
        return min(packing.exponent(code, packing.size - 1) for code in codes) if packing.homogenized else 0

    def _plan_tails(self) -> tuple[list[int], Plan]:
        """The minimal basis, sorted, and the matrix that reduces all of it except the leading monomials."""
        packing, supports = self._packing, self.supports
        basis = sorted(self._queue.active, key=lambda i: supports[i].codes[0])
        targets = [Multiple(i, (0,) * packing.n, 0) for i in basis]
        return basis, build_plan(supports, targets, {}, Divisors(packing, supports, basis), headless=True)

    def _reduce_tails(self, residues: ResiduePolynomials) -> tuple[list[list[int]], list[Residues]]:
        plan = self.tails
        codes, values = [], []
        for i, tail in zip(self.basis, residues.reduce_targets(plan), strict=True):
            places = np.flatnonzero(tail)
            codes.append([self.supports[i].codes[0], *(plan.codes[place] for place in plan.free[places])])
            values.append(np.concatenate([np.ones(1, dtype=np.uint64), tail[places]]))
        return codes, values
