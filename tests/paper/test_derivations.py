"""The paper's derivations: same ranks, same singular loci, smaller systems from the whole annihilators."""

from __future__ import annotations

import pytest

from holokern.paper.derivations import derivations, same_locus
from holokern.paper.numbers import DERIVATIONS
from holokern.pfaffian import pfaffian


def test_every_row_agrees_with_the_paper() -> None:
    table = derivations()
    assert [row[0] for row in table.rows] == [case.label for case in DERIVATIONS]
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        assert cells["rank"] == cells["paper's rank"]
        assert cells["same singular locus"] is True
        assert cells["flat"] is True
    ranks = {row[0]: row[table.columns.index("whole annihilator: rank")] for row in table.rows}
    assert ranks == {
        "ReLU": 2,
        "Heaviside": 2,
        "ReSin": 5,
        "GELU": 2,
        "GELU', parts f(u) g(v)": 1,
        "GELU', parts g(u) g(v)": 2,
    }


@pytest.mark.parametrize(
    "factors",
    [(), ("x11",), ("x11", "x22", "x12^2 + x11*x22"), ("x11", "x22", "x12", "x12^2 - x11*x22")],
)
def test_another_locus_is_told_apart(factors: tuple[str, ...]) -> None:
    system = pfaffian(operator="u*D - 1", coordinates="x", basis="1, d12", cache=False)
    assert same_locus(system, ("x11", "x22", "x11*x22 - x12^2"))
    assert not same_locus(system, factors)
