"""The edge of chaos of an activation, and its critical point.

A hidden layer takes the variance q = c² to σ_w² E[σ(cz)²] + σ_b².  At a fixed point of this map, nearby points separate
at the rate χ = σ_w² E[σ′(cz)²], and the variance itself returns at the rate χ∥ = σ_w² dE[σ(cz)²]/dq [Poole2016],
[Schoenholz2017].  So every c is the fixed point of exactly one network on the edge χ = 1, the one with
σ_w² = 1/E[σ′(cz)²] and σ_b² = c² - E[σ(cz)²]/E[σ′(cz)²], unless the latter is negative.  The network is critical if
χ∥ = 1 as well [RobertsYaidaHanin2022, Ch 5].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebroots

from holokern.dual import DualActivation, dual_activation
from holokern.errors import HolokernError, Unsupported
from holokern.numeric import Array, Range, Series, chebyshev_matrix

# a curve that looks smooth on a screen
_POINTS = 400
# relative; c² - E[σ²]/E[σ′²] loses some digits where it vanishes, as for relu
_ROUNDING = 1e-9
# the derivative is a difference quotient of 400 points, which is off by less
_SLACK = 1e-3
# panels of deviations on either side of c = 1, and the logarithm of the width of one: from 1/90 to 90
_REACH, _WIDTH = 9, 0.5
# on such a panel log E[σ(cz)²] has this degree and no more, to rounding
_NODES = 14
# a rate nearer to 1 than this is 1: beyond the rounding of a derivative on a panel
_RATE = 1e-7


@dataclass(frozen=True)
class CriticalPoint:
    """The network at which variances and correlations both change as slowly as possible with depth.

    It unpacks into two numbers: ``W_std, b_std = hk.critical("gelu")``.

    Attributes
    ----------
    W_std, b_std
        Standard deviations of the weights, with the usual factor 1/width, and of the biases.
    deviation
        The fixed point c: 0 if variances shrink to zero, None if every c is a fixed point, as for relu.
    """

    W_std: float
    b_std: float
    deviation: float | None

    def __iter__(self) -> Iterator[float]:
        return iter((self.W_std, self.b_std))


@dataclass(frozen=True)
class EdgePart:
    """A connected part of the edge: σ_w and σ_b, and whether the variance returns to its fixed point."""

    weight: Array
    bias: Array
    stable: bool


def critical(activation: object) -> CriticalPoint:
    """The critical point of an activation: the weights and biases with which deep networks can be trained best.

    Raises
    ------
    Unsupported
        If there is none, with the reason.

    Examples
    --------
    >>> W_std, b_std = critical("relu")
    >>> round(W_std**2, 12), b_std
    (2.0, 0.0)
    >>> critical("tanh")
    CriticalPoint(W_std=1.0, b_std=0.0, deviation=0.0)
    >>> point = critical("gelu")
    >>> round(point.W_std**2, 3), round(point.b_std**2, 3), round(point.deviation**2, 9)
    (1.983, 0.173, 3.561552813)
    """
    dual = dual_activation(activation)
    sigma = dual.activation
    if dual.jumps:
        raise Unsupported(
            f"{sigma} has no critical point: it jumps or is as steep as a root, so χ is infinite and every network is "
            "chaotic"
        )
    if dual.homogeneity == 1:
        return CriticalPoint(float(1 / dual.slope_norms(np.ones(1))[0]), 0.0, None)
    if dual.homogeneity is not None:
        raise Unsupported(
            f"{sigma} has no critical point: σ(λu) = λ^{dual.homogeneity:g} σ(u), so the variances of deep networks "
            "explode or vanish"
        )
    if _shrinks_to_zero(dual):
        return CriticalPoint(1 / dual.limits.slope, 0.0, 0.0)
    rates, variances = [], []
    for span, rate, variances_of_biases in _panels(dual):
        for c in _roots(span, rate):
            weight, variance = _on_edge(dual, c)
            if variance >= -_ROUNDING * c**2:
                return CriticalPoint(weight, float(np.sqrt(max(variance, 0.0))), c)
        rates.append(rate)
        variances.append(variances_of_biases)
    raise Unsupported(
        f"{sigma} has no critical point: {_reason(np.concatenate(rates), np.concatenate(variances))}; hk.Network still "
        "takes any W_std and b_std"
    )


def _reason(rate: Array, variance: Array) -> str:
    if np.all(variance < 0):
        return "χ = 1 would need biases of negative variance"
    if np.all(rate[variance >= 0] > 1):
        return "wherever χ = 1 the variance runs away from its fixed point (χ∥ > 1)"
    return "nowhere are both rates, χ of correlations and χ∥ of variances, equal to 1"


def edge_of_chaos(activation: object, low: float, high: float) -> list[EdgePart]:
    """The parts of the edge whose fixed points c lie in [low, high]; none where χ is infinite, as for σ with jumps.

    Examples
    --------
    >>> part, = edge_of_chaos("relu", 0.5, 2.0)
    >>> part.weight.round(6).tolist(), part.bias.round(6).tolist()
    ([1.414214], [0.0])
    """
    dual = dual_activation(activation)
    if dual.jumps:
        return []
    c = np.geomspace(low, high, _POINTS)
    square, slope_square = _squares(dual, c)
    variance = c**2 - square / slope_square
    variance = np.where(np.abs(variance) <= _ROUNDING * c**2, 0.0, variance)
    stable = np.gradient(square, c**2) / slope_square <= 1 + _SLACK
    kind = np.where(variance < 0, 0, np.where(stable, 1, 2))
    starts = np.flatnonzero(np.diff(kind, prepend=-1))
    parts = []
    for start, stop in zip(starts, [*starts[1:], len(c)], strict=True):
        if kind[start]:
            # one point more, so that parts meet
            some = slice(start, min(stop + 1, len(c)) if stop < len(c) and kind[stop] else stop)
            parts.append(_part(1 / np.sqrt(slope_square[some]), np.sqrt(variance[some]), bool(kind[start] == 1)))
    return parts


def _part(weight: Array, bias: Array, stable: bool) -> EdgePart:
    """A part; a single point for a homogeneous σ, where all c belong to the same network."""
    if np.ptp(weight) <= _ROUNDING * weight[0] and np.ptp(bias) <= _ROUNDING:
        weight, bias = weight[:1], bias[:1]
    return EdgePart(weight, bias, stable)


def _squares(dual: DualActivation, c: Array) -> tuple[Array, Array]:
    """E[σ(cz)²] and E[σ′(cz)²]."""
    norms, slopes, _ = dual.moments_in_range(c)
    return norms**2, slopes**2


def _shrinks_to_zero(dual: DualActivation) -> bool:
    """Whether c = 0 is a fixed point of the network with σ_w = 1/slope and σ_b = 0, and variances come down to it."""
    limits = dual.limits
    if limits.norm > 0 or not 0 < limits.slope < np.inf:
        return False
    c = np.array([1e-2, 3e-2])
    square, _ = _squares(dual, c)
    return bool(np.all(square / limits.slope**2 <= c**2 * (1 + _RATE)))


def _roots(span: Range, rate: Array) -> list[float]:
    """Deviations where χ∥ = 1, from its values at the nodes; none where it is 1 everywhere, as for affine functions."""
    if np.max(np.abs(rate - 1)) < _RATE:
        return []
    places = chebroots(chebyshev_matrix(_NODES) @ (rate - 1))
    found = places.real[(np.abs(places.imag) < _RATE) & (np.abs(places.real) <= 1)]
    return [float(c) for c in np.exp((span.low + span.high + (span.high - span.low) * found) / 2)]


def _panels(dual: DualActivation) -> Iterator[tuple[Range, Array, Array]]:
    """Panels of log c with the rate χ∥ on the edge and the variance of the biases at their nodes.

    Those next to c = 1 come first, and those on which moments do not exist or overflow are left out.
    """
    for start in sorted(np.arange(-_REACH, _REACH), key=lambda start: abs(start + 0.5)):
        span = Range(float(start) * _WIDTH, float(start + 1) * _WIDTH)
        logs = span.nodes(_NODES)
        c = np.exp(logs)
        try:
            with np.errstate(all="ignore"):
                square, slope_square = _squares(dual, c)
                # d log E[σ²]/d log q is half of that by log c
                growth = Series(span, chebyshev_matrix(_NODES) @ np.log(square)).derivative(logs) / 2
                rate, variance = growth * square / (c**2 * slope_square), c**2 - square / slope_square
        except HolokernError:
            continue
        if np.all(np.isfinite([rate, variance])):
            yield span, rate, variance


def _on_edge(dual: DualActivation, c: float) -> tuple[float, float]:
    """σ_w and the variance of the biases of the network on the edge with this fixed point."""
    square, slope_square = (float(part[0]) for part in _squares(dual, np.array([c])))
    return slope_square**-0.5, c**2 - square / slope_square
