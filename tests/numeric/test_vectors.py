"""Instructions on vectors against the same sums in numpy."""

import numpy as np
import pytest

from holokern.numeric import machine

WIDTH, RANK = 32, 12


@machine.entry
def _put_in(fours, own, lines):
    machine.put_in(fours, own, lines)


@machine.entry
def _chebyshev_rows(places, fours, rows):
    machine.chebyshev_rows(places, fours, rows, WIDTH // (2 * machine.LANES))


@machine.entry
def _weighted_rows(fours, rows, out):
    machine.weighted_rows(fours, rows, out, WIDTH // (2 * machine.LANES))


@pytest.fixture
def numbers():
    return np.random.default_rng(3)


def test_first_functions_are_put_in(numbers):
    fours = np.array([9, 3, 2])
    core = [numbers.standard_normal((4 * four, 4 * four, 4)) for four in fours[1:]]
    order = [part[:, 4 * k : 4 * k + 4].reshape(-1) for part in core for k in range(part.shape[1] // 4)]
    own, lines = numbers.standard_normal((machine.LINES, 5 + RANK)), np.full((machine.LINES, 90), 7.0)
    given = np.concatenate([np.zeros(3), *order])
    rows = np.ascontiguousarray(own.T).reshape(-1)
    first, found = machine.Rows(rows, 5 * machine.LINES, machine.LINES), machine.Rows(lines.reshape(-1), 6, 90)
    _put_in(machine.Fours(given, 3, fours, 1, 2), first, found)
    for line, numbers_of_line in zip(lines, own, strict=True):
        wanted = [np.einsum("p,pqm->qm", numbers_of_line[5 : 5 + len(part)], part).reshape(-1) for part in core]
        assert np.allclose(line[6:86], np.concatenate(wanted), rtol=0, atol=1e-14)
        assert np.all(line[[*range(6), *range(86, 90)]] == 7.0)


def test_weighted_rows(numbers):
    fours, rows = np.array([7, RANK // 4, 1]), numbers.standard_normal((RANK, WIDTH))
    weights = [numbers.standard_normal((4 * four, 4)) for four in fours[1:]]
    given = np.concatenate([[3.0, 4.0], *(one.reshape(-1) for one in weights)])
    out = np.full(5 + 8 * WIDTH, 7.0)
    given_rows = machine.Rows(rows.reshape(-1), 0, WIDTH)
    _weighted_rows(machine.Fours(given, 2, fours, 1, 2), given_rows, machine.Rows(out, 5, WIDTH))
    wanted = np.concatenate([one.T @ rows[: len(one)] for one in weights])
    assert np.allclose(out[5:].reshape(8, WIDTH), wanted, rtol=0, atol=1e-13)
    assert np.all(out[:5] == 7.0)


def test_chebyshev_rows(numbers):
    places, rows = numbers.uniform(-1, 1, WIDTH), np.empty(2 + RANK * WIDTH)
    _chebyshev_rows(places, RANK // 4, machine.Rows(rows, 2, WIDTH))
    wanted = np.cos(np.outer(np.arange(RANK), np.arccos(places)))
    assert np.allclose(rows[2:].reshape(RANK, WIDTH), wanted, rtol=0, atol=1e-13)


def test_sums_do_not_depend_on_the_place_in_a_vector(numbers):
    weights, rows, out = numbers.standard_normal(50), np.repeat(numbers.standard_normal(RANK), WIDTH), np.empty(133)
    fours = machine.Fours(weights, 2, np.array([RANK // 4]), 0, 1)
    _weighted_rows(fours, machine.Rows(rows, 0, WIDTH), machine.Rows(out, 5, WIDTH))
    assert all(len(set(row)) == 1 for row in out[5:].reshape(4, WIDTH))
