"""The part of a dual activation that the breaks of σ are to blame for, in closed form.

Let J_k be the jump of the k-th derivative of σ at a break b, and s(u) = Σ_b Σ_(k<K) J_k (u-b)₊^k/k!.  Then σ - s has
K-1 continuous derivatives and its K-th one is σ^(K) between the breaks, so its Hermite coefficients are small:

    Σ_(n≥N) E[He_n(z)(σ-s)(cz)]²/n! ≤ (N-K)!/N! · c^(2K) E[σ^(K)(cz)²].

The dual activation of s itself, whose Hermite series is the slow part of the series of σ near r = ±1, consists of
E[(x-a)₊^j (y-b)₊^k]/(j!k!) for standard normal x, y: one orthant probability, and Stein's identity [Stein1981].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from flint import acb, arb, arb_poly

from holokern.activation import PieceLine
from holokern.dual.enclosure.gaussian_integral import normal_density
from holokern.dual.enclosure.moments import Number, second_moment
from holokern.dual.hermite.coefficients import HermiteSequence
from holokern.numeric import to_ball, working_precision

# bounds of tails need few digits
_ROUGH_BITS = 64
# characters, about fifty a node: longer derivatives take longer to bound than the series to sum
_LONGEST = 200_000


def truncated_moments(a: arb, b: arb, theta: arb, count: int) -> dict[tuple[int, int], arb]:
    """E[(x-a)₊^j (y-b)₊^k]/(j!k!) for -1 ≤ j, k < ``count``, standard normal x, y with correlation cos θ, 0 < θ < π.

    The exponent -1 stands for a δ: the derivative in a of 0!⁻¹(x-a)₊⁰ up to sign.

    Examples
    --------
    >>> zero, third = arb(0), arb.pi() / 3
    >>> moments = truncated_moments(zero, zero, third, 2)
    >>> moments[0, 0].overlaps(arb(1) / 3), moments[1, 1].overlaps((arb(3).sqrt() / 2 + third) / (2 * arb.pi()))
    (True, True)
    """
    r, sine = theta.cos(), theta.sin()
    result = {(-1, -1): normal_density(a) * normal_density((b - r * a) / sine) / sine}
    # given x = a, y is normal with mean ra and deviation sin θ, and the other way round
    given_a, given_b = (_positive_parts((y - r * x) / sine, count) for x, y in ((a, b), (b, a)))
    for k in range(count):
        result[-1, k] = normal_density(a) * sine**k * given_a[k]
        result[k, -1] = normal_density(b) * sine**k * given_b[k]
    result[0, 0] = _orthant(a, b, theta)
    for k in range(1, count):
        result[0, k] = (result.get((0, k - 2), 0) + r * result[-1, k - 1] - b * result[0, k - 1]) / k
    for j in range(1, count):
        for k in range(count):
            result[j, k] = (result[j - 2, k] + r * result[j - 1, k - 1] - a * result[j - 1, k]) / j
    return result


def _positive_parts(h: arb, count: int) -> list[arb]:
    """E[(z-h)₊^k]/k! for k < ``count``."""
    before, now = normal_density(h), (h / arb(2).sqrt()).erfc() / 2
    result = [now]
    for k in range(1, count):
        before, now = now, (before - h * now) / k
        result.append(now)
    return result


def _orthant(a: arb, b: arb, theta: arb) -> arb:
    """P(x > a, y > b), by the integral of its derivative in the angle from π/2, where x and y are independent."""
    near = bool(theta.cos() >= 0)
    gap, product = (a - b, a * b) if near else (a + b, -a * b)
    square = gap * gap / 2

    def integrand(t: acb, analytic: bool) -> acb:
        half = (t / 2).cos() if near else (t / 2).sin()
        exponent = -product / (2 * half * half)
        if not square.is_zero():
            exponent -= square / t.sin() ** 2
        return exponent.exp()

    total = acb.integral(integrand, acb(theta), acb(arb.pi() / 2)).real / (2 * arb.pi())
    root = arb(2).sqrt()
    return (a / root).erfc() * (b / root).erfc() / 4 + total


@lru_cache(maxsize=128)
def _derivative(line: PieceLine, order: int) -> PieceLine | None:
    """The derivative of that order between the breaks, or None when its expression is too large."""
    if not order:
        return line
    before = _derivative(line, order - 1)
    after = None if before is None else before.derivative
    return None if after is None or after.length > _LONGEST else after


@lru_cache(maxsize=512)
def rest_of_smooth_part(line: PieceLine, c: Number, order: int, count: int) -> arb | None:
    """A bound of (Σ_(n≥N) E[He_n(z)(σ-s)(cz)]²/n!)^(1/2), N = ``count`` > K = ``order``; None when none is at hand."""
    derivative = _derivative(line, order)
    if derivative is None:
        return None
    with working_precision(_ROUGH_BITS):
        energy = second_moment(derivative, c)
        falling = arb(1)
        for n in range(count - order + 1, count + 1):
            falling *= n
        bound = ((energy / falling).sqrt() * to_ball(c) ** order).upper()
        return bound if bound.is_finite() else None


@dataclass(frozen=True)
class SplitSeries:
    """k = (series of what is left of σσ without ss) + (dual activation of s), for one pair of deviations."""

    remainder: arb_poly  # Σ_(n<N) (a_n(c1)a_n(c2) - s_n(c1)s_n(c2)) r^n/n! as a polynomial in r
    breaks: tuple[tuple[arb, tuple[arb, ...]], ...]  # (b, (J_0, …))
    c1: arb
    c2: arb
    precision: int

    @classmethod
    def of(
        cls, sequence: HermiteSequence, c1: Number, c2: Number, order: int, count: int, precision: int
    ) -> SplitSeries:
        """Take jumps below ``order`` into s, and ``count`` terms of the series."""
        with working_precision(precision):
            jumps = [_jumps(sequence.line, k) for k in range(order)]
            breaks = tuple((b, tuple(row[i][1] for row in jumps)) for i, (b, _) in enumerate(jumps[0]))
            whole = [sequence.coefficients(c, count) for c in (c1, c2)]
            rough = [_coefficients(breaks, to_ball(c), count) for c in (c1, c2)]
            terms, weight = [], arb(1)
            for n in range(count):
                terms.append((whole[0][n] * whole[1][n] - rough[0][n] * rough[1][n]) * weight)
                weight /= n + 1
            return cls(arb_poly(terms), breaks, to_ball(c1), to_ball(c2), precision)

    def __call__(self, theta: float) -> tuple[arb, arb]:
        """Both expectations at the angle θ, but for the tail of the series."""
        with working_precision(self.precision):
            angle = arb(theta)
            r = angle.cos()
            k, slope = self.remainder(r), self.remainder.derivative()(r) / (self.c1 * self.c2)
            for b, left in self.breaks:
                for d, right in self.breaks:
                    moments = truncated_moments(b / self.c1, d / self.c2, angle, len(left))
                    for i, x in enumerate(left):
                        for j, y in enumerate(right):
                            weight = x * y * self.c1**i * self.c2**j
                            if weight.is_zero():
                                continue
                            k += weight * moments[i, j]
                            slope += weight * moments[i - 1, j - 1] / (self.c1 * self.c2)
            return k, slope


def _jumps(line: PieceLine, order: int) -> list[tuple[arb, arb]]:
    """The breaks of σ and the jumps of its derivative of that order."""
    derivative = _derivative(line, order)
    assert derivative is not None
    heights = [height for _, height in derivative.jump_sizes()]
    # a break of σ need not be one of its derivatives
    found = dict(zip(derivative.breaks, heights, strict=True))
    return [(to_ball(b), found.get(b, arb(0))) for b in line.breaks]


def _coefficients(breaks: tuple[tuple[arb, tuple[arb, ...]], ...], c: arb, count: int) -> list[arb]:
    """E[He_n(z) s(cz)] = Σ J_k c^k E[(z-β)₊^(k-n)]/(k-n)!, where the exponent -1-m means φ(β) He_m(β)."""
    total = [arb(0)] * count
    for b, jumps in breaks:
        beta, order = b / c, len(jumps)
        parts = _positive_parts(beta, order)[::-1]
        before, now = arb(0), normal_density(beta)
        for m in range(count):
            parts.append(now)
            before, now = now, beta * now - m * before
        for k, jump in enumerate(jumps):
            if not jump.is_zero():
                weight = jump * c**k
                # parts[order - 1 - e] has the exponent e
                start = order - 1 - k
                total = [t + weight * p for t, p in zip(total, parts[start : start + count], strict=True)]
    return total
