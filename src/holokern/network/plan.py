"""What a kernel matrix needs to know before its tiles: sorted points, deviations and factors layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from holokern.dual.closed.hinges import pieces_of
from holokern.dual.closed.wedge import wedge_sides
from holokern.dual.compiled import breaks_away, compile_dual, homogeneity
from holokern.dual.compiled_factors import Block, LocalDual, localise
from holokern.dual.compiled_tensors import CompiledDual
from holokern.dual.quadrature.method import norms
from holokern.dual.quadrature.pairing import Side as Deviations
from holokern.dual.quadrature.pairing import mean
from holokern.dual.quadrature.profile import profile_of
from holokern.errors import PrecisionLost, Unsupported
from holokern.network.angles import unit_vectors
from holokern.network.layer_spec import LayerSpec, Side, side_of
from holokern.network.piecewise import DirectPlan, PairwisePlan, WedgePlan
from holokern.numeric.panels import Array

__all__ = ["LayerPlan", "LayerSpec", "Plan", "Points", "Side", "plan_layers"]

_GRID = 4
_FINE = 16
_SAMPLES = 17
_SHARED = 1.5
_FEW, _WIDE = 400, 16.0

T = TypeVar("T")


@dataclass(frozen=True)
class Points:
    """Points as unit vectors with their lengths, sorted by length so that neighbours have similar deviations.

    Attributes
    ----------
    padded, length
        Directions and lengths, the bias included as one more coordinate. The directions are followed by rows of zeros
        up to a multiple of 8: products of such matrices have entries whose bits do not depend on their places.
    order, rank
        ``order[s]`` is the original place of the point ``s``, ``rank`` the inverse.
    is_sorted
        False if the points kept their order, because only their directions matter.
    """

    padded: Array
    length: Array
    order: NDArray[np.intp]
    rank: NDArray[np.intp]
    is_sorted: bool

    @property
    def unit(self) -> Array:
        """The directions."""
        return self.padded[: len(self.length)]

    @classmethod
    def of(cls, x: Array, scale: float, bias: float, sort: bool = True) -> Points:
        """Points of an array with one row each."""
        points = np.asarray(x, dtype=float)
        if scale != 1.0:
            points = points * scale
        if bias:
            points = np.concatenate([points, np.full((len(points), 1), bias)], axis=1)
        unit, length = unit_vectors(points)
        if not sort:
            order = np.arange(len(length))
            return cls(_padded(unit), length, order, order, False)
        order = np.argsort(length, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(_padded(unit[order]), length[order], order, rank, True)


def _padded(unit: Array) -> Array:
    more = -len(unit) % 8
    return np.concatenate([unit, np.zeros((more, unit.shape[1]))]) if more else np.ascontiguousarray(unit)


@dataclass(frozen=True)
class LayerPlan:
    """One layer for all tiles."""

    spec: LayerSpec
    local: LocalDual
    sides: tuple[Side, Side]

    @property
    def has_slope(self) -> bool:
        """Whether k̇ is a function on all of [0, π]."""
        return self.local.whole.has_slope

    def blocks(self, columns: slice) -> tuple[Block, Block, Block]:
        """The factors for a block of columns."""
        place, local = self.sides[1].place[columns], self.local
        return local.gap.block(place), local.bend.block(place), local.slope.block(place)

    def row_vectors(self) -> tuple[Array, Array, Array]:
        """The functions of the row deviations, one row a point."""
        place = self.sides[0].place
        factors = (self.local.gap, self.local.bend, self.local.slope)
        return tuple(np.ascontiguousarray(f.vectors(place).T) for f in factors)  # type: ignore[return-value]


Plan = LayerPlan | PairwisePlan


def plan_layers(specs: tuple[LayerSpec, ...], lengths: tuple[Array, Array]) -> list[Plan]:
    """Follow the deviations through the layers and compile each activation on the range that it meets."""
    plans: list[Plan] = []
    c = lengths
    low, high = _extent(c)
    ranges = _ranges(specs, _rounded(low, -1, 4 * _GRID), _rounded(high, 1, 4 * _GRID))
    for spec, wide in zip(specs, ranges, strict=True):
        plan = _plan(spec, c, wide)
        plans.append(plan)
        c = tuple(_next(spec, side) for side in plan.sides)  # type: ignore[assignment]
    return plans


def _extent(c: tuple[Array, Array]) -> tuple[float, float]:
    """The smallest and the largest positive deviation."""
    both = np.concatenate(c) if c[0] is not c[1] else c[0]
    positive = both[both > 0]
    return (float(np.min(positive)), float(np.max(positive))) if len(positive) else (1.0, 1.0)


def _rounded(c: float, way: int, grid: int) -> float:
    """A deviation rounded down or up to a grid, so that later calls meet the same ranges again."""
    place = grid * np.log2(c)
    return float(2.0 ** ((np.floor(place - 0.05) if way < 0 else np.ceil(place + 0.05)) / grid))


@lru_cache(maxsize=256)
def _ranges(specs: tuple[LayerSpec, ...], low: float, high: float) -> tuple[tuple[float, float], ...]:
    """For every layer the range on which its activation is compiled: one for all layers if that is not too wide."""
    found = []
    for spec in specs:
        found.append((low, high))
        c = np.geomspace(low, high, _SAMPLES) if high > low else np.array([low])
        variance = spec.weight * norms(spec.activation, c) ** 2 + spec.bias**2 + (c**2 if spec.residual else 0.0)
        low, high = float(np.sqrt(np.min(variance))), float(np.sqrt(np.max(variance)))
    result = []
    for spec, own in zip(specs, found, strict=True):
        alike = [other for twin, other in zip(specs, found, strict=True) if twin.activation == spec.activation]
        union = min(a for a, _ in alike), max(b for _, b in alike)
        widest = max(np.log(b / a) for a, b in alike)
        low, high = union if np.log(union[1] / union[0]) <= _SHARED * widest + 1 else own
        result.append((_rounded(low, -1, _GRID), _rounded(high, 1, _GRID)))
    return tuple(result)


def _next(spec: LayerSpec, side: Side) -> Array:
    variance = side.after + spec.bias**2
    return np.asarray(np.sqrt(variance + side.numbers[3] ** 2 if spec.residual else variance))


def _plan(spec: LayerSpec, c: tuple[Array, Array], wide: tuple[float, float]) -> Plan:
    low, high = _extent(c)
    if breaks_away(spec.activation):
        return _piecewise_plan(spec, c, low)
    if len(c[0]) * len(c[1]) < _FEW and high > _WIDE * low and homogeneity(spec.activation) is None:
        # Compiling for a wide range takes longer than a few integrals.
        return _direct_plan(spec, c, low)
    try:
        made = compile_dual(spec.activation, min(low, wide[0]), max(high, wide[1]))
    except PrecisionLost:
        return _direct_plan(spec, c, low)
    part = (low, high)
    if high > low * (1 + 1e-9):
        # Rounded, so that later calls meet the same part again; points on a sphere need one deviation only.
        part = max(made.low, _rounded(low, -1, _FINE)), min(made.high, _rounded(high, 1, _FINE))
    local = _localised(_Same(made), *part)
    sides = _both(c, lambda one: side_of(spec, one, low, local.place, (made.norms, made.slope_norms, made.means)))
    return LayerPlan(spec, local, sides)


@dataclass(frozen=True)
class _Same:
    """A compiled dual activation that is equal to itself only."""

    made: CompiledDual

    def __hash__(self) -> int:
        return id(self.made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.made is self.made


@lru_cache(maxsize=64)
def _localised(same: _Same, low: float, high: float) -> LocalDual:
    return localise(same.made, low, high)


def _both(c: tuple[Array, Array], make: Callable[[Array], T]) -> tuple[T, T]:
    first = make(c[0])
    return first, first if c[1] is c[0] else make(c[1])


def _piecewise_plan(spec: LayerSpec, c: tuple[Array, Array], low: float) -> Plan:
    """Hinges if σ is piecewise polynomial, quadrature otherwise."""
    try:
        pieces = pieces_of(spec.activation)
    except Unsupported:
        return _direct_plan(spec, c, low)
    safe = _both(c, lambda one: np.where(one == 0, low, one))
    wedges = wedge_sides(pieces, safe, spec.activation.jump_order == 0)
    sides = []
    for one, wedge in zip(c, wedges, strict=True):
        functions = tuple((lambda _, values=values: values) for values in (*wedge.numbers[1:3], wedge.means))
        sides.append(side_of(spec, one, low, np.zeros_like, functions))
    return WedgePlan(spec, (sides[0], sides[1]), pieces, (wedges[0], wedges[1]))


def _direct_plan(spec: LayerSpec, c: tuple[Array, Array], low: float) -> Plan:
    sigma = spec.activation

    def slopes(one: Array) -> Array:
        return norms(sigma.derivative, one) if sigma.jump_order != 0 else np.ones(len(one))

    def means(one: Array) -> Array:
        return mean(Deviations.of(profile_of(sigma), one))

    functions = (lambda one: norms(sigma, one), slopes, means)
    return DirectPlan(spec, _both(c, lambda one: side_of(spec, one, low, np.zeros_like, functions)))
