"""Balls for singular covariances: r = ±1, or a deviation 0, as limits at a fixed angle."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from flint import arb, ctx

from holokern.activation import ZERO, Node, PieceLine, ball, differentiate, piece_line, substitute, to_ball
from holokern.dual.enclosure.conditional import jump_sizes, mixed_between
from holokern.dual.enclosure.moments import Number, gaussian_expectation
from holokern.errors import PrecisionLost, Unsupported


def aligned(tree: Node, c1: Number, c2: Number, sign: int) -> tuple[arb, arb]:
    """Both expectations at r = ±1 for positive deviations.

    A jump J of σ at b adds J φ(b/c1)/c1 times σ′ at ±c2b/c1 to k′, and the same with c1 and c2 exchanged; where two
    jumps meet, b/c1 = ±b'/c2, k′ is infinite.
    """
    line, slope = piece_line(tree), piece_line(differentiate(tree))
    k = gaussian_expectation([(line, c1), (line, sign * c2)])
    kdot = gaussian_expectation([(slope, c1), (slope, sign * c2)])
    jumps = [(b, height) for b, (_, height) in zip(line.breaks, jump_sizes(tree), strict=True) if not height.is_zero()]
    if not jumps:
        return k, kdot
    meeting = arb(0)
    for b, height in jumps:
        for d, depth in jumps:
            if _meet(b, c1, d, c2, sign):
                meeting += height * depth * _density(to_ball(b) / to_ball(c1))
    if not meeting.is_zero():
        if meeting.contains(0):
            raise PrecisionLost("jumps of the activation meet at r = ±1 and may cancel; raise digits")
        return k, arb.pos_inf() if meeting > 0 else arb.neg_inf()
    for own, other in ((c1, c2), (c2, c1)):
        for b, height in jumps:
            at = to_ball(b) / to_ball(own)
            kdot += height * _density(at) / to_ball(own) * _two_sided(slope, sign * to_ball(other) * at)
    return k, kdot


def _meet(b: object, c1: Number, d: object, c2: Number, sign: int) -> bool:
    left, right = to_ball(b) * to_ball(c2), sign * to_ball(d) * to_ball(c1)
    if not left.overlaps(right):
        return False
    if (b == 0 and d == 0) or (_is_exact(c1) and _is_exact(c2) and b * c2 == sign * d * c1):  # type: ignore[operator]
        return True
    raise PrecisionLost("the balls do not tell whether two jumps meet at r = ±1; give the deviations exactly")


def _is_exact(value: Number) -> bool:
    return not isinstance(value, arb)


def _two_sided(line: PieceLine, x: arb) -> arb:
    """The mean of both one-sided limits at a break, the value elsewhere."""
    for b, (left, right) in zip(line.breaks, pairwise(line.pieces), strict=True):
        if x.overlaps(to_ball(b)):
            return (ball(left, x, ctx.prec) + ball(right, x, ctx.prec)) / 2
    return ball(line.tree, x, ctx.prec)


def with_zero_deviation(tree: Node, c1: Number, c2: Number, r: arb, sign: int) -> tuple[arb, arb]:
    """Both expectations when c1 or c2 is 0: there σ(cx) tends to σ(0+) or σ(0-) with the sign of x.

    ``sign`` is ±1 when r is exactly ±1, else 0.
    """
    if any(not height.is_zero() for _, height in jump_sizes(tree)):
        raise Unsupported(
            "for an activation with jumps and a deviation 0 no ball of k′ is given; use hk.dual, or a small deviation"
        )
    values = []
    for function in (tree, differentiate(tree)):
        line = piece_line(function)
        limit = _limit_at_zero(line)
        first, second = ((limit, Fraction(1)) if c == 0 else (line, c) for c in (c1, c2))
        values.append(mixed_between(first, second, r, sign))
    return values[0], values[1]


def _limit_at_zero(line: PieceLine) -> PieceLine:
    """The function that is σ(0-) on the left of 0 and σ(0+) on the right."""
    for index, b in enumerate(line.breaks):
        if b == 0:
            sides = line.pieces[index : index + 2]
            return PieceLine(line.tree, (b,), tuple(_constant(piece) for piece in sides))
    index = sum(1 for b in line.breaks if b < 0)
    return PieceLine(line.tree, (), (_constant(line.pieces[index]),))


def _constant(piece: Node) -> Node:
    return substitute(piece, ZERO)


def _density(x: arb) -> arb:
    return (-(x * x) / 2).exp() / (2 * arb.pi()).sqrt()
