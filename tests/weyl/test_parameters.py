"""Parameters of the rational Weyl algebra: reading, printing, substitution, refusals."""

from __future__ import annotations

import pickle

import pytest

from holokern.errors import BadInput, BadOperator, UnknownName
from holokern.weyl import rational_weyl_algebra, weyl_algebra

R = rational_weyl_algebra("x y", parameters="a b")


def test_parameters_are_constants() -> None:
    a, x, dx = R.gen("a"), R.gen("x"), R.gen("dx")
    assert dx * a == a * dx
    assert dx * (a * x) == a * x * dx + a
    assert R.parameters == ("a", "b")
    assert R.variables == ("x", "y")
    assert R.dimension == 2
    assert len(R.gens) == 4
    assert (a * dx).apply("a*x^2") == R.field("2*a^2*x")


def test_operators_go_to_the_wide_algebra_and_back() -> None:
    P = R("1/(a*x)*dx + b/2")
    cleared = P.clear_denominators()
    assert cleared.algebra.variables == ("x", "y", "a", "b")
    assert R(cleared) == R("2*dx + a*b*x")
    assert R(weyl_algebra("x y")("x*dx")) == R("x*dx")
    with pytest.raises(BadOperator, match="another algebra"):
        R(cleared.algebra("da"))
    with pytest.raises(BadOperator, match="unknown name 'da'"):
        R("da")


def test_ideals_with_parameters_are_ideals() -> None:
    ideal = R.ideal("x*dx - a", "y*dy - b")
    assert ideal.rank() == 1
    assert "a, b" in repr(ideal)
    assert pickle.loads(pickle.dumps(ideal)) == ideal
    assert R("x*y*dx*dy - a*b") in ideal
    assert ideal.singular_locus()[0] == R.wide_algebra("x*y")
    assert ideal.connection_matrices() == (((R.field("a/x"),),), ((R.field("b/y"),),))
    assert "a" in ideal.latex()


def test_substitution_in_steps_is_substitution_at_once() -> None:
    ideal = R.ideal("x*dx^2 - a*dy", "a*y*dy - b*x*dx - 1")
    assert ideal.substitute({"a": 2}).substitute({"b": "1/3"}) == ideal.substitute({"a": 2, "b": "1/3"})
    assert ideal.substitute({"a": "b + 1"}).algebra.parameters == ("b",)


def test_values_of_a_denominator_are_refused() -> None:
    ideal = R.ideal("dx - 1/a", "dy")
    with pytest.raises(BadInput, match="a = 0"):
        ideal.substitute({"a": 0})
    with pytest.raises(BadInput, match="denominator a"):
        ideal.substitute({"a": 0}, check=False)


@pytest.mark.parametrize("values", [{}, "a", {"a": 0.5}, {"a": "x"}, {"a": "c"}], ids=str)
def test_bad_values_are_refused(values: object) -> None:
    with pytest.raises(BadInput):
        R.ideal("dx - a", "dy").substitute(values)  # type: ignore[arg-type]


def test_bad_names_are_refused() -> None:
    with pytest.raises(UnknownName, match="no parameter"):
        R.ideal("dx - a", "dy").substitute({"x": 1})
    for names in ("x", "dx", "a a"):
        with pytest.raises(BadInput, match="names of their own"):
            rational_weyl_algebra("x", parameters=names)
