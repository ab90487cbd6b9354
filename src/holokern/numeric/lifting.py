"""From residues modulo primes to rational numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, isqrt
from typing import TypeAlias

from holokern.numeric.work import charge

Lifted: TypeAlias = list[tuple[list[int], int]]
"""Rows of integers, each over one positive denominator."""

# units of `holokern.numeric.charge` of a residue of a few bits
_RESIDUE_WORK = 0.1


def rational_from_residue(residue: int, modulus: int, bound: int | None = None) -> tuple[int, int] | None:
    """The fraction n/d = residue modulo ``modulus`` with |n|, d at most ``bound`` (√(modulus/2) by default), or None.

    Examples
    --------
    >>> rational_from_residue(pow(3, -1, 10007) * -2 % 10007, 10007)
    (-2, 3)
    """
    bound = isqrt(modulus // 2) if bound is None else bound
    r0, r1, s0, s1 = modulus, residue % modulus, 0, 1
    while r1 > bound:
        q = r0 // r1
        r0, r1, s0, s1 = r1, r0 - q * r1, s1, s0 - q * s1
    if s1 == 0 or abs(s1) > bound or gcd(r1, s1) != 1:
        return None
    return (r1, s1) if s1 > 0 else (-r1, -s1)


class Lifting:
    """Rows of residues modulo more and more primes, and their lift to Q."""

    def __init__(self) -> None:
        self.modulus = 1
        self.rows: list[list[int]] = []

    def add(self, rows: list[list[int]], prime: int) -> None:
        """Combine with residues modulo one more prime."""
        charge(_RESIDUE_WORK * sum(map(len, rows)), self.modulus.bit_length())
        if self.modulus == 1:
            self.rows = rows
        else:
            inverse = pow(self.modulus, -1, prime)
            self.rows = [
                [a + self.modulus * ((b - a) * inverse % prime) for a, b in zip(old, new, strict=True)]
                for old, new in zip(self.rows, rows, strict=True)
            ]
        self.modulus *= prime

    def lifted(self, spare: int = 0) -> Lifted | None:
        """Every row as integers over one denominator; None while the modulus is too small.

        A random row passes with a probability of about 2^-``spare``; with none to spare the lift needs another check.
        """
        result = []
        for row in self.rows:
            charge(_RESIDUE_WORK * len(row), self.modulus.bit_length())
            exact = _lift(row, self.modulus, isqrt(self.modulus >> (spare + 1)))
            if exact is None:
                return None
            result.append(exact)
        return result


def _lift(residues: Sequence[int], modulus: int, bound: int) -> tuple[list[int], int] | None:
    """Integers and one positive denominator, coprime as a whole, from residues; None if the modulus is too small."""
    denominator = 1
    for residue in residues:
        value = residue * denominator % modulus
        if min(value, modulus - value) > bound:
            pair = rational_from_residue(value, modulus, bound)
            if pair is None or denominator * pair[1] > bound:
                return None
            denominator *= pair[1]
    half = modulus // 2
    tops = [(r * denominator + half) % modulus - half for r in residues]
    if any(abs(top) > bound for top in tops):
        return None
    common = gcd(denominator, *tops)
    return [top // common for top in tops], denominator // common
