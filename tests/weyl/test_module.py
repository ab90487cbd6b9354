"""Modules D^r/N: ranks and annihilators of generators."""

from __future__ import annotations

import pytest

from holokern.errors import BadInput, NotHolonomic
from holokern.weyl import LeftModule, appell, integration_module, restriction_module, weyl_algebra

D1 = weyl_algebra("x")
D = weyl_algebra("x y")


def test_a_first_order_system_is_its_scalar_equation() -> None:
    """f' = g and g' = x f: Airy's equation for f; both generators have rank 2, as the module."""
    airy = LeftModule(D1, [("dx", -1), ("-x", "dx")])
    assert airy.rank() == airy.annihilator(0).rank() == airy.annihilator(1).rank() == 2
    assert airy.annihilator(0) == D1.ideal("dx^2 - x")
    assert D1("x*dx^2 - dx - x^2") in airy.annihilator(1)


def test_ranks() -> None:
    system = appell(2, "1/2", "1/3", "1/5", "1/7", "1/11")
    assert LeftModule(system.algebra, [(g,) for g in system.generators]).rank() == system.rank() == 4
    assert LeftModule(D1, [("dx - 1", 0), (0, "dx^2 + x")]).rank() == 3
    # x f = -x² g turns the first equation into (1 - x²) g' = 0
    assert LeftModule(D1, [("x*dx - 1", "dx"), ("x", "x^2")]).rank() == 1
    assert LeftModule(D1, [(1, 0), (0, "x")]).rank() == 0
    with pytest.raises(NotHolonomic, match="infinite holonomic rank"):
        LeftModule(D1, [("dx", 0)]).rank()


def test_restriction_and_integration_modules_have_ranks() -> None:
    """The restriction to a curve that is not characteristic keeps the rank [SST2000, Sect. 5.2]."""
    whole = D.ideal("dx^2 - 1", "dy^2 - 1")
    module = restriction_module(whole, "x")
    assert module.rank() == whole.rank() == 4
    assert module.ideal().rank() == 2
    W = weyl_algebra("t x")
    assert integration_module(W.ideal("dt - 3*t^2 - x", "dx - t"), "t").rank() == 2
    assert restriction_module(D.ideal("x*dx + 1", "dy"), "x").rank() == 0
    assert restriction_module(D1.ideal("x*dx^2 - 1"), "x").rank() == 1


def test_bad_modules() -> None:
    for rows in ([], [()], [("dx", 1), ("x",)]):
        with pytest.raises(BadInput, match="rows of equal length"):
            LeftModule(D1, rows)
    with pytest.raises(BadInput, match="between 0 and 1"):
        LeftModule(D1, [("dx", 1)]).annihilator(2)
