"""A whole network as one table: NNGP and NTK as functions of two deviations and an angle, whatever the depth.

Both kernels, divided by the roots of their diagonals, are smooth functions of (log c1, log c2, θ). They are sampled
layer by layer with the tables of the activations. Next to θ = 0 they are not smooth if a layer after the first has a
kink, nor next to 0 and π if σ breaks away from zero: those panels are left out, and their pairs go layer by layer.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from holokern.dual import table_file
from holokern.errors import PrecisionLost
from holokern.network.engine.layer_tables import layer_table
from holokern.network.engine.node_samples import NodeSamples
from holokern.network.engine.spans import LayerSpan, request_of, spans_of
from holokern.network.hidden_layer import HiddenLayer, scale_free
from holokern.network.plan import paying_angles
from holokern.numeric import (
    Array,
    Range,
    Series,
    Table,
    Tensor,
    chebyshev_matrix,
    fit_angles,
    graded_edges,
    machine,
    narrowed,
)
from holokern.progress import report

Angles = tuple[tuple[float, ...], ...]
"""For every layer the smallest angles of its tables."""

FAR = 0.4
"""Angles between this and its supplement are in the first table, the others in the second, made when it is needed."""

_FIRST, _EACH, _GROWTH, _MOST = 14, 10, 1.5, 330
"""Chebyshev nodes in log c: how many, and how many more for each factor e, to begin with; their growth; the most."""

_COUNTS = (16, 24, 36, 54)
"""Terms in the angle that are tried."""

_TAIL = 4e-14
"""The last coefficients of a series that counts as complete, of functions of order one."""

_DROPPED = 1e-15
"""Singular values below this, relative to the largest, are left out: they are rounding of samples, which would make
three to five times as many functions, and three times the work when a new process cuts the table into cells."""

_WRONG = 1e-11
"""A table with a larger error is not used."""

_LEAST, _LEAST_NEAR = 1 / 60, 1 / 6
"""If k oscillates on a smaller scale in log c, tables have too many terms; small angles do not damp it."""

_SHRUNK = 2.0
"""By how much an angle may shrink from the first layer to the last, where tables of layers end at some angle."""

_CELL = 0.14
"""Width in log c of the cells in which the machine code works."""

_SINGLE, _SINGLE_CELL = 2e-8, 0.035
"""The last coefficients of a table in single precision, and the width of its cells: many points share a cell there."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """The kernels of a network for deviations in a scope, in one part of the angles."""

    table: Table  # NNGP and, if there is one, NTK, divided by the roots of their diagonals
    # the logarithms of the roots of the diagonals; a single point when the network is scale-free
    roots: tuple[Series, ...]
    # the powers of a deviation that the roots grow with when the network is scale-free, else 0
    powers: tuple[float, float]
    fold: int  # the sign that both kernels take when θ becomes π - θ, or 0 if there is no such rule

    def scales(self, length: Array) -> Array:
        """The roots of the diagonals of points, one row for each kernel; 0 for zero vectors."""
        with np.errstate(divide="ignore"):
            logs = np.log(length)
        safe = np.where(length > 0, logs, self.table.range.low)
        rows = [
            np.exp(root(safe) + power * (safe - root.range.low))
            for root, power in zip(self.roots, self.powers, strict=False)
        ]
        return np.ascontiguousarray(np.where(length > 0, rows, 0.0))

    def cells(self) -> machine.Cells:
        """The table cut into cells."""
        return machine.cells_of(self.table, self.table.range, _CELL)

    @cached_property
    def single(self) -> machine.Cells:
        """The same in single precision; a table for angles away from 0 and π has one panel and narrow cells then."""
        edges, made = self.table.edges, [panel is not None for panel in self.table.panels]
        first, last = made.index(True), len(made) - made[::-1].index(True)
        # Elsewhere panels are graded towards 0 or π, and there would be too many terms in narrow cells.
        if edges[first] >= FAR and all(made[first:last]):
            short = narrowed(self.table, float(edges[first]), float(edges[last]), _SINGLE)
            if short is not None:
                return machine.cells_of(short, self.table.range, _SINGLE_CELL, single=True)
        return machine.cells_of(self.table, self.table.range, _CELL, single=True)


def fold_of(layers: tuple[HiddenLayer, ...]) -> int:
    """The sign that both kernels take when θ becomes π - θ, or 0."""
    if layers[0].activation.parity == "even" and not layers[0].residual:
        return 1
    return -1 if all(layer.activation.parity == "odd" and not layer.bias for layer in layers) else 0


_lock = threading.Lock()


def expansion_of(layers: tuple[HiddenLayer, ...], scope: Range, near: bool, pairs: int) -> Expansion | None:
    """The expansion of a network that pays for so many entries, from memory or disk if it is there; None without one.

    Only the small angles that its layers meet depend on the number of entries: tables for them may not pay.
    """
    spans = spans_of(layers, scope)
    found = tuple(paying_angles(one, scope, span.near, pairs) for one, span in zip(layers, spans, strict=True))
    # Where a table for all angles is slow, the network's table leaves those angles to the layers.
    angles = tuple(some[:-1] if len(some) > 2 and not some[-1] else some for some in found)
    # One at a time: threads that need the same expansion wait for it.
    with _lock:
        return _expansion(layers, scope, near, angles)


@lru_cache(maxsize=16)
def _expansion(layers: tuple[HiddenLayer, ...], scope: Range, near: bool, angles: Angles) -> Expansion | None:
    request = ["network", *request_of(layers, scope), str(near), str(angles)]
    return table_file.stored(request, lambda: _built(layers, scope, near, angles), _arrays, _from_arrays)


def _arrays(made: Expansion | None) -> dict[str, Array]:
    if made is None:
        return {"none": np.ones(1)}
    roots = {f"root{k}": root.coefficients for k, root in enumerate(made.roots)}
    return {**made.table.arrays(), **roots, "numbers": np.array([*made.powers, made.fold])}


def _from_arrays(found: dict[str, Array]) -> Expansion | None:
    if "none" in found:
        return None
    table = Table.from_arrays(found)
    first, second, fold = (float(v) for v in found["numbers"])
    roots = tuple(Series(table.range, found[f"root{k}"]) for k in range(table.count))
    if any(root.coefficients.ndim != 1 or not np.all(np.isfinite(root.coefficients)) for root in roots):
        raise ValueError("a series is not a row of numbers")
    return Expansion(table, roots, (first, second), int(fold))


def _built(layers: tuple[HiddenLayer, ...], scope: Range, near: bool, angles: Angles) -> Expansion | None:
    try:
        return _Builder(layers, scope, near, angles).build()
    except (PrecisionLost, np.linalg.LinAlgError):
        return None


def _least_angle(layer: HiddenLayer, angles: tuple[float, ...]) -> float:
    """The smallest angle of a table of a network, so that a layer meets none that its own tables do not serve."""
    has_all = 0.0 in angles or layer.dual.is_rough or layer.dual.smooth_form is not None
    return 0.0 if has_all else _SHRUNK * angles[-1]


def _first_edge(layer: HiddenLayer, span: LayerSpan, angles: tuple[float, ...]) -> float:
    """Where the first panel of a layer ends."""
    form = layer.dual.smooth_form
    if form is not None:
        halvings = max(0, int(np.ceil(np.log2(FAR / form.scale(span.near.ends[1])))))
        return float(FAR * 0.5**halvings)
    if 0.0 not in angles:
        return min(FAR, _least_angle(layer, angles) or FAR)
    try:
        return float(layer_table(layer, span, 0.0)[0].table.edges[1])
    except PrecisionLost:
        return FAR


@dataclass(frozen=True, eq=False)
class _Builder:
    layers: tuple[HiddenLayer, ...]
    scope: Range
    near: bool
    angles: Angles

    def build(self) -> Expansion | None:
        if self.is_rough:
            return None
        fold = fold_of(self.layers)
        edges = self.edges(bool(fold))
        wanted = [t for t in range(len(edges) - 1) if self.is_wanted(edges, t, bool(fold))]
        panels: dict[int, tuple[Tensor, ...]] = {}
        count = 1 if self.scope.is_point else _FIRST + int(_EACH * (self.scope.high - self.scope.low))
        while wanted and count <= _MOST:
            samples = self.samples(np.exp(self.scope.nodes(count)))
            for done, t in enumerate(list(wanted)):
                report("table of the network", done, len(wanted))
                coefficients, settled = fit_angles(samples.at, edges[t], edges[t + 1], _COUNTS, _TAIL)
                if not settled:
                    # Not smooth in the angle, whatever the deviations: left to the layers.
                    wanted.remove(t)
                    continue
                matrix = chebyshev_matrix(count)
                tensor = np.einsum("pa,qb,kabm->kpqm", matrix, matrix, coefficients, optimize=True)
                if count == 1 or np.max(np.abs(tensor[:, -2:])) <= _TAIL:
                    wanted.remove(t)
                    panels[t] = tuple(Tensor(np.eye(count), kernel).compressed(_DROPPED) for kernel in tensor)
            count = int(_GROWTH * count) + 1 if count > 1 else _MOST + 1
        if not panels:
            return None
        made = self.made(edges, panels, fold)
        return made if self.error(made) <= _WRONG else None

    def samples(self, c: Array) -> NodeSamples:
        return NodeSamples.of(self.layers, c, self.scope, self.angles)

    @property
    def is_rough(self) -> bool:
        """Whether a closed form says that the kernels oscillate too fast."""
        least = _LEAST_NEAR if self.near else _LEAST
        return any(
            form is not None and form.oscillates and form.scale(span.narrow.ends[1]) < least
            for form, span in zip((layer.dual.smooth_form for layer in self.layers), self.spans, strict=True)
        )

    @property
    def spans(self) -> tuple[LayerSpan, ...]:
        return spans_of(self.layers, self.scope)

    def edges(self, folded: bool) -> Array:
        if not self.near:
            return graded_edges(FAR, folded)
        return graded_edges(min(map(_first_edge, self.layers, self.spans, self.angles)), folded)

    def is_wanted(self, edges: Array, t: int, folded: bool) -> bool:
        """Whether a panel belongs to this part of the angles, and the kernels are smooth on it."""
        low, high = edges[t] < FAR - 1e-9, not folded and edges[t + 1] > np.pi - FAR + 1e-9
        if not (low or high):
            return not self.near
        least = max(map(_least_angle, self.layers, self.angles))
        if min(edges[t], np.pi - edges[t + 1]) < least - 1e-9:
            return False
        away = any(layer.dual.is_rough for layer in self.layers)
        kinks = away or (not self.scope.is_point and any(layer.dual.kinks for layer in self.layers[1:]))
        return self.near and not (kinks if low else away)

    def made(self, edges: Array, panels: dict[int, tuple[Tensor, ...]], fold: int) -> Expansion:
        free = scale_free(self.layers)
        samples, roots = self.roots()
        powers = (0.0, 0.0)
        if free:
            doubled = self.samples(2 * samples.c)
            ratios = [float(np.log2(doubled.roots[k, 0] / samples.roots[k, 0])) for k in range(samples.kernels)]
            powers = (ratios[0], ratios[-1])
        table = Table(self.scope, edges, tuple(panels.get(t) for t in range(len(edges) - 1)))
        return Expansion(table, roots, powers, fold)

    def roots(self) -> tuple[NodeSamples, tuple[Series, ...]]:
        """Series of the logarithms of the roots of the diagonals, and the samples that they go through."""
        count = 1 if self.scope.is_point else 3 * (_FIRST + int(_EACH * (self.scope.high - self.scope.low)))
        while True:
            samples = self.samples(np.exp(self.scope.nodes(count)))
            rows = [chebyshev_matrix(count) @ np.log(samples.roots[k]) for k in range(samples.kernels)]
            if count == 1 or count > 3 * _MOST or all(np.max(np.abs(row[-2:])) <= _TAIL for row in rows):
                return samples, tuple(Series(self.scope, row) for row in rows)
            count = int(_GROWTH * count) + 1

    def error(self, made: Expansion) -> float:
        """The largest error at points on which the table was not built."""
        random = np.random.default_rng(20261)
        c = np.exp(self.scope.low + (self.scope.high - self.scope.low) * random.random(1 if self.scope.is_point else 4))
        samples = self.samples(c)
        worst = float(np.max(np.abs(made.scales(c) / samples.roots[: samples.kernels] - 1)))
        first, second = (np.log(c)[index] for index in np.indices((len(c), len(c))).reshape(2, -1))
        for t, tensors in enumerate(made.table.panels):
            if tensors is not None:
                angle = made.table.edges[t] + (made.table.edges[t + 1] - made.table.edges[t]) * random.random(1)
                exact = samples.at(angle)[..., 0].reshape(len(tensors), -1)
                found = made.table(first, second, np.repeat(angle, len(first)))
                worst = max(worst, float(np.max(np.abs(found - exact))))
        return worst
