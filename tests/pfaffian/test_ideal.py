"""Pfaffian systems of ideals and of given matrices: the one class in n coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from holokern import PfaffianSystem, hgm, pfaffian
from holokern.errors import BadInput, NotHolonomic, SingularPath, TooLarge, UnknownName
from holokern.pfaffian.derivation.by_prolongation import connection_by_prolongation
from holokern.weyl import appell as appell_ideal
from holokern.weyl import gauss, gkz, rational_extension, rational_weyl_algebra, weyl_algebra


@pytest.fixture(scope="module")
def appell() -> PfaffianSystem:
    """Appell's F1 with a = 1/2, b = 1/3, b' = 1/5, c = 2 [Hibi2013, Ch. 6]."""
    D = weyl_algebra("x y")
    x, y, dx, dy = D.gens
    a, b, c, e = "1/2", "1/3", "2", "1/5"
    tx, ty = x * dx, y * dy
    first = dx * (tx + ty + D(c) - 1) - (tx + ty + D(a)) * (tx + D(b))
    second = dy * (tx + ty + D(c) - 1) - (tx + ty + D(a)) * (ty + D(e))
    third = (x - y) * dx * dy - D(e) * dx + D(b) * dy
    return pfaffian(D.ideal(first, second, third))


def test_rank_locus_and_flatness(appell):
    assert appell.rank == 3
    assert appell.variables == ("x", "y")
    assert {str(f) for f in appell.singular_locus} >= {"x", "y", "x - y", "x - 1", "y - 1"}
    assert appell.is_flat()
    assert appell.basis_text[0] == "1"


@pytest.mark.parametrize("basis", [None, ["1", "x*dx", "y*dy"]])
def test_json_text_and_latex(appell, basis):
    system = appell if basis is None else appell.change_basis(basis)
    again = PfaffianSystem.from_json(system.to_json())
    assert again == system
    assert "rank            3" in system.text()
    assert r"\partial F" in system.latex()
    assert "rank 3" in repr(system)


def test_a_change_of_basis_keeps_the_function(appell):
    moved = appell.change_basis("x*dx, 1, y*dy")
    assert moved.basis_text == ("x*dx", "1", "y*dy")
    assert [str(e) for e in moved.function_row] == ["0", "1", "0"]
    assert moved.is_flat()
    assert moved.change_basis(appell.basis) == appell
    assert moved.row("dx") == tuple(moved.field(e) for e in ("1/x", 0, 0))


def test_gauge_changes_the_row_of_the_function(appell):
    gauged = appell.gauge([["x", 0, 0], [1, 1, 0], [0, 0, 1]])
    assert gauged.is_flat()
    assert [str(e) for e in gauged.function_row] == ["1/x", "0", "0"]
    assert PfaffianSystem.from_json(gauged.to_json()) == gauged


def test_pull_back_to_a_line_and_a_surface(appell):
    line = appell.pull_back({"x": "t", "y": "t/3"}, "t")
    curve = appell.restrict({"x": "t", "y": "t/3"})
    assert line["t"] == curve.matrix
    again = appell.pull_back({"x": "u + v", "y": "u*v"}, "u v")
    assert again.is_flat()
    with pytest.raises(SingularPath, match="x = t, y = t"):
        appell.pull_back({"x": "t", "y": "t"}, "t")


def test_values_real_and_complex(appell):
    exact = [[float(e(x=0.25, y=-0.5)) for e in row] for row in appell["x"]]
    assert np.allclose(appell.evaluate(0.25, -0.5)[0], exact, rtol=1e-14)
    assert np.allclose(appell.evaluate(0.25 + 0j, -0.5)[0], exact, rtol=1e-14)
    balls = appell.evaluate_ball("1/4", "-1/2")
    assert abs(float(balls[0][1, 1]) - exact[1][1]) < 1e-13


def test_rational_ideals_and_operators():
    R = rational_weyl_algebra("x")
    airy = pfaffian(R.ideal("1/x*dx^2 - 1"))
    assert airy["x"] == pfaffian(weyl_algebra("x")("dx^2 - x"))["x"]
    assert PfaffianSystem.from_json(airy.to_json()) == airy


def test_apparent_singularities_of_an_ideal():
    # solutions x and exp(x), whose Wronskian x - 1 vanishes at 1
    system = pfaffian(weyl_algebra("x").ideal("(x-1)*dx^2 - x*dx + 1", "dx^3 - dx^2"))
    assert [str(f) for f in system.apparent_singularities] == ["x - 1"]
    assert pfaffian(weyl_algebra("x").ideal("x*dx^2 + dx + x")).apparent_singularities == ()


def test_given_matrices():
    system = PfaffianSystem.from_matrices("x y", [[["1/x", 0], [0, 0]], [[0, 0], [0, "y"]]], names=["f", "g"])
    assert system.basis_text == ("f", "g")
    assert PfaffianSystem.from_json(system.to_json()) == system
    assert "f, g" in system.text()
    with pytest.raises(BadInput, match="x and y do not belong"):
        PfaffianSystem.from_matrices("x y", [[["y"]], [["y"]]])
    with pytest.raises(BadInput, match="2 matrices"):
        PfaffianSystem.from_matrices("x y", [[["y"]]])


def test_parameters_stay_symbols_until_numbers_are_put_in():
    system = pfaffian(gauss("a", "b", "c"))
    assert (system.variables, system.parameters) == (("x",), ("a", "b", "c"))
    assert PfaffianSystem.from_json(system.to_json()) == system
    special = system.substitute(a="1/2", b="1/3", c="3/4")
    assert special.matrices == pfaffian(gauss("1/2", "1/3", "3/4")).matrices
    two = pfaffian(appell_ideal(1, "a", "b1", "b2", "c"))
    assert two.is_flat()
    assert two.substitute(a=1, b1="1/2", b2="1/3", c=2).is_flat()
    with pytest.raises(BadInput, match="parameters a, b, c"):
        system.evaluate(0.5)
    with pytest.raises(BadInput, match="parameters a, b, c"):
        hgm.solve(system, start=0.5, values=[1, 1], targets=0.6)
    with pytest.raises(BadInput, match="expected a mapping"):
        system.substitute()


def test_bad_ideals():
    D = weyl_algebra("x y")
    with pytest.raises(NotHolonomic, match="infinite holonomic rank"):
        pfaffian(D.ideal("dx"))
    with pytest.raises(BadInput, match="rank 0"):
        pfaffian(D.ideal("x"))
    with pytest.raises(BadInput, match="dependent modulo the ideal"):
        pfaffian(weyl_algebra("x").ideal("dx^2 - x"), basis="1, 2")
    with pytest.raises(BadInput, match="ideal alone"):
        pfaffian(D.ideal("dx", "dy"), operator="u*D")


def test_prolongation_agrees_with_the_groebner_basis():
    """Two routes to the same matrices: a Gröbner basis over Q(x), and linear algebra with derivatives of generators."""
    D = weyl_algebra("x y")
    x, y, dx, dy = D.gens
    total = x * dx + y * dy
    ideals = [
        D.ideal("dx^2 - dy", "x*dx + 2*y*dy - 3"),
        D.ideal("dx^2 + dy^2 - 1", "x*dy - y*dx"),
        # Appell F4 with a = 1/2, b = 1/3, c = 2/3, c' = 3/4
        D.ideal(
            dx * (x * dx - D("1/3")) - (total + D("1/2")) * (total + D("1/3")),
            dy * (y * dy - D("1/4")) - (total + D("1/2")) * (total + D("1/3")),
        ),
    ]
    for ideal in ideals:
        rational = rational_extension(ideal)
        found = connection_by_prolongation(ideal)
        assert found.standard == rational.standard_exponents
        assert found.matrices == rational.connection_matrices()


def test_prolongation_gives_up_where_it_should():
    assert connection_by_prolongation(weyl_algebra("x y").ideal("dx")) is None
    assert connection_by_prolongation(weyl_algebra("x").ideal("x")) is None


def test_bingham_in_eight_dimensions():
    """(x_i - x_j) ∂_i ∂_j = (∂_i - ∂_j)/2 and Σ ∂_i = 1 [SeiKume2015]."""
    system = pfaffian(hgm.bingham_ideal(8))
    assert system.rank == 8
    assert {str(f) for f in system.singular_locus} == {f"x{i} - x{j}" for i in range(1, 9) for j in range(i + 1, 9)}


def test_values_for_parameters():
    """By a mapping or by name, some or all; values where the rank jumps are refused."""
    system = pfaffian(gauss("a", "b", "c"))
    assert system.substitute({"a": 1}, b=1, c=2).matrices == system.substitute(a=1, b=1, c=2).matrices
    half = system.substitute(a="b + 1")
    assert half.parameters == ("b", "c")
    assert half.substitute(b=1, c=2).matrices == system.substitute(a=2, b=1, c=2).matrices
    with pytest.raises(UnknownName, match="'d' is no parameter of this algebra; its parameters are a b c"):
        system.substitute(d=1)
    with pytest.raises(BadInput, match="depends on a variable"):
        system.substitute(a="x")
    pinched = pfaffian(gkz([[1, 1, 1, 1], [0, 1, 3, 4]], ["b1", "b2"]))
    with pytest.raises(BadInput, match="exceptional"):
        pinched.substitute(b1=1, b2=2)
    own = PfaffianSystem.from_matrices("x", [[["a/x"]]], parameters="a")
    assert own.substitute(a="1/2")["x"] == pfaffian(weyl_algebra("x").ideal("2*x*dx - 1"))["x"]


@pytest.mark.slow
def test_matrices_that_would_take_minutes_are_refused():
    """Fisher–Bingham on S² with all nine coordinates; its diagonal form is what one needs, and takes no time."""
    axes = (1, 2, 3)

    def entry(i, j):
        return f"x{min(i, j)}{max(i, j)}"

    names = [entry(i, j) for i in axes for j in axes if i <= j]
    operators = [f"d{entry(i, j)} - dy{i}*dy{j}" for i in axes for j in axes if i <= j] + ["dx11 + dx22 + dx33 - 1"]
    for i, j in ((1, 2), (1, 3), (2, 3)):
        sides = [
            " + ".join(f"{2 if k == a else 1}*{entry(a, k)}*dy{b}*dy{k}" for k in axes) + f" + y{a}*dy{b}"
            for a, b in ((j, i), (i, j))
        ]
        operators.append(f"{sides[0]} - ({sides[1]})")
    ideal = weyl_algebra([*names, "y1", "y2", "y3"]).ideal(*operators)
    with pytest.raises(TooLarge, match="simpler coordinates"):
        pfaffian(ideal)
