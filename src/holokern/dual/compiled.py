"""`compile_dual`: k and k̇ of an activation as tensors of Chebyshev coefficients over a range of deviations.

With ℓ = log c, n(c) = k(c, c, 1)^(1/2), d(c) = k̇(c, c, 1)^(1/2) and δ = ℓ1 - ℓ2 the tensors are those of

    k = n1 n2 (1 - δ² W(ℓ1, ℓ2) - θ^p H(ℓ1, ℓ2, θ)),    k̇ = d1 d2 K(ℓ1, ℓ2, θ),

with p = 2, or p = 1 when σ jumps. So 1 - k/(n1 n2), from which the next layer has its angle, keeps its digits for
points that nearly coincide. H comes from K by [Price1958]: k(0) - k(θ) = c1 c2 ∫ k̇ sin over (0, θ).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from holokern.activation import activation as as_activation
from holokern.dual.closed.hinged import hinged
from holokern.dual.closed.hinges import pieces_of
from holokern.dual.compiled_rule import SectorRule, settled_rule
from holokern.dual.compiled_table import enough_terms, tables_of
from holokern.dual.compiled_tensors import CompiledDual, chebyshev_basis
from holokern.dual.store import stored
from holokern.errors import BadInput, PrecisionLost, Unsupported
from holokern.numeric.chebyshev import chebyshev_matrix, chebyshev_nodes
from holokern.numeric.gauss import legendre_rule
from holokern.numeric.panels import Array

__all__ = ["breaks_away", "cannot_compile", "compile_dual", "compiled", "homogeneity"]

_DEGREES = (12, 16, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384)
_RANKS = (4, 6, 8, 11, 14, 18, 24, 32, 44, 60, 80)
_MARGIN = 1.02
_OF_SINE = 18
_KEPT = 32


def breaks_away(activation: Any) -> bool:
    """Whether σ breaks away from zero: there k is not smooth in the deviations, and tensors do not serve."""
    return any(b != 0 for b in activation.breaks)


def cannot_compile(activation: Any) -> str | None:
    """Why the method ``compiled`` does not serve an activation, or None."""
    if breaks_away(activation):
        try:
            pieces_of(activation)
        except Unsupported:
            off = next(float(b) for b in activation.breaks if b != 0)
            return (
                f"it breaks away from zero, at {off:.6g}, where k is not smooth in the deviations, and is not "
                "piecewise polynomial; use method='quadrature'"
            )
    return None


_cache: OrderedDict[Any, list[CompiledDual]] = OrderedDict()
_lock = threading.RLock()


def compile_dual(activation: Any, low: float = 0.5, high: float = 2.0) -> CompiledDual:
    """The compiled dual activation for deviations in [low, high], from memory or the cache on disk if it is there.

    Raises
    ------
    Unsupported
        For σ with breaks away from zero, which `dual` and `Network` serve in other ways.
    PrecisionLost
        If 1e-12 cannot be reached on this range.

    Examples
    --------
    >>> d = compile_dual("relu")
    >>> d.homogeneity, d.bend.shape[0], d.error < 1e-13
    (1.0, 1, True)
    """
    sigma = as_activation(activation)
    if not 0 < low <= high < np.inf:
        raise BadInput(f"[{low}, {high}] is not a range of standard deviations; pass 0 < low <= high")
    with _lock:
        known = _cache.setdefault(sigma, [])
        _cache.move_to_end(sigma)
        while len(_cache) > _KEPT:
            _cache.popitem(last=False)
        fitting = [entry for entry in known if entry.covers(low, high)]
        if fitting:
            return min(fitting, key=lambda entry: entry.high / max(entry.low, 1e-300))
        if breaks_away(sigma):
            raise Unsupported(
                f"{sigma} has no compiled tensors: it breaks away from zero, where k is not smooth in the deviations; "
                "use dual or Network, which know another way"
            )
        low, high = low / _MARGIN, high * _MARGIN
        made = stored(CompiledDual, sigma, (low, high), lambda: _compile(sigma, low, high))
        known.append(made)
        return made


def compiled(
    activation: Any, c1: Array, c2: Array, theta: Array, tolerance: float
) -> tuple[Array, Array, Array, Array]:
    """The method ``compiled`` of `dual`: tensors over the range of the given deviations, or hinges in closed form."""
    if breaks_away(activation):
        return hinged(activation, c1, c2, theta)
    both = np.concatenate([c1, c2])
    made = compile_dual(activation, float(np.min(both)), float(np.max(both)))
    k, kdot = made(c1, c2, theta)
    k_error = made.error * made.norms(c1) * made.norms(c2)
    kdot_error = made.error * made.slope_norms(c1) * made.slope_norms(c2) if made.has_slope else np.full_like(k, np.nan)
    return k, kdot, k_error, kdot_error


def _compile(sigma: Any, low: float, high: float) -> CompiledDual:
    degree = homogeneity(sigma)
    if degree is not None:
        low = high = 1.0
    ends = np.unique([low, np.sqrt(low * high), high])
    value, slope, reach = tables_of(sigma, ends)
    label = str(sigma)
    jumps = sigma.jump_order == 0
    integrand = value if jumps else slope
    rule = settled_rule((integrand,), ends, reach, label)
    fold = {"even": 1, "odd": -1}.get(sigma.parity or "", 0)
    shape = _Shape(value, slope, rule, fold, jumps, low, high)
    angles = enough_terms(_DEGREES, lambda count: shape.tensor(ends, count), 2, label)
    # A rank of six for each factor e of the range is rarely too much; smaller ones need not be tried.
    ranks = tuple(rank for rank in _RANKS if rank >= min(6 * np.log(high / low), _RANKS[-3]))
    rank = 1 if low == high else enough_terms(ranks, lambda count: shape.by_rank(sigma, count), 0, label)
    made = shape.build(sigma, rank, angles, degree)
    made = replace(made, error=_measured_error(made, shape, low, high))
    if not made.error <= 1e-11:
        raise PrecisionLost(
            f"{label}: the compiled kernel is off by {made.error:.1e} on deviations [{low:.4g}, {high:.4g}]"
        )
    return made if degree is None else replace(made, low=0.0, high=np.inf)


@dataclass(frozen=True)
class _Shape:
    """What the tensors are built from."""

    value: Any
    slope: Any
    rule: SectorRule
    fold: int
    jumps: bool
    low: float
    high: float

    @property
    def widest(self) -> float:
        return np.pi / 2 if self.fold else np.pi

    def deviations(self, count: int) -> Array:
        middle, half = np.log(self.low * self.high) / 2, np.log(self.high / self.low) / 2
        return np.asarray(np.exp(middle + half * chebyshev_nodes(count)))

    def angles(self, count: int) -> Array:
        return (chebyshev_nodes(count) + 1) * self.widest / 2

    def line(self, c: Array) -> tuple[Array, Array, Array, Array]:
        """σ(cx) and σ̇(cx) over the whole line, the points and their weights."""
        x, w = self.rule.on_line()
        x, w = np.concatenate([-x[::-1], x]), np.concatenate([w[::-1], w])
        u = np.multiply.outer(c, x)
        return self.value(u), self.slope(u), x, w

    def radicals(self, c: Array) -> tuple[Array, Array]:
        value, slope, _, w = self.line(c)
        # The density first: squares of exponentials would overflow.
        root = np.sqrt(w)
        return np.sqrt(np.sum((value * root) ** 2, axis=1)), np.sqrt(np.sum((slope * root) ** 2, axis=1))

    def means(self, c: Array, norm: Array) -> Array:
        value, _, _, w = self.line(c)
        return np.asarray(value @ w / norm)

    def tensor(self, c: Array, count: int) -> Array:
        """Chebyshev coefficients, in ℓ and θ, of K; of k/(n1 n2) when σ jumps."""
        norm, slope_norm = self.radicals(c)
        scale = norm if self.jumps else slope_norm
        scale = np.where(scale > 0, scale, 1.0)
        values = self.rule.pairs(self.value if self.jumps else self.slope, c, c, self.angles(count))
        values = values / scale[:, None, None] / scale[None, :, None]
        to_degree, to_rank = chebyshev_matrix(count), chebyshev_matrix(len(c))
        return np.asarray(np.einsum("pa,qb,mt,abt->pqm", to_rank, to_rank, to_degree, values, optimize=True))

    def by_rank(self, sigma: Any, rank: int) -> Array:
        """Everything that depends on deviations, at a few angles; the first axis is the degree in ℓ."""
        made = self.build(sigma, rank, 4, None)
        parts = (made.log_norm, made.log_slope, made.mean, made.gap, made.bend, made.slope)
        return np.concatenate([part.reshape(rank, -1) for part in parts], axis=1)

    def build(self, sigma: Any, rank: int, count: int, degree: float | None) -> CompiledDual:
        c = self.deviations(rank)
        norm, slope_norm = self.radicals(c)
        to_rank = chebyshev_matrix(rank)
        tensor = self.tensor(c, count)
        bend = self._bend_with_jumps(tensor, c, norm) if self.jumps else self._bend(tensor, c, norm, slope_norm)
        gap = np.einsum("pa,qb,ab->pq", to_rank, to_rank, self._gap(c, norm))
        if degree is not None:
            gap = np.zeros((1, 1))
        return CompiledDual(
            activation=sigma,
            low=self.low,
            high=self.high,
            homogeneity=degree,
            fold=self.fold,
            power=1 if self.jumps else 2,
            log_norm=to_rank @ np.log(norm),
            log_slope=to_rank @ np.log(np.where(slope_norm > 0, slope_norm, 1.0)),
            mean=to_rank @ self.means(c, norm),
            gap=gap,
            bend=bend,
            slope=np.zeros((rank, rank, 0)) if self.jumps else tensor,
            error=np.nan,
        )

    def _bend(self, tensor: Array, c: Array, norm: Array, slope_norm: Array) -> Array:
        """H from K: c1 c2 ∫ s sinc(θs) k̇(θs) ds over (0, 1) [Price1958]."""
        count = tensor.shape[2]
        # The sine has a degree of its own.
        finer = count + _OF_SINE
        s, w = legendre_rule(finer)
        at = np.multiply.outer(self.angles(finer), s)
        basis = chebyshev_basis(2 * at.ravel() / self.widest - 1, count).reshape(count, *at.shape)
        operator = chebyshev_matrix(finer) @ np.einsum("mts,ts->tm", basis, w * s * np.sinc(at / np.pi))
        factor = c * slope_norm / norm
        # Back to values in ℓ, as the factors multiply there.
        nodes = chebyshev_basis(chebyshev_nodes(len(c)), len(c)).T
        values = np.einsum("ap,bq,pqm,nm->abn", nodes, nodes, tensor, operator, optimize=True)
        values = values * factor[:, None, None] * factor[None, :, None]
        to_rank = chebyshev_matrix(len(c))
        return np.asarray(np.einsum("pa,qb,abn->pqn", to_rank, to_rank, values, optimize=True))

    def _bend_with_jumps(self, tensor: Array, c: Array, norm: Array) -> Array:
        """(k(0) - k(θ))/(n1 n2 θ); the smallest node is far enough from zero for the quotient."""
        count, rank = tensor.shape[2], len(c)
        value, _, _, w = self.line(c)
        start = (value * w) @ value.T / norm[:, None] / norm[None, :]
        to_rank = chebyshev_matrix(rank)
        start = np.einsum("pa,qb,ab->pq", to_rank, to_rank, start)
        values = np.einsum("pqm,mt->pqt", tensor, chebyshev_basis(chebyshev_nodes(count), count))
        return np.asarray((start[:, :, None] - values) / self.angles(count) @ chebyshev_matrix(count).T)

    def _gap(self, c: Array, norm: Array) -> Array:
        """W = ½E[((s1 - s2)/δ)²] for s = σ(cx)/n(c), by the derivative in ℓ where δ = 0."""
        value, slope, x, w = self.line(c)
        root = np.sqrt(w) / norm[:, None]
        unit, moved = value * root, c[:, None] * x * slope * root
        rate = moved - unit * np.sum(unit * moved, axis=1)[:, None]
        delta = np.log(c)[:, None] - np.log(c)[None, :] + np.eye(len(c))
        result = np.empty((len(c), len(c)))
        for a in range(len(c)):
            quotient = (unit[a] - unit) / delta[a][:, None]
            quotient[a] = rate[a]
            result[a] = np.sum(quotient**2, axis=1) / 2
        return result


def _measured_error(made: CompiledDual, shape: _Shape, low: float, high: float) -> float:
    """The largest deviation from a finer rule at points on which the tensors were not built."""
    random = np.random.default_rng(20240)
    c = np.sort(np.exp(np.log(low) + np.log(high / low) * random.random(6))) if high > low else np.array([low])
    theta = np.concatenate([[1e-3], shape.widest * random.random(6), [shape.widest - 1e-3]])
    finer = shape.rule.finer
    flat = [a.ravel() for a in np.meshgrid(c, c, theta, indexing="ij")]
    k, kdot = made(*flat)
    norm, slope_norm = shape.radicals(c)
    cases = [(k, shape.value, norm)] if shape.jumps else [(k, shape.value, norm), (kdot, shape.slope, slope_norm)]
    errors = []
    for got, function, scale in cases:
        there = finer.pairs(function, c, c, theta)
        scales = np.where(scale > 0, scale, 1.0)
        difference = np.abs(got.reshape(there.shape) - there) / scales[:, None, None] / scales[None, :, None]
        errors.append(float(np.max(difference)))
    return max(errors)


@lru_cache(maxsize=256)
def homogeneity(sigma: Any) -> float | None:
    """The p with σ(λu) = λ^p σ(u) for all λ > 0 at sample points, to rounding."""
    u = np.concatenate([-np.geomspace(0.01, 30, 23)[::-1], np.geomspace(0.01, 30, 23)])
    with np.errstate(all="ignore"):
        base, doubled, odd = sigma(u), sigma(2.0 * u), sigma(0.37 * u)
    if not np.all(np.isfinite([base, doubled, odd])) or not np.any(base):
        return None
    size = np.max(np.abs(base))
    p = float(np.round(np.log2(np.max(np.abs(doubled)) / size)))
    same = all(
        np.all(np.abs(other - factor**p * base) <= 1e-14 * np.abs(factor**p * base))
        for factor, other in ((2.0, doubled), (0.37, odd))
    )
    return p if same and p >= 0 else None
