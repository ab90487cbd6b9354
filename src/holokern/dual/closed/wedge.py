"""Wedges of the plane under the normal density: what the hinges of piecewise polynomials need.

For h, k ≥ 0 the wedge X > h, Y > k of two standard normal variables at the angle θ has its corner at the distance √Q
from the origin, Q = (h² + k² - 2hk cos θ)/sin²θ. Seen from the origin its mass is

    P(X > h, Y > k) = F(h, φ₁) + F(k, φ₂),    F(h, φ) = 1/(2π) ∫ exp(-h²/(2 cos²ψ)) dψ over (φ, π/2),

with tan φ₁ = α/h, α = (k - h cos θ)/sin θ and φ₁ + φ₂ = θ [Owen1956]. For fixed h, F(h, φ) exp(Q/2) is smooth in φ, so
each point of the data has one Chebyshev series. Where h is small F is 1/(2π)(π/2 - φ - h V(h, α)), V smooth in α.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation
from holokern.dual.closed.hinges import Line, Pieces, mean_squares, pieces_of, tail_moments
from holokern.dual.roughness import fold_of
from holokern.numeric import Array, chebyshev_matrix, chebyshev_nodes, legendre_rule

FARTHEST = 9.0
"""Where α is cut off in V: the normal density beyond is below rounding."""

# log₂h of the panels: below 1/32 the function V is smooth, and above 32 everything is exp(-512)
_SMALLEST, _LARGEST = -5, 5
# terms in φ, panel by panel: the last coefficients are 1e-16 of the largest (5e-16 on the first panel)
_TERMS = {-5: 224, -4: 160, -3: 112, -2: 80, -1: 64, 0: 48, 1: 40, 2: 56, 3: 72, 4: 112}
# the last coefficients in log₂h are below 3e-16 of the largest
_DEGREE_IN_H = 19
# coefficients below rounding of a function of size 1
_DROPPED = 1e-16
# stands for a hinge at 0, of which log₂h is not defined
_NEAR_ZERO = 1e-30


class HingeArrays(NamedTuple):
    """What machine code reads of the points of one side of a matrix, the last axis of all arrays but the signs."""

    signs: NDArray[np.int64]  # the signs of the hinges
    # for each hinge h, 1 for the series of F and 0 for that of V, P(z > h), the density at h, h/(2π), the bound of α
    marks: Array
    series: Array  # for each hinge the Chebyshev coefficients
    # weights, slope_weights: for each hinge the coefficients of its powers, with powers of c, of σ and of σ′
    weights: Array
    slope_weights: Array
    # base, slope_base: Hermite coefficients of the polynomial and of the hinges, of σ and of σ′
    base: Array
    slope_base: Array
    # log c, n, d, c, and three numbers for nearly equal deviations: 1 - k/(n₁n₂) = δ²W - |δ|³C at θ = 0 when σ is
    # continuous, |δ|W when it jumps; and by how much the true deviation exceeds c, relative to it
    numbers: Array


class HingedActivation(NamedTuple):
    """What machine code reads of an activation."""

    fold: int  # if it is not zero, |k| and |k′| are wanted past π/2
    jumping: bool  # whether it jumps somewhere
    # whether the hinges are symmetric about zero and it is odd or even: those of the rows on one side suffice then
    mirrored: bool
    jumps: Array  # as in `HingeSide`


@dataclass(frozen=True)
class HingeSide:
    """The points of one side of a matrix, ready for `wedge_tile`."""

    arrays: HingeArrays
    jumps: Array  # for each hinge the jump of σ′, or of σ if σ jumps somewhere
    means: Array  # E[σ(cz)]
    strain: Array  # how large the terms of the hinges are beside n: they cancel where σ grows less than its hinges

    @property
    def numbers(self) -> Array:
        """The numbers of each point, first log c, n, d and c."""
        return self.arrays.numbers

    def part(self, some: slice | NDArray[np.intp]) -> HingeSide:
        """Some of the points."""
        signs, *others = self.arrays
        arrays = HingeArrays(signs, *(np.ascontiguousarray(array[..., some]) for array in others))
        return HingeSide(arrays, self.jumps, self.means[some], self.strain[some])


def hinge_sides(
    sigma: Activation, pieces: Pieces, deviations: Sequence[Array], rounding: Sequence[Array] | None = None
) -> list[HingeSide]:
    """Everything about several sets of deviations c > 0, with their rounding, that does not depend on the others."""
    sides: list[HingeSide] = []
    for index, c in enumerate(deviations):
        twin = next((i for i in range(index) if deviations[i] is c), None)
        excess = np.zeros_like(c) if rounding is None else rounding[index]
        sides.append(_hinge_side(sigma, pieces, c, excess) if twin is None else sides[twin])
    longest = max(side.arrays.series.shape[1] for side in sides)
    longest += longest % 2
    every = [np.pad(one.arrays.series, ((0, 0), (0, longest - one.arrays.series.shape[1]), (0, 0))) for one in sides]
    return [replace(one, arrays=one.arrays._replace(series=series)) for one, series in zip(sides, every, strict=True)]


def _hinge_side(sigma: Activation, pieces: Pieces, c: Array, excess: Array) -> HingeSide:
    """Everything about deviations c > 0 that does not depend on the other side."""
    jumping = sigma.jump_order == 0
    slope, line = pieces.derivative(), Line(c)
    degree, count = pieces.degree, len(c)
    hinges = pieces.hinges
    marks = np.empty((len(hinges), 6, count))
    every = []
    for hinge, mark in zip(hinges, marks, strict=True):
        h = np.maximum(hinge.at, _NEAR_ZERO) / c
        series, is_scaled = _series(h)
        every.append(series)
        mark[:] = (
            h,
            is_scaled,
            tail_moments(h, 1)[0],
            np.exp(-h * h / 2) / math.sqrt(2 * math.pi),
            h / (2 * math.pi),
            np.where(is_scaled > 0, 1e8, FARTHEST),
        )
    terms = max(len(series) for series in every)
    table = np.zeros((len(hinges), terms, count))
    for row, series in zip(table, every, strict=True):
        row[: len(series)] = series
    weights, slope_weights = np.zeros((len(hinges), degree + 1, count)), np.zeros((len(hinges), max(1, degree), count))
    for target, source in ((weights, pieces), (slope_weights, slope)):
        for row, hinge in zip(target, source.hinges, strict=True):
            for j, a in enumerate(hinge.coefficients):
                row[j] = a * c**j
    breaks = np.array([float(b) for b in sigma.breaks])
    norms = [np.sqrt(mean_squares(function, breaks, c)) for function in (sigma, sigma.derivative)]
    numbers = np.stack([np.log(c), *norms, c, *_near(pieces, line, jumping), excess])
    signs = np.array([hinge.sign for hinge in hinges], dtype=np.int64)
    bases = _hermite(pieces, line), _hermite(slope, line)
    return HingeSide(
        HingeArrays(signs, marks, table, weights, slope_weights, *bases, np.ascontiguousarray(numbers)),
        np.array([h.coefficients[0] if jumping else [*h.coefficients, 0.0][1] for h in hinges]),
        pieces.hermite(line, 1)[0],
        term_sizes(marks, weights) / np.where(norms[0] > 0, norms[0], 1.0),
    )


def term_sizes(marks: Array, weights: Array) -> Array:
    """How large the terms of the hinges are, which cancel when σ is bounded and the deviations are large."""
    h, tail = marks[:, 0], marks[:, 2]
    return np.asarray(np.sum(np.sum(np.abs(weights), axis=1) * np.sqrt(tail) * (1 + h * h), axis=0))


def _hermite(pieces: Pieces, line: Line) -> Array:
    """Hermite coefficients of the polynomial and of the hinges up to the degree of the polynomial."""
    count = len(pieces.base) if any(pieces.base) else 0
    hinges = replace(pieces, base=(0.0,)).hermite(line, count)
    return np.ascontiguousarray(np.stack([pieces.hermite(line, count) - hinges, hinges]))


def _near(pieces: Pieces, line: Line, jumping: bool) -> tuple[Array, Array]:
    """W and C of `HingeSide.numbers`: s(ℓ) = σ(cz)/n moves at the rate (uσ′ - σ E[σ uσ′]/n²)/n with jumps at breaks."""
    c = line.c
    square = pieces.expectation(pieces, line)
    safe = np.where(square > 0, square, 1.0)
    at_breaks = np.zeros(len(c))
    for hinge in pieces.hinges:
        jump = hinge.coefficients[0] if jumping else [*hinge.coefficients, 0.0][1] * hinge.at
        h = hinge.at / c
        at_breaks += jump**2 / safe * h * np.exp(-h * h / 2) / math.sqrt(2 * math.pi)
    if jumping:
        return at_breaks / 2, np.zeros(len(c))
    moved = pieces.derivative().times_u()
    rate = moved.expectation(moved, line) / safe - (pieces.expectation(moved, line) / safe) ** 2
    return np.maximum(rate, 0.0) / 2, at_breaks / 12


def _series(h: Array) -> tuple[Array, Array]:
    """Chebyshev coefficients, one row for each term, for every h; and which of them are of F."""
    panel = np.clip(np.floor(np.log2(h)), _SMALLEST - 1, _LARGEST).astype(int)
    parts: list[tuple[NDArray[np.bool_], Array]] = []
    for one in np.unique(panel):
        some = panel == one
        if one == _LARGEST:
            continue
        if one < _SMALLEST:
            table, place = _table_of_v(), h[some] * 2.0 ** (1 - _SMALLEST) - 1
        else:
            table, place = _table_of_f(int(one)), 2 * np.log2(h[some]) - 2 * int(one) - 1
        # As many terms as the panel needs anywhere, so that a value does not depend on the other deviations.
        kept = 1 + int(np.max(np.nonzero(np.sum(np.abs(table), axis=0) > _DROPPED)[0], initial=0))
        parts.append((some, np.polynomial.chebyshev.chebval(place, table[:, :kept])))
    result = np.zeros((max((len(part) for _, part in parts), default=1), len(h)))
    for some, part in parts:
        result[: len(part), some] = part
    return result, (panel >= _SMALLEST).astype(float)


@cache
def _table_of_f(panel: int) -> Array:
    """Coefficients of F(h, φ) exp(h²/(2 cos²φ)) in log₂h over [panel, panel + 1] and in φ over [0, π/2]."""
    terms = _TERMS[panel]
    h = 2.0 ** (panel + (chebyshev_nodes(_DEGREE_IN_H + 1) + 1) / 2)
    phi = (chebyshev_nodes(terms) + 1) * np.pi / 4
    return np.asarray(chebyshev_matrix(len(h)) @ _scaled(h[:, None], phi) @ chebyshev_matrix(terms).T)


def _scaled(h: Array, phi: Array) -> Array:
    """F(h, φ) exp(h²/(2 cos²φ)) by Gauss–Legendre: along the edge of the wedge, or in ψ while h and α are small."""
    t, w = legendre_rule(48)
    h, phi = np.broadcast_arrays(h, phi)
    alpha = h * np.tan(phi)
    reach = np.minimum(FARTHEST, 40 / alpha)
    tau = np.multiply.outer(reach, t)
    a, hh = alpha[..., None], (h * h)[..., None]
    edge = h * reach / (2 * np.pi) * (np.exp(-tau * (a + tau / 2)) / (hh + (a + tau) ** 2) @ w)
    small = np.maximum(h, alpha) < 1
    psi = np.multiply.outer(np.where(small, phi, 0.0), t)
    inner = np.where(small, phi, 0.0) / (2 * np.pi) * (np.exp(-hh / (2 * np.cos(psi) ** 2)) @ w)
    half = tail_moments(h[:, 0], 1)[0][:, None] / 2
    exponent = np.where(small, (h * h + alpha * alpha) / 2, 0.0)
    return np.where(small, (half - inner) * np.exp(exponent), edge)


@cache
def _table_of_v() -> Array:
    """Coefficients of V(h, α) = ∫ (1 - exp(-(h² + y²)/2))/(h² + y²) dy over (α, ∞), in h and in α on [0, FARTHEST]."""
    terms = 56
    h = (chebyshev_nodes(9) + 1) * 2.0 ** (_SMALLEST - 1)
    alpha = (chebyshev_nodes(terms) + 1) * FARTHEST / 2
    t, w = legendre_rule(48)
    y = alpha[:, None] + np.multiply.outer(FARTHEST - alpha, t)
    q = (h[:, None, None] ** 2 + y**2) / 2
    values = (-np.expm1(-q) / (2 * q)) @ w * (FARTHEST - alpha) + np.arctan2(h, FARTHEST)[:, None] / h[:, None]
    return np.asarray(chebyshev_matrix(len(h)) @ values @ chebyshev_matrix(terms).T)


def mills_coefficients() -> tuple[float, ...]:
    """P(z > α) exp(α²/2) as a polynomial, highest coefficient first, in (α - 4)/(α + 4) for α ≥ 0, to rounding."""
    count = 28
    y = chebyshev_nodes(count)
    alpha = 4 * (1 + y) / (1 - y)
    t, w = legendre_rule(64)
    reach = np.minimum(12.0, 60 / alpha)
    tau = np.multiply.outer(reach, t)
    values = reach / math.sqrt(2 * math.pi) * (np.exp(-tau * (alpha[:, None] + tau / 2)) @ w)
    coefficients = chebyshev_matrix(count) @ values
    return tuple(float(a) for a in np.polynomial.chebyshev.cheb2poly(coefficients[:26])[::-1])


# units in the last place of the sizes of the terms: recurrences of moments lose a few of them at each step
_ROUNDING = 64 * np.finfo(float).eps


def hinged(activation: Activation, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array, Array, Array]:
    """k, k′ and bounds of their rounding; k′ is NaN when σ jumps.

    Raises Unsupported if σ is not piecewise polynomial.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> one, right = np.ones(1), np.full(1, np.pi / 2)
    >>> hinged(activation("Max(u - 1, 0)"), one, one, right)[0].round(12).tolist()
    [0.006941467639]
    """
    from holokern.dual.closed.wedge_sums import wedge_tile

    pieces = pieces_of(activation)
    jumping = activation.jump_order == 0
    fold = fold_of(activation)
    lost, slope = np.empty((len(theta), 1)), np.empty((len(theta), 1))
    first, second = hinge_sides(activation, pieces, (c1, c2))
    for i in range(len(theta)):
        some = slice(i, i + 1)
        row, column = first.part(some), second.part(some)
        sigma = HingedActivation(fold, jumping, False, row.jumps)
        wedge_tile(sigma, theta[some, None], row.arrays, column.arrays, lost[some], slope[some])
    far = (theta > np.pi / 2) if fold else np.zeros(len(theta), dtype=bool)
    scale = first.numbers[1] * second.numbers[1]
    k = np.where(far, fold, 1) * scale * (1 - lost[:, 0])
    one, other = first.arrays, second.arrays
    terms = term_sizes(one.marks, one.weights) * term_sizes(other.marks, other.weights)
    k_error = _ROUNDING * (scale + terms)
    if jumping:
        return k, np.full_like(k, np.nan), k_error, np.full_like(k, np.nan)
    kdot = np.where(far & (fold > 0), -1, 1) * slope[:, 0]
    terms = term_sizes(one.marks, one.slope_weights) * term_sizes(other.marks, other.slope_weights)
    return k, kdot, k_error, _ROUNDING * (first.numbers[2] * second.numbers[2] + terms)
