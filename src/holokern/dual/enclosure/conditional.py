"""E[σ(u)τ(v)] as one rigorous integral over u of σ(u) times the conditional mean of τ(v), which is in closed form.

Given u = c1 z, v is normal with mean c2 r z and deviation c2 √(1-r²).  When τ is piecewise a sum of v^k exp(pv + qv²),
or on the whole line a sum of such terms times erf(κv + β), its conditional mean consists of exponentials and error
functions, analytic in z.  Near r = ±1 it is steep at the breaks only, where the integral is cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import acb, arb, ctx

from holokern.activation import (
    Call,
    Continuation,
    ExponentialTerm,
    Node,
    PieceLine,
    Product,
    Sum,
    ball,
    continuation,
    differentiate,
    exponential_terms,
    jump_order,
    multiply_terms,
    piece_line,
    polynomial_in_u,
    to_ball,
)
from holokern.dual.enclosure.moments import (
    Number,
    gaussian_expectation,
    gaussian_tail,
    rigorous_integral,
    second_moment,
)
from holokern.errors import Unsupported
from holokern.numeric import working_precision

Side = tuple[PieceLine, Number]
# bounds of tails need few digits; the same number is added for constants inside the pieces
_ROUGH_BITS = 64


@dataclass(frozen=True, slots=True)
class ErfTerm:
    """A term times erf(κv + β), on the whole line."""

    term: ExponentialTerm
    kappa: arb
    beta: arb


@dataclass(frozen=True)
class ConditionalMean:
    """The mean of τ(v) for v normal with the given deviation, as an analytic function of the mean."""

    edges: tuple[arb | None, ...]
    pieces: tuple[tuple[ExponentialTerm | ErfTerm, ...], ...]
    variance: arb

    @classmethod
    def of(cls, line: PieceLine, variance: arb) -> ConditionalMean:
        """Prepare a function; Unsupported when a piece is not of the kind that has a closed form."""
        edges = (None, *(to_ball(b) for b in line.breaks), None)
        pieces = []
        for piece in line.pieces:
            terms: Sequence[ExponentialTerm | ErfTerm] | None = exponential_terms(piece)
            if terms is None and not line.breaks:
                terms = _erf_terms(piece)
            if terms is None:
                raise Unsupported("the conditional mean of this activation has no closed form; use another method")
            pieces.append(tuple(terms))
        return cls(edges, tuple(pieces), variance)

    def __call__(self, mean: acb) -> acb:
        """The conditional mean."""
        total = acb(0)
        for (low, high), terms in zip(pairwise(self.edges), self.pieces, strict=True):
            for term in terms:
                if isinstance(term, ErfTerm):
                    total += self._with_erf(term, mean)
                else:
                    total += term.coefficient * self._truncated(term, mean, low, high)
        return total

    def _times_gaussian(self, rate: acb, curvature: arb, mean: acb) -> tuple[acb, acb, arb]:
        """exp(pv + qv²) N(m, τ²) = factor · N(mean', variance')."""
        rest = 1 - 2 * curvature * self.variance
        factor = ((curvature * mean * mean + rate * mean + rate * rate * self.variance / 2) / rest).exp() / rest.sqrt()
        return factor, (mean + rate * self.variance) / rest, self.variance / rest

    def _truncated(self, term: ExponentialTerm, mean: acb, low: arb | None, high: arb | None) -> acb:
        factor, centre, variance = self._times_gaussian(term.rate, term.curvature, mean)
        before, now = acb(0), factor * self._mass(centre, variance, low, high)
        for k in range(term.degree):
            edge = self._density(term, k, high, mean) - self._density(term, k, low, mean)
            before, now = now, centre * now + variance * (k * before - edge)
        return now

    @staticmethod
    def _mass(centre: acb, variance: arb, low: arb | None, high: arb | None) -> acb:
        root = (2 * variance).sqrt()
        if low is None:
            return acb(1) if high is None else ((centre - high) / root).erfc() / 2
        if high is None:
            return ((low - centre) / root).erfc() / 2
        a, b = (low - centre) / root, (high - centre) / root
        if a.real > 0:
            return (a.erfc() - b.erfc()) / 2
        return ((-b).erfc() - (-a).erfc()) / 2 if b.real < 0 else (b.erf() - a.erf()) / 2

    def _density(self, term: ExponentialTerm, k: int, end: arb | None, mean: acb) -> acb:
        """v^k exp(pv + qv²) times the density of v, at an end of the interval."""
        if end is None or (k and end.is_zero()):
            return acb(0)
        exponent = term.rate * end + term.curvature * end * end - (end - mean) ** 2 / (2 * self.variance)
        return acb(end) ** k * exponent.exp() / (2 * arb.pi() * self.variance).sqrt()

    def _with_erf(self, item: ErfTerm, mean: acb) -> acb:
        """By Stein's lemma from degree to degree, starting with E[erf(κv + β)] = erf((κm + β)/√(1 + 2κ²τ²))."""
        term, kappa, beta = item.term, item.kappa, item.beta
        factor, centre, variance = self._times_gaussian(term.rate, term.curvature, mean)
        start = ((kappa * centre + beta) / (1 + 2 * kappa * kappa * variance).sqrt()).erf()
        before, now = acb(0), start
        bell = ConditionalMean((None, None), ((),), variance)
        for k in range(term.degree):
            gaussian = ExponentialTerm(acb(1), k, acb(-2 * kappa * beta), -kappa * kappa)
            slope = 2 * kappa / arb.pi().sqrt() * (-beta * beta).exp() * bell._truncated(gaussian, centre, None, None)
            before, now = now, centre * now + variance * (k * before + slope)
        return term.coefficient * factor * now


def _erf_terms(piece: Node) -> list[ExponentialTerm | ErfTerm] | None:
    """Write a piece as terms, some of them times erf of a linear argument."""
    parts = piece.terms if isinstance(piece, Sum) else (piece,)
    found: list[ExponentialTerm | ErfTerm] = []
    for part in parts:
        plain = exponential_terms(part)
        if plain is not None:
            found += plain
            continue
        factors = part.factors if isinstance(part, Product) else (part,)
        special = [f for f in factors if isinstance(f, Call) and f.name in {"erf", "erfc"}]
        rest = [exponential_terms(f) for f in factors if f not in special]
        if len(special) != 1 or len(rest) != len(factors) - 1 or None in rest:
            return None
        line = polynomial_in_u(special[0].args[0])
        if line is None or len(line) > 2:
            return None
        beta, kappa = [*line, arb(0)][:2]
        terms = _expanded([r for r in rest if r is not None])
        sign = -1 if special[0].name == "erfc" else 1
        if sign < 0:
            found += terms
        found += [
            ErfTerm(ExponentialTerm(t.coefficient * sign, t.degree, t.rate, t.curvature), kappa, beta) for t in terms
        ]
    return found


def _expanded(factors: Sequence[list[ExponentialTerm]]) -> list[ExponentialTerm]:
    product = [ExponentialTerm(acb(1), 0, acb(0), arb(0))]
    for factor in factors:
        product = multiply_terms(product, factor)
    return product


def mixed_moment(tree: Node, c1: Number, c2: Number, r: arb, sine: arb) -> arb:
    """E[σ(u)σ(v)] at |r| < 1, ``sine`` = √(1-r²), at flint's working precision."""
    line = piece_line(tree)
    return _integral((line, c1), (line, c2), r, sine)


def mixed_slope(tree: Node, c1: Number, c2: Number, r: arb, sine: arb) -> arb:
    """E[σ′(u)σ′(v)] at |r| < 1, the δ's of a σ with jumps included."""
    slope = piece_line(differentiate(tree))
    total = _integral((slope, c1), (slope, c2), r, sine)
    jumps = [(b, height) for b, height in jump_sizes(tree) if not height.is_zero()]
    if not jumps:
        return total
    deviations = to_ball(c1), to_ball(c2)
    for own, other in (deviations, deviations[::-1]):
        mean = ConditionalMean.of(slope, (other * sine) ** 2)
        for b, height in jumps:
            x = b / own
            total += height * _density(x) / own * mean(acb(other * r * x)).real
    for b, height in jumps:
        for d, depth in jumps:
            x, y = b / deviations[0], d / deviations[1]
            joint = _density(x) * _density((y - r * x) / sine) / sine
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
        return _integral(first, second, r, sine)
    except Unsupported:
        return _integral(second, first, r, sine)


def jump_sizes(tree: Node) -> list[tuple[arb, arb]]:
    """The breaks of σ and how far σ itself jumps there; exactly 0 where it is known to be continuous."""
    line = piece_line(tree)
    if jump_order(tree) != 0:
        return [(to_ball(b), arb(0)) for b in line.breaks]
    found = []
    for b, (left, right) in zip(line.breaks, pairwise(line.pieces), strict=True):
        at = to_ball(b)
        found.append((at, ball(right, at, ctx.prec) - ball(left, at, ctx.prec)))
    return found


def _integral(first_side: Side, second_side: Side, r: arb, sine: arb) -> arb:
    """∫ f(c1 z) E[g(v) | z] φ(z) dz, cut at the breaks of f and where E[g(v) | z] is steep."""
    (outer, c1), (inner, c2) = first_side, second_side
    first, second = to_ball(c1), to_ball(c2)
    mean = ConditionalMean.of(inner, (second * sine) ** 2)
    steep = [] if r.contains(0) else [to_ball(b) / (second * r) for b in inner.breaks]
    with working_precision(_ROUGH_BITS):
        energy = second_moment(inner, c2).upper()
    total = arb(0)
    for low, high, piece in _panels(outer, first, steep):
        # Cauchy–Schwarz: ∫|f||E[g|z]|φ over a tail ≤ √(∫f²φ over the tail · E[g²])
        start, tail = (low, arb(0)) if low is not None else gaussian_tail([piece, piece], [first, first], -1, high)
        total += arb(0, (tail * energy).sqrt().upper())
        stop, tail = (high, arb(0)) if high is not None else gaussian_tail([piece, piece], [first, first], 1, low)
        total += arb(0, (tail * energy).sqrt().upper())

        function = continuation(piece, ctx.prec + _ROUGH_BITS)

        def integrand(z: acb, analytic: bool, f: Continuation = function) -> acb:
            return f(first * z, analytic) * mean(second * r * z) * (-(z * z) / 2).exp()

        total += rigorous_integral(integrand, start, stop, 2).real / (2 * arb.pi()).sqrt()
    return total


def _panels(outer: PieceLine, c: arb, steep: Sequence[arb]) -> Iterator[tuple[arb | None, arb | None, Node]]:
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


def _density(x: arb) -> arb:
    return (-(x * x) / 2).exp() / (2 * arb.pi()).sqrt()
