"""Rigorous Taylor steps: known functions, detours, honesty of the balls."""

from __future__ import annotations

import pytest
from flint import arb, arb_poly, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, SingularPath
from holokern.hgm.polar.half_angle import HalfAngleTable
from holokern.hgm.steps.balls import transport_balls
from holokern.hgm.steps.fixed_point import BallRow
from holokern.pfaffian import pfaffian


def system(*rows: tuple[list[int], dict[int, list[int]]]) -> list[BallRow]:
    return [BallRow(arb_poly(d), {j: arb_poly(n) for j, n in e.items()}) for d, e in rows]


def test_exponential_and_rotation() -> None:
    with ctx.workprec(200):
        (value,) = transport_balls(system(([1], {0: [1]})), arb(0), arb(3), [arb(1)])
        assert value.overlaps(arb(3).exp())
        assert value.rad() < arb(2) ** -180
        cosine, sine = transport_balls(system(([1], {1: [-1]}), ([1], {0: [1]})), arb(0), arb(2), [arb(1), arb(0)])
        assert cosine.overlaps(arb(2).cos())
        assert sine.overlaps(arb(2).sin())


def test_towards_a_singular_point() -> None:
    """F' = F/(2(1-t)) has the solution (1-t)^(-1/2)."""
    with ctx.workprec(220):
        target = 1 - arb(10) ** -12
        (value,) = transport_balls(system(([2, -2], {0: [1]})), arb(0), target, [arb(1)])
        assert value.overlaps(1 / (1 - target).sqrt())
        assert value.rel_accuracy_bits() > 150


def test_round_an_apparent_singularity() -> None:
    """(t - 1) F' = F has the solution 1 - t, which is regular at t = 1."""
    with ctx.workprec(160):
        (value,) = transport_balls(system(([-1, 1], {0: [1]})), arb(0), arb(3), [arb(1)])
        assert value.overlaps(arb(-2))
        assert value.rad() < 1e-30


def test_ending_on_a_singular_point() -> None:
    with pytest.raises(SingularPath, match="singular"):
        transport_balls(system(([-1, 1], {0: [1]})), arb(0), arb(1), [arb(1)])


def test_wrong_number_of_initial_values() -> None:
    with pytest.raises(BadInput, match="initial values"):
        transport_balls(system(([1], {0: [1]})), arb(0), arb(1), [arb(1), arb(2)])


def test_the_radius_of_the_start_is_carried() -> None:
    (value,) = transport_balls(system(([1], {0: [1]})), arb(0), arb(1), [arb(1, 1e-6)])
    assert value.contains(arb(1.0000005) * arb(1).exp())
    assert 1e-6 < float(value.rad()) < 1e-5


@settings(deadline=None, max_examples=25)
@given(
    a=st.fractions(-3, 3, max_denominator=4),
    b=st.fractions(-3, 3, max_denominator=4),
    end=st.fractions(-2, 2, max_denominator=8),
)
def test_quadratic_exponents(a, b, end) -> None:  # type: ignore[no-untyped-def]
    """F' = (a + 2bt)F, F = exp(at + bt²)."""

    a, b, end = (arb(fmpq(x.numerator, x.denominator)) for x in (a, b, end))
    with ctx.workprec(128):
        rows = [BallRow(arb_poly([1]), {0: arb_poly([a, 2 * b])})]
        (value,) = transport_balls(rows, arb(0), end, [arb(1)])
        assert value.overlaps((a * end + b * end * end).exp())


def test_relu_along_the_half_angle() -> None:
    table = HalfAngleTable.of(pfaffian(operator="u*D - 1", cache=False))
    with ctx.workprec(180):
        r = arb("0.999")
        start = [{(0, 0): 1 / (2 * arb.pi()), (1, 1): arb(1) / 4}[pair] for pair in table.exponents]
        path = table.along(arb(1), arb(1), 1)
        end = transport_balls(path, arb(1), ((1 - r) / (1 + r)).sqrt(), start)
        theta = r.acos()
        k = (theta.sin() + (arb.pi() - theta) * r) / (2 * arb.pi())
        assert end[table.exponents.index((0, 0))].overlaps(k)
        slope = end[table.exponents.index((1, 1))]
        assert slope.overlaps((arb.pi() - theta) / (2 * arb.pi()))
        row = table.matrix_row(table.exponents.index((0, 0)), arb(1), arb(1), r)
        assert sum((a * f for a, f in zip(row, end, strict=True)), arb(0)).overlaps(slope)


def test_other_coordinates_are_refused() -> None:
    with pytest.raises(BadInput, match="coordinates"):
        HalfAngleTable.of(pfaffian(operator="u*D - 1", coordinates="x", cache=False))
