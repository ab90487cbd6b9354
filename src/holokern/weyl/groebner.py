"""Left Gröbner bases over Q: F4 modulo word-size primes, lifted by the Chinese remainder theorem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holokern.errors import BadInput, CheckFailed, TooLarge
from holokern.weyl.division import PackedDivider
from holokern.weyl.macaulay import Multiple, Plan, ResiduePolynomials, build_plan, divisor_finder, multiple_of
from holokern.weyl.modular import Residues, echelon, primes, reconstruct
from holokern.weyl.operator import Operator
from holokern.weyl.orders import Order
from holokern.weyl.packing import Packing, Support
from holokern.weyl.pairs import PairQueue

__all__ = ["groebner_basis"]

_BATCH = 32  # random combinations of rows that are reduced at once
_MAX_PRIMES = 400
_MAX_SUGAR = 30_000


@dataclass(frozen=True, slots=True)
class _Step:
    """One matrix of the run: its plan, the new leading columns, and the columns and h-power of each new polynomial."""

    plan: Plan
    leads: list[int]
    columns: list[np.ndarray[Any, np.dtype[np.intp]]]


class _UnluckyPrime(Exception):
    """A prime whose run differs from the recorded one."""


class _Run:
    """A recorded run of F4 modulo one prime; it can be replayed modulo others without any symbolic work."""

    def __init__(self, packing: Packing, generators: list[dict[int, Any]], p: int) -> None:
        self._packing = packing
        self._generators = generators
        self.supports: list[Support] = [Support(packing, list(terms)) for terms in generators]
        self._steps: list[_Step] = []
        self._residues = self._start(p)
        self._queue = PairQueue(packing, self.supports)
        self.basis = self._record()
        self._final = self._plan_tails()
        self.codes, self.values = self._finish(self._residues, None)

    def replay(self, p: int) -> list[Residues]:
        """The coefficients of the reduced basis modulo another prime."""
        residues = self._start(p)
        for step in self._steps:
            reduced = residues.reduce(step.plan, len(step.leads))
            rows, leads = echelon(reduced, p)
            if leads != step.leads:
                raise _UnluckyPrime
            for row, columns in zip(rows, step.columns, strict=True):
                if np.count_nonzero(row) != len(columns) or not row[columns].all():
                    raise _UnluckyPrime
                residues.append(row[columns])
        return self._finish(residues, self.codes)[1]

    def _start(self, p: int) -> ResiduePolynomials:
        residues = ResiduePolynomials(p, self.supports)
        for terms in self._generators:
            values = []
            for c in terms.values():
                if c.q % p == 0 or c.p % p == 0:
                    raise _UnluckyPrime
                values.append(int(c.p) * pow(int(c.q), -1, p) % p)
            inverse = pow(values[0], -1, p)
            residues.append(np.array([value * inverse % p for value in values], dtype=np.uint64))
        return residues

    def _record(self) -> list[int]:
        """Run F4 to the end; return the minimal basis."""
        waiting = sorted(range(len(self._generators)), key=lambda i: self.supports[i].sugar)
        queue = self._queue
        while waiting or queue:
            sugar = min([self.supports[i].sugar for i in waiting[:1]] + ([queue.lowest_sugar] if queue else []))
            if sugar > _MAX_SUGAR:
                raise TooLarge(f"the Gröbner basis needs degrees above {_MAX_SUGAR}")
            entering = [i for i in waiting if self.supports[i].sugar <= sugar]
            waiting = waiting[len(entering) :]
            for new in self._step(entering, sugar):
                queue.add(new)
                if not self._lead_without_h(new):
                    return [new]
        return sorted(queue.active, key=lambda i: self.supports[i].codes[0])

    def _lead_without_h(self, i: int) -> bool:
        return any(self._packing.unpack(self.supports[i].lead)[: 2 * self._packing.n])

    def _step(self, entering: list[int], sugar: int) -> list[int]:
        packing, supports = self._packing, self.supports
        targets = [Multiple(i, (0,) * packing.n, 0) for i in entering]
        pivots: dict[int, Multiple] = {}
        wanted: dict[int, dict[int, None]] = {}
        for pair in self._queue.pop(sugar) if self._queue else []:
            wanted.setdefault(pair.lcm, {}).update({pair.first: None, pair.second: None})
        for lcm, sources in wanted.items():
            first, *others = (multiple_of(packing, supports[i], i, lcm) for i in sources)
            pivots[packing.encode(packing.unpack(lcm))] = first
            targets += others
        find = divisor_finder(packing, supports, self._queue.active)
        plan = build_plan(supports, targets, pivots, find)
        rows, leads = self._echelon_of_targets(plan)
        columns = []
        for row in rows:
            support = np.flatnonzero(row)
            columns.append(support)
            codes = [plan.codes[place] for place in plan.free[support]]
            supports.append(Support(packing, self._without_h(codes), None if packing.homogenized else sugar))
            self._residues.append(row[support])
        if leads:
            self._steps.append(_Step(plan, leads, columns))
        return list(range(len(supports) - len(rows), len(supports)))

    def _echelon_of_targets(self, plan: Plan) -> tuple[Residues, list[int]]:
        count = _BATCH
        while count < len(plan.targets):
            rows, leads = echelon(self._residues.reduce(plan, count), self._residues.p)
            # Two combinations to spare make a missed row as unlikely as 1/p².
            if len(leads) <= count - 2:
                return rows, leads
            count *= 4
        return echelon(self._residues.reduce(plan, None), self._residues.p)

    def _without_h(self, codes: list[int]) -> list[int]:
        """Divide by the largest power of h: this stays in the homogenised ideal saturated by h."""
        packing = self._packing
        if not packing.homogenized:
            return codes
        power = min(packing.exponent(code, packing.size - 1) for code in codes)
        return [code - power * packing.codes[-1] for code in codes] if power else codes

    def _plan_tails(self) -> Plan:
        packing = self._packing
        find = divisor_finder(packing, self.supports, self.basis)
        targets = [Multiple(i, (0,) * packing.n, 0) for i in self.basis]
        return build_plan(self.supports, targets, {}, find, headless=True)

    def _finish(
        self, residues: ResiduePolynomials, expected: list[list[int]] | None
    ) -> tuple[list[list[int]], list[Residues]]:
        """Reduce the tails; return monomials and coefficients."""
        plan = self._final
        tails = residues.reduce(plan, None)
        codes, values = [], []
        for i, tail in zip(self.basis, tails, strict=True):
            places = np.flatnonzero(tail)
            codes.append([self.supports[i].codes[0], *(plan.codes[place] for place in plan.free[places])])
            values.append(np.concatenate([np.ones(1, dtype=np.uint64), tail[places]]))
        if expected is not None and codes != expected:
            raise _UnluckyPrime
        return codes, values


def groebner_basis(generators: Sequence[Operator], order: Order) -> list[Operator]:
    """A left Gröbner basis of the ideal of ``generators``; the reduced one for a well order.

    For an order that is not a well order the basis is computed in the homogenised Weyl algebra and dehomogenised
    [SST2000, Alg. 1.2.6].  Elements are monic and sorted by leading monomial.

    The basis is computed by F4 [Faugere1999] modulo primes; the first run is recorded and replayed modulo the others
    until the rational reconstruction agrees with one more prime and reduces the generators to zero over Q.  So the
    generators certainly lie in the ideal of the result; the rest is wrong with a probability of about 2^-31, and
    :mod:`holokern.weyl.checker` can prove it.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl.orders import grevlex
    >>> D = weyl_algebra("x y")
    >>> groebner_basis([D("x*dx - 1"), D("dx^2 - dy")], grevlex(D))
    [dy, dx^2, x*dx - 1]
    """
    operators = [f for f in generators if f]
    if not operators:
        return []
    algebra = operators[0].algebra
    if order.size != 2 * algebra.dimension or any(f.algebra != algebra for f in operators):
        raise BadInput("expected operators and an order of one and the same Weyl algebra")
    packing = Packing(order, not order.is_well_order)
    basis = _lift(packing, [packing.pack(f) for f in operators])
    size = order.size
    return [Operator(algebra, {packing.decode(code)[:size]: c for code, c in terms.items()}) for terms in basis]


def _lift(packing: Packing, generators: list[dict[int, Any]]) -> list[dict[int, Any]]:
    """The reduced basis over Q, from its images modulo primes."""
    run: _Run | None = None
    combined: list[list[int]] = []
    modulus = 1
    guess: list[list[Any]] | None = None
    for count, p in enumerate(primes()):
        if count > _MAX_PRIMES:
            raise CheckFailed(
                f"the Gröbner basis was not found with {_MAX_PRIMES} primes; its coefficients are too large"
            )
        try:
            if run is None:
                run = _Run(packing, generators, p)
                values = run.values
            else:
                values = run.replay(p)
        except _UnluckyPrime:
            # Either prime may be the unlucky one: begin again, so that two agreeing primes are needed.
            run, combined, modulus, guess = None, [], 1, None
            continue
        if guess is not None and _agrees(guess, values, p):
            basis = [dict(zip(codes, row, strict=True)) for codes, row in zip(run.codes, guess, strict=True)]
            divider = PackedDivider(packing, basis)
            if not any(divider.divide(terms) for terms in generators):
                return basis
        combined = _combine(combined, modulus, values, p)
        modulus *= p
        guess = _guess(combined, modulus)
    raise AssertionError("unreachable")


def _combine(combined: list[list[int]], modulus: int, values: list[Residues], p: int) -> list[list[int]]:
    fresh = [row.tolist() for row in values]
    if not combined:
        return fresh
    inverse = pow(modulus, -1, p)
    return [
        [a + modulus * ((b - a) * inverse % p) for a, b in zip(row, new, strict=True)]
        for row, new in zip(combined, fresh, strict=True)
    ]


def _guess(combined: list[list[int]], modulus: int) -> list[list[Any]] | None:
    found = []
    for row in combined:
        numbers = []
        for residue in row:
            number = reconstruct(residue, modulus)
            if number is None:
                return None
            numbers.append(number)
        found.append(numbers)
    return found


def _agrees(guess: list[list[Any]], values: list[Residues], p: int) -> bool:
    for numbers, residues in zip(guess, values, strict=True):
        for number, residue in zip(numbers, residues.tolist(), strict=True):
            if (int(number.p) - int(number.q) * residue) % p:
                return False
    return True
