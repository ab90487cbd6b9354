"""Method "hermite": dual activations from Hermite coefficients by difference HGM.

k = Σ γ_n(c1) γ_n(c2) r^n with γ_n(c) = E[He_n(z) σ(cz)]/√n!, computed in balls and rounded once.  What is left out
after N terms is at most |r|^N √(ρ_N(c1) ρ_N(c2)), where ρ_N(c) = E[σ(cz)²] - Σ_(n<N) γ_n(c)² is a ball too.  Where that
is slow, near r = ±1 for a σ that is not smooth, the series is rewritten in the angle.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from holokern.activation import activation as as_activation
from holokern.activation.derivative import differentiate
from holokern.activation.nodes import Node
from holokern.activation.pieces import jump_order
from holokern.dual.angle_series import AngleSeries, angle_series
from holokern.dual.coefficients import HermiteSequence, hermite_sequence
from holokern.dual.moments import bits_above, piece_line, read_number, second_moment, to_ball
from holokern.dual.registry import Method, register
from holokern.errors import HolokernError, PrecisionLost

__all__ = ["hermite", "hermite_coefficients", "serves_hermite"]

Array = NDArray[np.float64]
Pair = tuple[Fraction, Fraction]

_EPS = float(np.finfo(float).eps)
_FIRST = 64
_MARGIN = 0.05
_TOO_ROUGH = 10.0
_SHORT = 4096
_LONG = 8192
_START_BITS = 112
_MOST_BITS = 40_000
_TIGHT = 2.0**-90


def hermite_coefficients(activation: Any, count: int, c: object = 1, bits: int = 128) -> list[arb]:
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
    sequence = hermite_sequence(as_activation(activation).tree)
    deviation = read_number("c", c)
    precision = bits + 32
    while precision <= _MOST_BITS + 4 * bits:
        with ctx.workprec(precision):
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


def serves_hermite(activation: Any) -> str | None:
    """Why an activation cannot be served, or None."""
    try:
        # an activation given by its ODE has no tree, and says so
        hermite_sequence(activation.tree)
    except HolokernError as error:
        return str(error)
    return None


def hermite(
    activation: Any, c1: Array, c2: Array, theta: Array, tolerance: float, *, terms: int | None = None
) -> tuple[Array, Array, Array, Array]:
    """k, k̇ and their errors for positive deviations and 0 < θ < π.

    Parameters
    ----------
    terms : int, optional
        The most terms of the plain series; chosen from the smoothness of σ when not given.

    Raises
    ------
    PrecisionLost
        When the error stays above ten times the tolerance: near r = ±1 for a σ with breaks away from 0, where the plain
        series is all there is, or at large deviations.

    Notes
    -----
    The reported error is a proved bound of the tail plus an estimate of rounding.  In the angle (σ with its only break
    at 0, near r = ±1) it is the error measured at both ends, where the values are known.
    """
    sequence = hermite_sequence(activation.tree)
    breaks = sequence.line.breaks
    most = terms or (_SHORT if breaks and all(b == 0 for b in breaks) else _LONG)
    result = [np.full(len(theta), np.nan) for _ in range(4)]
    large, small = np.maximum(c1, c2), np.minimum(c1, c2)
    pairs, owner = np.unique(np.stack([large, small], axis=1), axis=0, return_inverse=True)
    for index, (first, second) in enumerate(pairs):
        where = np.flatnonzero(owner.ravel() == index)
        pair = Fraction(float(first)), Fraction(float(second))
        values = _pair(sequence, pair, theta[where], tolerance, most)
        for mine, new in zip(result, values, strict=True):
            mine[where] = new
    return result[0], result[1], result[2], result[3]


def _pair(sequence: HermiteSequence, pair: Pair, theta: Array, tolerance: float, most: int) -> tuple[Array, ...]:
    """All angles of one pair of deviations."""
    c1, c2 = pair
    scale, slope_scale = _scales(sequence, c1, c2)
    goals = _MARGIN * tolerance * scale, _MARGIN * tolerance * slope_scale
    result = tuple(np.full(len(theta), np.nan) for _ in range(4))
    todo = np.arange(len(theta))
    length = _FIRST
    while len(todo):
        values = _partial_sums(sequence, c1, c2, theta[todo], length)
        good = (values[2] <= goals[0] + 64 * _EPS * scale) & (values[3] <= goals[1] + 64 * _EPS * slope_scale)
        done = good | (2 * length > most)
        for mine, new in zip(result, values, strict=True):
            mine[todo[done]] = new[done]
        late = todo[done & ~good]
        todo = todo[~done]
        length *= 2
    breaks = sequence.line.breaks
    if len(late) and breaks and all(b == 0 for b in breaks):
        _by_angle(_angle_series(sequence.line.tree, pair, goals), theta, late, result)
    limit = _TOO_ROUGH * tolerance
    # a k̇ that grows without bound towards r = ±1 is measured by itself
    rough = (result[2] > limit * scale) | (result[3] > limit * np.maximum(slope_scale, np.abs(result[1])))
    if np.any(rough):
        i = int(np.flatnonzero(rough)[0])
        raise PrecisionLost(
            f"the Hermite series at c1 = {float(c1):.6g}, c2 = {float(c2):.6g}, θ = {theta[i]:.6g} ends with the errors"
            f" {result[2][i]:.1e} of k and {result[3][i]:.1e} of k̇; use method='quadrature', or a larger tolerance"
        )
    return result


@lru_cache(maxsize=64)
def _angle_series(tree: Node, pair: Pair, goals: tuple[float, float]) -> AngleSeries:
    return angle_series(hermite_sequence(tree), *pair, goals)


def _by_angle(series: AngleSeries, theta: Array, late: Any, result: tuple[Array, ...]) -> None:
    """Replace what the plain series did not reach wherever the series in the angle is better."""
    for i in late:
        k, slope = series(float(theta[i]))
        error = series.error + 4 * _EPS * abs(k)
        slope_error = series.slope_error / (np.sin(theta[i]) if series.with_cosine else 1.0) + 4 * _EPS * abs(slope)
        if not error >= result[2][i]:
            result[0][i], result[2][i] = k, error
        if not slope_error >= result[3][i]:
            result[1][i], result[3][i] = slope, slope_error


# -- one deviation ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Energies:
    """E[σ(cz)²] and c²E[σ̇(cz)²]; the second is infinite as a bound of Σ n γ_n² when σ jumps."""

    value: float
    slope: float
    jumps: bool


@lru_cache(maxsize=256)
def _energies(tree: Node, c: Fraction) -> _Energies:
    value, slope = _second_moments(tree, c, _START_BITS)
    return _Energies(float(value), float(slope), jump_order(tree) == 0)


@lru_cache(maxsize=512)
def _second_moments(tree: Node, c: Fraction, precision: int) -> tuple[arb, arb]:
    """E[σ(cz)²] and c²E[σ̇(cz)²], the classical derivative meant."""
    with ctx.workprec(precision):
        slope = second_moment(piece_line(differentiate(tree)), c)
        return second_moment(piece_line(tree), c), slope * to_ball(c) ** 2


def _scales(sequence: HermiteSequence, c1: Fraction, c2: Fraction) -> tuple[float, float]:
    first, second = (_energies(sequence.line.tree, c) for c in (c1, c2))
    scale = float(np.sqrt(first.value * second.value))
    slope = float(np.sqrt(first.slope * second.slope))
    return scale, (slope + (scale if first.jumps else 0.0)) / float(c1 * c2)


@dataclass(frozen=True)
class _Deviation:
    """γ_n for n < N, and √ of what is missing from Σ γ_n² and Σ n γ_n² (infinite when σ jumps)."""

    gamma: Array
    rest: float
    slope_rest: float


@lru_cache(maxsize=64)
def _deviation(tree: Node, c: Fraction, length: int) -> _Deviation:
    sequence = hermite_sequence(tree)
    energies = _energies(tree, c)
    precision = _START_BITS
    while precision <= _MOST_BITS:
        with ctx.workprec(precision):
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
            width = total.rad() / energies.value
            if total.is_finite() and width <= _TIGHT:
                whole, slope_whole = _second_moments(tree, c, precision)
                rest = (whole - total).max(arb(0)).upper().sqrt().upper()
                slope_rest = arb.pos_inf()
                if not energies.jumps:
                    slope_rest = (slope_whole - slope).max(arb(0)).upper().sqrt().upper()
                return _Deviation(gamma, float(rest), float(slope_rest))
        # about as many bits again as the balls have lost
        precision += 32 + bits_above(width, _TIGHT, precision)
    raise PrecisionLost(
        f"the recurrence of the Hermite coefficients loses more than {_MOST_BITS} bits in {length} terms "
        f"at c = {float(c):.6g}; use method='quadrature'"
    )


def _partial_sums(
    sequence: HermiteSequence, c1: Fraction, c2: Fraction, theta: Array, length: int
) -> tuple[Array, Array, Array, Array]:
    """The plain series with N terms: values, and bounds of the tail plus rounding."""
    tree = sequence.line.tree
    first, second = _deviation(tree, c1, length), _deviation(tree, c2, length)
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
    k_error = tail + _EPS * (4 * sum0 + sum1)
    slope_error = slope_tail + _EPS * (4 * sum1 + sum2) / scale
    return k, slope, k_error, slope_error


register(
    Method(
        "hermite",
        serves_hermite,
        hermite,
        "Hermite coefficients by difference HGM; a proved bound of the tail",
        options=("terms",),
    )
)
