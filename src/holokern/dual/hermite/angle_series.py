"""The Hermite series rewritten in φ = π/2 - θ: for a σ whose only break is 0 it converges at r = ±1 as well.

k is analytic in θ on all of [0, π] then, while in r it has square roots at ±1 that make Σ g_n r^n slow.  Composing the
power series with r = sin φ removes them: the same coefficients, a geometric rate.  The exact values at r = ±1,
integrals in one variable, measure the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, arb_poly, arb_series, ctx

from holokern.dual.enclosure.limits import aligned
from holokern.dual.enclosure.moments import Number
from holokern.dual.hermite.coefficients import HermiteSequence
from holokern.numeric import series_length, to_ball, working_precision

# terms, doubled; beyond 1024 composing the series takes longer than quadrature
_LENGTHS = (48, 96, 192, 384, 768, 1024)
# deviations above which waves make the terms grow before they fall
_LARGE = 12
# the values at the ends measure errors of 1e-16 or so; this is twice as many digits and more
_CHECK_BITS = 128


@dataclass(frozen=True)
class AngleSeries:
    """Polynomials in φ for k and for k′, the latter times cos φ when σ jumps."""

    value: arb_poly
    slope: arb_poly
    with_cosine: bool  # whether ``slope`` is k′ cos φ
    # error, slope_error: the largest error at the two ends, where the true values are known
    error: float
    slope_error: float
    precision: int  # bits that evaluation needs

    def __call__(self, theta: float) -> tuple[float, float]:
        """Both expectations at the angle θ."""
        with working_precision(self.precision):
            phi = arb.pi() / 2 - arb(theta)
            slope = self.slope(phi)
            return float(self.value(phi)), float(slope / phi.cos() if self.with_cosine else slope)


def angle_series(sequence: HermiteSequence, c1: Number, c2: Number, goals: tuple[float, float]) -> AngleSeries:
    """Lengthen the series until both errors at the ends meet their goals, or the longest is reached."""
    jumps = [height for _, height in sequence.line.jump_sizes() if not height.is_zero()]
    with working_precision(_CHECK_BITS):
        ends = [_ends(sequence, c1, c2, sign, jumps) for sign in (1, -1)]
    best: AngleSeries | None = None
    for length in _LENGTHS:
        precision = 96 + 2 * length
        for _ in range(4):
            with working_precision(precision):
                found, noise = _measured(_composed(sequence, (c1, c2), length, bool(jumps)), ends, bool(jumps))
            if noise <= 0.1 * min(goals):
                break
            precision *= 2
        if found.error <= goals[0] and found.slope_error <= goals[1]:
            return found
        # a wave such as sin(cz) makes the terms grow to exp(c²) first; beyond some c no length here will do
        stuck = best is not None and max(float(c1), float(c2)) > _LARGE and found.error > best.error
        if best is None or found.error <= best.error:
            best = found
        if stuck:
            break
    assert best is not None
    return best


def _ends(sequence: HermiteSequence, c1: Number, c2: Number, sign: int, jumps: list[arb]) -> tuple[arb, arb]:
    """The values of both series at φ = ±π/2; k′ cos φ tends to J²/(2π c1c2) there when σ has a jump J at 0."""
    k, slope = aligned(sequence.line, c1, c2, sign)
    if jumps:
        slope = jumps[0] ** 2 / (2 * arb.pi() * to_ball(c1) * to_ball(c2))
    return k, slope


def _measured(
    series: tuple[arb_poly, arb_poly], ends: Sequence[tuple[arb, arb]], jumps: bool
) -> tuple[AngleSeries, float]:
    """The series with its errors at the ends, and how wide its balls are there."""
    right_angle = arb.pi() / 2
    errors, noise = [0.0, 0.0], 0.0
    for index, polynomial in enumerate(series):
        degree = polynomial.degree()
        last = abs(polynomial[degree]) * right_angle**degree
        for sign, end in zip((1, -1), ends, strict=True):
            at_end = polynomial(sign * right_angle)
            noise = max(noise, float(at_end.rad()))
            errors[index] = max(errors[index], float(abs(at_end - end[index]).upper()), float(last.upper()))
    return AngleSeries(series[0], series[1], jumps, errors[0], errors[1], ctx.prec), noise


def _composed(
    sequence: HermiteSequence, pair: tuple[Number, Number], length: int, jumps: bool
) -> tuple[arb_poly, arb_poly]:
    """Both series in φ, truncated at the given length."""
    c1, c2 = pair
    left = sequence.coefficients(c1, length)
    right = left if c1 == c2 else sequence.coefficients(c2, length)
    weight, products = arb(1), []
    for n in range(length):
        products.append(left[n] * right[n] * weight)
        weight /= n + 1
    with series_length(length):
        sine = arb_series([0, 1], prec=length).sin()
        value = arb_series(products, prec=length)(sine)
        slope = value.derivative() / (to_ball(c1) * to_ball(c2))
        if not jumps:
            slope = slope / arb_series([0, 1], prec=length).cos()
    return arb_poly(value.coeffs()), arb_poly(slope.coeffs())
