"""b-functions with respect to weights and Bernstein–Sato polynomials known from the literature."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from holokern.errors import BadInput, NotHolonomic
from holokern.weyl import BFunction, b_function, bernstein_sato, weyl_algebra


def polynomial(*coefficients: object) -> BFunction:
    return BFunction(tuple(Fraction(str(c)) for c in coefficients))


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("dx", (0, 1)),
        ("dx^2", (0, -1, 1)),
        ("x", (1, 1)),
        ("x*dx - 5/3", ("-5/3", 1)),
        ("x^2*dx^2 + x*dx + x^2 - 4", (-4, 0, 1)),
        ("dx^2 - x", (0, -1, 1)),
        ("x*(1-x)*dx^2 + (3/7 - 11/6*x)*dx - 1/6", (0, "-4/7", 1)),
        ("x^2*dx - 1", (1,)),
    ],
)
def test_indicial_polynomials_in_one_variable(operator: str, expected: tuple[object, ...]) -> None:
    """In one variable b is the indicial polynomial at 0: its roots are the exponents; irregular points lose roots."""
    assert b_function(weyl_algebra("x").ideal(operator), (1,)) == polynomial(*expected)


def test_the_whole_algebra_and_nothing() -> None:
    D = weyl_algebra("x y")
    assert b_function(D.ideal("1"), (1, 0)) == polynomial(1)
    assert b_function(D.ideal("1"), (1, 0)).integer_roots == ()
    with pytest.raises(NotHolonomic, match="not holonomic"):
        b_function(D.ideal([]), (1, 1))


def test_non_holonomic_ideal_without_b_function() -> None:
    with pytest.raises(NotHolonomic, match="add annihilating operators"):
        b_function(weyl_algebra("x y").ideal("dx*dy - 1"), (1, 0))


def test_non_holonomic_ideal_with_b_function() -> None:
    """(dx) is not holonomic in two variables, yet x dx lies in its initial ideal."""
    assert b_function(weyl_algebra("x y").ideal("dx"), (1, 0)) == polynomial(0, 1)


def test_weights_scale_the_roots() -> None:
    ideal = weyl_algebra("x").ideal("x*dx - 2")
    assert b_function(ideal, (1,)).roots == {Fraction(2): 1}
    assert b_function(ideal, (3,)).roots == {Fraction(6): 1}


def test_weight_in_two_variables() -> None:
    """The class of x^2 y^3 has the weight 2 w1 + 3 w2."""
    ideal = weyl_algebra("x y").ideal("x*dx - 2", "y*dy - 3")
    assert b_function(ideal, (1, 1)).integer_roots == (5,)
    assert b_function(ideal, (5, 2)).integer_roots == (16,)


@pytest.mark.parametrize("operator", ["u*D - 1", "u*D", "D"])
def test_koyama_takemura(operator: str) -> None:
    from holokern.weyl.modules.koyama_takemura import koyama_takemura_ideal_of_product

    sigma = [weyl_algebra("u", "D")(operator)]
    b = b_function(koyama_takemura_ideal_of_product([sigma, sigma]), (1, 1, 0, 0, 0))
    # even for σ = 1, whose integral is even in y: solutions supported on det x = 0 count as well
    assert b.roots == {Fraction(0): 1, Fraction(1): 1}


@pytest.mark.parametrize("weights", [(1,), (1, -1), (0, 0), (1.0, 0), ("1", "0")])
def test_bad_weights(weights: tuple[object, ...]) -> None:
    with pytest.raises(BadInput, match="weights"):
        b_function(weyl_algebra("x y").ideal("dx", "dy"), weights)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("names", "f", "roots"),
    [
        ("x", "x", {"-1": 1}),
        ("x", "x^4", {"-1": 1, "-3/4": 1, "-1/2": 1, "-1/4": 1}),
        ("x", "x^2 - 1", {"-1": 1}),
        ("x y", "x*y", {"-1": 2}),
        ("x y", "x^2 + y^3", {"-7/6": 1, "-1": 1, "-5/6": 1}),
        ("x y", "x*y*(x + y)", {"-4/3": 1, "-1": 2, "-2/3": 1}),
        ("x y z", "x^2 + y^2 + z^2", {"-3/2": 1, "-1": 1}),
        # the discriminant of a quadratic form is a prehomogeneous relative invariant
        ("a b c", "b^2 - 4*a*c", {"-3/2": 1, "-1": 1}),
        # the singularity D4: the spectral numbers 7/6, 3/2, 11/6 and the trivial root
        ("x y z", "x^3 + y^3 + z^2", {"-11/6": 1, "-3/2": 1, "-7/6": 1, "-1": 1}),
    ],
)
def test_bernstein_sato(names: str, f: str, roots: dict[str, int]) -> None:
    found = bernstein_sato(weyl_algebra(names)(f))
    assert found.roots == {Fraction(root): m for root, m in roots.items()}
    assert found.degree == sum(roots.values())


def test_yano_example_is_not_quasi_homogeneous() -> None:
    found = bernstein_sato(weyl_algebra("x y")("x^5 + y^4 + x^3*y^2"))
    twentieths = [9, 11, 13, 14, 17, 18, 19, 20, 21, 22, 23, 26, 27]
    assert sorted(-20 * root for root in found.roots) == twentieths


def test_bernstein_sato_refuses_constants_and_operators() -> None:
    D = weyl_algebra("x")
    for value in (D("3"), D.zero, D("dx"), "3", "x/y", "x - x", "sin(x)", "x +", 7):
        with pytest.raises(BadInput):
            bernstein_sato(value)  # type: ignore[arg-type]


def test_bernstein_sato_reads_text() -> None:
    assert bernstein_sato("x^2+y^3") == bernstein_sato(weyl_algebra("x y")("x^2 + y^3"))
    assert bernstein_sato("x**2*y + dx").degree == 1
    assert bernstein_sato("t^2 + dt^3 + d_t").degree == 1
    assert bernstein_sato("x*dx", certified=True).roots == {Fraction(-1): 2}


@pytest.mark.parametrize(
    ("coefficients", "text", "latex"),
    [
        ((1,), "1", "1"),
        ((0, 1), "s", "s"),
        ((-1, 1), "s - 1", r"\left(s - 1\right)"),
        ((0, 0, 1), "s^2", "s^{2}"),
        ((0, "1/2", 1), "s*(s + 1/2)", r"s \left(s + \frac{1}{2}\right)"),
        (("1/4", 1, 1), "(s + 1/2)^2", r"\left(s + \frac{1}{2}\right)^{2}"),
        ((0, "1/2", -1, 1), "s*(s^2 - s + 1/2)", r"s \left(s^{2} - s + \frac{1}{2}\right)"),
        ((1, 0, 1), "s^2 + 1", r"\left(s^{2} + 1\right)"),
        ((1, 0, 2, 0, 1), "(s^2 + 1)^2", r"\left(s^{2} + 1\right)^{2}"),
    ],
)
def test_printed_by_factors(coefficients: tuple[object, ...], text: str, latex: str) -> None:
    b = polynomial(*coefficients)
    assert str(b) == text
    assert b.latex() == latex
    assert b._repr_latex_() == f"${latex}$"


def test_fresh_variable_does_not_collide() -> None:
    assert bernstein_sato(weyl_algebra("t dt", "s ds")("t^2 + dt^3")).degree == 3


def test_polynomial_as_a_value() -> None:
    b = polynomial(0, "1/2", -1, 1)
    assert b.expanded() == "s^3 - s^2 + 1/2*s"
    assert b.factors == (((Fraction(0), Fraction(1)), 1), ((Fraction(1, 2), Fraction(-1), Fraction(1)), 1))
    assert b(2) == 5
    assert b.roots == {Fraction(0): 1}
    assert b.reflected().reflected() == b
    assert pickle.loads(pickle.dumps(b)) == b
    assert len({b, polynomial(0, "1/2", -1, 1)}) == 1
