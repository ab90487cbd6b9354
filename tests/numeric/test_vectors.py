"""Instructions on vectors against the same sums in numpy."""

import numpy as np
import pytest

from holokern.numeric import machine

WIDTH, RANK = 24, 12


@machine.entry
def _put_in(values, start, fours, row, groups, own, begin, step, lines, to, beyond):
    machine.put_in(values, start, fours, row, groups, own, begin, step, lines, to, beyond)


@machine.entry
def _polynomials(lines, end, fours, row, groups, functions, begin, middle, panel, panels, places, value, change):
    vectors = places.shape[0] // machine.LANES
    machine.polynomials(
        lines, end, fours, row, groups, functions, begin, WIDTH, middle, panel, panels, places, value, change, vectors
    )


@machine.entry
def _weighted_rows(weights, fours, rows, begin, out, columns):
    machine.weighted_rows(weights, 2, fours, rows, begin, WIDTH, out, WIDTH, columns, WIDTH // machine.LANES)


@pytest.fixture
def numbers():
    return np.random.default_rng(3)


def test_first_functions_are_put_in(numbers):
    fours = np.array([9, 3, 2])
    core = [numbers.standard_normal((4 * four, 4 * four, 4)) for four in fours[1:]]
    order = [part[:, 4 * k : 4 * k + 4].reshape(-1) for part in core for k in range(part.shape[1] // 4)]
    own, lines = numbers.standard_normal((machine.LINES, 5 + RANK)), np.full((machine.LINES, 90), 7.0)
    given = np.concatenate([np.zeros(3), *order])
    _put_in(given, 3, fours, 1, 2, own.reshape(-1), 5, 5 + RANK, lines.reshape(-1), 6, 90)
    for line, numbers_of_line in zip(lines, own, strict=True):
        wanted = [np.einsum("p,pqm->qm", numbers_of_line[5 : 5 + len(part)], part).reshape(-1) for part in core]
        assert np.allclose(line[6:86], np.concatenate(wanted), rtol=0, atol=1e-14)
        assert np.all(line[[*range(6), *range(86, 90)]] == 7.0)


def test_polynomials_of_the_pairs_in_a_panel(numbers):
    fours, middle = np.array([3, 2]), 0.3
    parts = [numbers.standard_normal((4 * four, 4)) for four in fours]
    functions, places = numbers.standard_normal((RANK, WIDTH)), numbers.uniform(0, 1, WIDTH)
    # The second vector has no pair in the panel, the third one has some.
    panels = np.where(np.arange(WIDTH) < 8, 1.0, 0.0)
    panels[17:20] = 1.0
    value, change = np.full(WIDTH, 5.0), np.full(WIDTH, 6.0)
    lines = np.concatenate([part.reshape(-1) for part in parts])
    flat = np.concatenate([[0.0], functions.reshape(-1)])
    _polynomials(lines, len(lines), fours, 0, 2, flat, 1, middle, 1, panels, places, value, change)
    powers = np.concatenate([part.T @ functions[: len(part)] for part in parts])
    wanted = [np.polynomial.Polynomial(powers[:, j])(places[j] - middle) for j in range(WIDTH)]
    slopes = [np.polynomial.Polynomial(powers[:, j]).deriv()(places[j] - middle) for j in range(WIDTH)]
    assert np.allclose(value, np.where(panels == 1.0, wanted, 5.0), rtol=1e-13, atol=1e-13)
    assert np.allclose(change, np.where(panels == 1.0, slopes, 6.0), rtol=1e-13, atol=1e-13)


def test_weighted_rows(numbers):
    weights, rows = numbers.standard_normal((2, RANK, 4)), numbers.standard_normal((RANK, WIDTH))
    out = np.empty(8 * WIDTH)
    _weighted_rows(
        np.concatenate([[3.0, 4.0], weights.reshape(-1)]),
        RANK // 4,
        np.concatenate([[9.0], rows.reshape(-1)]),
        1,
        out,
        2,
    )
    wanted = np.einsum("cmq,mj->cqj", weights, rows).reshape(8, WIDTH)
    assert np.allclose(out.reshape(8, WIDTH), wanted, rtol=0, atol=1e-13)


def test_values_do_not_depend_on_the_place_in_a_vector(numbers):
    fours, lines = np.array([3]), numbers.standard_normal(48)
    functions = np.repeat(numbers.standard_normal(RANK), WIDTH)
    value, change = np.empty(WIDTH), np.empty(WIDTH)
    _polynomials(lines, 48, fours, 0, 1, functions, 0, 0.1, 0, np.zeros(WIDTH), np.full(WIDTH, 0.4), value, change)
    assert len(set(value)) == 1 and len(set(change)) == 1
