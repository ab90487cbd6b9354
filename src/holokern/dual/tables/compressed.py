"""Samples of σ(cx) at enough deviations c of a range, and the few functions of c that span them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holokern.activation import Activation
from holokern.dual.sampling.range_nodes import RangeNodes
from holokern.errors import PrecisionLost
from holokern.numeric import Array, Range, chebyshev_matrix, how_many_fit, left_singular
from holokern.progress import report

_TAIL = 2e-14
"""The last Chebyshev coefficients in log c may be so large, relative to the norm; the next ones are smaller still."""

_OSCILLATING_TAIL = 2e-13
"""The same where σ oscillates: a hundred radians have errors of 1e-14, and those of the integrals oscillate too."""

_DROPPED = 3e-16
"""Singular values below this, relative to the largest, are rounding errors."""

_FIRST, _EACH, _GROWTH, _LONGEST = 12, 12, 1.5, 250
"""Chebyshev nodes on a panel: how many, and how many more for each factor e, to begin with; their growth; the most."""

_SHORT, _WIDTH = 32, 0.7
"""Nodes of the panels into which a range is cut for a function that oscillates, and their width to begin with."""

_STEPS = 2001
"""Of log c, between which the ends of such panels are found."""

_MOST = 4000
"""Nodes, and terms of a series on the whole range: beyond them a table takes longer than integrals pair by pair."""

_ARRAYS = 5
"""Of all samples, in memory at a time: values, those divided by the norms, features, and what joins them."""

Sampler = Callable[[Array, Range], tuple[Array, Array, Array]]
"""From deviations in a part of the range: values of σ and σ′, what counts of them, and the norms of both functions."""


@dataclass(frozen=True, eq=False)
class Compressed:
    """Samples, and U: what they are in terms of few rows."""

    nodes: RangeNodes  # the nodes in log c
    # values, normalised: what the sampler gave, and the same divided by the norms: of shape (functions, nodes, values)
    values: Array
    normalised: Array
    norms: Array  # E[f(cz)²]^(1/2) for f = σ and, unless σ jumps, σ′
    functions: Array  # U, with orthonormal columns

    @property
    def few_rows(self) -> Array:
        """V: the rows in terms of which all samples, divided by their norms, are U V."""
        return np.stack([self.functions.T @ group for group in self.normalised])


@dataclass(frozen=True, eq=False)
class _Sample:
    part: Range
    values: Array
    norms: Array
    features: Array

    @property
    def count(self) -> int:
        return int(self.values.shape[1])

    def is_resolved(self, tail: float) -> bool:
        if self.part.is_point:
            return True
        last = chebyshev_matrix(self.count)[-2:] @ self.features
        return bool(np.max(np.linalg.norm(last, axis=-1)) <= tail)


def compressed(sigma: Activation, span: Range, sampled: Sampler, oscillates: bool, more: int = 0) -> Compressed:
    """Samples on panels of a range, shorter where σ(cx) changes faster with log c, and the few columns U.

    ``more`` is how many nodes to begin with beyond the usual number; if σ oscillates, evenly in c.

    Raises PrecisionLost if more nodes are needed than a table is worth, or a norm is zero or overflows.
    """
    done: list[_Sample] = []
    todo = _first(span, oscillates, more)
    while todo:
        part, count = todo.pop()
        sample = _sample(sigma, part, count, sampled)
        next_count = int(_GROWTH * count)
        if sample.is_resolved(_OSCILLATING_TAIL if oscillates else _TAIL):
            done.append(sample)
            report(f"samples of {sigma}", len(done), len(done) + len(todo))
        elif next_count <= _LONGEST and not oscillates:
            todo.append((part, next_count))
        else:
            middle = (part.low + part.high) / 2
            todo += [(Range(middle, part.high), _SHORT), (Range(part.low, middle), _SHORT)]
            oscillates = True
        nodes = sum(one.count for one in done) + sum(one[1] for one in todo)
        if nodes > _MOST:
            raise _too_rough(sigma, span)
        functions, _, width = sample.values.shape
        how_many_fit(8 * _ARRAYS * functions * nodes * width, 1, f"{sigma} at {nodes} deviations and {width} points")
    return _joined(sigma, span, done)


def _first(span: Range, oscillates: bool, more: int) -> list[tuple[Range, int]]:
    width = span.high - span.low
    if span.is_point or not oscillates:
        return [(span, 1 if span.is_point else min(_FIRST + int(_EACH * width) + more, _LONGEST))]
    logs = np.linspace(span.low, span.high, _STEPS)
    done = np.exp(logs - span.high)
    # How many panels end below: some in equal steps of log c, and others in equal steps of c.
    below = (logs - span.low) / _WIDTH + more / _SHORT * (done - done[0]) / (done[-1] - done[0])
    ends = np.interp(np.linspace(0.0, below[-1], 1 + int(np.ceil(below[-1]))), below, logs)
    return [(Range(float(a), float(b)), _SHORT) for a, b in zip(ends[-2::-1], ends[:0:-1], strict=True)]


def _sample(sigma: Activation, part: Range, count: int, sampled: Sampler) -> _Sample:
    c = np.exp(part.nodes(count))
    with np.errstate(all="ignore"):
        values, features, norms = sampled(c, part)
    if not np.all(np.isfinite(norms)) or not np.all(norms[0] > 0):
        raise PrecisionLost(
            f"{sigma} overflows or vanishes at deviations from {c.min():.4g} to {c.max():.4g}; rescale the data"
        )
    return _Sample(part, values, norms, features / np.where(norms > 0, norms, 1.0)[:, :, None])


def _joined(sigma: Activation, span: Range, done: list[_Sample]) -> Compressed:
    done.sort(key=lambda one: one.part.low)
    values, norms, features = (
        np.concatenate(parts, axis=1)
        for parts in zip(*((one.values, one.norms, one.features) for one in done), strict=True)
    )
    panels, counts = tuple(one.part for one in done), tuple(one.count for one in done)
    nodes = RangeNodes(panels, counts, counts[0])
    parts = [*features, np.ones((len(nodes.logs), 1))]
    if len(features) > 1:
        # The factor with which k follows from k′, so that the product is spanned as well.
        factor = np.exp(nodes.logs) * norms[1] / norms[0]
        parts.append(features[1] * (factor / np.max(factor))[:, None])
    left, sizes = left_singular(np.concatenate(parts, axis=1))
    kept = int(np.sum(sizes > _DROPPED * sizes[0]))
    functions = left[:, :kept]
    while len(panels) > 1:
        nodes = RangeNodes(panels, counts, int(_GROWTH * max(nodes.terms, _LONGEST)))
        if nodes.terms > _MOST:
            raise _too_rough(sigma, span)
        if np.max(np.linalg.norm(nodes.series(functions * sizes[:kept])[-2:], axis=1)) <= _OSCILLATING_TAIL:
            break
    return Compressed(nodes, values, values / np.where(norms > 0, norms, 1.0)[:, :, None], norms, functions)


def _too_rough(sigma: Activation, span: Range) -> PrecisionLost:
    return PrecisionLost(
        f"{sigma}: {_MOST} Chebyshev terms do not resolve deviations from {np.exp(span.low):.4g} to "
        f"{np.exp(span.high):.4g}; rescale the data, or use method='quadrature'"
    )
