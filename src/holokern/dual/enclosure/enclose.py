"""`enclose`: balls that are guaranteed to contain k and k′."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, log2

from flint import arb, ctx, fmpq

from holokern.activation import Activation, PieceLine, unbounded_sides
from holokern.activation import activation as as_activation
from holokern.dual.enclosure.conditional import mixed_moment, mixed_slope
from holokern.dual.enclosure.limits import aligned, with_zero_deviation
from holokern.dual.enclosure.moments import Number, bits_above, hermite_moment, read_number, second_moment
from holokern.dual.hermite.coefficients import hermite_sequence, integral_sequence
from holokern.dual.hermite.series import hermite_series, terms_needed
from holokern.errors import (
    BadInput,
    CheckFailed,
    HolokernError,
    NotHolonomic,
    PrecisionLost,
    SingularPath,
    UnknownName,
    Unsupported,
)
from holokern.hgm import HalfAngleTable, transport_balls
from holokern.numeric import limited_work, patience, to_ball, units_left, working_precision
from holokern.pfaffian import pfaffian

METHODS = ("auto", "hermite", "taylor", "integral")
Pair = tuple[arb, arb]
Compute = Callable[[int], Pair]
Point = tuple[Number, Number, Number]

# ten digits more, for the rounding of a thousand operations; with 8 bits a second attempt is the rule
_GUARD_BITS = 32
# up to here a series is about as fast as Taylor steps; ten times as many terms take five times as long as those
_FEW_TERMS = 15_000
# 90 000 terms take five seconds at 30 digits; more mean that r is too close to ±1 for a series
_MOST_TERMS = 200_000
# without a recurrence coefficients are integrals: 480 of tanh take two seconds, and time grows like the fourth power
_MOST_INTEGRALS = 600
# beyond the digits themselves: recurrences may lose many cheap bits, Taylor steps and integrals dear ones
_MOST_BITS = {
    "hermite": 60_000,
    "coefficients": 6_000,
    "taylor": 2_000,
    "integral": 6_000,
    "independent": 60_000,
    "limit": 60_000,
}
# a limit of time: relu takes a second for 3000 digits, others much longer
_MOST_DIGITS = 10_000
# bits that steps and integrals usually lose; to begin with them is cheaper than a second attempt
_EXPECTED_LOSS = {"taylor": 72, "integral": 48}
# deviations below which recurrences lose 14 bits or more in every step
_SMALL = 1e-2
# each adds the bits that the last one lacked; after so many there is no progress
_ATTEMPTS = 8
# where no proof reaches the digits, values below 2^-this are enclosed by |k| ≤ √(E[σ(u)²] E[σ(v)²]) alone
_VANISHING = 4096
# a scale needs few digits
_ROUGH_BITS = 64
# units of work of all proofs for the usual number of digits or fewer, about five seconds; more digits may take longer
_WORK = 5e5
# of the work that is left for a proof that is not the last: the cheapest comes first and mostly succeeds
_SHARE = 0.75
# the default of `enclose`
_USUAL_DIGITS = 50


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Balls around k = E[σ(u)σ(v)] and k′ = E[σ′(u)σ′(v)].

    Attributes
    ----------
    k, kdot : arb
        python-flint balls that contain the true values; k′ is infinite where two jumps of σ meet.
    method : str
        Which proof was used: "hermite", "taylor", "integral", "independent" (r = 0), "limit" (singular covariance)
        or "bound" (a value below 2^-4096).
    digits : int
        The number of digits that was requested.
    """

    k: arb
    kdot: arb
    method: str
    digits: int

    def __iter__(self) -> Iterator[arb]:
        return iter((self.k, self.kdot))

    def __repr__(self) -> str:
        k, kdot = (value.str(self.digits) for value in self)
        return f"Enclosure(k={k}, kdot={kdot}, method={self.method!r})"

    def _repr_html_(self) -> str:
        """The proved digits as a table for notebooks."""
        shown = {name: value.str(self.digits) for name, value in zip(("k", "k′"), self, strict=True)}
        rows = "".join(f"<tr><th>{name}</th><td><code>{text}</code></td></tr>" for name, text in shown.items())
        return f"<table><caption>proved by {self.method}</caption>{rows}</table>"


def enclose(
    activation: object, c1: object, c2: object, r: object, digits: int = 50, *, method: str = "auto"
) -> Enclosure:
    """Balls that contain k(c1, c2, r) = E[σ(u)σ(v)] and k′ = E[σ′(u)σ′(v)].

    Parameters
    ----------
    activation
        An activation, a name, an expression in u, or a SymPy expression.
    c1, c2 : int, Fraction, str or arb
        Standard deviations, at least 0, exact or as balls.  A float is refused: write "0.1", or Fraction(0.1) if the
        binary number is meant.
    r : int, Fraction, str or arb
        Correlation in [-1, 1].
    digits : int
        The radius of each ball is at most 10^-digits of the value, or of 10^-digits times (k(c1,c1,1)k(c2,c2,1))^(1/2)
        where the value is smaller than that.  Balls in the input limit the digits that can be reached.
    method : {"auto", "hermite", "taylor", "integral"}
        The proof to use for 0 < |r| < 1.

    Returns
    -------
    Enclosure
        It unpacks: ``k, kdot = enclose(...)``.

    Raises
    ------
    Unsupported, NotHolonomic
        When no rigorous method can handle the activation there; the message names a numerical method that can.
    PrecisionLost
        When the digits are not reached, for example because the input balls are too wide.

    Notes
    -----
    What is proved, given that flint's ball arithmetic and rigorous integration are correct:

    - "hermite": the partial sum of the Hermite series in balls, its tail by Cauchy–Schwarz from a ball of E[σ²].  The
      coefficients come from a recurrence that follows from the exact annihilator of σ, and initial integrals.
      Where no recurrence serves they are rigorous integrals.
    - "taylor": each Taylor step of the Pfaffian system along w = tan(θ/2), by its residual and Gronwall's inequality;
      the initial values at r = 0 are products of balls.  That the system itself is right rests on its exact
      derivation.  It is checked for integrability and against numbers, but not proved again.
    - "integral": one rigorous integral over u of σ(u) times the conditional mean of σ(v) in closed form, with a proved
      bound of both tails.  Nothing about annihilators or systems is used.
    - "bound": |k| ≤ (k(c1,c1,1)k(c2,c2,1))^(1/2), where that is below 2^-4096 and no other proof reaches the digits.
    - at r = 0, r = ±1 and for a deviation 0: rigorous integrals in one variable.

    The pieces and breaks of σ are taken from exact algebra on its expression.

    Examples
    --------
    >>> k, kdot = enclose("relu", 1, 1, "1/2", digits=30)
    >>> print(k.str(20, radius=False))
    0.30449889052211467904
    >>> k.overlaps((arb(3).sqrt() / 2 + arb.pi() / 3) / (2 * arb.pi()))
    True
    """
    sigma = as_activation(activation)
    first, second, correlation = read_number("c1", c1), read_number("c2", c2), read_number("r", r)
    _check(first, second, correlation, digits, method)
    steep = unbounded_sides(sigma)
    if steep:
        raise Unsupported(
            f"the derivative of {sigma} is unbounded at u = {steep[0].point:g}, where rigorous integrals do not "
            "converge; use hk.dual, which estimates its error"
        )
    with working_precision(_ROUGH_BITS):
        routes = _routes(sigma, (first, second, correlation), _bits(digits), method)
        scale = _scale(sigma.pieces, first, second)
    exact = not any(isinstance(value, arb) for value in (first, second, correlation))
    failures: list[HolokernError] = []
    # a limit round it counts as well
    work = min(_WORK * max(1.0, digits / _USUAL_DIGITS) ** 2, units_left() / patience())
    for name, compute in routes:
        # most of what is left; all of it for the last one
        share = work if (name, compute) == routes[-1] else _SHARE * work
        with limited_work(share):
            try:
                k, kdot = _to_precision(name, compute, scale, digits, exact)
            except (Unsupported, NotHolonomic, SingularPath, PrecisionLost, CheckFailed) as error:
                failures.append(error)
            else:
                return Enclosure(k, kdot, "hermite" if name == "coefficients" else name, digits)
            work -= share - max(0.0, units_left()) / patience()
    if scale < arb(2) ** -_VANISHING:
        return Enclosure(arb(0, scale), _slope_bound(sigma.pieces, first, second), "bound", digits)
    if len(failures) == 1:
        raise failures[0]
    if all(isinstance(error, PrecisionLost) for error in failures):
        raise PrecisionLost(f"{sigma} at c1 = {c1}, c2 = {c2}, r = {r}: {failures[0]}")
    reasons = "; ".join(f"{name}: {error}" for (name, _), error in zip(routes, failures, strict=True))
    raise Unsupported(f"no rigorous method encloses {sigma} at c1 = {c1}, c2 = {c2}, r = {r} ({reasons}); use hk.dual")


def _bits(digits: int) -> int:
    return ceil(digits * log2(10)) + _GUARD_BITS


def _to_precision(name: str, compute: Compute, scale: arb, digits: int, exact: bool) -> Pair:
    """Raise the working precision until the balls are narrow enough; ``exact`` if the input is."""
    bits = _bits(digits)
    precision = bits + _EXPECTED_LOSS.get(name, 0)
    missing = precision
    for attempt in range(1, _ATTEMPTS + 1):
        with working_precision(precision):
            # more bits first, then more terms as well
            k, kdot = compute(bits * ((attempt + 1) // 2))
            before, missing = missing, max(_missing(value, scale, digits) for value in (k, kdot))
        if missing <= 0:
            return k, kdot
        # balls in the input leave a width that no precision removes, and so do integrals that end before they converge
        if missing >= before and (not exact or (name == "integral" and attempt > 3)):
            break
        precision += missing + _GUARD_BITS
        if precision > _MOST_BITS[name] + 4 * bits:
            break
    raise PrecisionLost(
        f"{digits} digits would need more than {precision} bits by method {name!r}; "
        "ask for fewer digits, give exact numbers instead of balls, or choose another method"
    )


# -- input -----------------------------------------------------------------------------------------------------------


def _check(c1: Number, c2: Number, r: Number, digits: int, method: str) -> None:
    for name, value in (("c1", c1), ("c2", c2)):
        if not value >= 0:
            raise BadInput(f"{name} = {value} is not known to be at least 0; standard deviations are not negative")
        if isinstance(value, arb) and value.contains(0):
            raise BadInput(f"the ball {name} = {value} contains 0; give 0 exactly, or a ball without it")
    if isinstance(r, arb) and not abs(r) < 1:
        raise BadInput(f"the ball r = {r} is not inside (-1, 1); give r = ±1 exactly, or a narrower ball")
    if not isinstance(r, arb) and abs(r) > 1:
        raise BadInput(f"r = {r} is not in [-1, 1]; give a correlation")
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= _MOST_DIGITS:
        raise BadInput(f"digits = {digits!r} is not an integer between 1 and {_MOST_DIGITS}")
    if method not in METHODS:
        raise UnknownName(f"there is no method {method!r} of enclose; choose one of {', '.join(METHODS)}")


def _scale(line: PieceLine, c1: Number, c2: Number) -> arb:
    """√(E[σ(c1z)²] E[σ(c2z)²]); a deviation 0 counts as 1, which is close enough for a measure of error."""
    parts = [second_moment(line, c if c != 0 else Fraction(1)) for c in (c1, c2)]
    return (parts[0].upper() * parts[1].upper()).sqrt().upper()


def _slope_bound(line: PieceLine, c1: Number, c2: Number) -> arb:
    """A ball round 0 that contains k′, from E[σ′²]; the whole line if σ jumps."""
    if line.jump_order == 0:
        return arb(0, "inf")
    return arb(0, _scale(line.derivative, c1, c2))


def _missing(value: arb, scale: arb, digits: int) -> int:
    """How many bits the ball is too wide."""
    if value == arb.pos_inf() or value == arb.neg_inf():
        return 0
    if not value.is_finite():
        return ctx.prec
    goal = abs(value).lower().max(scale * arb(10) ** (-digits)) * arb(10) ** (-digits)
    if value.rad() <= goal:
        return 0
    return bits_above(value.rad(), goal, ctx.prec)


# -- routes ----------------------------------------------------------------------------------------------------------


def _routes(sigma: Activation, point: Point, bits: int, method: str) -> list[tuple[str, Compute]]:
    """The proofs to try, cheapest first: a name, and what computes it for so many bits at the working precision."""
    line = sigma.pieces
    c1, c2, r = point
    sign = 0 if isinstance(r, arb) or abs(r) < 1 else int(r)
    if c1 == 0 or c2 == 0:
        return [("limit", lambda _: with_zero_deviation(line, c1, c2, to_ball(r), sign))]
    if sign:
        return [("limit", lambda _: aligned(line, c1, c2, sign))]
    if r == 0:
        return [("independent", lambda _: _independent(line, c1, c2))]
    proofs: dict[str, Compute] = {
        "hermite": lambda goal: _by_series(line, c1, c2, r, goal),
        "taylor": lambda _: _by_taylor(sigma, c1, c2, r),
        "integral": lambda _: _by_integral(line, c1, c2, r),
    }
    # recurrences lose digits where a deviation is small, and some σ have none; integrals lose nothing, but take long
    integrals = ("coefficients", lambda goal: _by_series(line, c1, c2, r, goal, integrate=True))
    count = terms_needed(to_ball(r), bits)
    # pieces in closed form have good recurrences
    dear = any(piece.exponential_terms() is None for piece in line.pieces)
    last = [integrals] if dear and count <= _MOST_INTEGRALS and method in ("auto", "hermite") else []
    centred = all(b == 0 for b in line.breaks)
    order = ["taylor", "integral"] if centred else ["integral", "taylor"]
    order = ["hermite", *order] if count <= _FEW_TERMS else [*order, "hermite"]
    routes = [(name, proofs[name]) for name in (order if method == "auto" else [method])]
    # the first coefficients would be integrals with as many bits as the recurrence loses
    return [*last, *routes] if min(to_ball(c1), to_ball(c2)) < _SMALL else [*routes, *last]


def _independent(line: PieceLine, c1: Number, c2: Number) -> Pair:
    """At r = 0: k = E[σ(c1z)] E[σ(c2z)] and k′ = E[σ′(c1z)] E[σ′(c2z)] with E[σ′(cz)] = E[zσ(cz)]/c."""
    left, right = ([hermite_moment(line, c, n) for n in (0, 1)] for c in (c1, c2))
    return left[0] * right[0], left[1] * right[1] / (to_ball(c1) * to_ball(c2))


def _by_series(line: PieceLine, c1: Number, c2: Number, r: Number, goal: int, *, integrate: bool = False) -> Pair:
    """The Hermite series, its coefficients by a recurrence or each by an integral of its own."""
    count = terms_needed(to_ball(r), goal)
    sequence, most = (integral_sequence, _MOST_INTEGRALS) if integrate else (hermite_sequence, _MOST_TERMS)
    if count > most:
        raise Unsupported(f"the Hermite series would need {count:g} terms here, more than {most}")
    return hermite_series(sequence(line), c1, c2, to_ball(r), int(count))


def _by_taylor(sigma: Activation, c1: Number, c2: Number, r: Number) -> Pair:
    """From r = 0, where F is a product of moments, to r by Taylor steps in w = √((1-|r|)/(1+|r|))."""
    sequence, table = hermite_sequence(sigma.pieces), _table(sigma)
    # σ(u) = τ(κu), and the system is that of τ
    kappa = to_ball(sequence.scale)
    exact = sequence.scale == 1 and not isinstance(c1, arb) and not isinstance(c2, arb)
    inner = [fmpq(c.numerator, c.denominator) if exact else to_ball(c) * kappa for c in (c1, c2)]  # type: ignore[union-attr]
    count = 1 + max(max(pair) for pair in table.exponents)
    left, right = sequence.coefficients(c1, count), sequence.coefficients(c2, count)
    sign = 1 if to_ball(r) > 0 else -1
    size = abs(to_ball(r))
    path = table.along(inner[0], inner[1], sign)
    start = [left[i] * right[j] for i, j in table.exponents]
    end = transport_balls(path, arb(1), ((1 - size) / (1 + size)).sqrt(), start)
    k = end[table.exponents.index((0, 0))]
    if (1, 1) in table.exponents:
        return k, end[table.exponents.index((1, 1))] / (to_ball(c1) * to_ball(c2))
    row = table.matrix_row(table.exponents.index((0, 0)), arb(inner[0]), arb(inner[1]), to_ball(r))
    return k, kappa * kappa * sum((a * f for a, f in zip(row, end, strict=True)), arb(0))


@lru_cache(maxsize=64)
def _table(sigma: Activation) -> HalfAngleTable:
    return HalfAngleTable.of(pfaffian(sigma))


def _by_integral(line: PieceLine, c1: Number, c2: Number, r: Number) -> Pair:
    correlation = to_ball(r)
    # 1 - r² by factors: for r near ±1 a ball would lose what cancels
    sine = ((1 - correlation) * (1 + correlation)).sqrt()
    if not isinstance(r, arb):
        sine = to_ball((1 - r) * (1 + r)).sqrt()
    outer, inner = (c1, c2) if to_ball(c1) >= to_ball(c2) else (c2, c1)
    k = mixed_moment((line, outer), (line, inner), correlation, sine)
    return k, mixed_slope(line, outer, inner, correlation, sine)
