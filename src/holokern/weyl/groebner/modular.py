"""Arithmetic modulo 31-bit primes on numpy arrays: elimination with sparse pivots, echelon form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import SystemRandom
from typing import Any

import numpy as np
from flint import fmpz, nmod

from holokern.numeric import charge

Residues = np.ndarray[Any, np.dtype[np.uint64]]
Places = np.ndarray[Any, np.dtype[np.intp]]


# units of `holokern.numeric.charge` of an entry of a dense matrix, while one row is eliminated
_ENTRY_WORK = 1e-3


def random_primes() -> Iterator[int]:
    """Different primes between 2^30 and 2^31, each drawn at random from the 50 million that there are.

    No input can be made to fit primes that nobody knows beforehand, and seeds of the user's generators have no part.
    """
    system, seen = SystemRandom(), set()
    while True:
        candidate = system.randrange(2**30 + 1, 2**31, 2)
        if candidate not in seen and fmpz(candidate).is_prime():
            seen.add(candidate)
            yield candidate


def add_multiple(columns: Residues, places: Places, values: Residues, factors: Residues, p: int) -> None:
    """Add ``values`` times ``factors`` to the given rows of ``columns``, whose entries stay below 2^63, not below p.

    A product is below 2^62, so a sum stays below 2^64; subtracting p·2^32 from the large ones needs no division.
    """
    block = columns[places]
    block += values[:, None] * factors
    np.minimum(block, block - np.uint64(p << 32), out=block)
    columns[places] = block


@dataclass(frozen=True, slots=True)
class Level:
    """Pivots that do not change each other's heads.

    Their columns are ``heads``; ``entries`` are the places of their entries among those of all pivots, sorted by
    column; ``sources`` says to which pivot each belongs; from ``starts`` on they add to the columns ``targets``.
    """

    heads: Places
    entries: Places
    sources: Places
    targets: Places
    starts: Places


def eliminate(columns: Residues, level: Level, values: Residues, p: int) -> None:
    """Clear the pivot columns of a level in a dense matrix that is stored transposed.

    The pivots have the value 1 in their own columns, and ``values`` at the entries of the level.
    """
    modulus = np.uint64(p)
    factors = columns[level.heads] % modulus
    columns[level.heads] = 0
    if len(values) and factors.any():
        changes = (modulus - factors)[level.sources]
        changes *= values[:, None]
        changes %= modulus
        columns[level.targets] = (columns[level.targets] + np.add.reduceat(changes, level.starts)) % modulus


def echelon(matrix: Residues, p: int) -> tuple[Residues, list[int]]:
    """The non-zero rows of the reduced row echelon form of a matrix modulo p, and their pivot columns.

    Examples
    --------
    >>> rows, pivots = echelon(np.array([[2, 4, 0], [1, 2, 1]], dtype=np.uint64), 7)
    >>> rows.tolist(), pivots
    ([[1, 2, 0], [0, 0, 1]], [0, 2])
    """
    matrix = matrix % np.uint64(p)
    pivots: list[int] = []
    for done in range(len(matrix) if matrix.shape[1] else 0):
        charge(_ENTRY_WORK * matrix.size)
        filled = matrix[done:] != 0
        first = np.where(filled.any(axis=1), filled.argmax(axis=1), matrix.shape[1])
        best = int(first.argmin())
        column = int(first[best])
        if column == matrix.shape[1]:
            return matrix[:done], pivots
        if best:
            matrix[[done, done + best]] = matrix[[done + best, done]]
        inverse = np.uint64(int(1 / nmod(int(matrix[done, column]), p)))
        matrix[done] = matrix[done] * inverse % np.uint64(p)
        factors = (np.uint64(p) - matrix[:, column]) % np.uint64(p)
        factors[done] = 0
        hit = np.flatnonzero(factors)
        matrix[hit] = (matrix[hit] + factors[hit, None] * matrix[done]) % np.uint64(p)
        pivots.append(column)
    return matrix[: len(pivots)], pivots
