"""Inputs of a network: images, sequences, vectors and graphs, and their first covariances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holokern.errors import BadInput
from holokern.network.layers.state import Layout, State
from holokern.numeric import Array


@dataclass(frozen=True, eq=False)
class Inputs:
    """Some inputs.

    Attributes
    ----------
    values
        Channels first, then positions, then inputs: of shape (channels, positions, inputs).
    pattern
        For graphs the matrices of neighbours, of shape (inputs, nodes, nodes); else None.
    nodes
        For graphs 1 for each node and 0 for what fills up smaller graphs, of shape (nodes, inputs); else None.
    """

    values: Array
    pattern: Array | None = None
    nodes: Array | None = None

    @classmethod
    def of(cls, x: Any) -> Inputs:
        """From an array (inputs, positions, channels), or from graphs."""
        if isinstance(x, Graphs):
            mask = np.ascontiguousarray(x.nodes.T)
            return cls(_channels_first(x.features), x.adjacency, mask)
        return cls(_channels_first(x))

    def __len__(self) -> int:
        return int(self.values.shape[-1])

    def part(self, some: slice) -> Inputs:
        """Some of them."""
        return Inputs(
            np.ascontiguousarray(self.values[..., some]),
            None if self.pattern is None else self.pattern[some],
            None if self.nodes is None else self.nodes[:, some],
        )

    @cached_property
    def variances(self) -> Array:
        """The mean square over channels."""
        return np.asarray(_sum(self.values**2) / len(self.values))

    @property
    def positions(self) -> tuple[int, ...]:
        """The numbers of positions."""
        return tuple(self.values.shape[1:-1])

    def pairs(self, other: Inputs, layout: Layout, with_tangent: bool) -> State:
        """The state before the first layer: half the mean squared difference, and Θ = 0."""
        total: Any = 0.0
        for mine, theirs in zip(self.values, other.values, strict=True):
            total = total + (layout.rows(mine) - layout.columns(theirs)) ** 2
        gap = total / (2 * len(self.values))
        return State(layout, self.variances, other.variances, gap, np.zeros_like(gap) if with_tangent else None)


def _channels_first(x: Array) -> Array:
    array = np.asarray(x, dtype=float)
    return np.ascontiguousarray(np.moveaxis(array, (0, -1), (-1, 0)))


def _sum(parts: Array) -> Array:
    """The sum along the first axis, in order."""
    total: Array = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total


@dataclass(frozen=True, eq=False)
class Graphs:
    """Graphs with features at their nodes, filled up with empty nodes to the same size.

    Attributes
    ----------
    features
        Of shape (graphs, nodes, channels).
    adjacency
        Of shape (graphs, nodes, nodes): entry (i, j) is the weight with which node i takes from node j.
    nodes
        1 for each node and 0 for each empty node, of shape (graphs, nodes).

    Examples
    --------
    >>> import numpy as np
    >>> path, triangle = np.array([[0, 1], [1, 0]]), 1 - np.eye(3)
    >>> graphs = Graphs.of([np.ones((2, 1)), np.ones((3, 1))], [path, triangle])
    >>> len(graphs), graphs.features.shape, graphs.nodes.tolist()
    (2, (2, 3, 1), [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    """

    features: Array
    adjacency: Array
    nodes: Array

    @classmethod
    def of(cls, features: Any, adjacency: Any) -> Graphs:
        """From one array of features (nodes, channels) and one matrix of neighbours for each graph."""
        given = [np.atleast_2d(np.asarray(one, dtype=float)) for one in features]
        matrices = [np.asarray(one, dtype=float) for one in adjacency]
        if not given or len(given) != len(matrices):
            raise BadInput(
                f"{len(given)} arrays of features and {len(matrices)} matrices were given; pass one of each "
                "for every graph"
            )
        for number, (one, matrix) in enumerate(zip(given, matrices, strict=True)):
            if one.ndim != 2 or matrix.shape != (len(one), len(one)) or one.shape[1] != given[0].shape[1]:
                raise BadInput(
                    f"graph {number} has features of shape {one.shape} and a matrix of shape {matrix.shape}; pass "
                    "(nodes, channels) and (nodes, nodes), with the same channels for all graphs"
                )
            if not np.all(np.isfinite(one)) or not np.all(np.isfinite(matrix)):
                raise BadInput(f"graph {number} has entries that are not finite; remove or impute them first")
        most = max(map(len, given))
        shape = (len(given), most)
        found = cls(np.zeros((*shape, given[0].shape[1])), np.zeros((*shape, most)), np.zeros(shape))
        for number, (one, matrix) in enumerate(zip(given, matrices, strict=True)):
            size = len(one)
            found.features[number, :size] = one
            found.adjacency[number, :size, :size] = matrix
            found.nodes[number, :size] = 1.0
        return found

    def filled(self, nodes: int) -> Graphs:
        """The same graphs, filled up to so many nodes."""
        more = nodes - self.features.shape[1]
        if more <= 0:
            return self
        return Graphs(
            np.pad(self.features, ((0, 0), (0, more), (0, 0))),
            np.pad(self.adjacency, ((0, 0), (0, more), (0, more))),
            np.pad(self.nodes, ((0, 0), (0, more))),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the features."""
        return self.features.shape

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, some: Any) -> Graphs:
        return Graphs(self.features[some], self.adjacency[some], self.nodes[some])
