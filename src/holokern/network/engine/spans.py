"""Which deviations each layer meets, and which layers share a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from holokern.network.hidden_layer import HiddenLayer, deviations_through
from holokern.network.plan import table_seconds
from holokern.numeric import Range

__all__ = ["NOWHERE", "LayerSpan", "spans_of"]

_SAMPLES = 33
"""Deviations that are followed to find the range of each layer."""


@dataclass(frozen=True)
class LayerSpan:
    """The range of the table of a layer, which it shares with layers of its activation where that saves time.

    The narrow range is shared only with layers that meet about as few deviations.
    """

    shared: Range
    narrow: Range

    @classmethod
    def everywhere(cls, span: Range) -> LayerSpan:
        """One range for all purposes."""
        return cls(span, span)


NOWHERE = LayerSpan.everywhere(Range(0.0, 0.0))
"""The ranges where there are no deviations."""


@lru_cache(maxsize=256)
def spans_of(layers: tuple[HiddenLayer, ...], scope: Range, zeros: bool = False) -> tuple[LayerSpan, ...]:
    """For every layer the range of its deviations, with those of zero vectors once they are not zero."""
    c = np.exp(np.linspace(scope.low, scope.high, 1 if scope.is_point else _SAMPLES))
    found = deviations_through(layers, c, zeros)[:-1]
    own = [Range(float(np.log(np.min(one))), float(np.log(np.max(one)))) for one in found]
    result = []
    for layer, span in zip(layers, own, strict=True):
        alike = [other for twin, other in zip(layers, own, strict=True) if twin.dual == layer.dual]
        shared = next(one for one in _groups(tuple(alike)) if one.low <= span.low and span.high <= one.high)
        near = _union([one for one in alike if one.width <= 1.5 * span.width + 0.5])
        narrow = near if near.width <= 1.5 * span.width + 0.5 else span
        result.append(LayerSpan(*map(_widened, (shared, narrow))))
    return tuple(result)


@lru_cache(maxsize=256)
def _groups(spans: tuple[Range, ...]) -> list[Range]:
    """Few ranges that cover all: two become one as long as one table takes less time than two."""
    groups = sorted(set(spans), key=lambda one: (one.low, one.high))
    while True:
        gains = [
            (table_seconds(a.width) + table_seconds(b.width) - table_seconds(_union([a, b]).width), i, j)
            for (i, a), (j, b) in combinations(enumerate(groups), 2)
        ]
        gain, i, j = max(gains, default=(0.0, 0, 0))
        if gain <= 0:
            return groups
        groups = [*(one for k, one in enumerate(groups) if k not in (i, j)), _union([groups[i], groups[j]])]


def _union(spans: list[Range]) -> Range:
    return Range(min(one.low for one in spans), max(one.high for one in spans))


def _widened(span: Range) -> Range:
    """A little more than what was followed, as norms need not be monotonic between the samples."""
    room = 0.0 if span.is_point else 0.02
    return Range(span.low - room, span.high + room)
