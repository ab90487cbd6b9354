"""Gröbner bases in the rational Weyl algebra, ranks, connection matrices and singular loci of known systems."""

from __future__ import annotations

import itertools
import pickle
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, NotHolonomic
from holokern.weyl.rational.algebra import RationalOperator, rational_weyl_algebra
from holokern.weyl.rational.ideal import RationalIdeal, rational_extension
from holokern.weyl.rational.matrices import Matrix

# generators of the restricted Koyama–Takemura ideals, as Singular's restrictionIdeal prints them (the first ones)
RELU = ["dx12^2-4*dx11*dx22", "x12*dx12+2*x22*dx22+2", "2*x11*dx11+x12*dx12+2"]
HEAVISIDE = ["dx12^2-4*dx11*dx22", "x12*dx12+2*x22*dx22+1", "x11*dx11-x22*dx22"]
RESIN = [
    "dx12^2-4*dx11*dx22",
    "4*x12^2*dx11*dx22+4*x12*x22*dx12*dx22+4*x22^2*dx22^2+4*x12*dx12+10*x22*dx22+dx22+2",
    "4*x12^2*dx11*dx12+16*x12*x22*dx11*dx22+4*x22^2*dx12*dx22+8*x12*dx11+6*x22*dx12+dx12",
    "4*x11^2*dx11*dx12+16*x11*x12*dx11*dx22+4*x12^2*dx12*dx22+6*x11*dx12+8*x12*dx22+dx12",
    "4*x11^2*dx11^2+4*x11*x12*dx11*dx12+4*x12^2*dx11*dx22+10*x11*dx11+4*x12*dx12+dx11+2",
]
X = rational_weyl_algebra("x11 x12 x22")


def entries(rows: list[list[str]]) -> Matrix:
    return tuple(tuple(X.field(entry) for entry in row) for row in rows)


def assert_flat(ideal: RationalIdeal, matrices: tuple[Matrix, ...]) -> None:
    """∂_i P_j - ∂_j P_i = [P_i, P_j] up to the sign of the convention ∂_i F = P_i F."""
    names = ideal.algebra.variables
    size = range(len(matrices[0]))

    def product(a: Matrix, b: Matrix, r: int, c: int) -> object:
        return sum((a[r][k] * b[k][c] for k in size), ideal.algebra.field.zero)

    for (i, a), (j, b) in itertools.combinations(enumerate(matrices), 2):
        for r, c in itertools.product(size, size):
            left = b[r][c].derivative(names[i]) - a[r][c].derivative(names[j])
            assert left == product(a, b, r, c) - product(b, a, r, c)


def test_relu_equals_the_paper() -> None:
    """Theorem th:rank-and-pf-of-ReLU of the paper, entry by entry."""
    ideal = X.ideal(RELU)
    assert ideal.rank() == 2
    d = "(x12^2 - x22*x11)"
    expected = (
        entries(
            [["-1/x11", "-x12/(2*x11)"], [f"2*x12/(x11*{d})", f"1/2*(2*x12^2 + 3*x22*x11)/(x11*{d})"]],
        ),
        entries([["0", "1"], [f"-4/{d}", f"-5*x12/{d}"]]),
        entries(
            [["-1/x22", "-x12/(2*x22)"], [f"2*x12/(x22*{d})", f"1/2*(2*x12^2 + 3*x22*x11)/(x22*{d})"]],
        ),
    )
    assert ideal.connection_matrices(["1", "dx12"]) == expected
    assert ideal.singular_factors(["1", "dx12"]) == tuple(map(X.field, ["x11", "x22", "x12^2 - x11*x22"]))
    assert ideal.singular_locus(["1", "dx12"]) == (X.polynomial_algebra("x11*x22*(x12^2 - x11*x22)"),)


def test_heaviside_equals_the_paper() -> None:
    """Theorem th:rank-and-pf-of-ReLU-diff of the paper, entry by entry."""
    ideal = X.ideal(HEAVISIDE)
    d = "(x22*x11 - x12^2)"
    rows = [["-1/2/{x}", "-x12/(2*{x})"], [f"-x12/(2*{d}*{{x}})", f"(-1/2*x12^2 - x22*x11)/({d}*{{x}})"]]
    expected = tuple(
        entries([["0", "1"], [f"1/{d}", f"3*x12/{d}"]])
        if name == "x12"
        else entries([[entry.format(x=name) for entry in row] for row in rows])
        for name in ("x11", "x12", "x22")
    )
    assert ideal.connection_matrices(["1", "dx12"]) == expected


def test_resin_has_rank_five_and_is_flat() -> None:
    ideal = X.ideal(RESIN)
    assert ideal.rank() == 5
    assert_flat(ideal, ideal.connection_matrices())
    chosen = ideal.connection_matrices(["1", "dx12", "dx11", "dx22", "dx11*dx22"])
    assert_flat(ideal, chosen)
    assert chosen[0][0][2] == 1
    assert X.field("x12^2 - x11*x22") in ideal.singular_factors()


@pytest.mark.parametrize("generators", [RELU, HEAVISIDE, RESIN])
def test_basis_does_not_depend_on_the_order_of_the_generators(generators: list[str]) -> None:
    expected = X.ideal(generators).groebner()
    shuffled = list(generators)
    random.Random(7).shuffle(shuffled)
    assert X.ideal(shuffled).groebner() == expected


def test_members_have_normal_form_zero() -> None:
    ideal = X.ideal(RESIN)
    for multiplier in ("dx11 + 1/x12", "x22*dx12^2", "1/(x11 + 1)*dx22"):
        member = X(multiplier) * ideal.generators[1] + ideal.generators[3]
        assert member in ideal
    assert X("dx12 + 1") not in ideal


monomials = st.tuples(*[st.integers(0, 2)] * 3)
functions = st.sampled_from(["1", "x11", "1/x12", "x22 - x11", "2/(x11 + 1)"]).map(X.field)
operators = st.dictionaries(monomials, functions, max_size=3).map(X.from_terms)


@settings(deadline=None, max_examples=25)
@given(operators, operators)
def test_normal_form_is_linear_and_unique(left: RationalOperator, right: RationalOperator) -> None:
    ideal = X.ideal(RELU)
    reduced = ideal.normal_form(left)
    assert left - reduced in ideal
    assert ideal.normal_form(left + right) == reduced + ideal.normal_form(right)
    assert ideal.normal_form(left + right * ideal.generators[1]) == reduced
    assert set(reduced.terms) <= set(ideal.standard_exponents)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.integers(1, 3))
def test_exponentials_and_powers(numbers: list[int], order: int) -> None:
    """The ideal of all products of solutions of two ODEs has the product of the orders as its rank."""
    R = rational_weyl_algebra("x y")
    a, b, c, d = numbers
    x, y, dx, dy = R.gens
    ideal = R.ideal([dx**order + a * x * dx + b, (x + 1) * (dy**2 + c * y * dy + d)])
    assert ideal.rank() == 2 * order
    assert_flat(ideal, ideal.connection_matrices())


def test_appell_f1() -> None:
    """Appell's F1(a, b, b', c; x, y) with rational parameters: rank 3, singular on x, y, 1-x, 1-y, x-y."""
    R = rational_weyl_algebra("x y")
    a, b, b2, c = "1/2", "1/3", "1/5", "3/7"
    theta = "x*dx + y*dy"
    ideal = R.ideal(
        [
            f"x*dx*({theta} + {c} - 1) - x*({theta} + {a})*(x*dx + {b})",
            f"y*dy*({theta} + {c} - 1) - y*({theta} + {a})*(y*dy + {b2})",
            f"(x - y)*dx*dy - {b2}*dx + {b}*dy",
        ]
    )
    assert ideal.rank() == 3
    assert_flat(ideal, ideal.connection_matrices())
    assert set(ideal.singular_factors()) == set(map(R.field, ["x", "y", "x - 1", "y - 1", "x - y"]))


def test_gkz_of_the_square_root() -> None:
    """The A-hypergeometric system of A = (1 1 1; 0 1 2), β = (0, -1): the roots of a quadratic."""
    R = rational_weyl_algebra("a b c")
    roots = R.ideal(["a*da + b*db + c*dc", "b*db + 2*c*dc + 1", "da*dc - db^2"])
    assert roots.rank() == 2
    assert R.field("b^2 - 4*a*c") in roots.singular_factors()


def test_gauge_transformation_of_a_rational_basis() -> None:
    """F = (f, x f') for f = x^2 log-type equations: the derivative of the basis counts."""
    R = rational_weyl_algebra("x")
    ideal = R.ideal(["x^2*dx^2 - x*dx + 1"])
    assert ideal.connection_matrices(["1", "x*dx"]) == (
        ((R.field.zero, R.field("1/x")), (R.field("-1/x"), R.field("2/x"))),
    )


def test_trivial_ideals() -> None:
    whole = X.ideal(["dx11", "x11*dx11 + 3"])
    assert whole.groebner() == (X.one,)
    assert whole.rank() == 0
    assert whole.standard_monomials() == ()
    assert whole.connection_matrices() == ((), (), ())
    assert whole.singular_locus() == (X.polynomial_algebra.one,)
    assert whole.singular_factors() == ()
    assert whole.is_unit and not whole.is_zero
    zero = X.ideal([])
    assert zero.is_zero and not zero.is_unit
    assert zero.groebner() == ()
    assert X("dx11") not in zero and X.zero in zero
    with pytest.raises(NotHolonomic, match="dx11"):
        zero.rank()
    constants = X.ideal(["dx11", "dx12", "dx22"])
    assert constants.rank() == 1


def test_ideals_are_values() -> None:
    ideal = X.ideal(RELU)
    same = X.ideal([*reversed(RELU), "dx11*dx12^2 - 4*dx11^2*dx22"])
    assert ideal == same and hash(ideal) == hash(same)
    assert ideal != X.ideal(HEAVISIDE)
    assert ideal != "relu"
    assert pickle.loads(pickle.dumps(ideal)) == ideal
    assert repr(X.ideal([])) == "<left ideal over Q(x11, x12, x22): 0>"
    with pytest.raises(AttributeError, match="immutable"):
        ideal.algebra = X  # type: ignore[misc]


def test_extension_of_a_polynomial_ideal() -> None:
    assert rational_extension(X.polynomial_algebra.ideal(RELU)) == X.ideal(RELU)


def test_one_interface_with_the_polynomial_algebra() -> None:
    """The same calls give the same answers, as far as they are defined in both algebras."""
    texts = ["x*dx + y*dy", "dx^2 - dy^2"]
    R = rational_weyl_algebra("x y")
    D = R.polynomial_algebra
    left, right = D.ideal(*texts), R.ideal(*texts)
    assert right == R.ideal(texts) == rational_extension(left)
    assert R.ideal("x*dx - 1").generators == (R("x*dx - 1"),)
    assert RationalIdeal(R, "x*dx - 1") == R.ideal(R("x*dx - 1")) == R.ideal([D("x*dx - 1")])
    assert left.rank() == right.rank() == 2
    assert R.ideal(*texts, certified=True) == right and right.certified
    assert [str(b) for b in left.standard_monomials()] == [str(b) for b in right.standard_monomials()]
    assert left.singular_locus() == (D("x^2 - y^2"),)
    assert left.singular_factors() == tuple(map(R.field, ["x + y", "x - y"]))
    assert right.singular_locus() == (D("x^3 - x*y^2"),)  # x is an apparent singularity of the basis 1, dy
    assert right.singular_factors() == tuple(map(R.field, ["x", "x + y", "x - y"]))
    assert right.contains("dx*dy") == left.contains("dx*dy")
    assert right + R.ideal("dx") == R.ideal("dx", "dy") >= right
    assert right.latex() == R.ideal(left.generators).latex() != ""
    assert right._repr_latex_() == f"${right.latex()}$"
    with pytest.raises(BadInput, match="different algebras"):
        assert right <= X.ideal("dx11")


@pytest.mark.parametrize("order", [None, "grevlex", "degrevlex", "order", "lex", (0, 0, 1, 2)])
def test_bases_for_other_orders(order: str | tuple[int, ...] | None) -> None:
    R = rational_weyl_algebra("x y")
    ideal = R.ideal("x*dx + y*dy", "dx^2 - dy^2")
    basis = ideal.groebner(order, certified=True)
    assert RationalIdeal(R, basis) == ideal
    assert not any(ideal.normal_form(g, order) for g in ideal.generators)
    assert len(ideal.normal_form("x*dx^3 + dy", order)) == 1


def test_lex_makes_an_ode() -> None:
    """With dx above every power of dy the basis holds an operator in dy alone."""
    R = rational_weyl_algebra("x y")
    ideal = R.ideal("dx^2 - dy", "x*dx + 2*y*dy - 3")
    first = ideal.groebner("lex")[0]
    assert all(key[0] == 0 for key in first.terms)
    assert first.order == ideal.rank() == 2
    with pytest.raises(BadInput, match="derivation below 1"):
        ideal.groebner((0, 2, 0, -2))


def test_infinite_rank_names_the_derivation() -> None:
    with pytest.raises(NotHolonomic, match="dx22"):
        X.ideal(["dx11 - 1", "dx12^2"]).rank()


def test_bad_bases() -> None:
    ideal = X.ideal(RELU)
    with pytest.raises(BadInput, match="expected a basis of 2"):
        ideal.connection_matrices(["1"])
    with pytest.raises(BadInput, match="dependent"):
        ideal.connection_matrices(["1", "x11"])
