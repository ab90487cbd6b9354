"""The paper's derivations: same ranks, same singular loci, smaller systems from the whole annihilators."""

from __future__ import annotations

import pytest

from holokern.paper.experiments.derivations import derivations, same_locus
from holokern.paper.numbers import DERIVATIONS
from holokern.paper.problem import Problem
from holokern.pfaffian import pfaffian


def test_every_row_agrees_with_the_paper() -> None:
    times, systems = derivations(Problem()).tables
    assert [row[0] for row in times.rows] == [case.label for case in DERIVATIONS]
    for row in times.rows:
        cells = dict(zip(times.columns, row, strict=True))
        assert cells["paper's rank"] in (cells["rank"], None)
        assert cells["same singular locus"] is not False
        assert cells["flat"] is True
    assert sum(row[3] is True for row in times.rows) == 6
    ranks = {row[0]: row[times.columns.index("all operators: rank")] for row in times.rows}
    assert ranks == {
        "ReLU": 2,
        "Heaviside": 2,
        "ReSin": 5,
        "GELU": 2,
        "GELU'": 2,
        "GELU', parts f(u) f(v)": 1,
        "GELU', parts f(u) g(v)": 1,
        "GELU', parts g(u) g(v)": 2,
    }
    assert [row[3] for row in systems.rows[:2]] == ["1, d12", "1, a*b"]
    assert systems.rows[1][4] == "S11, S22, S12^2 - S11*S22"


@pytest.mark.parametrize(
    "factors",
    [(), ("x11",), ("x11", "x22", "x12^2 + x11*x22"), ("x11", "x22", "x12", "x12^2 - x11*x22")],
)
def test_another_locus_is_told_apart(factors: tuple[str, ...]) -> None:
    system = pfaffian(operator="u*D - 1", coordinates="x", basis="1, d12", cache=False)
    assert same_locus(system, ("x11", "x22", "x11*x22 - x12^2"))
    assert not same_locus(system, factors)
