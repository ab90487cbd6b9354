"""Segments in the coordinates of a Pfaffian system for the rigorous stepper: ODEs whose coefficients are balls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import acb, acb_poly, arb, arb_poly, fmpz_mpoly

from holokern.hgm.steps.balls import BallSystem, carry_balls
from holokern.hgm.steps.fixed_point import Ball, BallRow, Polynomial
from holokern.pfaffian import PfaffianSystem, RationalFunction, split_off


@dataclass(frozen=True)
class BallLines:
    """A Pfaffian system, ready to be restricted to lines."""

    system: PfaffianSystem

    @cached_property
    def _factors(self) -> list[fmpz_mpoly]:
        return [factor.numerator for factor in self.system.singular_locus]

    @cached_property
    def _split(self) -> list[dict[tuple[int, int], tuple[list[int], int]]]:
        """For each row the powers of the factors in the denominator of every entry, with its constant."""
        rows = []
        for i in range(self.system.rank):
            found = {}
            for v, matrix in enumerate(self.system.matrices):
                for j, entry in enumerate(matrix[i]):
                    if entry:
                        powers, rest = split_off(entry.denominator, self._factors)
                        found[v, j] = (powers, int(rest.leading_coefficient()))
            rows.append(found)
        return rows

    def carry(self, a: Sequence[Ball], b: Sequence[Ball], columns: Sequence[Sequence[Ball]]) -> list[list[Ball]]:
        """Carry solutions from the point ``a`` straight to ``b``."""
        return carry_balls(self.along(a, b), columns)

    def along(self, a: Sequence[Ball], b: Sequence[Ball]) -> BallSystem:
        """The system on the segment from ``a`` (t = 0) to ``b`` (t = 1)."""
        kind = acb_poly if any(isinstance(x, acb) for x in (*a, *b)) else arb_poly
        lines = [kind([x, y - x]) for x, y in zip(a, b, strict=True)]
        speeds = [y - x for x, y in zip(a, b, strict=True)]
        factors = [_on_line(factor, lines, kind) for factor in self._factors]
        known: dict[RationalFunction, Polynomial] = {}
        rows = []
        for i, split in enumerate(self._split):
            moving = {key: value for key, value in split.items() if speeds[key[0]] != 0}
            highest = [max((powers[k] for powers, _ in moving.values()), default=0) for k in range(len(factors))]
            bottom = kind([1])
            for factor, power in zip(factors, highest, strict=True):
                bottom = bottom * factor**power
            entries: dict[int, Polynomial] = {}
            for (v, j), (powers, scale) in moving.items():
                entry = self.system.matrices[v][i][j]
                if entry not in known:
                    known[entry] = _on_line(entry.numerator, lines, kind)
                top = known[entry] * (speeds[v] / scale)
                for factor, power, most in zip(factors, powers, highest, strict=True):
                    top = top * factor ** (most - power)
                entries[j] = entries[j] + top if j in entries else top
            rows.append(BallRow(bottom, entries))
        return BallSystem(tuple(rows))


def _on_line(polynomial: fmpz_mpoly, lines: Sequence[Polynomial], kind: type[arb_poly] | type[acb_poly]) -> Polynomial:
    """A polynomial in the coordinates as a polynomial in t."""
    powers: list[list[Polynomial]] = [[kind([1])] for _ in lines]
    total = kind([])
    for key, c in polynomial.terms():
        term = kind([int(c)])
        for known, line, e in zip(powers, lines, map(int, key), strict=True):
            while len(known) <= e:
                known.append(known[-1] * line)
            term = term * known[e] if e else term
        total = total + term
    return total


def value_at(function: RationalFunction, point: Sequence[Ball]) -> Ball:
    """A rational function at a point of balls."""
    values = [x if isinstance(x, acb) else arb(x) for x in point]
    zero = acb(0) if any(isinstance(x, acb) for x in values) else arb(0)
    parts = function.numerator, function.denominator
    top, bottom = (sum((_term(int(c), key, values) for key, c in p.terms()), zero) for p in parts)
    return top / bottom


def _term(coefficient: int, key: Sequence[int], values: Sequence[Ball]) -> Ball:
    term: Ball = arb(coefficient)
    for x, e in zip(values, key, strict=True):
        if e:
            term = term * x ** int(e)
    return term
