"""Gaussian moments in one dimension as balls: E[Q(z) f1(s1 z) … fm(sm z)], z ~ N(0, 1).

Between the breaks every factor is a formula.  Where all of them are sums of u^k exp(pu + qu²) the integral is exact
(error functions: Mills' ratio, Dawson's function); elsewhere flint integrates rigorously over a finite interval and a
proved bound of the growth of the factors covers the rest.  Everything happens at flint's current working precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from flint import acb, acb_poly, arb, arb_poly, ctx

from holokern.activation import ExponentialTerm, Piece, PieceLine, TailBound
from holokern.dual.enclosure.gaussian_integral import gaussian_integral, normal_density
from holokern.errors import BadInput, PrecisionLost
from holokern.numeric import charge, cost, to_ball, units_left
from holokern.weyl import exact_rational

Number = Fraction | arb
# octaves below 1 on which a piece is bounded by balls, for small deviations
_OCTAVES = 400
# deviations; 10 000 digits end at about 215, so that farther means a σ that grows like exp(u²/2)
_FARTHEST = 1 << 20
# for constants inside the pieces, which the integrand may magnify
_GUARD_BITS = 64


def read_number(name: str, value: object) -> Number:
    """An exact number (int, Fraction, fmpq, text) or a finite ball, as a Fraction where it is exact.

    Examples
    --------
    >>> read_number("c", "0.1")
    Fraction(1, 10)
    """
    if isinstance(value, arb):
        if not value.is_finite():
            raise BadInput(f"{name} = {value} is not finite; give a finite ball")
        if value.is_exact():
            mantissa, exponent = value.man_exp()
            return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
        return value
    try:
        exact = exact_rational(value)
    except BadInput as error:
        raise BadInput(f"{name}: {error}, or a ball (flint.arb)") from None
    return Fraction(int(exact.p), int(exact.q))


def bits_above(value: arb, goal: arb | float, otherwise: int) -> int:
    """The binary logarithm of value/goal, rounded up and at least 1; ``otherwise`` when it is not finite."""
    ratio = value / goal
    if not (ratio.is_finite() and ratio > 0):
        return otherwise
    logarithm = (ratio.upper().log() / arb(2).log()).upper().ceil().unique_fmpz()
    return otherwise if logarithm is None else max(1, int(logarithm))


def hermite_moment(line: PieceLine, c: Number, n: int) -> arb:
    """E[He_n(z) σ(cz)] with the probabilists' Hermite polynomial.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> hermite_moment(activation("relu").pieces, Fraction(1), 1)
    0.500000000000000
    """
    return gaussian_expectation([(line, c)], hermite_polynomial(n))


def second_moment(line: PieceLine, c: Number) -> arb:
    """E[σ(cz)²]."""
    return gaussian_expectation([(line, c), (line, c)])


def gaussian_expectation(factors: Sequence[tuple[PieceLine, Number]], polynomial: Sequence[int] = (1,)) -> arb:
    """E[Q(z) Π f_i(s_i z)], z standard normal, for s_i ≠ 0 (a Fraction or a ball that excludes 0).

    Raises Unsupported when a factor has no closed form and no proved bound of its growth; BadInput when the expectation
    does not exist.
    """
    total = arb(0)
    for low, high, sample in _intervals(factors):
        if sample is None:
            total += _sliver(factors, polynomial, low, high)  # type: ignore[arg-type]
            continue
        pieces = [_piece_at(line, to_ball(s) * sample) for line, s in factors]
        balls = {id(s): to_ball(s) for _, s in factors}
        scales = [balls[id(s)] for _, s in factors]
        total += _integral(pieces, scales, polynomial, low, high)
    return total


def pieces_between(line: PieceLine, c: Number) -> Iterator[tuple[arb | None, arb | None, Piece | None]]:
    """The intervals in z between breaks of σ(cz), and the piece there; none where balls leave the order open."""
    for low, high, sample in _intervals([(line, c)]):
        yield low, high, None if sample is None else _piece_at(line, to_ball(c) * sample)


# -- the line cut at all breaks --------------------------------------------------------------------------------------


def _intervals(factors: Sequence[tuple[PieceLine, Number]]) -> Iterator[tuple[arb | None, arb | None, arb | None]]:
    """Ends and an inner point of each interval in z; no inner point when balls leave the order of the ends open."""
    exact: set[Fraction] = set()
    points: list[arb] = []
    for line, s in factors:
        for b in line.breaks:
            if b == 0:
                exact.add(Fraction(0))
            elif isinstance(b, Fraction) and isinstance(s, Fraction):
                exact.add(b / s)
            else:
                points.append(to_ball(b) / to_ball(s))
    points += [to_ball(point) for point in exact]
    points.sort(key=lambda point: float(point.mid()))
    if not points:
        yield None, None, arb(0)
        return
    yield None, points[0], points[0].lower() - 1
    for low, high in pairwise(points):
        yield low, high, ((low.upper() + high.lower()) / 2).mid() if low < high else None
    yield points[-1], None, points[-1].upper() + 1


def _piece_at(line: PieceLine, point: arb) -> Piece:
    index = 0
    for b in line.breaks:
        edge = to_ball(b)
        if point > edge:
            index += 1
        elif not point < edge:
            raise PrecisionLost("a sample point cannot be told from a break point; raise the working precision")
    return line.pieces[index]


def _sliver(factors: Sequence[tuple[PieceLine, Number]], polynomial: Sequence[int], low: arb, high: arb) -> arb:
    """The integral between two ends that the balls cannot separate, from the range of the integrand there."""
    hull = low.union(high)
    value: arb = arb_poly(list(polynomial))(hull) * normal_density(hull)
    for line, s in factors:
        value *= line.ball(to_ball(s) * hull)
    return value * (high - low)


# -- one interval ----------------------------------------------------------------------------------------------------


def _integral(
    pieces: Sequence[Piece], scales: Sequence[arb], polynomial: Sequence[int], low: arb | None, high: arb | None
) -> arb:
    terms = [ExponentialTerm(acb(q), k, acb(0), arb(0)) for k, q in enumerate(polynomial) if q]
    for piece, s in zip(pieces, scales, strict=True):
        factor = piece.exponential_terms()
        if factor is None:
            return _numerical_integral(pieces, scales, polynomial, low, high)
        terms = [one * other.scaled(s) for one in terms for other in factor]
    return gaussian_integral(terms, low, high)


def _numerical_integral(
    pieces: Sequence[Piece], scales: Sequence[arb], polynomial: Sequence[int], low: arb | None, high: arb | None
) -> arb:
    left, right, tail = finite_ends(pieces, scales, low, high, polynomial)
    normalisation = 1 / (2 * arb.pi()).sqrt()
    hermite = None if tuple(polynomial) == (1,) else acb_poly(list(polynomial))

    # constants get more bits than the working precision, which flint's integration raises a little by itself
    functions = {piece: piece.continuation(ctx.prec + _GUARD_BITS) for piece in set(pieces)}
    factors = [(functions[piece], s) for piece, s in zip(pieces, scales, strict=True)]
    square = len(factors) == 2 and pieces[0] == pieces[1] and scales[0] is scales[1]

    def integrand(z: acb, analytic: bool) -> acb:
        value = (-(z * z) / 2).exp()
        if square:
            one = factors[0][0](scales[0] * z, analytic)
            return value * one * one
        for function, s in factors:
            value = value * function(s * z, analytic)
        return value if hermite is None else value * hermite(z)

    price = sum(piece.price for piece in pieces)
    result = rigorous_integral(integrand, left, right, price).real * normalisation
    return result if tail.is_zero() else result + arb(0, tail.upper())


def rigorous_integral(integrand: Callable[[acb, bool], acb], low: arb, high: arb, price: float) -> acb:
    """∫ of values of activations with this `Piece.price` in all, within the limits of one integral and of all work.

    Beyond its own limit, some seconds, its ball stays wide.
    """
    count = 0

    def counted(z: acb, analytic: bool) -> acb:
        nonlocal count
        count += 1
        return integrand(z, analytic)

    each = price * cost(int(ctx.prec))
    most = int(min(20_000 + 40 * int(ctx.prec), units_left() / each + 1))
    result = acb.integral(counted, low, high, eval_limit=most)
    charge(count * price, int(ctx.prec))
    return result


def finite_ends(
    pieces: Sequence[Piece], scales: Sequence[arb], low: arb | None, high: arb | None, polynomial: Sequence[int] = (1,)
) -> tuple[arb, arb, arb]:
    """Finite ends in the place of infinite ones, for an integral of Q(z) Π f_i(s_i z) φ(z), and a bound of the rest."""
    left, left_tail = (low, arb(0)) if low is not None else _gaussian_tail(pieces, scales, -1, high, polynomial)
    right, right_tail = (high, arb(0)) if high is not None else _gaussian_tail(pieces, scales, 1, low, polynomial)
    return left, right, left_tail + right_tail


def _gaussian_tail(
    pieces: Sequence[Piece], scales: Sequence[arb], side: int, near: arb | None, polynomial: Sequence[int]
) -> tuple[arb, arb]:
    """Where to stop on an infinite side, and a bound of what is left out.

    With |f| ≤ K (1+z)^p exp(az + bz²) the logarithm g of the bound of the integrand is concave and
    ∫_R^∞ exp(g) ≤ exp(g(R))/|g'(R)| once g'(R) < 0.  ``near`` is the finite end of the interval, if any.
    """
    bound = TailBound(arb(sum(abs(q) for q in polynomial)), len(polynomial) - 1)
    start = reach = arb(2) if near is None else abs(near).upper() + 1
    for piece, s in zip(pieces, scales, strict=True):
        direction = side if s > 0 else -side
        growth = piece.tail_bound(direction)
        # the bound speaks about |u| = |s z| ≥ 1 only
        nearer = _bound_below_one(piece, direction, (abs(s) * start).lower())
        if nearer is None:
            reach = reach.max((1 / abs(s)).upper())
        else:
            growth = replace(growth, constant=growth.constant.max(nearer * (-growth.square).max(arb(0)).exp()).upper())
        bound = bound * growth.scaled(abs(s))
    decay = arb(1) / 2 - bound.square
    if not decay > 0:
        raise BadInput("the activation grows too fast for this standard deviation: its Gaussian moment is infinite")
    reach = arb(reach.upper().ceil().mid())
    while reach < _FARTHEST:
        slope = 2 * decay * reach - bound.power / (1 + reach) - bound.linear
        if slope > 0:
            exponent = bound.power * (1 + reach).log() + bound.linear * reach - decay * reach * reach
            tail = (bound.constant * exponent.exp() / slope).upper()
            if tail < arb(2) ** (-ctx.prec - 8):
                return side * reach, tail
        reach = (reach * 9 / 8).ceil()
    raise PrecisionLost("the Gaussian tail of the activation lies too far out; use a smaller standard deviation")


def _bound_below_one(piece: Piece, side: int, start: arb) -> arb | None:
    """A bound of |f(u)| for start ≤ |u| ≤ 1 on one side, None if none is found or none is needed."""
    if start >= 1 or not start > arb(2) ** -_OCTAVES:
        return None
    found = arb(0)
    top = arb(1)
    while top > start:
        value = abs(piece.ball(side * top.union(top / 2)))
        if not value.is_finite():
            return None
        found, top = found.max(value.upper()), top / 2
    return found.upper()


@lru_cache(maxsize=256)
def hermite_polynomial(n: int) -> tuple[int, ...]:
    """The coefficients of He_n, lowest first: n!/(k! 2^m m!) with alternating signs, n = k + 2m."""
    found = [0] * (n + 1)
    found[n] = 1
    for k in range(n - 2, -1, -2):
        found[k] = -found[k + 2] * (k + 2) * (k + 1) // (n - k)
    return tuple(found)
