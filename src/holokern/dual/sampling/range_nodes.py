"""Chebyshev nodes on the panels of a range of ℓ = log c.

Functions of ℓ that change fast in one part of a range are sampled on short panels there and on long ones elsewhere.
What tables hold is one Chebyshev series on the whole range, which follows from the samples without another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev

from holokern.numeric import Array, Range, chebyshev_basis, chebyshev_matrix


@dataclass(frozen=True, eq=False)
class RangeNodes:
    """Nodes on a range.

    Examples
    --------
    >>> nodes = RangeNodes((Range(0.0, 1.0), Range(1.0, 3.0)), (20, 30), 40)
    >>> bool(abs(chebyshev.chebval(0.5, nodes.series(np.sin(nodes.logs))) - np.sin(2.25)) < 1e-14)
    True
    >>> bool(np.max(abs(nodes.derivative(np.sin(nodes.logs)[:, None])[:, 0] - np.cos(nodes.logs))) < 1e-12)
    True
    """

    panels: tuple[Range, ...]  # the parts of the range, in increasing order
    counts: tuple[int, ...]  # how many nodes each has
    terms: int  # how many terms a series on the whole range has

    @property
    def range(self) -> Range:
        """The whole range."""
        return Range(self.panels[0].low, self.panels[-1].high)

    @cached_property
    def logs(self) -> Array:
        """All nodes."""
        return np.concatenate([part.nodes(count) for part, count in zip(self.panels, self.counts, strict=True)])

    def series(self, values: Array) -> Array:
        """Chebyshev coefficients on the whole range from values at the nodes, along the first axis."""
        if len(self.panels) > 1:
            at = self.range.nodes(self.terms)
            owner = np.clip(np.searchsorted([part.low for part in self.panels], at, side="right") - 1, 0, None)
            values = np.concatenate(
                [
                    chebyshev_basis(part.place(at[owner == index]), len(some)) @ (chebyshev_matrix(len(some)) @ some)
                    for index, (part, some) in enumerate(zip(self.panels, self._parts(values), strict=True))
                ]
            )
        return np.asarray(chebyshev_matrix(self.terms) @ values)

    def derivative(self, values: Array) -> Array:
        """The derivatives in ℓ at the nodes, along the first axis."""
        found = []
        for part, some in zip(self.panels, self._parts(values), strict=True):
            count = len(some)
            slopes = chebyshev.chebder(chebyshev_matrix(count) @ some, axis=0) * part.rate
            found.append(chebyshev_basis(part.place(part.nodes(count)), len(slopes)) @ slopes)
        return np.concatenate(found)

    def _parts(self, values: Array) -> list[Array]:
        return np.split(values, np.cumsum(self.counts)[:-1])
