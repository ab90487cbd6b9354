"""Restriction: values of known functions on subspaces, modules by generators and relations, trivial ideals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from holokern.errors import BadInput, NotHolonomic
from holokern.weyl import translate, weyl_algebra
from holokern.weyl.modules.koyama_takemura import koyama_takemura_ideal_of_product
from holokern.weyl.modules.restriction import restriction_ideal, restriction_module
from holokern.weyl.rational.algebra import rational_weyl_algebra

D = weyl_algebra("x y")
E = weyl_algebra("x")


@pytest.mark.parametrize(
    ("generators", "expected"),
    [
        # exp(x y) at y = 0 is the constant 1
        (["dx - y", "dy - x"], ["dx"]),
        # exp(x + y) + y and its companions: exp(x), 1
        (["dx*dy - dx", "dx^2 - dx", "dy^3 - dy^2"], ["dx^2 - dx"]),
        # (x + y)^(1/3)
        (["dx - dy", "(x + y)*dx - 1/3"], ["x*dx - 1/3"]),
        # sin(x) cos(y) and all products of solutions
        (["dx^2 + 1", "dy^2 + 1"], ["dx^2 + 1"]),
        # 1/(1 - x - y)
        (["(1 - x - y)*dx - 1", "dx - dy"], ["(1 - x)*dx - 1"]),
        # x + y^2 (the functions 1 and x + y^2)
        (["dx^2", "dy - 2*y*dx"], ["dx^2"]),
    ],
)
def test_values_of_known_functions(generators: list[str], expected: list[str]) -> None:
    assert restriction_ideal(D.ideal(generators), "y") == E.ideal(expected)


def test_appell_f1_becomes_gauss() -> None:
    """F1(a, b, b', c; x, 0) = 2F1(a, b; c; x), with the parameters 1/2, 1/3, 1/5, 3/7."""
    theta = "(x*dx + y*dy)"
    appell = D.ideal(
        f"x*dx*({theta} + 3/7 - 1) - x*({theta} + 1/2)*(x*dx + 1/3)",
        f"y*dy*({theta} + 3/7 - 1) - y*({theta} + 1/2)*(y*dy + 1/5)",
        "(x - y)*dx*dy - 1/5*dx + 1/3*dy",
    )
    gauss = E.ideal("x*(1 - x)*dx^2 + (3/7 - (1 + 1/2 + 1/3)*x)*dx - 1/2*1/3")
    assert restriction_ideal(appell, "y") == gauss


def test_two_variables_at_once() -> None:
    """1/(x - y z) at y = z = 0."""
    ideal = weyl_algebra("x y z").ideal("y*dy - z*dz", "dy + z*dx", "dz + y*dx", "x*dx + y*dy + 1")
    assert restriction_ideal(ideal, "y z") == E.ideal("x*dx + 1")
    assert restriction_ideal(ideal, ["z", "y"]) == E.ideal("x*dx + 1")


def test_one_variable_after_the_other_is_the_same() -> None:
    ideal = weyl_algebra("x y z").ideal("dx^2 + 1", "dy - z^2", "dz - 2*y*z")
    assert restriction_ideal(restriction_ideal(ideal, "z"), "y") == E.ideal("dx^2 + 1")
    assert restriction_ideal(ideal, "y z") == E.ideal("dx^2 + 1")


@pytest.mark.parametrize(
    ("generators", "size", "expected"),
    [
        # exponents (dx, dy) of the exponential solutions: (1, 1) twice, (1, -1), (3, -1)
        (["dy^2 - 1", "(dx - 1)*(dx - 2) + (dx - 1)*dy"], 2, "(dx - 1)^2*(dx - 3)"),
        # dy = 0, 1, -1 with dx in {1, 2}, {1, 4}, {1, 2}
        (["dy^3 - dy", "(dx - 1)*(dx - 2 - dy - dy^2)"], 3, "(dx - 1)*(dx - 2)*(dx - 4)"),
    ],
)
def test_coupled_generators_need_elimination(generators: list[str], size: int, expected: str) -> None:
    """Constant coefficients: the values at y = 0 are the exponentials in x, while the relations tie 1 to ∂_y, ∂_y²."""
    module = restriction_module(D.ideal(generators), "y")
    assert len(module.basis) == size
    assert any(all(row) for row in module.relations)
    assert module.ideal() == E.ideal(expected)


def test_vanishing_restriction() -> None:
    """No integer root >= 0 of the b-function: y^(1/2), 1/y and δ(y) have no restriction."""
    for operator in ("y*dy - 1/2", "y*dy + 1", "y"):
        module = restriction_module(D.ideal(operator, "dx"), "y")
        assert module.basis == ()
        assert module.ideal() == E.ideal("1")


def test_functions_that_vanish_on_the_subspace() -> None:
    """The ideal of y is y dy - 1: its value 0 is annihilated by 1, as 1 = y dy - (y dy - 1); the module is not zero."""
    ideal = D.ideal("y*dy - 1", "dx")
    module = restriction_module(ideal, "y")
    assert module.basis == ((0,), (1,))
    assert module.ideal() == E.ideal("1")


def test_irregular_equation_has_no_restriction() -> None:
    """exp(-1/y) is annihilated by y² dy - 1, whose b-function is 1."""
    assert restriction_ideal(D.ideal("y^2*dy - 1", "dx - 1"), "y") == E.ideal("1")


def test_trivial_ideals() -> None:
    assert restriction_ideal(D.ideal("1"), "y") == E.ideal("1")
    with pytest.raises(NotHolonomic):
        restriction_ideal(D.ideal([]), "y")
    with pytest.raises(NotHolonomic):
        restriction_ideal(D.ideal("dx*dy - 1"), "y")


def test_a_non_holonomic_ideal_with_a_b_function() -> None:
    """Functions of x alone: nothing is known about the value at y = 0."""
    assert restriction_ideal(D.ideal("dy"), "y").is_zero


@pytest.mark.parametrize(
    ("generators", "values", "expected"),
    [
        (["dx - y", "dy - x"], {"y": 1}, ["dx - 1"]),
        (["dx - y", "dy - x"], {"y": "-2/3"}, ["dx + 2/3"]),
        (["dx - y", "dy - x"], {"y": Fraction(5, 7)}, ["dx - 5/7"]),
        (["dx - y", "dy - x"], {"y": 0}, ["dx"]),
        (["dx - dy", "(x + y)*dx - 1/3"], {"y": 4}, ["(x + 4)*dx - 1/3"]),
        (["(1 - x - y)*dx - 1", "dx - dy"], {"y": 3}, ["(x + 2)*dx + 1"]),
        # y - 1 vanishes at y = 1, and only there
        (["(y - 1)*dy - 1", "dx"], {"y": 1}, ["1"]),
        (["(y - 1)*dy - 1", "dx"], {"y": 2}, ["dx"]),
    ],
)
def test_values_other_than_zero(generators: list[str], values: dict[str, object], expected: list[str]) -> None:
    ideal = D.ideal(generators)
    assert ideal.restriction(values) == E.ideal(expected)
    assert restriction_module(ideal, values).ideal() == E.ideal(expected)


def test_two_values_and_the_order_of_the_names() -> None:
    """exp(x y z) at y = 2, z = 3 is exp(6 x)."""
    ideal = weyl_algebra("x y z").ideal("dx - y*z", "dy - x*z", "dz - x*y")
    assert ideal.restriction({"z": 3, "y": 2}) == E.ideal("dx - 6")
    assert ideal.restriction({"y": 2, "z": 3}) == E.ideal("dx - 6")
    assert ideal.restriction({"y": 2}).restriction({"z": 3}) == E.ideal("dx - 6")


def test_translation() -> None:
    P = D("x^2*y*dx*dy + y^3 - x")
    assert translate(translate(P, {"x": 2, "y": "1/3"}), {"x": -2, "y": "-1/3"}) == P
    assert translate(D("x*dx"), {"x": -1}) == D("x*dx - dx")
    assert translate(P * D("dx + y"), {"y": 5}) == translate(P, {"y": 5}) * translate(D("dx + y"), {"y": 5})
    assert translate(D.ideal("x*dx", "dy"), {"x": 1}) == D.ideal("(x + 1)*dx", "dy")
    with pytest.raises(BadInput, match="mapping"):
        translate(P, "x")  # type: ignore[call-overload]


def test_values_are_exact_and_only_for_restriction() -> None:
    ideal = D.ideal("dx - y", "dy - x")
    with pytest.raises(BadInput, match="exact rational"):
        ideal.restriction({"y": 0.5})
    with pytest.raises(BadInput, match="no variable"):
        ideal.restriction({"z": 1})
    with pytest.raises(BadInput, match="at least one"):
        ideal.restriction({})
    for method in (ideal.integration, ideal.fourier):
        with pytest.raises(BadInput, match="only restriction takes values"):
            method({"y": 1})


def test_bad_input() -> None:
    ideal = D.ideal("dx", "dy")
    with pytest.raises(BadInput, match="keep at least one"):
        restriction_ideal(ideal, "x y")
    with pytest.raises(BadInput, match="no variable"):
        restriction_ideal(ideal, "z")
    with pytest.raises(BadInput, match="at least one"):
        restriction_ideal(ideal, [])


def test_remaining_names_may_be_those_of_the_marks() -> None:
    found = restriction_ideal(weyl_algebra("p q y").ideal("dy^2 - 1", "(dp - 1)*(dp - 2) + (dp - 1)*dy", "dq"), "y")
    assert found == weyl_algebra("p q").ideal("(dp - 1)^2*(dp - 3)", "dq")


@pytest.mark.parametrize(("operator", "constant"), [("u*D - 1", 4), ("u*D", 1), ("D", None)])
def test_koyama_takemura_on_the_line(operator: str, constant: int | None) -> None:
    """The paper's route for ReLU, Heaviside and 1: rank 2, 2, 1, and the ODE on x11 = x22 = -1."""
    sigma = [weyl_algebra("u", "D")(operator)]
    ideal = restriction_ideal(koyama_takemura_ideal_of_product([sigma, sigma]), "y1 y2")
    assert ideal.algebra.variables == ("x11", "x12", "x22")
    rational = rational_weyl_algebra(ideal.algebra).ideal(ideal.generators)
    assert rational.rank() == ideal.rank() == (1 if constant is None else 2)
    if constant is not None:
        row = rational.connection_matrices(["1", "dx12"])[1][1]
        determinant = rational.algebra.field("x12^2 - x11*x22")
        slope = 5 if constant == 4 else 3
        assert row == (-constant / determinant, -slope * rational.algebra.field("x12") / determinant)


def test_koyama_takemura_of_different_factors() -> None:
    """ReLU(u) Y(v): even and odd solutions multiply, so the rank is again 2."""
    algebra = weyl_algebra("u", "D")
    ideal = restriction_ideal(koyama_takemura_ideal_of_product([[algebra("u*D - 1")], [algebra("u*D")]]), "y1 y2")
    assert ideal.rank() == 2


def test_gaussian_integral_in_three_dimensions() -> None:
    """f = 1 on ℝ³: det(x)^(-1/2), rank 1, singular exactly on det x = 0."""
    constant = [weyl_algebra("u", "D")("D")]
    ideal = restriction_ideal(koyama_takemura_ideal_of_product([constant] * 3), "y1 y2 y3")
    rational = rational_weyl_algebra(ideal.algebra).ideal(ideal.generators)
    assert rational.rank() == 1
    (locus,) = rational.singular_factors()
    field = rational.algebra.field
    x = [[field(f"x{min(i, j)}{max(i, j)}") for j in (1, 2, 3)] for i in (1, 2, 3)]
    determinant = sum(
        (
            (1 if sum(a > b for a, b in itertools.combinations(p, 2)) % 2 == 0 else -1)
            * x[0][p[0]]
            * x[1][p[1]]
            * x[2][p[2]]
            for p in itertools.permutations(range(3))
        ),
        field.zero,
    )
    assert locus in (determinant, -determinant)
    for name, (matrix,) in zip(ideal.algebra.variables, rational.connection_matrices(), strict=True):
        assert matrix[0] == -determinant.derivative(name) / (2 * determinant)
