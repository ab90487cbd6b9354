"""The class PfaffianSystem."""

from __future__ import annotations

import pickle

import pytest

from holokern.errors import ArchiveError, UnknownName
from holokern.pfaffian import PfaffianSystem, pfaffian


@pytest.fixture(scope="module")
def resin() -> PfaffianSystem:
    return pfaffian(operator="u*(D^2 + 1)", cache=False)


def test_fields(resin):
    assert resin.rank == 5
    assert resin.variables == ("S11", "S12", "S22")
    assert resin.basis_text == ("1", "a*b", "a^2", "b^2", "a^2*b^2")
    assert [[str(P) for P in side] for side in resin.annihilators] == [["u*D^2 + u"]] * 2
    assert resin["S11"] is resin.matrices[0]
    assert "rank 5" in repr(resin)
    with pytest.raises(UnknownName, match="S11, S12, S22"):
        resin["x11"]


def test_frozen_hashable_picklable(resin):
    copy = pickle.loads(pickle.dumps(resin))
    assert copy == resin
    assert hash(copy) == hash(resin)
    assert len({copy, resin}) == 1
    with pytest.raises(AttributeError):
        resin.coordinates = "x"


def test_json_round_trip(resin):
    assert PfaffianSystem.from_json(resin.to_json()) == resin
    with pytest.raises(ArchiveError):
        PfaffianSystem.from_json("{}")


def test_latex(resin):
    assert resin.latex() in resin._repr_latex_()
    assert r"\Sigma" in resin.latex()


def test_other_coordinates_and_back(resin):
    x = resin.to_coordinates("x")
    assert x.coordinates == "x"
    assert x.rank == resin.rank
    assert x.to_coordinates("Σ") == resin
    assert resin.to_coordinates("sigma") is resin


def test_change_of_basis_and_back(resin):
    other = resin.change_basis([1, "a*b", "a^2", "b^2", "a^3*b^3"])
    assert other != resin
    assert other.is_flat()
    assert other.change_basis(resin.basis) == resin


def test_exchanging_the_functions_exchanges_the_coordinates():
    left = pfaffian(operator="u*D - 1", other_operator="D^2 + 1", cache=False)
    right = pfaffian(operator="D^2 + 1", other_operator="u*D - 1", cache=False)
    gens = left.field.gens
    swapped = dict(zip(left.variables, reversed(gens), strict=True))
    moved = tuple(
        tuple(tuple(entry.substitute(swapped) for entry in row) for row in left[v]) for v in reversed(left.variables)
    )
    assert right.matrices == moved
