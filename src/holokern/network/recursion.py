"""Kernel matrices tile by tile: Θ ← Θ·Σ̇ʰ + Σʰ from Θ = Σ⁰ [SakodaTakayama2024, Sec. 2], [Jacot2018].

Rows of the sorted matrix are finished in strips; each strip goes through all layers tile by tile in the cache, and
threads take strips. When X = Y only one half is computed, and mirrored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from holokern import progress
from holokern.dual.panels import Array
from holokern.network.layer_spec import LayerSpec
from holokern.network.plan import Points, plan_layers
from holokern.network.tile_layer import TileLayer

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
    layers: list[TileLayer]


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
    layers = [TileLayer.of(plan, _WIDTH) for plan in plans]
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
    everything = slice(0, len(points.length))
    theta, sigma, _ = _start(points, points, everything, everything)
    result = []
    back = np.ix_(points.rank, points.rank)
    for plan in plans:
        before, tangent = sigma.copy(), np.ones_like(sigma)
        TileLayer.of(plan, max(1, len(sigma))).apply(0, everything, (theta, sigma, tangent), plan.has_slope)
        # With Θ = 1 before it, a layer leaves Σ̇ + Σ (and 1 more when residual).
        dot = tangent - sigma - (1.0 - before if plan.spec.residual else 0.0)
        slopes = _symmetric(dot)[back] if plan.has_slope else np.empty((0, 0))
        result.append((_symmetric(sigma)[back], slopes))
    return result


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


def _start(rows: Points, columns: Points, some: slice, others: slice) -> tuple[Array, Array, Array]:
    """θ, Σ⁰ and again Σ⁰ of a tile."""
    from holokern.network.tile_angles import first_angles

    units = rows.unit[some], columns.unit[others]
    theta = units[0] @ units[1].T
    sigma, tangent = np.empty_like(theta), np.empty_like(theta)
    first_angles(theta, sigma, tangent, *units, rows.length[some], columns.length[others])
    return theta, sigma, tangent


def _strip(job: _Job, start: int, nngp: Array | None, ntk: Array | None) -> None:
    """A strip of rows through all layers, and into the results."""
    from holokern.network.kernel_tiles import write_rows

    some = slice(start, min(start + _HEIGHT, len(job.rows.length)))
    width = len(job.columns.length)
    first = start if job.symmetric else 0
    sigma_panel, tangent_panel = (np.empty((some.stop - start, width)) for _ in range(2))
    for index in range(first // _WIDTH, -(-width // _WIDTH)):
        others = slice(index * _WIDTH, min((index + 1) * _WIDTH, width))
        tile = _start(job.rows, job.columns, some, others)
        for layer in job.layers:
            layer.apply(index, some, tile, job.with_tangent)
        sigma_panel[:, others] = tile[1]
        tangent_panel[:, others] = tile[2]
    order = job.rows.order[some]
    rank = job.columns.rank if job.columns.is_sorted else job.columns.rank[:0]
    for panel, out in ((sigma_panel, nngp), (tangent_panel, ntk)):
        if out is not None:
            write_rows(panel, first, order, rank, out)
