from __future__ import annotations

from itertools import islice

import numpy as np
from flint import fmpz, nmod_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.weyl.groebner.macaulay import Plan, Row
from holokern.weyl.groebner.modular import echelon, eliminate, random_primes

P = 2**31 - 1


def test_primes_are_random_different_and_of_31_bits() -> None:
    found = list(islice(random_primes(), 50))
    assert len(set(found)) == 50
    assert all(2**30 < p < 2**31 and fmpz(p).is_prime() for p in found)
    # the same 50 out of 50 million twice: never
    assert found != list(islice(random_primes(), 50))


@given(st.integers(1, 6), st.integers(0, 7), st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_echelon_form_agrees_with_flint(rows: int, columns: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix = random.integers(0, P, size=(rows, columns), dtype=np.uint64)
    matrix[random.random(matrix.shape) < 0.6] = 0
    found, pivots = echelon(matrix, P)
    expected, rank = nmod_mat(rows, columns, [int(e) for e in matrix.ravel()], P).rref()
    assert len(pivots) == rank == len(found)
    assert found.tolist() == [[int(e) for e in row] for row in expected.table()[:rank]]


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_elimination_leaves_the_schur_complement(seed: int) -> None:
    random = np.random.default_rng(seed)
    size, free, targets = 12, 5, 4
    upper = np.triu(random.integers(0, P, size=(size, size + free), dtype=np.uint64), 1)
    upper[random.random(upper.shape) < 0.5] = 0
    matrix = random.integers(0, P, size=(targets, size + free), dtype=np.uint64)
    columns = np.ascontiguousarray(matrix.T)
    rows = [(i, Row(i, (0,), np.flatnonzero(upper[i]), True)) for i in range(size)]
    values = np.concatenate([upper[i][row.places] for i, row in rows])
    plan = Plan(list(range(size + free)), rows, [], np.arange(size, size + free))
    assert sum(len(level.heads) for level in plan.levels) == size
    for level in plan.levels:
        eliminate(columns, level, values[level.entries], P)
    assert not columns[:size].any()
    upper[np.arange(size), np.arange(size)] = 1
    stacked = np.vstack([upper, matrix])
    _, pivot_columns = echelon(np.vstack([upper, np.ascontiguousarray(columns.T) % np.uint64(P)]), P)
    assert pivot_columns == echelon(stacked, P)[1]
