"""Which deviations each layer meets, and which layers share a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from holokern.dual import table_file
from holokern.network.hidden_layer import HiddenLayer, deviations_through
from holokern.network.plan import near_table_seconds, table_seconds
from holokern.numeric import Array, Range

_SAMPLES = 33
"""Deviations that are followed to find the range of each layer."""


@dataclass(frozen=True)
class LayerSpan:
    """The ranges of the tables of a layer, which it shares with layers of its activation where that saves time."""

    shared: Range  # for angles away from 0 and π
    near: Range  # For all angles. The first layer does not share its table, as it may never meet small angles.
    narrow: Range  # a range that is shared only with layers that meet about as few deviations

    @classmethod
    def everywhere(cls, span: Range) -> LayerSpan:
        """One range for all purposes."""
        return cls(span, span, span)


NOWHERE = LayerSpan.everywhere(Range(0.0, 0.0))
"""The ranges where there are no deviations."""


@lru_cache(maxsize=256)
def spans_of(layers: tuple[HiddenLayer, ...], scope: Range, zeros: bool = False) -> tuple[LayerSpan, ...]:
    """For every layer the range of its deviations, with those of zero vectors once they are not zero."""
    own = [Range(float(low), float(high)) for low, high in _ends(layers, scope, zeros)]
    result = []
    for index, (layer, span) in enumerate(zip(layers, own, strict=True)):
        alike = [k for k, twin in enumerate(layers) if twin.dual == layer.dual]
        shared = _group(span, tuple(own[k] for k in alike), lambda one: table_seconds(one.width))
        near = _group(span, tuple(own[k] for k in alike if k), near_table_seconds) if index else span
        close = _union([own[k] for k in alike if own[k].width <= 1.5 * span.width + 0.5])
        narrow = close if close.width <= 1.5 * span.width + 0.5 else span
        result.append(LayerSpan(*map(_widened, (shared, near, narrow))))
    return tuple(result)


def request_of(layers: tuple[HiddenLayer, ...], scope: Range) -> list[str | None]:
    """What tells a network on a scope from all others in a file's name; None for an activation that has no name."""
    names = [table_file.identity(layer.activation) for layer in layers]
    numbers = [value.hex() for layer in layers for value in (layer.weight, layer.bias, float(layer.residual))]
    return [*names, *numbers, scope.low.hex(), scope.high.hex()]


def _ends(layers: tuple[HiddenLayer, ...], scope: Range, zeros: bool) -> Array:
    """The ends of the range of log c of each layer; kept on disk, as they take longer than tables to read."""

    def follow() -> Array:
        c = np.exp(np.linspace(scope.low, scope.high, 1 if scope.is_point else _SAMPLES))
        return np.log([[np.min(one), np.max(one)] for one in deviations_through(layers, c, zeros)[:-1]])

    def checked(arrays: dict[str, Array]) -> Array:
        ends = arrays["ends"]
        if ends.shape != (len(layers), 2) or not np.all(ends[:, 0] <= ends[:, 1]):
            raise ValueError("no ranges of the layers")
        return ends

    return table_file.stored(
        ["spans", *request_of(layers, scope), str(zeros)], follow, lambda ends: {"ends": ends}, checked
    )


def _group(span: Range, spans: tuple[Range, ...], seconds: Callable[[Range], float]) -> Range:
    """The range for one of them, if ranges become one as long as one table takes less time than two."""
    groups = sorted(set(spans), key=lambda one: (one.low, one.high))
    while True:
        gains = [
            (seconds(a) + seconds(b) - seconds(_union([a, b])), i, j)
            for (i, a), (j, b) in combinations(enumerate(groups), 2)
        ]
        gain, i, j = max(gains, default=(0.0, 0, 0))
        if gain <= 0:
            return next(one for one in groups if one.low <= span.low and span.high <= one.high)
        groups = [*(one for k, one in enumerate(groups) if k not in (i, j)), _union([groups[i], groups[j]])]


def _union(spans: list[Range]) -> Range:
    return Range(min(one.low for one in spans), max(one.high for one in spans))


def _widened(span: Range) -> Range:
    """A little more than what was followed, as norms need not be monotonic between the samples."""
    room = 0.0 if span.is_point else 0.02
    return Range(span.low - room, span.high + room)
