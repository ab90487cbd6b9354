"""All Hermite moments of an activation from one set of nodes, in balls.

Each panel has a Gauss–Legendre rule.  Where f is analytic inside the ellipse with foci at the ends of the panel and
half axes whose sum is ϱ times half the panel, m nodes leave an error of at most 64/15 · max|f| ϱ^(-2m)/(1 - ϱ^(-2))
times half the panel [Trefethen2013, Thm. 19.3].  The nodes give sums of powers of z, and
Σ He_n(z) tⁿ/n! = exp(zt - t²/2) turns these into Hermite moments by one product of series.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil, isqrt, log2

from flint import acb, arb, arb_mat, arb_poly, ctx

from holokern.activation import Continuation, Piece, PieceLine
from holokern.dual.enclosure.moments import Number, finite_ends, hermite_moment, hermite_polynomial, pieces_between
from holokern.errors import PrecisionLost
from holokern.numeric import charge, cost, to_ball, units_left, working_precision

# ϱ of the ellipse: two bits for each half node; a larger one reaches farther into the complex plane
_RATIO = 4
# panels at first: the normal density grows by exp(1.76) in their ellipses
_WIDTH = 2
# more nodes than these mean that the values in the ellipse are huge; half the panel does better
_MOST_NODES = 400
# rules are made for multiples of this number of nodes, so that few are made
_NODE_STEP = 8
# parts of an ellipse; balls that are narrower bound a function better
_PARTS = 4
# units of work of a bound on one of them
_STRIP = 2.5
# bounds need few digits
_ROUGH_BITS = 64
# units of work of a node of a rule for each of its nodes, and what each bit adds: fitted to times up to 4000 bits
_ROOT, _ROOT_BIT = 0.03, 9e-5
# a product and a sum in a matrix take the two-hundredth part of the value of an activation
_POWER = 0.005


def hermite_moments(line: PieceLine, c: Number, count: int) -> list[arb]:
    """E[He_n(z) σ(cz)] for n < ``count``, z standard normal.

    Pieces in closed form are integrated one moment after another.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from holokern.activation import activation
    >>> line = activation("log(1 + Abs(u))").pieces
    >>> [value.str(6, radius=False) for value in hermite_moments(line, Fraction(1), 3)[::2]]
    ['0.534822', '0.385129']
    """
    parts = list(pieces_between(line, c))
    numerical = [(low, high, piece) for low, high, piece in parts if piece and piece.exponential_terms() is None]
    if len(numerical) < len(parts) or count < 3:
        return [hermite_moment(line, c, n) for n in range(count)]
    bits = ctx.prec
    # the positive terms of He_n are e^n √n! where its value is √n!
    with working_precision(bits + ceil(count * log2(2.72)) + _ROUGH_BITS):
        totals = [arb(0)] * count
        for low, high, piece in numerical:
            found = _Interval(piece, to_ball(c), low, high, count, bits).moments()
            totals = [total + value for total, value in zip(totals, found, strict=True)]
    return [+value for value in totals]


@dataclass(frozen=True)
class _Panel:
    """A panel with a bound of the integrand: max |φ(z) f(cz)| in the ellipse, and the largest |z| there."""

    middle: arb
    half: arb
    bound: arb
    farthest: arb


@dataclass(frozen=True)
class _Interval:
    """The integral of φ(z) f(sz) He_n(z) over one interval, to about ``bits`` bits of its size times √n!."""

    piece: Piece
    scale: arb
    low: arb | None
    high: arb | None
    count: int
    bits: int

    def moments(self) -> list[arb]:
        """All moments."""
        function = self.piece.continuation(ctx.prec)
        top = hermite_polynomial(self.count - 1)
        with working_precision(self.bits):
            left, right, tails = finite_ends([self.piece], [self.scale], self.low, self.high, top)
        panels, rest = self._panels(function, left, right)
        size = max((panel.bound for panel in panels), default=arb(1), key=float)
        values, nodes, errors = [], [], [arb(0)] * self.count
        made: set[int] = set()
        with working_precision(_ROUGH_BITS):
            roots = _root_factorials(self.count)
        for panel in panels:
            with working_precision(_ROUGH_BITS):
                growth = _absolute_hermite(panel.farthest, self.count)
                worst = max(float((g / r).log()) for g, r in zip(growth, roots, strict=True)) / 0.693
                excess = float((panel.bound * panel.half / size).log()) / 0.693 + worst
                number = max(_NODE_STEP, ceil((self.bits + 8 + excess) / (2 * log2(_RATIO)) / _NODE_STEP) * _NODE_STEP)
                # the bound of the error for max|f| = 1 on a panel of half width 1
                remainder = arb(64) / 15 * arb(_RATIO) ** (-2 * number) / (1 - arb(_RATIO) ** -2)
                left_out = panel.bound * panel.half * remainder
                errors = [error + left_out * g for error, g in zip(errors, growth, strict=True)]
            # rules are kept, but work must not depend on what was asked before
            charge(0 if number in made else number**2 * (_ROOT + _ROOT_BIT * int(ctx.prec)))
            charge(number * self.piece.price, int(ctx.prec))
            made.add(number)
            for x, w in _rule(number, int(ctx.prec)):
                z = panel.middle + panel.half * x
                density = (-(z * z) / 2).exp()
                values.append(w * panel.half * density * function(acb(self.scale * z), False).real)
                nodes.append(z)
        charge(_POWER * len(nodes) * self.count, int(ctx.prec))
        found = _from_powers(_power_sums(nodes, values, self.count))
        with working_precision(_ROUGH_BITS):
            # beyond √n the bounds of |He_n|/√n! grow with n
            tails = tails.upper() * (2 * arb.pi()).sqrt()
            near = isqrt(self.count) + 1
            if (self.low is None and not abs(left) > near) or (self.high is None and not abs(right) > near):
                raise PrecisionLost("a Gaussian tail begins before the turning points of the Hermite polynomials")
            errors = [(error + tails * roots[n] / roots[-1] + rest[n]).upper() for n, error in enumerate(errors)]
        root = (2 * arb.pi()).sqrt()
        return [(value + arb(0, error)) / root for value, error in zip(found, errors, strict=True)]

    def _panels(self, function: Continuation, left: arb, right: arb) -> tuple[list[_Panel], list[arb]]:
        """Panels in whose ellipses f is analytic, and bounds of what slivers at singular ends contribute."""
        number = max(1, ceil(float((right - left).upper()) / _WIDTH))
        ends = [left + (right - left) * k / number for k in range(number + 1)]
        todo = list(pairwise(ends))
        panels, rest = [], [arb(0)] * self.count
        most = units_left() / cost(int(ctx.prec))
        narrowest = (right - left).upper() * arb(2) ** -(2 * self.bits)
        while todo:
            low, high = todo.pop()
            middle, half = (low + high) / 2, ((high - low) / 2).upper()
            charge(_STRIP * _PARTS * self.piece.price)
            panel = self._panel(function, middle, (high - low) / 2)
            if panel is not None:
                panels.append(panel)
            elif half < narrowest:
                with working_precision(_ROUGH_BITS):
                    hull = low.union(high)
                    value = abs(function(acb(self.scale * hull), False)).upper()
                    growth = _absolute_hermite(abs(hull).upper(), self.count)
                    rest = [r + 2 * half * value * g for r, g in zip(rest, growth, strict=True)]
            else:
                todo += [(low, middle), (middle, high)]
            if len(panels) + len(todo) > most:
                raise PrecisionLost("the limit of work is used up; ask for fewer digits, or set HOLOKERN_PATIENCE=10")
        return panels, rest

    def _panel(self, function: Continuation, middle: arb, half: arb) -> _Panel | None:
        """The panel with its bounds, None where f may be singular in its ellipse or is too large there."""
        with working_precision(_ROUGH_BITS):
            width, height = (half * (_RATIO + sign / arb(_RATIO)) / 2 for sign in (1, -1))
            tall = arb(0, height.upper())
            worst = arb(0)
            # parts of the real axis of the ellipse
            cuts = [middle + width * (2 * arb(k) / _PARTS - 1) for k in range(_PARTS + 1)]
            for strip in (low.union(high) for low, high in pairwise(cuts)):
                value = abs(function(acb(self.scale * strip, self.scale * tall), True)).upper()
                if not value.is_finite():
                    return None
                nearest = abs(strip).lower().max(arb(0))
                worst = worst.max(value * ((height * height - nearest * nearest) / 2).exp()).upper()
            if worst > arb(2) ** (4 * _MOST_NODES):
                return None
            farthest = ((abs(middle) + width) ** 2 + height**2).sqrt().upper()
            # zero would have no logarithm
            return _Panel(middle, half, worst.max(arb(2) ** -(4 * self.bits)).upper(), farthest)


@lru_cache(maxsize=64)
def _rule(nodes: int, bits: int) -> list[tuple[arb, arb]]:
    with working_precision(bits):
        return [arb.legendre_p_root(nodes, k, weight=True) for k in range(nodes)]


def _root_factorials(count: int) -> list[arb]:
    """√n! for n < ``count``."""
    found = [arb(1)]
    for n in range(1, count):
        found.append(found[-1] * arb(n).sqrt())
    return found


def _absolute_hermite(size: arb, count: int) -> list[arb]:
    """Bounds of |He_n(z)| for |z| ≤ ``size``: the recurrence with all signs positive."""
    found = [arb(1), size]
    for n in range(1, count - 1):
        found.append((size * found[n] + n * found[n - 1]).upper())
    return found[:count]


def _power_sums(nodes: list[arb], values: list[arb], count: int) -> list[arb]:
    """Σ v z^j for j < ``count``, as a product of two small matrices: j = a·step + b."""
    step = isqrt(count - 1) + 1
    rows = [[arb(1)] * len(nodes)]
    while len(rows) < step:
        rows.append([z * power for z, power in zip(nodes, rows[-1], strict=True)])
    giant = [z * power for z, power in zip(nodes, rows[-1], strict=True)]
    blocks = [values]
    while len(blocks) * step < count:
        blocks.append([v * z for v, z in zip(blocks[-1], giant, strict=True)])
    sums = (arb_mat(blocks) * arb_mat(rows).transpose()).table()
    return [value for row in sums for value in row][:count]


def _from_powers(sums: list[arb]) -> list[arb]:
    """Hermite moments from those of powers: n! [tⁿ] exp(-t²/2) Σ s_j t^j/j!."""
    count = len(sums)
    factorials = [arb(1)]
    for n in range(1, count):
        factorials.append(factorials[-1] * n)
    gauss = [arb(0)] * count
    gauss[0] = arb(1)
    for n in range(2, count, 2):
        gauss[n] = -gauss[n - 2] / n
    series = arb_poly([s / f for s, f in zip(sums, factorials, strict=True)]) * arb_poly(gauss)
    return [series[n] * factorials[n] for n in range(count)]
