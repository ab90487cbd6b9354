"""Derivations against the paper's theorems, the mathematics guide, and independent checkers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, BadOperator, NotHolonomic, TooLarge
from holokern.pfaffian import pfaffian
from holokern.pfaffian.check.against_numbers import check_against_numbers
from holokern.pfaffian.derivation.by_stein import read_operators
from holokern.weyl import weyl_algebra
from holokern.weyl.rational.fractions import function_field

X = function_field("x11 x12 x22")
PAPERS_GELU = "u^2*D^2 - 2*u*(1 - u^2)*D + 2*(1 - u^2)"
ONE_PLUS_ERF = "D^2 + 2*u*D"


def derived(operator, **options):
    return pfaffian(operator=operator, cache=False, **options)


def factors(*texts: str) -> set:
    found = set()
    for text in texts:
        f = X(text)
        found.add(f if f.numerator.leading_coefficient() > 0 else -f)
    return found


# -- the paper -------------------------------------------------------------------------------------------------------


def test_relu_in_the_papers_coordinates(relu_x):
    """[SakodaTakayama2024, th:rank-and-pf-of-ReLU], entry by entry."""
    system = derived("u*D - 1", coordinates="x", basis="1, d12")
    assert system.basis == relu_x.basis
    assert system.matrices == relu_x.matrices
    assert set(system.singular_locus) == factors("x11", "x22", "x12^2 - x22*x11")


def test_step_in_the_papers_coordinates():
    """[SakodaTakayama2024, th:rank-and-pf-of-ReLU-diff], entry by entry."""
    d = "(x22*x11 - x12^2)"

    def side(x):
        return [
            [f"-1/(2*{x})", f"-x12/(2*{x})"],
            [f"-x12/(2*{d}*{x})", f"(-x12^2/2 - x22*x11)/({d}*{x})"],
        ]

    expected = [side("x11"), [["0", "1"], [f"1/{d}", f"3*x12/{d}"]], side("x22")]
    system = derived("u*D", coordinates="x", basis=[1, "d12"])
    assert system.matrices == tuple(tuple(tuple(X(e) for e in row) for row in matrix) for matrix in expected)


def test_resin_of_the_guide(resin_sigma):
    system = derived("u*(D^2 + 1)", basis="1, a*b, a^2, b^2, a^2*b^2")
    assert system.basis == resin_sigma.basis
    assert system["S12"] == resin_sigma.matrices[0]
    # that is also the natural basis
    assert derived("u*(D^2 + 1)") == system


def test_locus_of_the_papers_resin():
    """[SakodaTakayama2024, th:rank-and-pf-of-ReSin], multiplicities included."""
    basis = "1, d11, d12, d22, d11^2, d12^2, d22^2, d11*d12*d22"
    system = derived("u^2*(D^2 + 1)", coordinates="x", basis=basis)
    assert dict(zip(map(str, system.singular_locus), system.multiplicities, strict=True)) == {
        "x11": 4,
        "x12": 1,
        "x22": 4,
        "x12^2 - x11*x22": 4,
        "x12^2 + x11*x22": 1,
    }


D6, D8 = "x12^2 - x22*x11 + x22", "x12^2 + (-x22 + 1)*x11 + x22 - 1"
D7 = "x12^2 + (-x22 + 1)*x11"
QUARTIC = "x12^4 + (-x22^2 + x22)*x11^2 + (x22^2 - x22)*x11"


def test_locus_of_the_papers_gelu():
    """[SakodaTakayama2024, th:gelu-pf]."""
    basis = "1, d11, d12, d22, d12*d22, d11*d12, d11*d22, d11*d12*d22"
    system = derived(PAPERS_GELU, coordinates="x", basis=basis)
    assert system.rank == 8
    lines = ("x22", "x22 - 1", "x11", "x11 - 1")
    assert set(system.singular_locus) == factors(*lines, "x12^2 - x22*x11", D6, D7, D8, QUARTIC)


def test_loci_of_the_parts_of_the_derivative_of_gelu():
    """[SakodaTakayama2024, th:gelu-diff-by-sum]: f = u erf'(u), g = 1 + erf(u)."""
    mixed = derived("u*D - 1 + 2*u^2", other_operator=ONE_PLUS_ERF, coordinates="x", basis="1, d12")
    assert set(mixed.singular_locus) == factors("x22", "x22 - 1", "x11 - 1", D6, D8)
    both = derived(ONE_PLUS_ERF, coordinates="x", basis="1, d12")
    assert set(both.singular_locus) == factors("x12^2 - x22*x11", D6, D7, D8, QUARTIC)


def test_restriction_of_relu_to_a_line():
    ode = derived("u*D - 1", coordinates="x").restrict({"x11": -1, "x12": "t", "x22": -1}).scalar_ode()
    t = ode.algebra
    assert ode.primitive() == t("(1 - t^2)*dt^2 - 5*t*dt - 4").primitive()


# -- independent checks ------------------------------------------------------------------------------------------------

OPERATORS = [
    "u*D - 1",
    "u*D",
    "u*(D^2 + 1)",
    "u^2*(D^2 + 1)",
    ONE_PLUS_ERF,
    "D^2 + 1",
    "D + u",
    "D - 1",
    "u*(D^3 - D^2)",
]


@pytest.mark.parametrize("coordinates", ["sigma", "x"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_flat(operator: str, coordinates: str):
    assert derived(operator, coordinates=coordinates, check=False).is_flat()


@pytest.mark.parametrize("coordinates", ["sigma", "x"])
@pytest.mark.parametrize(
    ("name", "operator"), [("relu", "u*D - 1"), ("step", "u*D"), ("resin", "u*(D^2 + 1)"), ("resin", "u^2*(D^2 + 1)")]
)
def test_against_numbers(functions, name: str, operator: str, coordinates: str):
    system = derived(operator, coordinates=coordinates)
    assert check_against_numbers(system, functions[name]) < 1e-9


def test_two_functions_against_numbers(functions):
    system = derived("u*D - 1", other_operator="D^2 + 1")
    assert check_against_numbers(system, functions["relu"], functions["sin"]) < 1e-9
    turned = derived("D^2 + 1", other_operator="u*D - 1")
    assert check_against_numbers(turned, functions["sin"], functions["relu"]) < 1e-9


lines = st.sampled_from(["u", "(u - 1)", "(2*u + 1)", "D", "(D - 1)", "(D + u)", "(D - 2*u + 1)", "(D^2 + 1)"])


products = given(st.lists(lines, min_size=1, max_size=3), st.lists(lines, min_size=1, max_size=2))


@products
@settings(deadline=None, max_examples=5)
def test_products_of_simple_operators_give_flat_systems(left, right):
    the_system_is_flat(left, right)


@pytest.mark.slow
@products
@settings(deadline=None, max_examples=50)
def test_more_products_of_simple_operators_give_flat_systems(left, right):
    the_system_is_flat(left, right)


def the_system_is_flat(left, right):
    try:
        system = derived("*".join(left), other_operator="*".join(right), check=False)
    except BadInput:
        return
    assert system.is_flat()


# -- input -----------------------------------------------------------------------------------------------------------


def test_trivial_ideals():
    with pytest.raises(NotHolonomic, match="operator 0"):
        derived("0")
    with pytest.raises(NotHolonomic, match="operator 0"):
        derived("D", other_operator="u*D - D*u + 1")
    with pytest.raises(BadInput, match="only the function 0"):
        derived("1")
    with pytest.raises(BadInput, match="only the function 0"):
        derived(["D", "u"])


@pytest.mark.parametrize(
    "bad", ["", "u*E", "sin(u)", "u/D", "import os", 7, None, [], [3], ["D", 2.5], weyl_algebra("x")("dx")]
)
def test_what_is_no_operator(bad):
    with pytest.raises(BadOperator):
        read_operators(bad)


def test_operators_beyond_the_limit():
    with pytest.raises(BadOperator, match="degree 30"):
        read_operators("u^30")


def test_costly_singularities_are_foreseen():
    large = 16732632423543772848170429916717
    with pytest.raises(TooLarge, match="bits"):
        derived(PAPERS_GELU.replace("2*(1 - u^2)", f"{large}*(1 - u^2)"))
