"""How a kernel matrix is computed: the engine with the least predicted time.

There are three engines: ``pairs`` computes every pair by itself, ``layers`` looks up each layer in a table, and
``network`` looks up the whole network in one table. Tables cost time once, and then save it for every pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from holokern.errors import BadInput
from holokern.network.hidden_layer import HiddenLayer
from holokern.network.points import DataRange
from holokern.numeric import Range

Engine = Literal["auto", "pairs", "layers", "network"]

ENGINES: tuple[Engine, ...] = ("auto", "pairs", "layers", "network")

# Seconds of one core of the machine of benchmarks/results, rounded: only their ratios matter.
_PAIR, _PAIRS = 1e-3, 0.01
"""One pair in one layer by itself, and the first of them."""

_TABLE, _WIDER, _SQUARE = 0.1, 0.05, 0.03
"""The table of a layer, what each factor e of the deviations adds, and its square: small angles cost more then."""

_NEAR_TABLE, _NEAR_LARGER, _NEAR_POWER, _NEAR_WIDER = 0.3, 0.1, 0.65, 0.2
"""The table of a layer for all angles: fitted to erf on [0.4, 2.4], [13, 38], [430, 1200] and a Gaussian on [0.1, 100],
which took 0.4, 1.4, 12 and 6 seconds."""

_QUICK = 1.5
"""A table for all angles that takes less is made at once: deviations are below 50 then."""

_LOOK_UP, _FORM = 5e-8, 2e-7
"""One pair in one layer from a table, and by the closed form of an error function, which needs none."""

_NETWORK, _LAYER = 0.04, 0.01
"""The table of a network from those of its layers, and what each layer and factor e of the deviations adds."""

_WHOLE = 3e-8
"""One pair from the table of a network."""

_FRESH = 4
"""Calls with other points; what pairs by themselves need is kept for points that come again."""

_CALLS = 20
"""Calls with data of these norms that share tables: folds of a cross-validation, training and test data."""


@dataclass(frozen=True)
class Plan:
    """What a network will do for given data.

    Attributes
    ----------
    engine
        ``pairs``, ``layers`` or ``network``.
    seconds
        The predicted time of all engines for a few calls with data like these, on one core, tables included.
    reason
        One sentence.
    """

    engine: Engine
    seconds: dict[str, float]
    reason: str

    def __str__(self) -> str:
        lines = [
            f"engine: {self.engine}",
            f"reason: {self.reason}",
            f"predicted seconds for {_CALLS} calls, tables included:",
        ]
        return "\n".join([*lines, *(f"  {name:8} {time:.3g}" for name, time in self.seconds.items())])


def table_seconds(width: float) -> float:
    """The predicted time to make a table for deviations whose logarithms span this range.

    Examples
    --------
    >>> table_seconds(2.0) < 2 * table_seconds(1.0)
    True
    """
    return _TABLE + _WIDER * width + _SQUARE * width**2


def near_table_seconds(span: Range) -> float:
    """The predicted time of a table for all angles, small ones too, on a range of logarithms of deviations.

    A layer of width 1/c at θ = 0 must be resolved, so large deviations cost more.

    Examples
    --------
    >>> near_table_seconds(Range(0.0, 1.0)) < near_table_seconds(Range(3.0, 4.0))
    True
    """
    return _NEAR_TABLE + _NEAR_LARGER * float(np.exp(_NEAR_POWER * span.high)) * (1 + _NEAR_WIDER * span.width)


def paying_angles(layer: HiddenLayer, scope: Range, span: Range, pairs: int) -> tuple[float, ...]:
    """The smallest angles of the tables of a layer that take less time than so many entries by themselves.

    The first table of a layer is always among them. Where one for all angles is quick, as deviations in ``span`` are
    small, those for some of the small angles are not.

    Examples
    --------
    >>> from holokern.dual import dual_activation
    >>> layer = HiddenLayer(dual_activation("tanh"), 1.0, 0.1, False)
    >>> for largest in (1.0, 8.0):  # logarithms of deviations
    ...     paying_angles(layer, Range(0.0, largest), Range(0.0, largest), 10**6)
    (0.4, 0.0)
    (0.4, 0.2, 0.1, 0.0)
    """
    first, *others = layer.dual.smallest_angles
    allowed = _FRESH * _PAIR * pairs / 2
    if not others[-1] and near_table_seconds(span) <= _QUICK:
        others = others[-1:]

    def seconds(angle: float) -> float:
        # Where σ breaks away from zero a table for half the angle takes four times as long.
        return table_seconds(scope.width) * (first / angle) ** 2 if angle else near_table_seconds(scope)

    return first, *(angle for angle in others if seconds(angle) <= allowed)


def plan_for(layers: tuple[HiddenLayer, ...], data: DataRange, engine: Engine = "auto") -> Plan:
    """The plan for data.

    Raises BadInput if there is no such engine.
    """
    if engine not in ENGINES:
        raise BadInput(f"engine = {engine!r}; choose one of {', '.join(map(repr, ENGINES))}")
    # One half of a symmetric matrix is computed.
    pairs, depth = data.pairs / 2, len(layers)
    width = float(np.log(data.high / data.low)) if 0 < data.low < data.high else 0.0
    forms = [layer.dual.smooth_form is not None for layer in layers]
    tables = len({layer.dual for layer, form in zip(layers, forms, strict=True) if not form}) * table_seconds(width)
    look_ups = sum(_FORM if form else _LOOK_UP for form in forms)
    seconds = {
        "pairs": _FRESH * depth * (_PAIRS + _PAIR * pairs),
        "layers": tables + _CALLS * look_ups * pairs,
        "network": tables + _NETWORK + _LAYER * depth * width + _CALLS * _WHOLE * pairs,
    }
    if engine != "auto":
        return Plan(engine, seconds, "it was asked for")
    best: Engine = min(("pairs", "layers", "network"), key=lambda name: seconds[name])
    reasons = {
        "pairs": f"tables cost more than {data.pairs} entries by themselves",
        "layers": f"{data.pairs} entries pay for tables of the layers, but not for one of the network",
        "network": f"{data.pairs} entries pay for a table of the whole network",
    }
    return Plan(best, seconds, reasons[best])
