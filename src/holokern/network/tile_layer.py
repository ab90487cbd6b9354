"""One layer applied to tiles: what the machine code needs, prepared once for each block of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holokern.dual.compiled_factors import WHOLE, Block
from holokern.network.piecewise import PairwisePlan
from holokern.network.plan import LayerPlan, Plan
from holokern.numeric.panels import Array

__all__ = ["TileLayer"]

_STEPS = 5
_WIDEST = 1.6

Tile = tuple[Array, Array, Array]
Interval = tuple[float, float]


@dataclass(frozen=True)
class TileLayer:
    """A layer and its columns in blocks.

    Attributes
    ----------
    plan
        The layer.
    width
        Columns of a block.
    row_vectors
        The functions of the row deviations when the activation has compiled tensors.
    numbers
        `Side.numbers` of each block of columns.
    blocks
        The factors of each block of columns.
    factors
        For each block of columns its arguments of `kernel_tiles.layer` by interval of angles, made when first needed.
    """

    plan: Plan
    width: int
    row_vectors: tuple[Array, ...]
    numbers: list[Array]
    blocks: list[tuple[Block, ...]]
    factors: list[dict[Interval, list[Any]]]

    @classmethod
    def of(cls, plan: Plan, width: int) -> TileLayer:
        """Prepare a plan."""
        whole = plan.sides[1].numbers
        starts = range(0, whole.shape[1], width)
        parts = [np.ascontiguousarray(whole[:, at : at + width]) for at in starts]
        factors: list[dict[Interval, list[Any]]] = [{} for _ in starts]
        if not isinstance(plan, LayerPlan):
            return cls(plan, width, (), parts, [], factors)
        if plan.local.whole.homogeneity is not None and parts:
            # Nothing depends on the deviations of the columns, so that the widest block serves all.
            return cls(
                plan,
                width,
                plan.row_vectors(),
                parts,
                [plan.blocks(slice(width))] * len(parts),
                factors[:1] * len(parts),
            )
        blocks = [plan.blocks(slice(at, at + width)) for at in starts]
        return cls(plan, width, plan.row_vectors(), parts, blocks, factors)  # type: ignore[arg-type]

    def apply(self, index: int, some: slice, tile: Tile, with_tangent: bool) -> None:
        """The layer of a tile, in place: the rows ``some`` and the block ``index`` of columns."""
        plan = self.plan
        others = slice(index * self.width, index * self.width + tile[0].shape[1])
        numbers = np.ascontiguousarray(plan.sides[0].numbers[:, some]), self.numbers[index]
        if isinstance(plan, PairwisePlan):
            _apply_pairwise(plan, some, others, tile, with_tangent, numbers)
        else:
            self._apply_tensors(plan, index, some, tile, with_tangent, numbers)
        if plan.sides[0].zero[some].any() or plan.sides[1].zero[others].any():
            _zero_vectors(plan, some, others, tile)

    def _apply_tensors(
        self,
        plan: LayerPlan,
        index: int,
        some: slice,
        tile: Tile,
        with_tangent: bool,
        numbers: tuple[Array, Array],
    ) -> None:
        from holokern.network.kernel_tiles import layer

        spec, whole = plan.spec, plan.local.whole
        unit = 4 / np.pi if whole.fold else 2 / np.pi
        low, high = _interval(tile[0], unit, bool(whole.fold))
        known = self.factors[index].get((low, high))
        if known is None:
            blocks = [block.on((low, high)) for block in self.blocks[index]]
            known = [(block.core, block.lengths, block.columns) for block in blocks]
            self.factors[index][low, high] = known
        factors: list[Any] = []
        for (core, lengths, columns), vector in zip(known, self.row_vectors, strict=True):
            factors += [core, lengths, vector[some], columns]
        ends = (low + 1) / unit, (high + 1) / unit
        head = (with_tangent, spec.residual, whole.fold, whole.power, *ends, spec.bias)
        arguments: list[Any] = [*tile, *head, *factors, *numbers]
        layer(*arguments)


def _interval(theta: Array, unit: float, folded: bool) -> Interval:
    """A part of [-1, 1] that holds the mapped angles of a tile: on a part, expansions are shorter.

    It is one of few, so that it serves many tiles, and it depends on the tile alone, so that results do not depend on
    the order in which threads take the tiles.
    """
    angle = np.minimum(theta, np.pi - theta) if folded else theta
    low, high = unit * float(angle.min()) - 1, unit * float(angle.max()) - 1
    low = max(-1.0, float(np.floor((low - 1e-3) * _STEPS) / _STEPS))
    high = min(1.0, float(np.ceil((high + 1e-3) * _STEPS) / _STEPS))
    return (low, high) if high - low <= _WIDEST else WHOLE


def _apply_pairwise(
    plan: PairwisePlan, some: slice, others: slice, tile: Tile, with_tangent: bool, numbers: tuple[Array, Array]
) -> None:
    from holokern.network.kernel_tiles import advance

    lost, slope = plan.tile(tile[0], some, others)
    if not with_tangent:
        slope[:] = 0.0
    spec = plan.spec
    advance(*tile, spec.residual, plan.fold, spec.weight, spec.bias, lost, slope, *numbers)


def _zero_vectors(plan: Plan, some: slice, others: slice, tile: Tile) -> None:
    """Entries with a point of deviation zero: the limit c → 0 at the angle π/2, or 0 between two such points.

    There is no bias then, and Θ was zero before the layer.
    """
    rows, columns = plan.sides
    zero_rows, zero_columns = rows.zero[some][:, None], columns.zero[others]
    norms = rows.numbers[1][some][:, None] * columns.numbers[1][others]
    value = np.where(zero_rows & zero_columns, norms, rows.means[some][:, None] * columns.means[others])
    variance = [
        side.after[part] + (side.numbers[3][part] ** 2 if plan.spec.residual else 0.0)
        for side, part in ((rows, some), (columns, others))
    ]
    root = np.sqrt(variance[0][:, None] * variance[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        angle = np.where(root > 0, np.arccos(np.clip(value / root, -1.0, 1.0)), np.pi / 2)
    either = zero_rows | zero_columns
    angle = np.where(zero_rows & zero_columns, 0.0, angle)
    for old, new in zip(tile, (angle, value, value), strict=True):
        np.copyto(old, new, where=either)
