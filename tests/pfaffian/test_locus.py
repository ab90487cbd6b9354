"""The singular locus foretold by the operators."""

from __future__ import annotations

import pytest

from holokern.pfaffian import pfaffian
from holokern.pfaffian.coordinates import COORDINATES
from holokern.pfaffian.derivation.by_stein import present, read_operators
from holokern.pfaffian.derivation.relations import expected_locus, slopes


def foretold(operator, other=None, coordinates="sigma"):
    left, right = read_operators(operator), read_operators(operator if other is None else other)
    chosen = COORDINATES[coordinates]
    return [str(f) for f in expected_locus(present(left, right, chosen), chosen.field)]


def test_erf():
    assert foretold("D^2 + 2*u*D") == ["2*S11 + 1", "2*S22 + 1", "4*S12^2 - 4*S11*S22 - 2*S11 - 2*S22 - 1"]


def test_smooth_functions_without_growth_have_none():
    assert foretold("D^2 + 1") == []
    assert slopes(read_operators("D^2 + 1")) == ((), True)


def test_slopes_that_are_not_rational():
    # u^2 - 2 D^2 has the lines u = ±√2 D, whose norm is a polynomial over Q
    (norm,) = foretold("u^2 - 2*D^2", "D^2 + u^2")
    assert norm.count("S12") >= 1
    system = pfaffian(operator="u^2 - 2*D^2", other_operator="D^2 + 1", cache=False)
    assert system.is_flat()


def test_common_slopes_of_several_operators():
    finite, infinite = slopes(read_operators(["u*D - 1", "D^2"]))
    assert finite == ()
    assert infinite


@pytest.mark.parametrize("operator", ["u*D - 1", "D^2 + 2*u*D", "u*(D^3 - D^2)", "u*(D^2 + 1)", "u^2*(D^2 + 1)"])
@pytest.mark.parametrize("coordinates", ["sigma", "x"])
def test_every_other_factor_depends_on_the_basis(operator: str, coordinates: str):
    """A factor outside the foretold locus disappears in another basis or is reported as apparent."""
    system = pfaffian(operator=operator, coordinates=coordinates, cache=False)
    known = set(foretold(operator, coordinates=coordinates))
    assert {str(f) for f in system.singular_locus} - known == {str(f) for f in system.apparent_singularities}


def test_apparent_singularities_are_no_singularities_of_other_bases():
    system = pfaffian(operator="u^2*(D^2 + 1)", cache=False)
    other = system.change_basis("1, a*b, b^2, a^2, a^2*b^2, a^2*b^4, a^4*b^2, a^3*b^3")
    assert set(system.apparent_singularities).isdisjoint(other.apparent_singularities)
