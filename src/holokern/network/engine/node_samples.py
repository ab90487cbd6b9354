"""A network at few deviations and many angles: what its table is made from.

For every two deviations the tables of the layers are reduced to sums in the angle alone. Some deviations with all
angles, and all other deviations, make one tile, which goes through the layers by the same machine code as data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from holokern.dual import DualTable, HingeSide
from holokern.errors import PrecisionLost
from holokern.network.engine.layer_tables import functions_of, layer_table
from holokern.network.engine.spans import LayerSpan, spans_of
from holokern.network.engine.table_losses import table_losses
from holokern.network.hidden_layer import HiddenLayer, LayerSide
from holokern.numeric import Array, Index, Range, machine

_TOGETHER = 8
"""Deviations that go together: calls cost more than their entries."""

_FEW = 1000
"""Pairs of a layer that may be integrated by themselves where no table serves: some seconds."""


@dataclass(frozen=True, eq=False)
class _NodeLayer:
    """A layer, the deviations when they enter it, and the sums of its tables for each of them."""

    layer: HiddenLayer
    side: LayerSide
    span: LayerSpan
    angles: tuple[float, ...]
    _cells: dict[float, tuple[machine.Cells, DualTable]] = field(default_factory=dict)
    _integrated: list[int] = field(default_factory=list)

    def losses(self, nodes: Index, theta: Array, with_tangent: bool) -> tuple[Array, Array]:
        """1 - |k|/(n₁n₂) and k′ of the first deviations, one row each, with that of each column at its angles."""
        dual = self.layer.dual
        if dual.hinges is not None:
            rows, columns = self._hinges
            sides = rows.part(slice(0, len(theta))), columns.part(nodes)
            lost, slope = dual.hinge_tile(theta, *sides)
            if not np.any(np.isnan(lost)):
                return lost, slope
        else:
            lost, slope = np.full_like(theta, np.nan), np.zeros_like(theta)
        form = dual.smooth_form
        if form is not None:
            c = self.side.safe
            return form.losses(theta, c[: len(theta)], c[nodes], dual.fold != 0, with_tangent)
        nearest = np.minimum(theta, np.pi - theta)
        for smallest in self.angles:
            if smallest != self.angles[0] and not np.any(nearest[np.isnan(lost)] >= smallest):
                continue
            left = self._by_table(smallest, nodes, theta, lost, slope, with_tangent)
            if not left or not np.any(np.isnan(lost)):
                return lost, slope
        missing = np.nonzero(np.isnan(lost))
        self._integrated.append(len(missing[0]))
        # Where a table does not pay for the data, neither do pairs that are not among them.
        if self.angles != dual.smallest_angles or sum(self._integrated) > _FEW:
            raise PrecisionLost(f"{dual.activation} has no table for small angles; its pairs go layer by layer")
        c = self.side.safe
        lost[missing], slope[missing] = dual.losses(c[missing[0]], c[nodes[missing[1]]], theta[missing])
        return lost, slope

    @cached_property
    def _hinges(self) -> tuple[HingeSide, HingeSide]:
        return self.layer.dual.hinge_sides(self.side.safe, self.side.safe)

    def _by_table(
        self, smallest: float, nodes: Index, theta: Array, lost: Array, slope: Array, with_tangent: bool
    ) -> int:
        layer = self.layer
        if smallest not in self._cells:
            table, _ = layer_table(layer, self.span, smallest, short=True)
            logs = self.side.numbers[0] * (table.homogeneity is None)
            self._cells[smallest] = machine.cells_at_points(table.table, logs), table
        cells, table = self._cells[smallest]
        count, every = len(theta), np.arange(cells.count)
        side, parts = machine.CellSide(every, np.zeros(cells.count)), (every[:count], nodes)
        numbers = self.side.numbers[:, :count], self.side.numbers[:, nodes]
        *found, left = table_losses(table, cells, (side, side), parts, numbers, theta, with_tangent)
        found[1] /= layer.weight
        # Only what is missing is written: the first table that serves an angle decides.
        missing = np.isnan(lost)
        np.copyto(slope, found[1], where=missing)
        np.copyto(lost, found[0], where=missing)
        return left


@dataclass(frozen=True, eq=False)
class NodeSamples:
    """A network at deviations c.

    Attributes
    ----------
    c
        The deviations.
    steps
        The layers.
    roots
        The roots of the diagonals of NNGP and NTK, one row each; those of the NTK are infinite where σ jumps.
    """

    c: Array
    steps: list[_NodeLayer]
    roots: Array

    @classmethod
    def of(
        cls, layers: tuple[HiddenLayer, ...], c: Array, scope: Range, angles: tuple[tuple[float, ...], ...]
    ) -> NodeSamples:
        """Follow deviations of a scope through the layers, whose tables serve the given smallest angles."""
        steps: list[_NodeLayer] = []
        square, tangent = c**2, c**2
        for layer, span, served in zip(layers, spans_of(layers, scope), angles, strict=True):
            deviations = np.sqrt(square)
            side = LayerSide.of(layer, deviations, *functions_of(layer, span, False))
            steps.append(_NodeLayer(layer, side, span, served))
            new = side.numbers[1] ** 2 + layer.bias**2
            moved = tangent * side.numbers[2] ** 2 + new
            square, tangent = (square + new, tangent + moved) if layer.residual else (new, moved)
        if any(layer.dual.jumps for layer in layers):
            tangent = np.full_like(tangent, np.inf)
        return cls(c, steps, np.sqrt([square, tangent]))

    @property
    def kernels(self) -> int:
        """1 if there is no NTK, else 2."""
        return 2 if np.all(np.isfinite(self.roots[1])) else 1

    def at(self, theta: Array) -> Array:
        """The kernels divided by the roots of the diagonals, of shape (kernels, c, c, angles).

        Raises
        ------
        PrecisionLost
            If a layer has no table for the angles that it meets, or an entry is not finite.
        """
        from holokern.network.engine.advance import Step, advance

        count, kernels = len(self.c), self.kernels
        found = np.empty((kernels, count, count, len(theta)))
        for first in range(0, count, _TOGETHER):
            # The deviations up to the last of these; the others follow by symmetry.
            some = np.arange(first, min(first + _TOGETHER, count))
            rows, nodes = slice(0, some[-1] + 1), np.repeat(some, len(theta))
            angles = np.repeat(np.tile(theta, len(some))[None, :], rows.stop, axis=0)
            sigma = self.c[rows, None] * (self.c[nodes] * np.cos(angles))
            tile = angles, sigma, sigma.copy()
            for one in self.steps:
                layer = one.layer
                lost, slope = one.losses(nodes, tile[0], kernels == 2)
                step = Step(layer.residual, layer.bias, layer.weight, layer.dual.fold)
                here, there = (np.ascontiguousarray(one.side.numbers[:, part]) for part in (rows, nodes))
                advance(step, here, there, lost, slope, *tile)
            for kernel in range(kernels):
                root = self.roots[kernel]
                with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                    scaled = tile[1 + kernel] / root[rows, None] / root[nodes]
                found[kernel][rows, some] = scaled.reshape(rows.stop, len(some), len(theta))
        low, high = np.triu_indices(count, 1)
        found[:, high, low] = found[:, low, high]
        if not np.all(np.isfinite(found)):
            raise PrecisionLost("a network has entries that are not finite; rescale the data")
        return found
