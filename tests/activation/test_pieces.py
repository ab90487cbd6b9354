"""Pieces, breaks, jumps and parity, exactly in the ring and numerically outside it."""

from __future__ import annotations

import pickle
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation import activation, unbounded_sides
from holokern.activation.ring.construct import element_of
from holokern.activation.ring.expansions import expand
from holokern.activation.ring.one_sided import one_sided
from holokern.activation.ring.pieces import find_breaks, jump_order, jumps, parity, parity_by_rules, pieces_of
from holokern.activation.ring.quotient import Quotient
from holokern.activation.ring.taylor import taylor
from holokern.activation.tree.constructors import ZERO
from holokern.activation.tree.grammar import read_expression
from holokern.activation.tree.resolve import resolve
from holokern.activation.values.constants import ExactReal, exact
from holokern.errors import BadInput, NotHolonomic, Unsupported


def breaks(text):
    return [str(point) for point in find_breaks(read_expression(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Max(u, 0)", ["0"]),
        ("Max(u, 0) + Min(u, 0)", []),
        ("Max(Min(u, 1), -1)", ["-1", "1"]),
        ("Abs(Abs(u) - 1/3)", ["-1/3", "0", "1/3"]),
        ("Max(u, u^2)", ["0", "1"]),
        ("Max(u^2 - 2, 0)", ["-2^(1/2)", "2^(1/2)"]),
        ("Heaviside(u - pi)", ["pi"]),
        ("Heaviside(u^3 - u - 1)", ["root(0, -1, -1, 0, 1)"]),
        ("Max(exp(u) - 1, 0)", ["0"]),
        ("Max(exp(u) - 2, 0)", ["log(2)"]),
        ("Max(u*exp(-u), 0)", ["0"]),
        ("Max(erf(u - 1), 0)", ["1"]),
        ("Max(sinh(u), u)", ["0"]),
        ("Max(log(1 + u^2) - log(2), 0)", None),
        ("Piecewise((u, u < 1), (1, u < 2), (u - 1, True))", ["1", "2"]),
        ("Piecewise((1, (u > 0) & (u < 1)), (0, True))", ["0", "1"]),
        ("Piecewise((1, (u < 0) | (u > 1)), (0, True))", ["0", "1"]),
        ("Piecewise((1, ~(u < 0)), (0, True))", ["0"]),
        ("sqrt(u^2)", ["0"]),
        ("Max(1/u, 0)*u^2", ["0"]),
        ("sin(u)/u", []),
        ("erf(1/u)", ["0"]),
        ("Heaviside(u)*tanh(u)", ["0"]),
        ("Max(tanh(u - 1/2), 0)", ["1/2"]),
        ("Abs(u)*tanh(u)", ["0"]),
        ("tanh(u)", []),
        ("log(1 + exp(-Abs(u))) + Max(u, 0)", []),
        ("Heaviside(u)*tanh(u) + Heaviside(-u)*tanh(u)", []),
    ],
)
def test_breaks(text, expected):
    found = breaks(text)
    if expected is None:
        assert [float(point) for point in find_breaks(read_expression(text))] == pytest.approx([-1, 1])
    else:
        assert found == expected


def test_kinds_of_breaks():
    assert isinstance(find_breaks(read_expression("Max(u - 1/2, 0)"))[0], Fraction)
    assert isinstance(find_breaks(read_expression("Max(u - sqrt(2), 0)"))[0], ExactReal)
    (numerical,) = find_breaks(read_expression("Max(exp(u) + u, 0)"))
    assert isinstance(numerical, float)
    assert numerical == pytest.approx(float(-mp.lambertw(1).real), abs=1e-14)
    with pytest.raises(NotHolonomic, match="infinitely many"):
        find_breaks(read_expression("Max(cos(u) - 1/2, 0)"))


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("Heaviside(u)", 0),
        ("Max(u, 0)", 1),
        ("Max(u, 0)^7", 7),
        ("Max(u, 0)^40", 40),
        ("Heaviside(u)*sin(u)", 1),
        ("Max(u, 0) + exp(Min(u, 0)) - 1", 2),
        ("Max(u, 0) + 2*(exp(Min(u, 0)) - 1)", 1),
        ("Heaviside(u)*sqrt(u)", 1),
        ("Max(u, 0)^(5/2)", 3),
        ("log(Abs(u))", 0),
        ("u^2*log(Abs(u))", 2),
        ("Heaviside(u)*exp(u)*u^17", 17),
        ("Heaviside(u)*erf(u)^13*cos(u)", 13),
        ("Heaviside(u)*besselj(20, u)", 20),
        ("Heaviside(u)*exp(-1/u)", None),
        ("sin(u)", None),
        ("u*Heaviside(u - 1)", 0),
        ("Heaviside(u)*tanh(u)", 1),
        ("Max(tanh(u), 0)^2", 2),
        ("tanh(u)", None),
        ("Abs(u)^(2/3) + tanh(u)", 1),
        ("Abs(u)^(3/2) + tanh(u)", 2),
        ("Abs(u - 1/3)^(7/2)*tanh(u)", 4),
        ("Max(3*u - 1, 0)^(1/2) + tanh(u)", 1),
        ("Max(tanh(u) - 1/2, 0)", 1),
        ("tanh(u)*log(Abs(u))", 1),
        ("log(Abs(tanh(u)))", 0),
        ("tanh(log(Abs(u)))", None),
        ("tanh(sqrt(Abs(u)))", 1),
        ("Abs(u)^Abs(u) + tanh(u)", 1),
        ("Heaviside(u)*tanh(1/u)", 0),
        ("tanh(u)*exp(-1/Abs(u))", None),
        ("sin(1/Abs(u))*tanh(u)", 0),
        ("Abs(tanh(u) - u)^(2/9)", 1),
        ("tanh(1/u)", 0),
        ("1/(1 + exp(1/(u - 1)))", 0),
        ("u*tanh(1/sinh(u))", 1),
        ("tanh(sin(u)/u)", None),
        ("exp(-1/(2 + sin(u)))*tanh(u)", None),
    ],
)
def test_jump_order(text, order):
    assert jump_order(read_expression(text)) == order


SIDES = {
    "u^(2/3) + tanh(u)": lambda s: s ** (mp.mpf(2) / 3) + mp.tanh(s),
    "tanh(u)^(1/3)*log(u)": lambda s: mp.cbrt(mp.tanh(s)) * mp.log(s),
    "tanh(log(u))": lambda s: mp.tanh(mp.log(s)),
    "tanh(sqrt(u))": lambda s: mp.tanh(mp.sqrt(s)),
    "sinh(log(u)/2)": lambda s: mp.sinh(mp.log(s) / 2),
    "asinh(1/u)*tanh(u)": lambda s: mp.asinh(1 / s) * mp.tanh(s),
    "atan(-1/u) + tanh(u)": lambda s: mp.tanh(s) - mp.atan(1 / s),
    "u^u": lambda s: s**s,
    "u^2/(u - sin(u))*tanh(u)": lambda s: s**2 / (s - mp.sin(s)) * mp.tanh(s),
    "log(sin(u)*tanh(u))": lambda s: mp.log(mp.sin(s) * mp.tanh(s)),
    "sqrt(u)*u/(exp(u) - 1)": lambda s: mp.sqrt(s) * s / mp.expm1(s),
    "besselj(2, sqrt(u))": lambda s: mp.besselj(2, mp.sqrt(s)),
    "airyai(u^(1/3))": lambda s: mp.airyai(mp.cbrt(s)),
    "sqrt(u)*tan(u + pi/2)": lambda s: -mp.sqrt(s) * mp.cot(s),
    "erf(1/u)*u + erfc(-1/u)": lambda s: mp.erf(1 / s) * s + mp.erfc(-1 / s),
    "(u - u^2*log(u))^(3/2)": lambda s: (s - s**2 * mp.log(s)) ** 1.5,
}


@pytest.mark.parametrize("text", SIDES)
def test_expansions_in_balls(text):
    order, s = 4, mp.mpf(10) ** -5
    with mp.workdps(60):
        terms = one_sided(read_expression(text), Fraction(0), 1, order).items()
        total = mp.fsum(
            mp.mpf(c.str(50, radius=False)) * s ** (mp.mpf(e.numerator) / e.denominator) * mp.log(s) ** k
            for (e, k), c in terms
        )
        # the next term has a power above the order, and perhaps logarithms
        assert abs(total - SIDES[text](s)) < 100 * s ** (order + mp.mpf(1) / 4) * abs(mp.log(s)) ** order
        assert all(e <= order for (e, _), _ in terms)


@pytest.mark.parametrize(
    ("text", "exponents"),
    [
        ("Abs(u)^(1/2) + tanh(u)", ["1/2", "1/2"]),
        ("Abs(u - sin(u))^(-1/4)*tanh(u)", ["1/4", "1/4"]),
        ("tanh(Max(u - 1/3, 0)^(3/4))", ["3/4"]),
        ("log(Abs(tanh(u)))", ["0", "0"]),
        ("Abs(u)^(3/2) + tanh(u)", []),
    ],
)
def test_unbounded_slopes_outside_the_ring(text, exponents):
    assert [str(side.exponent) for side in unbounded_sides(activation(text))] == exponents


@pytest.mark.parametrize("text", ["sin(1/u)", "exp(1/u)", "u^pi", "sqrt(tanh(u) - 1)", "log(u*log(1/u))"])
def test_no_expansion(text):
    with pytest.raises(Unsupported):
        one_sided(read_expression(text), Fraction(0), 1, 2)


def test_jumps_are_exact():
    pieces = pieces_of(read_expression("Piecewise((exp(u), u < 0), (cos(u), u < 2), (0, True))"))
    assert jumps(pieces, 0) == (0, -element_of(read_expression("cos(2)"), None).value)
    assert jumps(pieces, 1) == (-1, element_of(read_expression("sin(2)"), None).value)
    assert jumps(pieces, 2) == (-2, element_of(read_expression("cos(2)"), None).value)
    with pytest.raises(Unsupported, match="infinite"):
        jumps(pieces_of(read_expression("sqrt(Abs(u))")), 1)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("u", "odd"),
        ("Abs(u)", "even"),
        ("sin(u)*erf(u)", "even"),
        ("Max(u, 0)", None),
        ("Max(u, 0) - Max(-u, 0)", "odd"),
        ("Max(Min(u, 1), -1)", "odd"),
        ("besselj(3, u)", "odd"),
        ("besselj(2, u)", "even"),
        ("exp(u) + exp(-u)", "even"),
        ("sin(pi*u)", "odd"),
        ("airyai(u)", None),
        ("log(Abs(u))", "even"),
        ("atan(u)*asinh(u^3)", "even"),
        ("tanh(u)", "odd"),
        ("u*tanh(u)", "even"),
        ("1/cosh(u)", "even"),
        ("tanh(u)^3 + u", "odd"),
        ("1/(1 + exp(-u))", None),
        ("0", "even"),
    ],
)
def test_parity(text, kind):
    assert parity(read_expression(text)) == kind


def test_parity_rules_are_cautious():
    assert parity_by_rules(read_expression("sin(u)/u")) == "even"
    assert parity_by_rules(read_expression("(1 + u^2)^(1/3)")) == "even"
    assert parity_by_rules(read_expression("exp(u)")) is None
    assert parity_by_rules(read_expression("Max(u, 0)")) is None


def test_rescaling():
    assert pieces_of(read_expression("u^2")).scale == 1
    assert str(pieces_of(read_expression("u*sin(pi*u) + Heaviside(u)")).scale) == "pi"
    pieces = pieces_of(read_expression("Heaviside(u + sqrt(3))*exp(u/sqrt(3))"))
    assert pieces.breaks in ((Fraction(-1),), (Fraction(-3),))
    with pytest.raises(Unsupported, match="no scaling"):
        pieces_of(read_expression("sin(u) + sin(pi*u)"))


def test_resolve():
    tree = read_expression("Piecewise((Max(u, 0), u < 1), (2*Abs(u), True))")
    assert resolve(tree, Fraction(-1)) == ZERO
    assert resolve(tree, Fraction(3)) == read_expression("2*u")
    assert resolve(read_expression("Heaviside(sin(u)^2 + cos(u)^2 - 1)"), Fraction(1)) == read_expression("1/2")
    with pytest.raises(BadInput, match="no case"):
        resolve(read_expression("Piecewise((1, u > 0))"), Fraction(-1))


def test_pieces_pickle():
    pieces = pieces_of(read_expression("Max(u, 0)*erf(u/sqrt(2)) + sqrt(1 + u^2)*besselj(1, u)"))
    assert pickle.loads(pickle.dumps(pieces)) == pieces


TEXTS = [
    "exp(u)*sin(2*u + 1)",
    "erf(u/sqrt(2))*u",
    "erfi(u + 1)",
    "sqrt(1 + u^2)",
    "(1 + u)^(1/3)*log(2 + u^2)",
    "atan(u)^2",
    "asinh(u^2 + 1)",
    "besselj(3, u^2 + 1)",
    "airyai(2*u)*airyaiprime(u)",
    "1/(1 + sqrt(1 + u^2))",
    "sinh(u)^3*erfc(u)",
    "sin(u)*cos(3*u)*sin(2*u) + cosh(u)^2",
    "(u^2 + 1)/(u + 3)*exp(1/(u + 2))",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("point", [Fraction(0), Fraction(2, 3)])
@pytest.mark.parametrize("side", [1, -1])
def test_exact_expansions_against_balls(text, point, side):
    tree = read_expression(text)
    series = expand(element_of(tree, Fraction(1)), point, side, 13)  # beyond the ten terms that flint keeps by default
    assert all(e >= 0 and e.denominator == 1 and k == 0 for e, k in series)
    for n, ball in enumerate(taylor(tree, point, 14, 300)):
        coefficient = series.get((Fraction(n), 0), exact(0)) * side**n
        assert (coefficient.ball(300) - ball).contains(0)
        assert ball.rad() < 1e-20


@pytest.mark.parametrize("text", TEXTS)
def test_derivatives_in_the_ring_against_balls(text):
    tree = read_expression(text)
    element = element_of(tree, Fraction(1)).derivative().derivative()
    point = Fraction(3, 4)
    value = expand(element, point, 1, 0).get((Fraction(0), 0), exact(0))
    assert (value.ball(200) - 2 * taylor(tree, point, 3, 200)[2]).contains(0)


def test_singular_expansions():
    root = element_of(read_expression("sqrt(u)/u"), Fraction(1))
    assert expand(root, Fraction(0), 1, 1) == {(Fraction(-1, 2), 0): exact(1)}
    logarithm = element_of(read_expression("u^2*log(u)^2"), Fraction(1))
    assert expand(logarithm, Fraction(0), 1, 3) == {(Fraction(2), 2): exact(1)}
    flat = element_of(read_expression("exp(-1/u)/u^3"), Fraction(1))
    assert expand(flat, Fraction(0), 1, 3) == {}
    with pytest.raises(BadInput, match="without bound"):
        expand(flat, Fraction(0), -1, 3)
    with pytest.raises(Unsupported, match="essential"):
        expand(element_of(read_expression("sin(1/u)"), Fraction(1)), Fraction(0), 1, 1)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=4), st.lists(st.integers(-3, 3), min_size=1, max_size=4))
@settings(deadline=None, max_examples=40)
def test_quotients_form_a_field(top, bottom):
    u = Quotient.variable()

    def polynomial(row):
        total = Quotient.constant(0)
        for c in row:
            total = total * u + c
        return total

    p, q = polynomial(top), polynomial(bottom)
    if not q:
        return
    f = p / q
    assert f * q == p
    assert (f + 1) - 1 == f
    assert hash(pickle.loads(pickle.dumps(f))) == hash(f)
    assert f.derivative() * q * q == p.derivative() * q - p * q.derivative()
    assert (f**2) / (f + 5) == f * f / (5 + f) if f + 5 else True
