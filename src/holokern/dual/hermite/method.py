"""Method "hermite": dual activations from Hermite coefficients by difference HGM.

k = Σ γ_n(c1) γ_n(c2) r^n with γ_n(c) = E[He_n(z) σ(cz)]/√n!, computed in balls and rounded once.  What is left out
after N terms is at most |r|^N √(ρ_N(c1) ρ_N(c2)), where ρ_N(c) = E[σ(cz)²] - Σ_(n<N) γ_n(c)² is a ball too.  Near
r = ±1 the series converges slowly if σ is not smooth.  Then the part of σ with the breaks is split off and added in
closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from flint import arb
from numpy.typing import NDArray

from holokern.activation import Activation, PieceLine
from holokern.activation import activation as as_activation
from holokern.dual.enclosure.moments import bits_above, read_number, second_moment
from holokern.dual.hermite.coefficients import HermiteSequence, hermite_sequence
from holokern.dual.hermite.singular_part import SplitSeries, rest_of_smooth_part
from holokern.dual.value import Estimate
from holokern.errors import HolokernError, PrecisionLost
from holokern.numeric import EPS, Array, limited_work, to_ball, working_precision

Pair = tuple[Fraction, Fraction]

# terms of the first try, enough for smooth σ at moderate deviations; then their number doubles
_FIRST = 64
# terms of the plain series before σ with breaks takes other routes, which are dearer to set up
_BEFORE_OTHERS = 512
# share of the tolerance that is aimed at, so that other errors fit into the rest
_MARGIN = 0.05
# times the tolerance: a larger error is refused instead of reported
_TOO_ROUGH = 10.0
# terms of the longest plain series
_LONG = 8192
# twice a double and some more; with 64 bits the first try is wasted, which takes two and a half times as long
_START_BITS = 112
# bits that a recurrence may lose, at large deviations; a limit of some seconds
_MOST_BITS = 40_000
# units of work for one pair of deviations, about five seconds: balls of thousands of bits take minutes
_WORK = 5e5
# the bound of the tail is a product of two roots of such widths, so that it can fall to 2^-90
_TIGHT = 2.0**-90
# the two parts of σ cancel each other; doubled until the balls are narrow
_SPLIT_BITS = 256
# terms, in factors of four up to the longest plain series
_SPLIT_LENGTHS = (64, 256, 1024, 4096, 8192)
# derivatives that s takes over, the cheapest first: each one more costs moments, and saves terms
_ORDERS = (3, 4, 6, 8, 10, 12, 16, 20, 24)


def hermite_coefficients(activation: object, count: int, c: object = 1, bits: int = 128) -> list[arb]:
    """E[He_n(z) σ(cz)] for n < ``count`` as balls; σ(cz) = Σ_n E[He_n(z) σ(cz)]/n! He_n(z).

    Parameters
    ----------
    activation
        An activation, a name, or an expression in u.
    count : int
    c : int, Fraction, str or arb
        Standard deviation.
    bits : int
        Each ball has a radius of at most 2^-bits times √n! √E[σ(cz)²].

    Returns
    -------
    list of arb

    Notes
    -----
    [SakodaTakayama2024, Sec. 4] writes c_n for √(2π) times these numbers, so its expansion is Σ c_n/(√(2π) n!) He_n.

    Examples
    --------
    >>> [value.str(6, radius=False) for value in hermite_coefficients("relu", 4)]
    ['0.398942', '0.500000', '0.398942', '0']
    """
    sequence = hermite_sequence(as_activation(activation).pieces)
    deviation = read_number("c", c)
    precision = bits + 32
    while precision <= _MOST_BITS + 4 * bits:
        with working_precision(precision):
            values = sequence.coefficients(deviation, count)
            scale = second_moment(sequence.line, deviation).sqrt() * arb(2) ** -bits
            # √n! of the widest ball decides; comparing squares avoids roots
            factorial, excess = arb(1), arb(0)
            for n, value in enumerate(values):
                factorial *= max(n, 1)
                excess = excess.max(value.rad() / (scale * factorial.sqrt()))
            if excess <= 1:
                return values
            precision += 32 + bits_above(excess, 1.0, precision)
    raise PrecisionLost(
        f"the recurrence loses too many digits for {count} coefficients of {activation} at c = {c}; "
        "ask for fewer coefficients or a smaller c"
    )


def serves_hermite(activation: Activation) -> str | None:
    """Why an activation cannot be served, or None."""
    try:
        # an activation given by its ODE has no pieces, and says so
        hermite_sequence(activation.pieces)
    except HolokernError as error:
        return str(error)
    return None


def hermite(
    activation: Activation, c1: Array, c2: Array, theta: Array, tolerance: float, *, terms: int | None = None
) -> tuple[Array, Array, Array, Array]:
    """k, k′ and their errors for positive deviations and 0 < θ < π.

    Parameters
    ----------
    terms : int, optional
        The most terms of the plain series; 8192 when not given.

    Raises
    ------
    PrecisionLost
        When the error stays above ten times the tolerance, as at large deviations, where σ(cz) oscillates too fast
        for the number of terms allowed.

    Notes
    -----
    The reported error is a proved bound of the tail plus an estimate of rounding.

    Use it for few deviations and many angles, or as a check with a proved tail.  Each deviation needs a sequence of
    coefficients; an angle costs next to nothing.
    """
    sequence = hermite_sequence(activation.pieces)
    result = Estimate.empty(len(theta))
    large, small = np.maximum(c1, c2), np.minimum(c1, c2)
    pairs, owner = np.unique(np.stack([large, small], axis=1), axis=0, return_inverse=True)
    for index, (first, second) in enumerate(pairs):
        where = np.flatnonzero(owner.ravel() == index)
        pair = Fraction(float(first)), Fraction(float(second))
        with limited_work(_WORK):
            result.put(where, _pair(sequence, pair, theta[where], tolerance, terms or _LONG))
    return result.arrays


def _pair(sequence: HermiteSequence, pair: Pair, theta: Array, tolerance: float, most: int) -> Estimate:
    """All angles of one pair of deviations."""
    c1, c2 = pair
    answers = _Answers.empty(theta, _scales(sequence, c1, c2), tolerance)
    breaks = sequence.line.breaks
    lengths = [_FIRST << i for i in range(most.bit_length()) if _FIRST << i <= most] or [most]
    for length in lengths:
        if not breaks or length <= _BEFORE_OTHERS:
            answers.improve(partial(_partial_sums, sequence, c1, c2, length=length))
    if breaks:
        answers.improve(partial(_by_parts, sequence, pair, goals=answers.goals))
        answers.improve(partial(_partial_sums, sequence, c1, c2, length=lengths[-1]))
    rough = answers.above(_TOO_ROUGH / _MARGIN)
    if len(rough):
        k_error, slope_error = (column[rough[0]] for column in answers.found.arrays[2:])
        raise PrecisionLost(
            f"the Hermite series at c1 = {float(c1):.6g}, c2 = {float(c2):.6g}, θ = {theta[rough[0]]:.6g} ends with "
            f"the errors {k_error:.1e} of k and {slope_error:.1e} of k′; use method='quadrature', or a larger tolerance"
        )
    return answers.found


@dataclass(frozen=True)
class _Answers:
    """k, k′ and their errors at the angles of one pair of deviations, as good as they are so far."""

    theta: Array
    # scales, goals: the size of k and of k′, and the errors that are wanted
    scales: tuple[float, float]
    goals: tuple[float, float]
    found: Estimate

    @classmethod
    def empty(cls, theta: Array, scales: tuple[float, float], tolerance: float) -> _Answers:
        goals = _MARGIN * tolerance * scales[0], _MARGIN * tolerance * scales[1]
        return cls(theta, scales, goals, Estimate.empty(len(theta)))

    def above(self, factor: float = 1.0) -> NDArray[np.intp]:
        """Which points miss so many times their goal by more than rounding."""
        k_goal, slope_goal = (
            factor * goal + 64 * EPS * scale for goal, scale in zip(self.goals, self.scales, strict=True)
        )
        # a k′ that grows without bound towards r = ±1 is measured by itself
        grown = slope_goal * np.maximum(1.0, np.nan_to_num(np.abs(self.found.kdot)) / self.scales[1])
        return np.flatnonzero((self.found.k_error > k_goal) | (self.found.kdot_error > grown))

    def improve(self, route: Callable[[Array], Estimate | None]) -> None:
        """Ask a route for the points that miss their goal, and take what is better of k and of k′."""
        some = self.above()
        found = route(self.theta[some]) if len(some) else None
        if found is not None:
            self.found.improve(some, found)


def _by_parts(sequence: HermiteSequence, pair: Pair, theta: Array, goals: tuple[float, float]) -> Estimate | None:
    """Split off the part of σ that its breaks make slow; its dual activation is in closed form."""
    chosen = _split(sequence.line, pair, goals)
    if chosen is None:
        return None
    order, length, tails = chosen
    precision = _SPLIT_BITS
    while True:
        series = SplitSeries.of(sequence, *pair, order, length, precision)
        balls = [series(float(t)) for t in theta]
        narrow = all(value.rad() <= goal for values in balls for value, goal in zip(values, goals, strict=True))
        if narrow or 2 * precision > _MOST_BITS:
            break
        precision *= 2
    columns = []
    for values, tail in zip(zip(*balls, strict=True), tails, strict=True):
        middle = np.array([float(value.mid()) for value in values])
        columns.append((middle, np.array([float(value.rad()) for value in values]) + tail + EPS * np.abs(middle)))
    (k, k_error), (slope, slope_error) = columns
    return Estimate(k, slope, k_error, slope_error)


@lru_cache(maxsize=64)
def _split(line: PieceLine, pair: Pair, goals: tuple[float, float]) -> tuple[int, int, tuple[float, float]] | None:
    """How many derivatives to take into s and how many terms make the tails small, and bounds of both tails."""
    for length in _SPLIT_LENGTHS:
        rests = [arb(_deviation(line, c, length).rest) for c in pair]
        for order in _ORDERS:
            try:
                smooth = [rest_of_smooth_part(line, c, order, length) for c in pair]
            except HolokernError:
                # the derivative grows too fast, or no bound of it is known
                break
            if smooth[0] is None or smooth[1] is None:
                break
            # a_n a_n' - s_n s_n' = a_n w_n' + w_n a_n' - w_n w_n' with w = a - s
            tail = rests[0] * smooth[1] + smooth[0] * rests[1] + smooth[0] * smooth[1]
            slope_tail = tail * length / float(pair[0] * pair[1])
            if tail <= goals[0] and slope_tail <= goals[1]:
                return order, length, (float(tail.upper()), float(slope_tail.upper()))
    return None


# -- one deviation ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _second_moments(line: PieceLine, c: Fraction, precision: int) -> tuple[arb, arb]:
    """E[σ(cz)²] and c²E[σ′(cz)²], the classical derivative meant."""
    with working_precision(precision):
        slope = second_moment(line.derivative, c)
        return second_moment(line, c), slope * to_ball(c) ** 2


def _scales(sequence: HermiteSequence, c1: Fraction, c2: Fraction) -> tuple[float, float]:
    first, second = (tuple(map(float, _second_moments(sequence.line, c, _START_BITS))) for c in (c1, c2))
    scale, slope = (float(np.sqrt(a * b)) for a, b in zip(first, second, strict=True))
    return scale, (slope + (scale if sequence.line.jump_order == 0 else 0.0)) / float(c1 * c2)


@dataclass(frozen=True)
class _Deviation:
    """γ_n for n < N, and √ of what is missing from Σ γ_n² and Σ n γ_n² (infinite when σ jumps)."""

    gamma: Array
    rest: float
    slope_rest: float


@lru_cache(maxsize=64)
def _deviation(line: PieceLine, c: Fraction, length: int) -> _Deviation:
    sequence = hermite_sequence(line)
    energy = float(_second_moments(line, c, _START_BITS)[0])
    precision = _START_BITS
    while precision <= _MOST_BITS:
        with working_precision(precision):
            values = sequence.coefficients(c, length)
            gamma = np.empty(length)
            total, slope, root = arb(0), arb(0), arb(1)
            for n, value in enumerate(values):
                if n > 1:
                    root *= arb(n).sqrt()
                normalised = value / root
                square = normalised * normalised
                total += square
                slope += square * n
                gamma[n] = float(normalised) if normalised.is_finite() else np.nan
            width = total.rad() / energy
            if total.is_finite() and width <= _TIGHT:
                whole, slope_whole = _second_moments(line, c, precision)
                rest = (whole - total).max(arb(0)).upper().sqrt().upper()
                slope_rest = arb.pos_inf()
                # Σ n γ_n² has no finite bound when σ jumps
                if line.jump_order != 0:
                    slope_rest = (slope_whole - slope).max(arb(0)).upper().sqrt().upper()
                return _Deviation(gamma, float(rest), float(slope_rest))
        # about as many bits again as the balls have lost
        precision += 32 + bits_above(width, _TIGHT, precision)
    raise PrecisionLost(
        f"the recurrence of the Hermite coefficients loses more than {_MOST_BITS} bits in {length} terms "
        f"at c = {float(c):.6g}; use method='quadrature'"
    )


def _partial_sums(sequence: HermiteSequence, c1: Fraction, c2: Fraction, theta: Array, length: int) -> Estimate:
    """The plain series with N terms: values, and bounds of the tail plus rounding."""
    line = sequence.line
    first, second = _deviation(line, c1, length), _deviation(line, c2, length)
    product = first.gamma * second.gamma
    n = np.arange(length, dtype=float)
    scale = float(c1 * c2)
    r = np.cos(theta)
    size = np.abs(r)
    columns = [np.empty(len(r)) for _ in range(5)]
    for start in range(0, len(r), max(1, (1 << 20) // length)):
        some = slice(start, start + max(1, (1 << 20) // length))
        powers = np.power(r[some, None], n)
        magnitude = np.abs(powers)
        columns[0][some] = powers @ product
        columns[1][some] = powers[:, :-1] @ (n * product)[1:] / scale
        columns[2][some] = magnitude @ np.abs(product)
        columns[3][some] = magnitude[:, :-1] @ np.abs(n * product)[1:]
        columns[4][some] = magnitude[:, :-2] @ np.abs(n * (n - 1) * product)[2:] if length > 2 else 0.0
    k, slope, sum0, sum1, sum2 = columns
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tail = size**length * first.rest * second.rest
        by_slope = size ** (length - 1) * first.slope_rest * second.slope_rest
        decreasing = length * (1 - size) >= size
        by_value = np.where(decreasing, length * size ** (length - 1) * first.rest * second.rest, np.inf)
    slope_tail = np.fmin(by_slope, by_value) / scale
    # rounding of the sums, and of r = cos θ
    k_error = tail + EPS * (4 * sum0 + sum1)
    slope_error = slope_tail + EPS * (4 * sum1 + sum2) / scale
    return Estimate(k, slope, k_error, slope_error)
