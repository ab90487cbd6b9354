"""Series at regular singular points: exponents, logarithms, proved values."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import acb, arb, ctx

import holokern as hk
from holokern.errors import BadInput, SingularPath, Unsupported
from holokern.weyl import weyl_algebra

D = weyl_algebra("x")


@pytest.fixture(autouse=True)
def forty_digits():
    with ctx.workdps(40):
        yield


def residual(operator, series, x):
    """Σ a_k(x) y^(k)(x) with y^(r) by a difference of proved jets, relative to its terms."""
    h = arb(2) ** -40
    jets = [series.jet(x + s * h) for s in (-1, 0, 1)]
    top = (jets[2][-1] - jets[0][-1]) / (2 * h)
    columns: dict[int, arb] = {}
    for (degree, order), c in operator:
        columns[order] = columns.get(order, arb(0)) + arb(c) * x**degree
    values = [*jets[1], top]
    terms = [a * values[k] for k, a in columns.items()]
    return abs(sum(terms, arb(0))) / max(abs(t).upper() for t in terms)


@pytest.mark.parametrize(
    ("text", "exponents"),
    [
        ("dx^2 + x*dx - 3", ["0", "1"]),
        ("x^2*dx^2 + x*dx + x^2 - 1", ["-1", "1"]),
        ("x^2*dx^2 + x*dx + x^2", ["0", "0"]),
        ("x^3*dx^3 + 3*x^2*dx^2 + x*dx - x", ["0", "0", "0"]),
        ("x^2*dx^2 + x*dx - 2 - x", ["-1.41421", "1.41421"]),
        ("x^2*dx^2 + x*dx + 1 + x", ["0-1j", "0+1j"]),
        ("x*(1-x)*dx^2 + (1/3 - 2*x)*dx - 5", ["0", "2/3"]),
    ],
)
def test_every_series_solves_its_equation(text, exponents):
    operator = D(text)
    basis = hk.hgm.frobenius(operator, 0)
    assert [str(rho) for rho, _ in basis.exponents] == exponents
    for series in basis:
        assert residual(operator, series, arb(3) / 10) < 1e-20


def test_a_logarithm_between_exponents_that_differ_by_an_integer():
    """Y_1 begins with 1/x and has a logarithm times J_1."""
    bessel = D("x^2*dx^2 + x*dx + x^2 - 1")
    first, second = hk.hgm.frobenius(bessel, 0)
    x = arb(1) / 2
    assert (second(x) / 2).overlaps(x.bessel_j(1))
    # -π/2 Y_1 = 1/x + … : the multiple of J_1 that is left follows from one point and holds at another
    factor = (first(x) + arb.pi() / 2 * x.bessel_y(1)) / x.bessel_j(1)
    other = arb(1) / 3
    assert (first(other) + arb.pi() / 2 * other.bessel_y(1)).overlaps(factor * other.bessel_j(1))


def test_other_points_and_the_complex_plane():
    legendre = D("(1 - x^2)*dx^2 - 2*x*dx + 6")
    at_one = hk.hgm.frobenius(legendre, 1)
    assert [(str(rho), k) for rho, k in at_one.exponents] == [("0", 0), ("0", 1)]
    # P_2 is the solution without a logarithm
    x = arb(3) / 4
    assert at_one[0](x).overlaps((3 * x * x - 1) / 2)
    z = acb(1, arb(1) / 2)
    assert at_one[0](z).overlaps((3 * z * z - 1) / 2)
    assert hk.hgm.solve(legendre, start=1, values=at_one[0], targets="-9/10", balls=True)["1"].overlaps(
        (3 * arb(81) / 100 - 1) / 2
    )
    half = hk.hgm.frobenius(D("(2*x - 1)*dx - 1"), Fraction(1, 2))
    assert str(half.exponents[0][0]) == "1/2"


def test_bad_points():
    with pytest.raises(Unsupported, match="irregular singular point"):
        hk.hgm.frobenius(D("x^2*dx - 1"), 0)
    bessel = D("x*dx^2 + dx + x")
    basis = hk.hgm.frobenius(bessel, 0)
    with pytest.raises(BadInput, match="start there"):
        hk.hgm.solve(bessel, start=1, values=basis[0], targets=2)
    with pytest.raises(SingularPath, match="x = 0 lies on the singular locus"):
        hk.hgm.solve(bessel, start=0, values=basis[0], targets=0)
    with pytest.raises(IndexError):
        basis[2]
    with pytest.raises(BadInput, match="expected one operator"):
        hk.hgm.frobenius(D.ideal("dx", "x*dx - 1"), 0)


def test_gauss_at_infinity():
    """Kummer's series in 1/x, and the connection from 0 above the real line [DLMF 15.8.2]."""
    gauss = D("x*(1-x)*dx^2 + (3/4 - 11/6*x)*dx - 1/6")
    a, b, c = arb(1) / 2, arb(1) / 3, arb(3) / 4
    at_b, at_a = hk.hgm.frobenius(gauss, "oo")
    for series, rho, other in ((at_a, a, b), (at_b, b, a)):
        expected = arb(3) ** -rho * (arb(1) / 3).hypgeom_2f1(rho, rho - c + 1, rho - other + 1)
        assert series(3).overlaps(expected)
        found = hk.hgm.solve(gauss, start="oo", values=series, targets=3, balls=True)
        assert found["1"].overlaps(expected)
        assert found.error[0] < 1e-30
    matrix = hk.hgm.connection(gauss, 0, "oo", side="left").matrix
    for row, rho, other in ((1, a, b), (0, b, a)):
        factor = c.gamma() * (other - rho).gamma() / (other.gamma() * (c - rho).gamma())
        assert matrix[row, 0].overlaps(factor * acb(0, arb.pi() * rho).exp())
        assert matrix[row, 0].real.rad() < 1e-30
    with pytest.raises(Unsupported, match="oo is an irregular"):
        hk.hgm.frobenius(D("dx^2 - x"), "oo")
    with pytest.raises(BadInput, match="infinity twice"):
        hk.hgm.connection(gauss, "oo", "oo")
