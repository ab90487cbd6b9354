"""Kernel matrices tile by tile: Θ ← Θ·Σ̇ʰ + Σʰ from Θ = Σ⁰ [SakodaTakayama2024, Sec. 2], [Jacot2018].

Rows of the sorted matrix are finished in strips; each strip goes through all layers tile by tile in the cache, and
threads take strips. When X = Y only one half is computed, and mirrored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from holokern import progress
from holokern.dual.compiled_factors import Block
from holokern.dual.panels import Array
from holokern.network.layer_spec import LayerSpec
from holokern.network.piecewise import PairwisePlan
from holokern.network.plan import LayerPlan, Plan, Points, plan_layers

__all__ = ["Diagonals", "diagonals", "fill", "layer_matrices"]

_HEIGHT, _WIDTH = 64, 128
_STRIPS_A_REPORT = 8


@dataclass(frozen=True)
class Diagonals:
    """Σ and Θ of every point with itself."""

    nngp: Array
    ntk: Array


@dataclass(frozen=True)
class _Job:
    """Everything that the threads share."""

    rows: Points
    columns: Points
    symmetric: bool
    with_tangent: bool
    layers: list[_Layer]


@dataclass(frozen=True)
class _Layer:
    """One layer, with the factors of compiled tensors for the rows and for blocks of columns, if there are such."""

    plan: Plan
    row_vectors: tuple[Array, ...]
    blocks: list[tuple[Block, ...]]

    @classmethod
    def of(cls, plan: Plan, columns: int, width: int) -> _Layer:
        if not isinstance(plan, LayerPlan):
            return cls(plan, (), [()] * -(-columns // width))
        blocks = [plan.blocks(slice(start, start + width)) for start in range(0, columns, width)]
        return cls(plan, plan.row_vectors(), blocks)  # type: ignore[arg-type]


def fill(
    specs: tuple[LayerSpec, ...],
    rows: Points,
    columns: Points | None,
    nngp: Array | None,
    ntk: Array | None,
    threads: int | None,
) -> None:
    """Write the matrices; ``columns`` None means that they are the rows."""
    symmetric = columns is None
    columns = rows if columns is None else columns
    plans = plan_layers(specs, (rows.length, columns.length))
    layers = [_Layer.of(plan, len(columns.length), _WIDTH) for plan in plans]
    job = _Job(rows, columns, symmetric, ntk is not None, layers)
    strips = range(0, len(rows.length), _HEIGHT)
    for done, _ in enumerate(_spread(lambda start: _strip(job, start, nngp, ntk), strips, threads), start=1):
        if done % _STRIPS_A_REPORT == 0:
            progress.report("kernel rows", done * _HEIGHT, len(rows.length))
    if symmetric:
        from holokern.network.kernel_tiles import mirror

        for out in (nngp, ntk):
            if out is not None:
                # Strips of the lower triangle write different pairs, so threads do not meet.
                todo = range(0, len(out), 512)
                for _ in _spread(lambda a, out=out: mirror(out, rows.rank, a, min(a + 512, len(out))), todo, threads):
                    pass


def diagonals(specs: tuple[LayerSpec, ...], points: Points) -> Diagonals:
    """The diagonals without the matrices, in the original order."""
    square = points.length**2
    tangent = square.copy()
    for plan in plan_layers(specs, (points.length, points.length)):
        numbers, spec = plan.sides[0].numbers, plan.spec
        new = numbers[1] ** 2 + spec.bias**2
        moved = tangent * numbers[2] ** 2 + new
        square, tangent = (square + new, tangent + moved) if spec.residual else (new, moved)
    return Diagonals(square[points.rank], tangent[points.rank])


def layer_matrices(specs: tuple[LayerSpec, ...], points: Points) -> list[tuple[Array, Array]]:
    """(Σʰ, Σ̇ʰ) for h = 1, 2, …; the second matrix is empty where σ jumps."""
    plans = plan_layers(specs, (points.length, points.length))
    theta, sigma = _start(points, points, slice(None), slice(None))
    result = []
    back = np.ix_(points.rank, points.rank)
    for plan in plans:
        slopes = plan.has_slope
        before, tangent = sigma.copy(), np.ones_like(sigma)
        whole = _Layer.of(plan, len(sigma), len(sigma))
        _apply(whole, 0, slice(None), slice(None), (theta, sigma, tangent), slopes)
        # With Θ = 1 before it, a layer leaves Σ̇ + Σ (and 1 more when residual).
        dot = tangent - sigma - (1.0 - before if plan.spec.residual else 0.0)
        result.append(
            tuple(_symmetric(m)[back] for m in ((sigma, dot) if slopes else (sigma, np.empty((0, 0))))[:1])
            + ((_symmetric(dot)[back],) if slopes else (np.empty((0, 0)),))
        )
    return result  # type: ignore[return-value]


def _symmetric(matrix: Array) -> Array:
    upper = np.triu(matrix)
    return np.asarray(upper + np.triu(matrix, 1).T)


def _spread(task, items, threads: int | None) -> Iterator[None]:  # type: ignore[no-untyped-def]
    """Run the task on the items, in threads if there are several."""
    workers = min(threads or os.cpu_count() or 1, len(items))
    if workers <= 1:
        yield from map(task, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(task, items)


def _start(rows: Points, columns: Points, some: slice, others: slice) -> tuple[Array, Array]:
    """θ and Σ⁰ of a tile."""
    from holokern.network.kernel_tiles import first_angles

    theta = rows.unit[some] @ columns.unit[others].T
    sigma = theta * rows.length[some][:, None] * columns.length[others]
    zero = rows.length[some] == 0, columns.length[others] == 0
    first_angles(theta, rows.unit[some], columns.unit[others], *zero)
    return theta, sigma


def _strip(job: _Job, start: int, nngp: Array | None, ntk: Array | None) -> None:
    """A strip of rows through all layers, and into the results."""
    from holokern.network.kernel_tiles import write_rows

    some = slice(start, min(start + _HEIGHT, len(job.rows.length)))
    width = len(job.columns.length)
    first = start if job.symmetric else 0
    sigma_panel, tangent_panel = (np.empty((some.stop - start, width)) for _ in range(2))
    for index in range(first // _WIDTH, -(-width // _WIDTH)):
        left = index * _WIDTH
        inside = slice(max(left, first) - left, min(left + _WIDTH, width) - left)
        others = slice(left + inside.start, left + inside.stop)
        theta, sigma = _start(job.rows, job.columns, some, others)
        tangent = sigma.copy()
        for layer in job.layers:
            _apply(layer, index, some, others, (theta, sigma, tangent), job.with_tangent, inside)
        sigma_panel[:, others] = sigma
        tangent_panel[:, others] = tangent
    order = job.rows.order[some]
    for panel, out in ((sigma_panel, nngp), (tangent_panel, ntk)):
        if out is not None:
            write_rows(panel, first, order, job.columns.rank, out)


def _apply(
    layer: _Layer,
    index: int,
    some: slice,
    others: slice,
    tile: tuple[Array, Array, Array],
    with_tangent: bool,
    inside: slice = slice(None),
) -> None:
    """One layer of a tile; ``index`` is its block of columns and ``inside`` are its columns within the block."""
    plan = layer.plan
    rows, columns = plan.sides
    numbers = [np.ascontiguousarray(part) for part in (rows.numbers[:, some], columns.numbers[:, others])]
    if isinstance(plan, PairwisePlan):
        _apply_pairwise(plan, some, others, tile, with_tangent, numbers)
    else:
        _apply_tensors(plan, layer, index, some, tile, with_tangent, inside, numbers)
    zero = rows.zero[some], columns.zero[others]
    if np.any(zero[0]) or np.any(zero[1]):
        _zero_vectors(plan, some, others, tile)


def _apply_tensors(
    plan: LayerPlan,
    layer: _Layer,
    index: int,
    some: slice,
    tile: tuple[Array, Array, Array],
    with_tangent: bool,
    inside: slice,
    numbers: list[Array],
) -> None:
    from holokern.network import kernel_tiles

    factors: list[Any] = []
    for block, vector in zip(layer.blocks[index], layer.row_vectors, strict=True):
        factors += [block.core, block.lengths, vector[some], np.ascontiguousarray(block.columns[:, inside])]
    spec, whole = plan.spec, plan.local.whole
    kernel_tiles.layer(*tile, with_tangent, spec.residual, whole.fold, whole.power, spec.bias, *factors, *numbers)


def _apply_pairwise(
    plan: PairwisePlan,
    some: slice,
    others: slice,
    tile: tuple[Array, Array, Array],
    with_tangent: bool,
    numbers: list[Array],
) -> None:
    from holokern.network import kernel_tiles

    lost, slope = plan.tile(tile[0], some, others)
    if not with_tangent:
        slope[:] = 0.0
    spec = plan.spec
    kernel_tiles.advance(*tile, spec.residual, plan.fold, spec.weight, spec.bias, lost, slope, *numbers)


def _zero_vectors(plan: Plan, some: slice, others: slice, tile: tuple[Array, Array, Array]) -> None:
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
