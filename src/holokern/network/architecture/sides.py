"""Outputs when they enter an activation, and the activation of pairs of them, on numpy arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holokern.dual import DualActivation, LineForm
from holokern.errors import PrecisionLost
from holokern.network.architecture.table_form.form import TableForm
from holokern.network.engine.layer_tables import functions_of
from holokern.network.engine.layered import LayerStep
from holokern.network.engine.spans import LayerSpan
from holokern.network.hidden_layer import Function, HiddenLayer, LayerSide
from holokern.network.layers.state import Layout
from holokern.network.plan import paying_angles
from holokern.numeric import Array, Range
from holokern.progress import report

_GRID = 0.25
"""Ranges of single layers start and end with multiples of this in log c."""

_ROWS, _COLUMNS = 64, 512
"""Rows and columns that are computed at a time where there is no machine code for all tiles."""


@dataclass(frozen=True, eq=False)
class ActivationTable:
    """An activation for deviations in a range.

    Attributes
    ----------
    layer
        The activation as a layer without weights of its own.
    span
        The range of log c.
    form
        The closed form, or that of a table; None if the activation is too rough on this range.
    functions
        Norms, norms of the slope, and means.
    """

    layer: HiddenLayer
    span: Range
    form: LineForm | None
    functions: tuple[Function, Function, Function]

    def side(self, variances: Array) -> NumpySide:
        """Prepare outputs with these variances, of shape (positions, inputs)."""
        shape = variances.shape
        c = np.sqrt(variances)
        if self.form is not None:
            numbers = self.form.numbers(c)
            after, points = self.form.norms_of(numbers) ** 2, np.moveaxis(numbers, 0, -1)
            return NumpySide(after, c == 0, self.form.means(c), points, np.empty((0, *shape)))
        side = LayerSide.of(self.layer, c.reshape(-1), *self.functions)
        numbers = np.stack([*side.numbers[:3], side.safe]).reshape(4, *shape)
        after, means = (side.numbers[1] ** 2).reshape(shape), side.means.reshape(shape)
        return NumpySide(after, side.zero.reshape(shape), means, np.empty((*shape, 0)), numbers)

    def slope_squares(self, side: NumpySide) -> Array:
        """E[σ′(cz)²] of outputs."""
        if self.form is None:
            return np.asarray(side.numbers[2] ** 2)
        found = self.form.slope_norms(side.points[..., 0])
        return np.where(side.zero, 0.0, found**2)

    def squares(self, variances: Array) -> Array:
        """Variances after the activation."""
        c = np.sqrt(variances).reshape(-1)
        positive = np.where(c > 0, c, np.min(c[c > 0], initial=1.0) if np.any(c > 0) else 1.0)
        norms = np.where(c > 0, self.functions[0](positive), self.layer.dual.limits.norm)
        return np.asarray(norms.reshape(variances.shape) ** 2)


@dataclass(frozen=True, eq=False)
class NumpySide:
    """Outputs of some inputs when they enter an activation.

    Attributes
    ----------
    after
        The variances after the activation, of shape (positions, inputs).
    zero
        Where the deviation is zero.
    means
        E[σ(cz)].
    points
        What the machine code knows of each output along a last axis: the numbers of a `LineForm`.
    numbers
        log c, n, d and c, with another deviation where that is zero, of shape (4, positions, inputs); (0, positions,
        inputs) if there is a form.
    """

    after: Array
    zero: NDArray[np.bool_]
    means: Array
    points: Array
    numbers: Array

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(part.nbytes for part in (self.after, self.zero, self.means, self.points, self.numbers))

    def _each(self, front: Callable[[Any], Any], inner: Callable[[Any], Any], last: Callable[[Any], Any]) -> NumpySide:
        """Arrays changed: those of positions and inputs, those with an axis before, and those with an axis behind."""
        return NumpySide(
            front(self.after),
            front(self.zero),
            front(self.means),
            last(self.points),
            inner(self.numbers),
        )

    def at(self, some: slice) -> NumpySide:
        """Some positions along the first axis."""
        return self._each(lambda a: a[some], lambda a: a[:, some], lambda a: a[some])

    def of_inputs(self, some: slice) -> NumpySide:
        """Some inputs."""
        return self._each(lambda a: a[..., some], lambda a: a[..., some], lambda a: a[..., some, :])

    def inputs_first(self) -> NumpySide:
        """With the axis of inputs before those of positions."""
        return self._each(
            lambda a: np.moveaxis(a, -1, 0), lambda a: np.moveaxis(a, -1, 1), lambda a: np.moveaxis(a, -2, 0)
        )

    def tiles(self, shape: tuple[int, int]) -> NumpySide:
        """With one axis of tiles and one of points."""
        return self._each(
            lambda a: a.reshape(shape),
            lambda a: a.reshape(len(a), *shape),
            lambda a: a.reshape(*shape, a.shape[-1]),
        )


_lock = threading.Lock()


def table_for(dual: DualActivation, whole: Range, span: Range) -> ActivationTable:
    """The activation on a part of the range that it has in the whole network, made once."""
    with _lock:
        if dual.line_form is not None:
            return _table_for(dual, _NOWHERE, _NOWHERE)
        return _table_for(dual, whole, span if whole.is_point else _rounded(span, whole))


_NOWHERE = Range(0.0, 0.0)


def _rounded(span: Range, whole: Range) -> Range:
    """A part of a range that starts and ends where those of similar layers do, so that these share polynomials."""
    low, high = np.floor(span.low / _GRID) * _GRID, np.ceil(span.high / _GRID) * _GRID
    return Range(max(float(low), whole.low), min(float(high), whole.high))


@lru_cache(maxsize=64)
def _table_for(dual: DualActivation, whole: Range, span: Range) -> ActivationTable:
    layer, form = HiddenLayer(dual, 1.0, 0.0, False), _form(dual, whole, span)
    if form is not None:
        return ActivationTable(layer, span, form, (form.norms, form.slope_norms, form.means))
    # Without a form all layers share tables for the whole range.
    return ActivationTable(layer, whole, None, functions_of(layer, LayerSpan.everywhere(whole), False))


def _form(dual: DualActivation, whole: Range, span: Range) -> LineForm | None:
    if dual.line_form is not None or dual.hinges is not None or 0.0 not in dual.smallest_angles:
        return dual.line_form
    try:
        return TableForm.of(dual, whole, span)
    except PrecisionLost:
        return None


def activated(
    made: ActivationTable, sides: tuple[NumpySide, NumpySide], layout: Layout, gap: Array, tangent: Array | None
) -> tuple[Array, Array | None]:
    """G and Θ after an activation."""
    if layout.is_paired and layout.is_tied:
        # Coinciding outputs stay so, whatever rounding left of their distance.
        return np.zeros_like(gap), None if tangent is None else tangent * made.slope_squares(sides[0])
    if layout.is_paired:
        sides = sides[0].inputs_first(), sides[1].inputs_first()
    tiles = gap.shape[-1] if layout.is_paired else int(np.prod(gap.shape[: layout.dimensions])) if layout.is_tied else 1
    first, second = (side.tiles((tiles, side.zero.size // tiles)) for side in sides)
    shape = (tiles, first.zero.shape[1], second.zero.shape[1])

    def cut(array: Array) -> Array:
        front = np.moveaxis(array, -1, 0) if layout.is_paired else array
        return np.array(front, order="C").reshape(shape)

    def joined(array: Array) -> Array:
        return (
            np.moveaxis(array.reshape(tiles, *gap.shape[:-1]), 0, -1) if layout.is_paired else array.reshape(gap.shape)
        )

    after, moved = cut(gap), np.empty((0, 0, 0)) if tangent is None else cut(tangent)
    if made.form is not None:
        own, others = (np.swapaxes(side.points, 1, 2) for side in (first, second))
        after, moved = made.form.tiles(own, others, after, moved)
    else:
        _by_tiles(made, first, second, after, moved)
    if first.zero.any() or second.zero.any():
        _zero_outputs(first, second, after, moved)
    return joined(after), None if tangent is None else joined(moved)


def _by_tiles(made: ActivationTable, first: NumpySide, second: NumpySide, gap: Array, tangent: Array) -> None:
    """Tile by tile: closed forms of piecewise polynomials, and activations that are too rough for one table."""
    from holokern.network.architecture.table_form.series_code import angles_of

    dual = made.layer.dual
    points = [_layer_side(side) for side in (first, second)]
    # Tables for small angles are made where there are so many pairs that these would take longer by themselves.
    angles = paying_angles(made.layer, made.span, made.span, gap.size)
    step = LayerStep(made.layer, (points[0], points[1]), LayerSpan.everywhere(made.span), False, False, angles)
    with_tangent = bool(tangent.size) and not dual.jumps
    tiles, rows, columns = gap.shape
    for tile in range(tiles):
        for i in range(0, rows, _ROWS):
            for j in range(0, columns, _COLUMNS):
                some, others = slice(i, min(i + _ROWS, rows)), slice(j, min(j + _COLUMNS, columns))
                here, (c, d) = gap[tile, some, others], (first.numbers[:, tile, some], second.numbers[:, tile, others])
                theta = np.empty(here.shape)
                angles_of(here, c[3], d[3], theta)
                at = [
                    slice(tile * size + part.start, tile * size + part.stop)
                    for size, part in ((rows, some), (columns, others))
                ]
                lost, slope = step.losses((theta, theta, theta), at[0], at[1], with_tangent)
                far = (theta > np.pi / 2) & (dual.fold != 0)
                missing = np.where(far & (dual.fold < 0), 2.0 - lost, lost)
                here[...] = 0.5 * (c[1][:, None] - d[1]) ** 2 + c[1][:, None] * d[1] * missing
                if with_tangent:
                    tangent[tile, some, others] *= np.where(far & (dual.fold > 0), -slope, slope)
        if dual.hinges is None:
            report(f"pairs of positions at {dual.activation}", tile + 1, tiles)


def _layer_side(side: NumpySide) -> LayerSide:
    numbers = side.numbers.reshape(4, -1)
    nothing = np.zeros(numbers.shape[1])
    return LayerSide(numbers, nothing.astype(bool), numbers[3], side.means.reshape(-1), nothing)


def _zero_outputs(first: NumpySide, second: NumpySide, gap: Array, tangent: Array) -> None:
    """Pairs with an output that is zero: the limit of small outputs; their Θ is zero."""
    zero, other = first.zero[:, :, None], second.zero[:, None, :]
    n, m = np.sqrt(first.after)[:, :, None], np.sqrt(second.after)[:, None, :]
    value = np.where(zero & other, n * m, first.means[:, :, None] * second.means[:, None, :])
    np.copyto(gap, 0.5 * (n**2 + m**2) - value, where=zero | other)
    if tangent.size:
        np.copyto(tangent, 0.0, where=zero | other)
