"""E[σ(u)τ(v)] as one rigorous integral over u of σ(u) times the conditional mean of τ(v), which is in closed form.

Given u = c1 z, v is normal with mean c2 r z and deviation c2 √(1-r²).  When τ is piecewise a sum of v^k exp(pv + qv²),
or on the whole line a sum of such terms times erf(κv + β), its conditional mean consists of exponentials and error
functions, analytic in z.  Near r = ±1 it is steep at the breaks only, where the integral is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from flint import acb, arb, ctx

from holokern.activation import Continuation, ErfTerm, ExponentialTerm, Piece, PieceLine
from holokern.dual.enclosure.gaussian_integral import incomplete_moment, normal_density, times_gaussian
from holokern.dual.enclosure.moments import (
    Number,
    finite_ends,
    gaussian_expectation,
    rigorous_integral,
    second_moment,
)
from holokern.errors import Unsupported
from holokern.numeric import to_ball, working_precision

Side = tuple[PieceLine, Number]
# bounds of tails need few digits; the same number is added for constants inside the pieces
_ROUGH_BITS = 64


def _conditional_mean(line: PieceLine, variance: arb) -> Callable[[acb], acb]:
    """The mean of τ(v) for v normal with the given variance, as an analytic function of the mean.

    Raises Unsupported when a piece is not of the kind that has a closed form.
    """
    parts: list[tuple[arb | None, arb | None, ExponentialTerm | ErfTerm]] = []
    for (low, high), piece in zip(pairwise([None, *map(to_ball, line.breaks), None]), line.pieces, strict=True):
        terms: Sequence[ExponentialTerm | ErfTerm] | None = piece.exponential_terms()
        if terms is None and not line.breaks:
            terms = piece.erf_terms()
        if terms is None:
            raise Unsupported("the conditional mean of this activation has no closed form; use another method")
        parts += [(low, high, term) for term in terms]

    def given(mean: acb) -> acb:
        total = acb(0)
        for low, high, term in parts:
            if isinstance(term, ErfTerm):
                total += _with_erf(term, mean, variance)
            else:
                total += term.coefficient * incomplete_moment(term, low, high, mean, variance)
        return total

    return given


def _with_erf(item: ErfTerm, mean: acb, deviation_square: arb) -> acb:
    """By Stein's lemma from degree to degree, starting with E[erf(κv + β)] = erf((κm + β)/√(1 + 2κ²τ²))."""
    term, kappa, beta = item.term, item.kappa, item.beta
    factor, centre, variance = times_gaussian(term, mean, deviation_square)
    start = ((kappa * centre + beta) / (1 + 2 * kappa * kappa * variance).sqrt()).erf()
    height = 2 * kappa / arb.pi().sqrt() * (-beta * beta).exp()
    before, now = acb(0), start
    for k in range(term.degree):
        gaussian = ExponentialTerm(acb(1), k, acb(-2 * kappa * beta), -kappa * kappa)
        slope = height * incomplete_moment(gaussian, None, None, centre, variance)
        before, now = now, centre * now + variance * (k * before + slope)
    return term.coefficient * factor * now


def mixed_slope(line: PieceLine, c1: Number, c2: Number, r: arb, sine: arb) -> arb:
    """E[σ′(u)σ′(v)] at |r| < 1, the δ's of a σ with jumps included."""
    slope = line.derivative
    total = mixed_moment((slope, c1), (slope, c2), r, sine)
    jumps = [(b, height) for b, height in line.jump_sizes() if not height.is_zero()]
    if not jumps:
        return total
    deviations = to_ball(c1), to_ball(c2)
    for own, other in (deviations, deviations[::-1]):
        mean = _conditional_mean(slope, (other * sine) ** 2)
        for b, height in jumps:
            x = b / own
            total += height * normal_density(x) / own * mean(acb(other * r * x)).real
    for b, height in jumps:
        for d, depth in jumps:
            x, y = b / deviations[0], d / deviations[1]
            joint = normal_density(x) * normal_density((y - r * x) / sine) / sine
            total += height * depth * joint / (deviations[0] * deviations[1])
    return total


def mixed_between(first: Side, second: Side, r: arb, sign: int) -> arb:
    """E[f(u)g(v)] for two functions; ``sign`` is ±1 when r is exactly ±1, else 0.

    Either function may be the one whose conditional mean is taken.
    """
    if sign:
        return gaussian_expectation([first, (second[0], sign * second[1])])
    sine = ((1 - r) * (1 + r)).sqrt()
    try:
        return mixed_moment(first, second, r, sine)
    except Unsupported:
        return mixed_moment(second, first, r, sine)


def mixed_moment(first_side: Side, second_side: Side, r: arb, sine: arb) -> arb:
    """E[f(u)g(v)] at |r| < 1, ``sine`` = √(1-r²): ∫ f(c1 z) E[g(v) | z] φ(z) dz at flint's working precision.

    It is cut at the breaks of f and where E[g(v) | z] is steep.
    """
    (outer, c1), (inner, c2) = first_side, second_side
    first, second = to_ball(c1), to_ball(c2)
    mean = _conditional_mean(inner, (second * sine) ** 2)
    steep = [] if r.contains(0) else [to_ball(b) / (second * r) for b in inner.breaks]
    with working_precision(_ROUGH_BITS):
        energy = second_moment(inner, c2).upper()
    total = arb(0)
    for low, high, piece in _panels(outer, first, steep):
        # Cauchy–Schwarz: ∫|f||E[g|z]|φ over the tails ≤ √(∫f²φ over them · E[g²])
        start, stop, tails = finite_ends([piece, piece], [first, first], low, high)
        total += arb(0, (tails * energy).sqrt().upper())
        function = piece.continuation(ctx.prec + _ROUGH_BITS)

        def integrand(z: acb, analytic: bool, f: Continuation = function) -> acb:
            return f(first * z, analytic) * mean(second * r * z) * (-(z * z) / 2).exp()

        total += rigorous_integral(integrand, start, stop, 2).real / (2 * arb.pi()).sqrt()
    return total


def _panels(outer: PieceLine, c: arb, steep: Sequence[arb]) -> Iterator[tuple[arb | None, arb | None, Piece]]:
    """The pieces of the outer function in z, cut further at the points ``steep`` strictly inside them."""
    edges = [None, *(to_ball(b) / c for b in outer.breaks), None]
    for (low, high), piece in zip(pairwise(edges), outer.pieces, strict=True):
        inside = [x for x in steep if (low is None or x > low) and (high is None or x < high)]
        inside.sort(key=lambda x: float(x.mid()))
        kept: list[arb] = []
        for x in inside:
            if not kept or x > kept[-1]:
                kept.append(x.mid())
        # without any cut the whole line would have no finite end to start a tail from
        if low is None and high is None and not kept:
            kept = [arb(0)]
        for a, b in pairwise([low, *kept, high]):
            yield a, b, piece
