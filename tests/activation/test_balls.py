"""Balls contain the truth: at points, over intervals, and where a comparison is open."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx, fmpq

from holokern.activation.tree.grammar import read_expression
from holokern.activation.values.balls import ball, constant_ball
from holokern.activation.values.evaluate import evaluate
from holokern.errors import BadInput

TEXTS = (
    "gelu(u)",
    "selu(u)",
    "mish(u)",
    "hardswish(u)",
    "Heaviside(u)*sin(u)",
    "sign(u) + Abs(u - 1)",
    "Piecewise((u^2, u < -1/2), (sin(u), (u <= 1) & (u > -1/2)), (exp(-u), True))",
    "Piecewise((1, ~((u > 0) & (u < 1))), (u, u != 1/3), (2, True))",
    "sinc(3*u) + (exp(u) - 1)/u",
    "(1 + u^2)^(2/3) + 2^u + u^3",
    "besselj(0, u) + airyai(u) + airyaiprime(u)",
    "erfi(u/3) + asinh(u)*atan(u) + tan(u/9)",
)


@pytest.mark.parametrize("text", TEXTS)
def test_balls_at_points_contain_the_floats(text):
    tree = read_expression(text)
    for x in np.linspace(-4.1, 4.3, 23):
        exact = ball(tree, Fraction(float(x)))
        assert exact.is_finite()
        assert exact.rel_accuracy_bits() > 80
        assert abs(exact - arb(float(evaluate(tree, float(x))))) < 1e-13 * (1 + abs(exact))


@pytest.mark.parametrize("text", TEXTS)
def test_balls_over_intervals_contain_every_value(text):
    tree = read_expression(text)
    for middle in np.linspace(-3, 3, 13):
        wide = ball(tree, arb(float(middle), 0.25))
        if not wide.is_finite():
            continue
        for x in np.linspace(middle - 0.25, middle + 0.25, 9)[1:-1]:
            assert wide.contains(ball(tree, Fraction(float(x)))), (middle, x)


def test_open_comparisons_give_the_hull():
    around = arb(0, 0.5)
    for text, low, high in (("Heaviside(u)", 0, 1), ("sign(u)", -1, 1), ("Max(u, 0)", 0, 0.5)):
        found = ball(read_expression(text), around)
        assert found.contains(arb(low))
        assert found.contains(arb(high))
    cases = ball(read_expression("Piecewise((5, u > 0), (7, True))"), around)
    assert cases.contains(5)
    assert cases.contains(7)
    assert not ball(read_expression("Piecewise((5, u > 0), (6, u < 0))"), 0).is_finite()


def test_powers_on_balls_around_zero():
    assert ball(read_expression("u^2"), arb(0, 1)).is_finite()
    assert ball(read_expression("u^3"), -2) == -8
    assert ball(read_expression("1/u^2"), Fraction(1, 2)) == 4
    assert not ball(read_expression("1/u"), arb(0, 1)).is_finite()


def test_exact_inputs_and_precision():
    tree = read_expression("exp(u)")
    for x in (Fraction(1, 3), fmpq(1, 3)):
        found = ball(tree, x, 400)
        assert found.rel_accuracy_bits() > 380
        with mpmath.workdps(110):
            digits = mpmath.nstr(mpmath.exp(mpmath.mpf(1) / 3), 105)
        with ctx.workprec(400):
            assert abs(found - arb(digits)) < arb(10) ** -100
    before = ctx.prec
    ball(tree, 1, 999)
    assert ctx.prec == before


def test_constants():
    assert constant_ball(read_expression("sqrt(2)*pi/exp(1)")).contains(
        constant_ball(read_expression("sqrt(2)*pi/E"), 300)
    )


@pytest.mark.parametrize("x", [0.5, "1", None, 1j])
def test_inexact_points_are_refused(x):
    with pytest.raises(BadInput, match="exact number or a flint ball"):
        ball(read_expression("u"), x)
