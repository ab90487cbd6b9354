"""The public HGM against python-flint's own functions: Airy, Bessel, Gauss, Appell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx, fmpq
from scipy import special

import holokern as hk
from holokern.errors import BadInput, NotHolonomic, PrecisionLost, SingularPath
from holokern.weyl import appell, rational_weyl_algebra, weyl_algebra

D = weyl_algebra("x")
AIRY = D.ideal("dx^2 - x")
GAUSS = D("x*(1-x)*dx^2 + (3/4 - (1 + 1/2 + 1/3)*x)*dx - 1/6")
A, B, C = fmpq(1, 2), fmpq(1, 3), fmpq(3, 4)


def airy_at_zero():
    return [arb(0).airy_ai(), arb(0).airy_ai(derivative=1)]


def gauss(x):
    return acb(x).hypgeom_2f1(A, B, C)


def gauss_jet(x):
    return [gauss(x), acb(x).hypgeom_2f1(A + 1, B + 1, C + 1) * A * B / C]


def agrees(ball, truth, digits=30):
    ball, truth = acb(ball), acb(truth)
    assert ball.overlaps(truth)
    assert abs(ball).rad() < abs(ball).mid() * arb(10) ** -digits


@pytest.fixture(autouse=True)
def forty_digits():
    with ctx.workdps(45):
        yield


@pytest.mark.parametrize("x", [1, Fraction(-7, 2), 5])
def test_airy_to_thirty_digits(x):
    found = hk.hgm.solve(AIRY, start=0, values=airy_at_zero, targets=x, balls=True, digits=32)
    point = arb(fmpq(Fraction(x).numerator, Fraction(x).denominator))
    agrees(found.values[0], point.airy_ai())
    agrees(found["dx"], point.airy_ai(derivative=1))
    assert np.all(found.error < 1e-32)


def test_airy_in_the_complex_plane():
    z = acb(1, 2)
    found = hk.hgm.solve(AIRY, start=0, values=airy_at_zero, targets=1 + 2j, balls=True, digits=32)
    agrees(found.values[0], z.airy_ai())
    quick = hk.hgm.solve(AIRY, start=0, values=airy_at_zero, targets=[1 + 2j])
    assert abs(quick.values[0, 0] - complex(z.airy_ai())) <= quick.error[0, 0] + 1e-16


def test_a_thousand_floats_keep_their_errors():
    x = np.linspace(-6, 4, 1000)
    found = hk.hgm.solve(AIRY, start=0, values=airy_at_zero, targets=x)
    truth = np.stack(special.airy(x)[:2], axis=1)
    assert found.values.shape == (1000, 2)
    assert np.all(np.abs(found.values - truth) <= found.error + 1e-15)
    assert np.max(found.error) < 1e-10


def test_bessel_from_its_series_at_zero():
    bessel = D("x^2*dx^2 + x*dx + x^2 - 1/9")
    local = hk.hgm.frobenius(bessel, 0)
    scale = arb(2) ** arb(fmpq(-1, 3)) / arb(fmpq(4, 3)).gamma()
    found = hk.hgm.solve(bessel, start=0, values=local[1] * scale, targets=[3, 20], balls=True, digits=32)
    for value, x in zip(found.values[:, 0], (3, 20), strict=True):
        agrees(value, arb(x).bessel_j(arb(fmpq(1, 3))), 30)


def test_bessel_y_has_a_logarithm():
    bessel = D("x*dx^2 + dx + x")
    local = hk.hgm.frobenius(bessel, 0)
    y = (local[1] + local[0] * (arb.const_euler() - arb(2).log())) * (2 / arb.pi())
    found = hk.hgm.solve(bessel, start=0, values=y, targets=4, balls=True, digits=30)
    agrees(found.values[0], arb(4).bessel_y(0), 29)


def test_gauss_past_its_singular_point_on_both_sides():
    for side, x in (("left", acb(2, arb("1e-40"))), ("right", acb(2, arb("-1e-40")))):
        found = hk.hgm.solve(
            GAUSS, start="1/2", values=lambda: gauss_jet(fmpq(1, 2)), targets=2, side=side, balls=True, digits=32
        )
        assert abs(found.values[0] - gauss(x)) < arb("1e-30")
        quick = hk.hgm.solve(GAUSS, start=0.5, values=lambda: gauss_jet(fmpq(1, 2)), targets=2.0, side=side)
        assert abs(quick.values[0] - complex(gauss(x))) < 1e-13


def test_monodromy_of_gauss_against_the_closed_formula():
    """Round x = 1 the exponents are 0 and c - a - b; round 0 they are 0 and 1 - c."""
    for around, exponent in ((1, C - A - B), (0, 1 - C)):
        turn = hk.hgm.monodromy(GAUSS, base="1/2", around=around, balls=True, digits=32)
        phase = acb(0, 2 * arb.pi() * arb(exponent)).exp()
        agrees(turn.matrix[0, 0] + turn.matrix[1, 1], 1 + phase)
        determinant = turn.matrix[0, 0] * turn.matrix[1, 1] - turn.matrix[0, 1] * turn.matrix[1, 0]
        agrees(determinant, phase)
        quick = hk.hgm.monodromy(GAUSS, base=0.5, around=around)
        gap = np.abs(quick.matrix - np.array([[complex(a) for a in row] for row in turn.matrix]))
        assert np.all(gap <= quick.error + 1e-15)


def test_monodromy_takes_the_series_to_its_branch():
    """2F1 itself is single-valued round 0, so the loop fixes its jet."""
    turn = hk.hgm.monodromy(GAUSS, base="1/2", around=0, balls=True, digits=32)
    jet = gauss_jet(fmpq(1, 2))
    for row, value in zip(turn.matrix, jet, strict=True):
        assert sum((m * v for m, v in zip(row, jet, strict=True)), acb(0)).overlaps(value)


def test_connection_of_gauss_from_zero_to_one():
    """[DLMF 15.8.4]: F = Γ(c)Γ(c-a-b)/Γ(c-a)Γ(c-b) F(…; 1-x) + Γ(c)Γ(a+b-c)/Γ(a)Γ(b) (1-x)^(c-a-b) …."""
    matrix = hk.hgm.connection(GAUSS, 0, 1, digits=30).matrix
    a, b, c = (arb(q) for q in (A, B, C))
    local = hk.hgm.frobenius(GAUSS, 1)
    regular = next(i for i, (rho, _) in enumerate(local.exponents) if rho.rational == 0)
    column = next(i for i, (rho, _) in enumerate(hk.hgm.frobenius(GAUSS, 0).exponents) if rho.rational == 0)
    agrees(matrix[regular, column], c.gamma() * (c - a - b).gamma() / ((c - a).gamma() * (c - b).gamma()), 28)
    # (x - 1)^ρ = (1 - x)^ρ exp(iπρ) with principal logarithms left of 1
    other = c.gamma() * (a + b - c).gamma() / (a.gamma() * b.gamma()) * acb(0, -arb.pi() * (c - a - b)).exp()
    agrees(matrix[1 - regular, column], other, 28)


def appell_value(x, y, a, b, e, c):
    """Σ_m of Gauss functions, by flint."""
    total, term = arb(0), arb(1)
    for m in range(200):
        total += term * arb(y).hypgeom_2f1(a + m, e, c + m)
        term = term * arb(a + m) * arb(b + m) / arb(c + m) / (m + 1) * arb(x)
    return total


def test_appell_in_two_variables():
    a, b, e, c = fmpq(1, 2), fmpq(1, 3), fmpq(1, 5), fmpq(2)
    W = weyl_algebra("x y")
    x, y, dx, dy = W.gens
    tx, ty = x * dx, y * dy
    ideal = W.ideal(
        dx * (tx + ty + 1) - (tx + ty + W("1/2")) * (tx + W("1/3")),
        dy * (tx + ty + 1) - (tx + ty + W("1/2")) * (ty + W("1/5")),
        (x - y) * dx * dy - W("1/5") * dx + W("1/3") * dy,
    )

    def at(p, q):
        return {
            "1": appell_value(p, q, a, b, e, c),
            "dx": appell_value(p, q, a + 1, b + 1, e, c + 1) * a * b / c,
            "dy": appell_value(p, q, a + 1, b, e + 1, c + 1) * a * e / c,
        }

    start = fmpq(1, 4), fmpq(-1, 4)
    found = hk.hgm.solve(ideal, start=start, values=lambda: at(*start), targets=["1/2", "1/3"], balls=True, digits=32)
    agrees(found["1"], appell_value(fmpq(1, 2), fmpq(1, 3), a, b, e, c))
    targets = [[0.5, -0.5], [0.3, 0.6], [0.05, -0.7]]
    quick = hk.hgm.solve(ideal, start=start, values=lambda: at(*start), targets=targets, outputs=["1", "dx*dy"])
    truth = [float(appell_value(*p, a, b, e, c)) for p in targets]
    assert np.all(np.abs(quick.values[:, 0] - truth) <= quick.error[:, 0] + 1e-15)
    # [0.3, 0.6] lies beyond x = y, where Appell's function is regular: both ways round agree
    assert np.max(quick.error) < 1e-10


def test_taylor_coefficients_paths_and_bases():
    cosine = D.ideal("dx^2 + 1")
    found = hk.hgm.solve(cosine, start=0, values={(0,): 1, (1,): 0}, targets=1.0, path=[1j, 2 + 1j])
    assert abs(found.values[0] - np.cos(1)) < 1e-14
    turned = hk.hgm.solve(cosine, start=0, values=[0, 1], basis=["dx", "1"], targets=[1.0])
    assert np.allclose(turned.values, [[-np.sin(1), np.cos(1)]], atol=1e-14)
    system = hk.PfaffianSystem.from_matrices("t", [[[0, 1], [-1, 0]]])
    assert abs(hk.hgm.solve(system, start=0, values=[1, 0], targets=1).values[0] - np.cos(1)) < 1e-14
    rational = rational_weyl_algebra("x").ideal("1/x*dx^2 - 1")
    value = hk.hgm.solve(rational, start=1, values=lambda: [arb(1).airy_ai(), arb(1).airy_ai(derivative=1)], targets=2)
    assert abs(value.values[0] - special.airy(2)[0]) < 1e-14


def test_apparent_singularities_are_crossed():
    """Solutions x and exp(x) of an ODE that is singular at 1."""
    ode = D("(x-1)*dx^2 - x*dx + 1")
    found = hk.hgm.solve(ode, start=0, values=[1, 1], targets=[0.5, 2.0, 3.0])
    assert np.all(np.abs(found.values[:, 0] - np.exp([0.5, 2.0, 3.0])) <= found.error[:, 0] + 1e-14)
    proved = hk.hgm.solve(ode, start=0, values=[1, 1], targets=2, balls=True)
    agrees(proved.values[0], arb(2).exp(), 29)


def test_precision_that_is_lost_is_computed_anew():
    """exp(-x) from 0 to 30 among solutions exp(x): floats lose 26 digits."""
    found = hk.hgm.solve(D("dx^2 - 1"), start=0, values=[1, -1], targets=30.0)
    assert abs(found.values[0] - np.exp(-30)) <= 1e-8 * np.exp(-30)
    assert np.all(found.error < 1e-8 * np.exp(-30))


def test_paths_through_the_singular_locus_are_named():
    with pytest.raises(SingularPath, match=r"x - 1 = 0 at x = 1, and the solution branches"):
        hk.hgm.solve(GAUSS, start=0.5, values=[1, 1], targets=2)
    with pytest.raises(SingularPath, match="branches"):
        hk.hgm.solve(GAUSS, start="1/2", values=[1, 1], targets=2, balls=True)
    with pytest.raises(SingularPath, match="x = 0 lies on the singular locus x = 0"):
        hk.hgm.solve(GAUSS, start=0, values=[1, 1], targets=0.5)
    with pytest.raises(SingularPath, match="x = 1 lies on the singular locus"):
        hk.hgm.solve(GAUSS, start=0.5, values=[1, 1], targets=1)
    square = weyl_algebra("x y").ideal("(x - y)*dx - 1", "(x - y)*dy + 1")
    with pytest.raises(SingularPath, match="lies in the singular locus x - y = 0"):
        hk.hgm.solve(square, start=[1, 1], values=[1], targets=[2, 2])


def test_bad_initial_values_are_named():
    with pytest.raises(BadInput, match="expected 2 initial values, of 1, dx; got 1 value"):
        hk.hgm.solve(AIRY, start=0, values=[1], targets=1)
    with pytest.raises(BadInput, match="fix only 1 of the 2 entries"):
        hk.hgm.solve(AIRY, start=0, values={"1": 1}, targets=1)
    with pytest.raises(BadInput, match=r"value 3 of dx\^2 contradicts the system: .* follows 2"):
        hk.hgm.solve(AIRY, start=2, values={"1": 1, "dx": 0, "dx^2": 3}, targets=1)
    assert hk.hgm.solve(AIRY, start=2, values={"1": 1, "dx": 0, "dx^2": 2}, targets=2.5).values[0] > 1
    with pytest.raises(NotHolonomic, match="infinite holonomic rank"):
        hk.hgm.solve(weyl_algebra("x y").ideal("dx"), start=[0, 0], values=[1], targets=[1, 1])
    with pytest.raises(BadInput, match="2 coordinates x, y"):
        hk.hgm.solve(weyl_algebra("x y").ideal("dx", "dy"), start=0, values=[1], targets=[1, 1])
    with pytest.raises(BadInput, match="expected a left ideal"):
        hk.hgm.solve("dx^2", start=0, values=[1], targets=1)
    with pytest.raises(BadInput, match="side='left'"):
        hk.hgm.solve(AIRY, start=0, values=[1, 0], targets=1, side="up")
    with pytest.raises(PrecisionLost, match="determine only 4 digits of the result"):
        hk.hgm.solve(AIRY, start=0, values=[arb(1, 1e-5), arb(0)], targets=1, balls=True)
    with pytest.raises(BadInput, match="finite number"):
        hk.hgm.solve(AIRY, start=0, values=[1, 0], targets=float("nan"))


def test_recessive_values_far_away():
    """Ai(50) is 1e-104 among solutions of 1e+101: the balls are computed anew until they have the digits."""
    found = hk.hgm.solve(AIRY, start=0, values=airy_at_zero, targets=[20, 50], balls=True, digits=30)
    for value, x in zip(found.values[:, 0], (20, 50), strict=True):
        agrees(value, arb(x).airy_ai(), 29)
    quick = hk.hgm.solve(AIRY, start=0, values=airy_at_zero, targets=20.0)
    assert abs(quick["1"] / float(arb(20).airy_ai()) - 1) < 1e-14


def test_long_oscillations_keep_their_digits():
    """Gronwall's inequality alone would lose 1443 bits on the way to 1000."""
    found = hk.hgm.solve(D("dx^2 + 1"), start=0, values=[1, 0], targets=1000, balls=True, digits=30)
    agrees(found.values[0], arb(1000).cos(), 30)
    quick = hk.hgm.solve(D("dx^2 + 1"), start=0, values=[1, 0], targets=1000.0)
    assert abs(quick.values[0] - np.cos(1000)) <= quick.error[0] < 1e-10


def test_initial_balls_widen_the_errors_of_floats():
    wide = hk.hgm.solve(AIRY, start=0, values=[arb(1, 1e-5), arb(0)], targets=1)
    exact = hk.hgm.solve(AIRY, start=0, values=[1, 0], targets=1)
    assert 1e-5 < wide.error[0] < 1e-4
    assert exact.error[0] < 1e-14
    assert abs(wide.values[0] - exact.values[0]) < 1e-14


def test_outputs_are_floats_and_underflow_has_an_error():
    found = hk.hgm.solve(AIRY, start=0, values=airy_at_zero, targets=[1.0], outputs=["dx^3", "x*dx"])
    assert found.values.dtype == float
    assert np.allclose(found.values, [[sum(special.airy(1)[:2]), special.airy(1)[1]]], atol=1e-15)
    tiny = hk.hgm.solve(D("x^2*dx - 1"), start=1, values=[1], targets=[1e-3])
    assert tiny.values[0, 0] <= tiny.error[0, 0]
    assert hk.hgm.solve(D("dx - 1"), start=0, values=[1], targets=800.0).values[0] == np.inf


def test_appell_from_its_power_series_at_the_origin():
    """All five factors of the singular locus but two vanish there; the coefficient 1 fixes the solution."""
    ideal = appell(1, "1/2", "1/3", "1/5", 2)
    given = fmpq(1, 2), fmpq(1, 3), fmpq(1, 5), fmpq(2)
    found = hk.hgm.solve(ideal, start=[0, 0], values={(0, 0): 1}, targets=["1/2", "1/3"], balls=True, digits=32)
    agrees(found["1"], appell_value(fmpq(1, 2), fmpq(1, 3), *given))
    targets = [[0.3, 0.1], [0.5, -0.7]]
    quick = hk.hgm.solve(ideal, start=[0, 0], values={"1": 1}, targets=targets)
    truth = [float(appell_value(*p, *given)) for p in targets]
    assert np.all(np.abs(quick["1"] - truth) <= quick.error[:, 0] + 1e-15)


def test_power_series_at_an_apparent_singularity():
    """Solutions exp(x) and x² + 2x + 2; the third coefficient tells them apart."""
    ode = D("x*dx^2 - (x + 2)*dx + 2")
    found = hk.hgm.solve(ode, start=0, values={(0,): 1, (3,): "1/6"}, targets=[1.0, -1.0])
    assert np.all(np.abs(found["1"] - np.exp([1, -1])) <= found.error[:, 0] + 1e-15)
    with pytest.raises(BadInput, match=r"do not fix the solution: give that of \(3,\)"):
        hk.hgm.solve(ode, start=0, values={(0,): 1}, targets=1)
    with pytest.raises(BadInput, match="contradicts the system"):
        hk.hgm.solve(ode, start=0, values={(0,): 1, (1,): 2, (3,): 1}, targets=1)
    with pytest.raises(BadInput, match="values of derivatives"):
        hk.hgm.solve(ode, start=0, values={"x*dx": 1}, targets=1)
    with pytest.raises(BadInput, match="the point to go around"):
        hk.hgm.monodromy(GAUSS, base="1/2", around="1/2")


@pytest.mark.parametrize("balls", [False, True])
def test_targets_on_an_apparent_singularity(balls):
    operator = weyl_algebra("x")("(x - 1)*dx^2 - x*dx + 1")  # exp(x) and x
    wanted = {"1": np.e, "dx": np.e, "dx^3": np.e}
    z = hk.hgm.solve(operator, start=0, values=[1, 1], targets=[1, 2], outputs=list(wanted), balls=balls)
    for name, value in wanted.items():
        assert abs(float(z[name][0]) - value) < 1e-14
        assert abs(float(z[name][1]) / np.exp(2) - 1) < 1e-12
    if balls:
        assert z["dx^3"][0].overlaps(arb(1).exp())
        assert np.max(z.error) < 1e-28


def test_limits_at_regular_singular_points():
    D = weyl_algebra("x")
    assert hk.hgm.solve(D("2*x*dx - 1"), start=1, values=[1], targets=0).values[0] == 0
    bessel = D("x*dx^2 + dx + x")
    with pytest.raises(SingularPath, match=r"x = 0 lies on the singular locus, and .* exponent 0 with logarithms"):
        hk.hgm.solve(bessel, start=1, values=[1, 0], targets=0)
    with pytest.raises(SingularPath, match="exponent -1/2"):
        hk.hgm.solve(D("2*x*dx + 1"), start=1, values=[1], targets=0)
    with pytest.raises(SingularPath, match="x = 0 is an irregular singular point"):
        hk.hgm.solve(D("x^2*dx - 1"), start=1, values=[1], targets=0)


def test_targets_on_an_apparent_singularity_in_two_variables():
    ideal = weyl_algebra("x y").ideal("dx^2 + 1", "dy^2 + 1")
    system = hk.pfaffian(ideal, basis=["1", "dx", "(x - y)*dy", "dx*dy"])
    assert [str(f) for f in system.apparent_singularities] == ["x - y"]
    ready = {"start": [1, 0], "values": [1, 0.5, 0.25, 0.5], "targets": [[2, 2], [2, 3]], "outputs": ["1", "dy"]}
    plain = {**ready, "values": {"1": 1, "dx": 0.5, "dy": 0.25, "dx*dy": 0.5}}
    assert np.allclose(hk.hgm.solve(system, **ready).values, hk.hgm.solve(ideal, **plain).values, atol=1e-12)
    product = weyl_algebra("x y").ideal("x*dx - 1", "y*dy - 1")
    with pytest.raises(SingularPath, match="lies on the singular locus x = 0"):
        hk.hgm.solve(product, start=[1, 1], values=[1], targets=[0, 2])
