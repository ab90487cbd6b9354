"""Balls for singular covariances: r = ±1, or a deviation 0, as limits at a fixed angle."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from holokern.activation import PieceLine
from holokern.dual.enclosure.conditional import mixed_between
from holokern.dual.enclosure.gaussian_integral import normal_density
from holokern.dual.enclosure.moments import Number, gaussian_expectation
from holokern.errors import PrecisionLost, Unsupported
from holokern.numeric import to_ball


def aligned(line: PieceLine, c1: Number, c2: Number, sign: int) -> tuple[arb, arb]:
    """Both expectations at r = ±1 for positive deviations.

    A jump J of σ at b adds J φ(b/c1)/c1 times σ′ at ±c2b/c1 to k′, and the same with c1 and c2 exchanged; where two
    jumps meet, b/c1 = ±b'/c2, k′ is infinite.
    """
    slope = line.derivative
    k = gaussian_expectation([(line, c1), (line, sign * c2)])
    kdot = gaussian_expectation([(slope, c1), (slope, sign * c2)])
    jumps = [(b, height) for b, (_, height) in zip(line.breaks, line.jump_sizes(), strict=True) if not height.is_zero()]
    if not jumps:
        return k, kdot
    meeting = arb(0)
    for b, height in jumps:
        for d, depth in jumps:
            if _meet(b, c1, d, c2, sign):
                meeting += height * depth * normal_density(to_ball(b) / to_ball(c1))
    if not meeting.is_zero():
        if meeting.contains(0):
            raise PrecisionLost("jumps of the activation meet at r = ±1 and may cancel; raise digits")
        return k, arb.pos_inf() if meeting > 0 else arb.neg_inf()
    for own, other in ((c1, c2), (c2, c1)):
        for b, height in jumps:
            at = to_ball(b) / to_ball(own)
            kdot += height * normal_density(at) / to_ball(own) * slope.two_sided(sign * to_ball(other) * at)
    return k, kdot


def _meet(b: object, c1: Number, d: object, c2: Number, sign: int) -> bool:
    left, right = to_ball(b) * to_ball(c2), sign * to_ball(d) * to_ball(c1)
    if not left.overlaps(right):
        return False
    if (b == 0 and d == 0) or (not isinstance(c1, arb) and not isinstance(c2, arb) and b * c2 == sign * d * c1):  # type: ignore[operator]
        return True
    raise PrecisionLost("the balls do not tell whether two jumps meet at r = ±1; give the deviations exactly")


def with_zero_deviation(line: PieceLine, c1: Number, c2: Number, r: arb, sign: int) -> tuple[arb, arb]:
    """Both expectations when c1 or c2 is 0: there σ(cx) tends to σ(0+) or σ(0-) with the sign of x.

    ``sign`` is ±1 when r is exactly ±1, else 0.
    """
    if any(not height.is_zero() for _, height in line.jump_sizes()):
        raise Unsupported(
            "for an activation with jumps and a deviation 0 no ball of k′ is given; use hk.dual, or a small deviation"
        )
    values = []
    for function in (line, line.derivative):
        limit = function.limit_at_zero()
        first, second = ((limit, Fraction(1)) if c == 0 else (function, c) for c in (c1, c2))
        values.append(mixed_between(first, second, r, sign))
    return values[0], values[1]
