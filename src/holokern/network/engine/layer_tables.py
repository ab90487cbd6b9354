"""The table of a layer on the range of deviations that it meets, and its norms, slopes and means."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from holokern.dual import DualActivation, DualTable
from holokern.errors import PrecisionLost
from holokern.network.engine.spans import LayerSpan
from holokern.network.hidden_layer import Function, HiddenLayer
from holokern.numeric import Array, Range


def layer_table(layer: HiddenLayer, span: LayerSpan, smallest: float, short: bool = False) -> tuple[DualTable, Range]:
    """The table of a layer from an angle on, and the range that it was asked for.

    Raises PrecisionLost if the activation is too rough, or oscillates too fast for a short table that is asked for.
    """
    part = span.shared if smallest == layer.dual.smallest_angles[0] else span.near
    # Sums are long where σ oscillates over a wide range, which the layers after the first seldom meet.
    for one in (part, span.narrow) if short else (part,) if part != span.narrow else ():
        table = layer.dual.short_table(*one.ends, smallest)
        if table is not None:
            return table, one
    if short:
        raise PrecisionLost(f"{layer.activation} oscillates too fast for a table of the network")
    return layer.dual.table(*span.narrow.ends, smallest), span.narrow


def functions_of(layer: HiddenLayer, span: LayerSpan, by_pairs: bool) -> tuple[Function, Function, Function]:
    """Norms, slopes and means of a layer: from its table, or by integrals."""
    dual = layer.dual
    form = dual.smooth_form
    if form is not None and not by_pairs:
        return form.norms, form.slope_norms, form.means
    if not by_pairs and dual.hinges is None:
        try:
            table, _ = layer_table(layer, span, dual.smallest_angles[0])
        except PrecisionLost:
            pass
        else:
            return table.norms, table.slope_norms, table.means
    if dual.hinges is not None:
        return _of_hinges(dual)
    if not by_pairs:
        return _in_range(dual)
    return dual.norms, dual.slope_norms, dual.means


def _in_range(dual: DualActivation) -> tuple[Function, Function, Function]:
    """Moments of many deviations at once, where there is no table."""

    # All three are asked for the same deviations.
    @lru_cache(maxsize=2)
    def moments(deviations: bytes) -> tuple[Array, Array, Array]:
        return dual.moments_in_range(np.frombuffer(deviations))

    def moment(c: Array, which: int) -> Array:
        return moments(c.tobytes())[which]

    return partial(moment, which=0), partial(moment, which=1), partial(moment, which=2)


def _of_hinges(dual: DualActivation) -> tuple[Function, Function, Function]:
    def numbers(c: Array, row: int) -> Array:
        side = dual.hinge_sides(c, c)[0]
        return side.means if row == 2 else side.numbers[1 + row]

    return partial(numbers, row=0), partial(numbers, row=1), partial(numbers, row=2)
