"""Products of a symmetric kernel matrix with vectors, strip by strip: the matrix is never stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from holokern.network.engine.fill import AFTER, Kept, Part, Way, each_strip
from holokern.network.hidden_layer import HiddenLayer
from holokern.network.plan import plan_for
from holokern.network.points import DataRange, Points
from holokern.numeric import Array

_WIDTH = 8192
"""Columns of a strip: its entries stay in the second cache, and in single precision few of them are added up before
the sums go on in double precision."""


Sums = list[tuple[slice, Array]]
"""What to add to some rows of a product."""


@dataclass(eq=False)
class Multiplier:
    """The NNGP matrix (``kernel`` 0) or the NTK (1) of points, as something to multiply with.

    With ``single`` its entries have single precision. Entries that no table of the network serves are then kept, if
    they are few in their strip: there are many products, and each of these entries costs a hundred times another one.
    """

    layers: tuple[HiddenLayer, ...]
    points: Points
    kernel: int
    single: bool = False
    _kept: Kept = field(default_factory=dict)

    def times(self, vectors: Array, threads: int | None) -> Array:
        """The product with vectors in the original order of the points, in so many threads."""
        points, data = self.points, DataRange.of(self.points.length)
        way = Way(self.layers, data, plan_for(self.layers, data).engine, self.single)
        if way.single:
            points = points.to_single()
        factors = np.asarray(vectors[points.order], dtype=points.padded.dtype)
        result = np.zeros(vectors.shape)

        def multiplied(some: slice, others: slice, starts: NDArray[np.int64], panels: Array) -> Sums:
            """A strip serves its mirror image too, but for the pairs on the diagonal."""
            panel, on_diagonal = panels[self.kernel], others.start <= some.start
            for row, start in enumerate(starts if on_diagonal else ()):
                panel[row, :start] = 0.0
            own = panel @ factors[others]
            if on_diagonal:
                panel[np.arange(len(starts)), starts] = 0.0
            return [(some, own), (others, panel.T @ factors[some])]

        kept = self._kept if way.single else None
        part = Part(way, points, points, AFTER)
        # Added up in the order of the rows, so that the bits do not depend on the threads.
        for found in each_strip(part, (self.kernel,), multiplied, threads, _WIDTH, kept):
            for places, values in chain.from_iterable(found):
                result[places] += values
        return result[points.rank]
