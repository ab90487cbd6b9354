from fractions import Fraction

import pytest
from flint import fmpz_poly

from holokern.errors import BadInput
from holokern.pfaffian.scalar.exponents import coefficient_polynomials, local_exponents, singular_points
from holokern.weyl import weyl_algebra

D = weyl_algebra("t")


def _exponents(text, point):
    return dict(local_exponents(D(text), point).exponents)


def test_the_hypergeometric_equation_has_riemanns_scheme():
    a, b, c = Fraction(1, 3), Fraction(2, 5), Fraction(1, 2)
    equation = f"t*(1-t)*dt^2 + ({c} - ({a + b + 1})*t)*dt - {a * b}"
    assert _exponents(equation, 0) == {0: 1, 1 - c: 1}
    assert _exponents(equation, 1) == {0: 1, c - a - b: 1}
    assert _exponents(equation, "oo") == {a: 1, b: 1}
    assert singular_points(D(equation)) == [0, 1]
    assert {local_exponents(D(equation), p).kind for p in (0, 1, "oo")} == {"regular"}


def test_fuchs_relation_of_the_papers_relu_ode():
    ode = D("(1 - t^2)*dt^2 - 5*t*dt - 4")
    points = [*singular_points(ode), "oo"]
    total = sum(root * m for p in points for root, m in local_exponents(ode, p).exponents)
    assert total == len(points) - 2


def test_ordinary_points_have_the_exponents_0_to_n_minus_1():
    found = local_exponents(D("dt^3 + t*dt - 7"), "5/3")
    assert (found.kind, found.integers, found.point) == ("ordinary", (0, 1, 2), Fraction(5, 3))


def test_irregular_points():
    bessel = "t^2*dt^2 + t*dt + t^2 - 9/4"
    assert _exponents(bessel, 0) == {Fraction(-3, 2): 1, Fraction(3, 2): 1}
    assert local_exponents(D(bessel), "oo").kind == "irregular"
    essential = local_exponents(D("t^2*dt - 1"), 0)
    assert (essential.kind, essential.exponents, essential.polynomial.degree()) == ("irregular", (), 0)
    # solutions 1 and an exponential integral: one exponent survives
    assert local_exponents(D("t^3*dt^2 + dt"), 0).exponents == ((0, 1),)


def test_algebraic_points_and_exponents():
    place = fmpz_poly([-2, 0, 1])
    pole = local_exponents(D("(t^2 - 2)*dt + 6*t"), place)
    assert (pole.kind, pole.exponents) == ("regular", ((-3, 1),))
    # exponent 1/(2α) at α = ±√2 is not rational; its norm 8s² - 1 is
    mixed = local_exponents(D("(t^2 - 2)*dt - 1"), place)
    assert mixed.exponents == ()
    assert [(str(p), m) for p, m in mixed.others] == [("8*x^2 + (-1)", 1)]
    golden = local_exponents(D("t^2*dt^2 - 1"), 0)
    assert golden.exponents == ()
    assert golden.polynomial == fmpz_poly([-1, -1, 1])


def test_non_monic_places():
    found = local_exponents(D("(3*t - 2)^2*dt^2 - 18"), Fraction(2, 3))
    assert found.integers == (-1, 2)


def test_coefficients_are_coprime():
    assert [a.coeffs() for a in coefficient_polynomials(D("t*(2*t*dt - 4)"))] == [[-2], [0, 1]]


@pytest.mark.parametrize("bad", ["t", 0.5, None, float("nan")])
def test_bad_points(bad):
    with pytest.raises(BadInput):
        local_exponents(D("t*dt - 1"), bad)


def test_bad_operators():
    with pytest.raises(BadInput, match="irreducible"):
        local_exponents(D("t*dt - 1"), fmpz_poly([-1, 0, 1]))
    with pytest.raises(BadInput, match="operator 0"):
        local_exponents(D.zero, 0)
    with pytest.raises(BadInput, match="one variable"):
        local_exponents(weyl_algebra("x y")("dx"), 0)
    with pytest.raises(BadInput, match="one variable"):
        local_exponents("t*dt", 0)
