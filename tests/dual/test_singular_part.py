"""The closed form of the part of k that breaks are to blame for, and the bound of the rest."""

from fractions import Fraction

import pytest
from flint import arb, ctx

from holokern.activation import activation
from holokern.dual.dual import dual
from holokern.dual.hermite.coefficients import hermite_sequence
from holokern.dual.hermite.singular_part import SplitSeries, rest_of_smooth_part, truncated_moments
from holokern.errors import HolokernError


@pytest.mark.parametrize(
    ("a", "b", "theta"), [("1/2", "1/2", 1e-4), ("1/2", "-1", 0.7), ("1", "1", 3.0), ("0", "2", 2.2)]
)
def test_truncated_moments_are_dual_activations_of_rectified_powers(a: str, b: str, theta: float) -> None:
    """2E[(x-a)₊²(y-b)₊], the two terms being equal by symmetry, is what k of a sum has beyond those of its parts."""
    parts = [f"Max(u - ({a}), 0)^2", f"Max(u - ({b}), 0)"]
    first, second = (arb(x.numerator) / x.denominator for x in (Fraction(a), Fraction(b)))
    with ctx.workprec(128):
        moments, swapped, own = (
            truncated_moments(*pair, arb(theta), 3) for pair in ((first, second), (second, first), (first, first))
        )
    assert moments[2, 1].overlaps(swapped[1, 2])
    both = dual(" + ".join(parts), 1, 1, theta=theta, method="quadrature")
    alone = [dual(part, 1, 1, theta=theta, method="quadrature") for part in parts]
    assert 4 * float(moments[2, 1]) == pytest.approx(both.k - alone[0].k - alone[1].k, abs=1e-13)
    assert 4 * float(own[2, 2]) == pytest.approx(alone[0].k, rel=1e-12)
    assert 4 * float(own[1, 1]) == pytest.approx(alone[0].kdot, rel=1e-12)


def test_independent_moments_are_products() -> None:
    with ctx.workprec(128):
        right_angle = arb.pi() / 2
        found = truncated_moments(arb(1), arb(-2), right_angle, 4)
        rows, columns = (truncated_moments(x, x, right_angle, 4) for x in (arb(1), arb(-2)))
        for j in range(-1, 4):
            for k in range(-1, 4):
                assert (found[j, k] ** 2).overlaps(rows[j, j] * columns[k, k])


@pytest.mark.parametrize("text", ["elu", "resin", "Heaviside(u - 1)*exp(-u)"])
def test_the_bound_of_the_rest_holds(text: str) -> None:
    """Few terms and few derivatives, so that the tail is large: it is below its bound, and not by far."""
    line = activation(text).pieces
    sequence = hermite_sequence(line)
    c, theta, order, count = Fraction(1), 0.2, 4, 12
    rest = rest_of_smooth_part(line, c, order, count)
    assert rest is not None
    split = SplitSeries.of(sequence, c, c, order, count, 256)
    longer = SplitSeries.of(sequence, c, c, 6, 600, 2048)
    energy = arb(dual(text, 1, 1, 1.0, method="quadrature").k).sqrt()
    gap = abs(split(theta)[0] - longer(theta)[0])
    bound = rest * (2 * energy + rest)
    assert gap <= bound
    assert 1e4 * gap >= rest**2


def test_derivatives_that_are_not_square_integrable_have_no_bound() -> None:
    try:
        found = rest_of_smooth_part(activation("Abs(u)^(1/2)").pieces, Fraction(1), 2, 64)
    except HolokernError:
        found = None
    assert found is None
