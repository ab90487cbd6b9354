"""Conjugate gradients for (K + αI) C = Y with a Nyström preconditioner, on a kernel that is never stored.

The preconditioner is P = Φ Φᵀ + diag(K - Φ Φᵀ) + αI with Nyström features Φ, called FITC [Cutajar2016]. Without the
middle term the condition number is 1 + ‖K - Φ Φᵀ‖/α [Frangella2023]; with it, what the landmarks miss of the diagonal
counts as ridge, which saves steps where α is not large beside it.

The product with K may run on the workers of `dask.distributed`. Each tile on or above the diagonal is one task that
brings its points and vectors along and returns two small products. Nothing lives on a worker alone, so one that dies
costs the tiles it was working on: dask gives them to the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from holokern.files import write_atomically
from holokern.model.kernel import NetworkKernel, row_blocks
from holokern.model.solvers.ridge import CholeskyRidge
from holokern.network import by_length
from holokern.numeric import Array, one_thread
from holokern.progress import report

_LEAST_RIDGE = 1e-13  # Below this share of the trace P⁻¹ would lose its digits against the largest eigenvalue of Φ Φᵀ.
# What rough products gain before the true residual is computed: those of single precision lose about this much of a
# residual to rounding with 100 000 points, and steps that start anew lose what they knew of the matrix.
_STAGE = 3e-5
_HALF = 0.5  # The last of these stages goes a little further than it must, as its products are rough.
_GAIN = 0.1  # A stage that leaves more than this share of the true residual gains too little.
_RECENT = 8  # Steps that the rate of convergence is taken from: it changes as the larger eigenvalues are done.


@dataclass(frozen=True)
class NystromPreconditioner:
    """P⁻¹ = D - D Φ (I + Φᵀ D Φ)⁻¹ Φᵀ D with D = (diag(K - Φ Φᵀ) + αI)⁻¹."""

    features: Array  # Φ = K(x, z) L⁻ᵀ for K(z, z) = L Lᵀ, one row for each point
    weights: Array  # the diagonal of D
    lower: Array  # the Cholesky factor of I + Φᵀ D Φ

    @classmethod
    def of(cls, kernel: NetworkKernel, landmarks: Array, points: Array, alpha: float) -> NystromPreconditioner:
        """In one pass over blocks of points; the memory is that of Φ and of a few matrices of landmarks."""
        from scipy.linalg import cholesky
        from scipy.linalg.blas import dsyrk

        own = _factor(kernel(landmarks))
        diagonal = kernel.diagonal(points)
        least = _LEAST_RIDGE * float(np.sum(diagonal))
        features, weights = np.empty((len(points), len(landmarks))), np.empty(len(points))
        gram = np.eye(len(landmarks), order="F")
        for rows in row_blocks(len(points), len(landmarks)):
            block = own.half(kernel(points[rows], landmarks)).T
            missed = np.maximum(diagonal[rows] - np.einsum("ij,ij->i", block, block), 0.0)
            weights[rows] = 1.0 / np.maximum(missed + alpha, least)
            features[rows] = block
            block *= np.sqrt(weights[rows])[:, None]
            gram = dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=True, lower=True)
            report("preconditioner", rows.stop, len(points))
        return cls(features, weights, cholesky(gram, lower=True, overwrite_a=True, check_finite=False))

    def __matmul__(self, vectors: Array) -> Array:
        from scipy.linalg import cho_solve

        weighted = self.weights[:, None] * vectors
        inner = cho_solve((self.lower, True), self.features.T @ weighted, check_finite=False)
        return np.asarray(weighted - self.weights[:, None] * (self.features @ inner))


def _factor(matrix: Array) -> CholeskyRidge:
    """A factor of a positive semidefinite matrix plus as little of the unit matrix as it takes."""
    jitter = len(matrix) * float(np.finfo(float).eps) * float(np.max(np.diagonal(matrix)))
    while True:
        try:
            return CholeskyRidge.of(matrix, jitter)
        except np.linalg.LinAlgError:
            jitter = 10 * jitter or 1.0


@dataclass(frozen=True)
class CgResult:
    """A solution with the number of steps and the largest relative residual of its columns, computed afresh.

    ``residuals`` are the largest relative residuals after each step, by the recursion.
    """

    solution: Array
    steps: int
    residual: float
    converged: bool
    residuals: tuple[float, ...]


def conjugate_gradients(
    product: Callable[[Array], Array],
    right: Array,
    precondition: Callable[[Array], Array] = lambda vectors: vectors,
    *,
    rough: Callable[[Array], Array] | None = None,
    tolerance: float = 1e-10,
    max_steps: int = 1000,
    checkpoint: Path | None = None,
) -> CgResult:
    """Solve A C = Y for symmetric positive definite A, all columns side by side with their own step lengths.

    A column stops once its residual is below ``tolerance`` times its right-hand side. ``rough`` is the product with a
    symmetric matrix near A. Steps take it, and after a few digits ``product`` gives the true residual, from which they
    go on: iterative refinement [Higham2002, Ch. 12]. If that does not gain digits, steps take ``product``.
    With a ``checkpoint`` every step is written to this file, and a run that finds it there, for the same right-hand
    side, goes on where it stopped.

    >>> a = np.diag([1.0, 2.0, 4.0])
    >>> result = conjugate_gradients(lambda v: a @ v, np.array([[1.0], [2.0], [4.0]]))
    >>> result.solution.round(9).ravel().tolist(), result.steps, result.converged
    ([1.0, 1.0, 1.0], 3, True)
    """
    norms = np.linalg.norm(right, axis=0)
    now = None if checkpoint is None else _State.read(checkpoint, right)
    if now is None:
        now = _State.begin(np.zeros_like(right), right, precondition, (), 1.0, rough is not None)
    begun, first = time.perf_counter(), len(now.residuals)
    while True:
        left = _largest(now.residual, norms)
        goal = max(_HALF * tolerance, _STAGE * now.begun) if now.is_rough else tolerance
        while left > goal and len(now.residuals) < max_steps:
            image = (rough if rough is not None and now.is_rough else product)(now.direction)
            curvature = np.einsum("ij,ij->j", now.direction, image)
            if now.is_rough and np.any((curvature <= 0) & (now.inner > 0)):
                break  # the matrix near A is not positive definite
            now = now.after(image, curvature, precondition, norms)
            left = now.residuals[-1]
            if checkpoint is not None:
                now.write(checkpoint, right)
            pace = (time.perf_counter() - begun) / (len(now.residuals) - first)
            text = f"conjugate gradients, residual {left:.1e}{_outlook(now.residuals, tolerance, pace)}"
            report(text, len(now.residuals), max_steps)
        true = right - product(now.solution)
        relative = _largest(true, norms)
        if not now.is_rough or relative <= tolerance or len(now.residuals) >= max_steps:
            break
        gains = relative <= _GAIN * now.begun
        now = _State.begin(now.solution, true, precondition, now.residuals, relative, gains)
    # The recursive residual that stops the loop drifts from the true one by rounding, hence the factor.
    return CgResult(now.solution, len(now.residuals), relative, relative <= 10 * tolerance, now.residuals)


@dataclass(frozen=True)
class _State:
    """All that the next step needs."""

    solution: Array
    residual: Array
    direction: Array
    inner: Array
    residuals: tuple[float, ...]
    begun: float
    is_rough: bool

    @classmethod
    def begin(
        cls,
        solution: Array,
        residual: Array,
        precondition: Callable[[Array], Array],
        residuals: tuple[float, ...],
        begun: float,
        is_rough: bool,
    ) -> _State:
        """From a solution and its true residual, the largest of which is ``begun``, relative to the right-hand side."""
        step = precondition(residual)
        return cls(solution, residual, step, np.einsum("ij,ij->j", residual, step), residuals, begun, is_rough)

    def after(self, image: Array, curvature: Array, precondition: Callable[[Array], Array], norms: Array) -> _State:
        """One step along the direction, whose image and curvature are given."""
        length = _ratio(self.inner, curvature)
        residual = self.residual - length * image
        step = precondition(residual)
        inner = np.einsum("ij,ij->j", residual, step)
        return replace(
            self,
            solution=self.solution + length * self.direction,
            residual=residual,
            direction=step + _ratio(inner, self.inner) * self.direction,
            inner=inner,
            residuals=(*self.residuals, _largest(residual, norms)),
        )

    def write(self, path: Path, right: Array) -> None:
        """To a file, whole or not at all."""
        stream = BytesIO()
        np.savez(stream, right=right, **{**vars(self), "residuals": np.array(self.residuals)})
        write_atomically(path, stream.getvalue())

    @classmethod
    def read(cls, path: Path, right: Array) -> _State | None:
        """From a file; None if there is none, if it is damaged, or if it belongs to another right-hand side."""
        try:
            with np.load(path, allow_pickle=False) as kept:
                if not np.array_equal(kept["right"], right):
                    return None
                solution, residual, direction = (kept[name] for name in ("solution", "residual", "direction"))
                inner = kept["inner"]
                if {solution.shape, residual.shape, direction.shape} != {right.shape} or inner.shape != right.shape[1:]:
                    return None
                stage = float(kept["begun"]), bool(kept["is_rough"])
                return cls(solution, residual, direction, inner, tuple(kept["residuals"].tolist()), *stage)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None


def _outlook(residuals: tuple[float, ...], tolerance: float, pace: float) -> str:
    """How many more steps it will take, and how long, if the residual goes on to fall as it did in the last steps.

    >>> _outlook((1.0, 0.1, 0.01), 1e-5, 2.0), _outlook((1.0,), 1e-5, 2.0), _outlook((1.0, 1e-6), 1e-5, 2.0)
    (', about 3 more steps in 6 s', '', '')
    """
    recent = residuals[-_RECENT:]
    if len(recent) < 2 or not 0 < tolerance < recent[-1] < recent[0]:
        return ""
    fall = np.log(recent[0] / recent[-1]) / (len(recent) - 1)
    more = int(np.ceil(np.log(recent[-1] / tolerance) / fall - 1e-9))
    return f", about {more} more steps in {more * pace:.0f} s"


def _largest(residual: Array, norms: Array) -> float:
    """The largest norm of a column relative to its right-hand side."""
    return float(np.max(_ratio(np.linalg.norm(residual, axis=0), norms), initial=0.0))


def _ratio(numerator: Array, denominator: Array) -> Array:
    """The quotient, or 0 for a column that is finished."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


_TILE = 4096  # Tiles of 4096 × 4096 take seconds and 130 MB: few tasks, and little lost with a worker.
_LIVES = 10  # A task may lose so many workers before it counts as their murderer.


@dataclass(frozen=True)
class DistributedKernel:
    """K(x, x) times vectors, tile by tile on workers."""

    client: Any  # a ``distributed.Client``
    # the kernel and the points
    kernel: NetworkKernel
    points: Array
    tile: int = _TILE  # rows and columns of a tile

    def __post_init__(self) -> None:
        self.kernel.diagonal(self.points)  # refuses points whose kernel overflows

    def times(self, vectors: Array, single: bool = False) -> Array:
        """The product with a matrix of vectors; with ``single`` entries of single precision will do."""
        from distributed import as_completed

        kernel, data = self.kernel, self.kernel.network.data_range(self.points)
        order = by_length(kernel.network, self.points)
        parts = [order[start : start + self.tile] for start in range(0, len(order), self.tile)]
        pairs = {}
        for rows, columns in combinations_with_replacement(parts, 2):
            other = None if rows is columns else (self.points[columns], vectors[columns])
            task = self.client.submit(
                _tile, kernel, data, self.points[rows], vectors[rows], other, single, pure=False, retries=_LIVES
            )
            pairs[task] = rows, columns
        result = np.zeros_like(vectors)
        finished = as_completed(list(pairs), with_results=True)  # type: ignore[no-untyped-call]
        for done, (task, (own, mirrored)) in enumerate(finished, start=1):
            rows, columns = pairs[task]
            result[rows] += own
            if mirrored is not None:
                result[columns] += mirrored
            report("kernel tiles on workers", done, len(pairs))
        return result


def _tile(
    kernel: NetworkKernel, data: Any, rows: Array, vectors: Array, other: tuple[Array, Array] | None, single: bool
) -> tuple[Array, Array | None]:
    """K(x, y) w and K(y, x) v, or K(x, x) v for a tile on the diagonal; runs on a worker."""
    wanted, dtype = (kernel.kind == "nngp", kernel.kind == "ntk"), np.float32 if single else np.float64
    others = rows if other is None else other[0]
    with one_thread():
        out = np.empty((len(rows), len(others)), dtype)
        kernel.network.part(rows, None if other is None else others, data, wanted, out=(out, out), single=single)
        own = out @ np.asarray(vectors if other is None else other[1], dtype)
        mirrored = None if other is None else np.asarray(out.T @ np.asarray(vectors, dtype), dtype=float)
        return np.asarray(own, dtype=float), mirrored
