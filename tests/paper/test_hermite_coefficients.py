"""The paper's Hermite coefficients: exact initial values, the shorter recurrence, proved digits."""

from __future__ import annotations

from flint import ctx

from holokern.dual.hermite.recurrence import hermite_recurrence
from holokern.paper.experiments.hermite_coefficients import hermite, initial_values
from holokern.paper.problem import Problem
from holokern.weyl.rational.fractions import function_field


def test_the_table_agrees_with_the_papers_initial_values() -> None:
    found = hermite(Problem())
    (table,) = found.tables
    cells = {row[0]: row for row in table.rows}
    assert all(row[3] is True for row in table.rows)
    assert "101 of 101" in table.notes[-1]
    assert all((cells[n][2] is None) == (n > 5) for n in cells)
    # the odd coefficients are ±√(π/(2e))
    assert str(cells[99][1]).lstrip("-") == str(cells[1][1])


def test_the_papers_recurrence_is_a_left_multiple_of_ours() -> None:
    ours = hermite_recurrence(["u*(D^2 + 1)"], 1)
    n = function_field("n c2").gens[0]
    assert ours.order == 4
    assert [ours.coefficients[k] / ours.coefficients[4] for k in (0, 2)] == [n + 1, n + 2]
    with ctx.workprec(200):
        c = [value for _, value in initial_values()]
        for k in range(2):
            assert (c[k + 4] + (k + 2) * c[k + 2] + (k + 1) * c[k]).contains(0)
            # the paper's equation of order 6 holds too, with its sixth value from ours
            sixth = -(k + 4) * c[k + 4] - (k + 3) * c[k + 2]
            left = sixth + 2 * (k + 3) * c[k + 4] + (k * k + 5 * k + 7) * c[k + 2] + (k + 1) * (k + 2) * c[k]
            assert left.contains(0)


def test_the_chart_shows_the_even_part() -> None:
    even, odd = hermite(Problem()).charts[0].series
    assert len(even.x) == 51
    assert 0 < len(odd.x) < 50
    # c_0/√(2π) is the mean of ReSin
    assert abs(even.y[0] - 0.2891) < 1e-4
