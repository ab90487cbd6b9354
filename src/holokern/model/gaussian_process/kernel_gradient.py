"""The derivatives of NNGP and NTK matrices in the bias and the weight variance, layer by layer.

A layer makes Σ' = w k + β² from k = n1 n2 (1 - lost). The quotients a = √w n/c' and b = β/c' are the cosine and the
sine of an angle φ, and the next angle θ' has

    1 - cos θ' = 2 sin²((φ1 - φ2)/2) + a1 a2 lost,

whose derivative keeps its digits for points that nearly coincide, since lost is δ² W + θ^p H, with tables of W and H
that know their derivatives. The inputs make Σ⁰ in the same way, from lengths and directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holokern.dual import DualTable
from holokern.errors import PrecisionLost, Unsupported
from holokern.model.kernel import Kind
from holokern.network import Network
from holokern.numeric import Array, Series, unit_vectors

# So near to antipodes the angle of an odd activation stands still, and 1 + cos θ has no digits left.
_FARTHEST = np.pi - 1e-6


@dataclass(frozen=True)
class Rates:
    """How fast log β and log w move."""

    bias: float
    weight: float


@dataclass(frozen=True)
class _Pairs:
    """Deviations c of the points; θ, Σ and Θ of all pairs. Or how fast log c, θ, Σ and Θ move."""

    c: Array
    theta: Array
    sigma: Array
    tangent: Array


@dataclass(frozen=True)
class _Lost:
    """1 - k/(n1 n2), and for each of the rates how fast √w n (in its logarithm) and this loss move."""

    length: Array
    value: Array
    growth: list[Array]
    rates: list[Array]


def kernel_gradient(network: Network, kind: Kind, points: Array, rates: list[Rates]) -> list[Array] | None:
    """The kernel matrix and its derivative for each of the rates, or None when it is not smooth enough for series.

    That is so when σ has a break other than zero, and at zero vectors without bias.

    >>> x = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> network = Network("relu", depth=1, weight_variance=2.0)
    >>> value, rate = kernel_gradient(network, "nngp", x, [Rates(bias=0.0, weight=1.0)])
    >>> bool(np.allclose(value, network.nngp(x))), bool(np.allclose(rate, 2 * value))
    (True, True)
    """
    from scipy.spatial.distance import cdist

    scale = 1.0 if network.weight_variance is None else float(np.sqrt(network.weight_variance / points.shape[1]))
    unit, length = unit_vectors(points * scale)
    if network.residual or (not network.bias and np.any(length == 0)):
        return None
    chords = cdist(unit, unit)
    growth = [np.full(len(points), rate.weight / 2) for rate in rates]
    start = _Lost(length, chords**2 / 2, growth, [np.zeros_like(chords) for _ in rates])
    pairs, moving = _joined(start, network.bias, rates)
    for layer in network.hidden_layers:
        try:
            table = layer.dual.table(*_octaves(pairs.c))
        except (Unsupported, PrecisionLost):
            return None
        pairs, moving = _layer(table, layer.weight, layer.bias, pairs, moving, rates, kind == "ntk")
    return [one.tangent if kind == "ntk" else one.sigma for one in (pairs, *moving)]


def _octaves(c: Array) -> tuple[float, float]:
    """Powers of two around all deviations: while hyperparameters are fitted, few tables serve all steps."""
    return float(2.0 ** np.floor(np.log2(np.min(c)))), float(2.0 ** np.ceil(np.log2(np.max(c))))


def _joined(lost: _Lost, bias: float, rates: list[Rates]) -> tuple[_Pairs, list[_Pairs]]:
    """Points from their parts √w n and β; Θ = Σ."""
    c = np.hypot(lost.length, bias)
    a, b, phi = lost.length / c, bias / c, np.arctan2(bias, lost.length)
    apart = phi[:, None] - phi
    gap = np.clip(2 * np.sin(apart / 2) ** 2 + a[:, None] * a * lost.value, 0.0, 2.0)
    theta = 2 * np.arctan2(np.sqrt(gap), np.sqrt(2 - gap))
    scale = c[:, None] * c
    sigma = scale * (1 - gap)
    regular = (theta > 0) & (theta < _FARTHEST)
    sine = np.where(regular, np.sin(theta), 1.0)
    moving = []
    for rate, growth, loss in zip(rates, lost.growth, lost.rates, strict=True):
        turn = a * b * (rate.bias - growth)
        shrink = b * turn
        opening = np.sin(apart) * (turn[:, None] - turn) + a[:, None] * a * loss
        opening -= lost.value * (shrink[:, None] * a + a[:, None] * shrink)
        log_c = a**2 * growth + b**2 * rate.bias
        moved = sigma * (log_c[:, None] + log_c) - scale * opening
        moving.append(_Pairs(log_c, np.where(regular, opening / sine, 0.0), moved, moved))
    return _Pairs(c, theta, sigma, sigma), moving


def _layer(
    dual: DualTable,
    weight: float,
    bias: float,
    old: _Pairs,
    moving: list[_Pairs],
    rates: list[Rates],
    with_tangent: bool,
) -> tuple[_Pairs, list[_Pairs]]:
    logs = np.log(old.c)
    norm, norm_rate = dual.norms(old.c), _rate(dual.log_norm, dual.homogeneity, logs)
    delta = logs[:, None] - logs
    # Past π/2 the kernels of an even or odd σ are those of the supplement, with a sign; Σ and Θ keep their own.
    folded = dual.fold != 0
    far = folded & (old.theta > np.pi / 2)
    side = np.where(far, -1.0, 1.0)
    theta = np.where(far, np.pi - old.theta, old.theta)
    jets = dual.table.jets(logs, logs, theta)
    gap, bend = jets[:2]
    power = theta**dual.power
    raised = dual.power * theta ** (dual.power - 1)
    growth, losses = [], []
    value = delta**2 * gap.value + power * bend.value
    for rate, move in zip(rates, moving, strict=True):
        growth.append(rate.weight / 2 + norm_rate * move.c)
        spread = move.c[:, None] - move.c
        loss = delta * (2 * spread * gap.value + delta * gap.along(move.c, np.zeros_like(spread)))
        loss += side * move.theta * raised * bend.value + power * bend.along(move.c, side * move.theta)
        losses.append(np.where(far & (dual.fold < 0), -loss, loss))
    value = np.where(far & (dual.fold < 0), 2.0 - value, value)
    lost = _Lost(np.sqrt(weight) * norm, value, growth, losses)
    new, moved = _joined(lost, bias, rates)
    if not with_tangent or not dual.has_slope:
        return new, moved
    length, length_rate = dual.slope_norms(old.c), _rate(dual.log_slope, dual.homogeneity, logs, 1)
    sign = np.where(far & (dual.fold > 0), -1.0, 1.0)
    scale = weight * sign * length[:, None] * length
    slope = jets[2]
    result = []
    for rate, before, after in zip(rates, moving, moved, strict=True):
        turn = length_rate * before.c
        grown = scale * slope.value * (rate.weight + turn[:, None] + turn)
        grown += scale * slope.along(before.c, side * before.theta)
        tangent = before.tangent * scale * slope.value + old.tangent * grown + after.sigma
        result.append(_Pairs(after.c, after.theta, after.sigma, tangent))
    return _Pairs(new.c, new.theta, new.sigma, old.tangent * scale * slope.value + new.sigma), result


def _rate(series: Series, homogeneity: float | None, logs: Array, shift: int = 0) -> Array:
    """The derivative in log c of the logarithm of a norm."""
    if homogeneity is not None:
        return np.full(len(logs), homogeneity - shift)
    return series.derivative(logs)
