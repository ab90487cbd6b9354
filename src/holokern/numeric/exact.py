"""Exact numbers, roots and kernels over Q."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat, fmpq_poly, fmpz_poly


def to_fmpq(value: Fraction | int) -> fmpq:
    """A Fraction as a number of flint."""
    return fmpq(value.numerator, value.denominator)


def to_fraction(value: fmpq) -> Fraction:
    """A rational number of flint as a Fraction."""
    return Fraction(int(value.p), int(value.q))


def natural_roots(polynomials: list[Any]) -> list[int]:
    """The common roots in {0, 1, 2, …}; not all polynomials are zero."""
    common = fmpq_poly()
    for p in polynomials:
        common = common.gcd(p)
    numerator: fmpz_poly = common.numer()
    roots = [(-int(p[0]), int(p[1])) for p, _ in numerator.factor()[1] if p.degree() == 1]
    return [a // b for a, b in roots if b and a % b == 0 and a // b >= 0]


def nullspace(rows: list[list[Any]]) -> list[list[Any]]:
    """A basis of the left kernel {v : v·rows = 0} of a rational matrix, in reduced echelon form."""
    if not rows or not rows[0]:
        return [[fmpq(int(i == j)) for j in range(len(rows))] for i in range(len(rows))]
    reduced, rank = fmpq_mat(rows).transpose().rref()
    table = reduced.tolist()[:rank]
    pivots = [next(j for j, c in enumerate(row) if c != 0) for row in table]
    kernel: list[list[Any]] = []
    for free in sorted(set(range(len(rows))) - set(pivots)):
        vector = [fmpq(0)] * len(rows)
        vector[free] = fmpq(1)
        for row, pivot in zip(table, pivots, strict=True):
            vector[pivot] = -row[free]
        kernel.append(vector)
    return kernel
