"""A network at few deviations and many angles: what its table is made from.

For every two deviations the tables of the layers are reduced to sums in the angle alone. Some deviations with all
angles, and all other deviations, make one tile, which goes through the layers by the same machine code as data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holokern.errors import PrecisionLost
from holokern.network.engine.layer_tables import layer_table
from holokern.network.engine.layered import Group, LayeredRows, LayerStep, TableCells
from holokern.network.hidden_layer import HiddenLayer
from holokern.numeric import Array, Range, Some, machine

_TOGETHER = 8
"""Deviations that go together: calls cost more than their entries."""

_FEW = 1000
"""Pairs of a layer that may be integrated by themselves where no table serves: some seconds."""


class _NodeStep(LayerStep):
    """A layer with sums in the angle for each deviation in place of cells; what no table serves is refused soon."""

    _integrated = 0

    @cached_property
    def groups(self) -> list[Group]:
        """Whole tables in the order in which they are tried."""
        return [(angle, angle, np.inf) for angle in self.angles]

    def _table(self, group: Group) -> TableCells:
        if group not in self._tables:
            table, _ = layer_table(self.layer, self.span, group[0], short=True)
            cells = machine.cells_at_points(table.table, self.sides[0].numbers[0] * (table.homogeneity is None))
            side = machine.CellSide(np.arange(cells.count), np.zeros(cells.count))
            self._tables[group] = TableCells(table, cells, (side, side))
        found = self._tables[group]
        assert found is not None
        return found

    def _by_pairs(self, theta: Array, some: Some, others: Some, lost: Array, slope: Array) -> None:
        self._integrated += int(np.count_nonzero(np.isnan(lost)))
        # Where a table does not pay for the data, neither do pairs that are not among them.
        if self.angles != self.layer.dual.smallest_angles or self._integrated > _FEW:
            raise PrecisionLost(f"{self.layer.activation} has no table for small angles; its pairs go layer by layer")
        super()._by_pairs(theta, some, others, lost, slope)


@dataclass(frozen=True, eq=False)
class NodeSamples:
    """A network at deviations c."""

    c: Array  # the deviations
    steps: list[_NodeStep]
    # the roots of the diagonals of NNGP and NTK, one row each; those of the NTK are infinite where σ jumps
    roots: Array

    @classmethod
    def of(
        cls, layers: tuple[HiddenLayer, ...], c: Array, scope: Range, angles: tuple[tuple[float, ...], ...]
    ) -> NodeSamples:
        """Follow deviations of a scope through the layers, whose tables serve the given smallest angles."""
        rows = LayeredRows.of(layers, c, c, scope, False, 0)
        steps = [
            _NodeStep(step.layer, step.sides, step.span, False, False, served)
            for step, served in zip(rows.steps, angles, strict=True)
        ]
        return cls(c, steps, np.sqrt(rows.diagonals(c)))

    @property
    def kernels(self) -> int:
        """1 if there is no NTK, else 2."""
        return 2 if np.all(np.isfinite(self.roots[1])) else 1

    def at(self, theta: Array) -> Array:
        """The kernels divided by the roots of the diagonals, of shape (kernels, c, c, angles).

        Raises PrecisionLost if a layer has no table for the angles that it meets, or an entry is not finite.
        """
        count, kernels = len(self.c), self.kernels
        found = np.empty((kernels, count, count, len(theta)))
        for first in range(0, count, _TOGETHER):
            # The deviations up to the last of these; the others follow by symmetry.
            some = np.arange(first, min(first + _TOGETHER, count))
            rows, nodes = slice(0, some[-1] + 1), np.repeat(some, len(theta))
            angles = np.repeat(np.tile(theta, len(some))[None, :], rows.stop, axis=0)
            sigma = self.c[rows, None] * (self.c[nodes] * np.cos(angles))
            tile = angles, sigma, sigma.copy()
            for step in self.steps:
                step.apply(tile, rows, nodes, kernels == 2)
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
