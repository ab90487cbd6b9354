"""Panels on the line, symmetric about zero, on which functions are polynomials to rounding.

A function is known by its values at Gauss–Legendre nodes. Values anywhere else follow from them by a matrix that does
not depend on the function, so many functions cost one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre

from holokern.errors import PrecisionLost
from holokern.numeric import Array, Index, legendre_rule

NODES = 16
"""Nodes of a panel. A polynomial of degree 15 to rounding needs panels that are neither many nor long."""

_DEEPEST = 24
"""A panel is halved at most this often: beyond it, rounding errors of the function are all that is left."""

Scaled = Callable[[Array, Index], Array]
"""Functions of unit norm at points of panels, from the mesh of each panel."""

_FIRST = 0.5
"""Width of the panels to begin with: the normal density itself is a polynomial of degree 15 to rounding there."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Panels between ``edges`` ≥ 0 and their mirror images; the first edge is 0.

    Values of functions are arrays with one column for each node, in increasing order of the nodes of the whole line.
    """

    edges: Array

    @cached_property
    def right(self) -> tuple[Array, Array]:
        """Nodes x > 0 and weights of dx."""
        t, w = legendre_rule(NODES)
        width = np.diff(self.edges)[:, None]
        return (self.edges[:-1, None] + width * t).ravel(), (width * w).ravel()

    @cached_property
    def nodes(self) -> Array:
        """All nodes, increasing."""
        x = self.right[0]
        return np.concatenate([-x[::-1], x])

    @cached_property
    def masses(self) -> Array:
        """Weights of the standard normal law at all nodes."""
        x, w = self.right
        mass = w * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        return np.concatenate([mass[::-1], mass])

    @cached_property
    def all_edges(self) -> Array:
        """The edges of all panels, increasing."""
        return np.concatenate([-self.edges[:0:-1], self.edges])

    def split(self, width: float) -> Mesh:
        """The mesh with panels no wider than this.

        Examples
        --------
        >>> Mesh(np.array([0.0, 0.1, 1.0])).split(0.5).edges.round(3).tolist()
        [0.0, 0.1, 0.55, 1.0]
        """
        parts = self._parts(width).astype(int)
        pieces = [
            np.linspace(a, b, n, endpoint=False) for a, b, n in zip(self.edges, self.edges[1:], parts, strict=False)
        ]
        return Mesh(np.concatenate([*pieces, self.edges[-1:]]))

    def nodes_after_split(self, width: float) -> float:
        """How many nodes `split` makes, before any of them is made.

        Examples
        --------
        >>> mesh = Mesh(np.array([0.0, 0.1, 1.0]))
        >>> mesh.nodes_after_split(0.5) == len(mesh.split(0.5).nodes)
        True
        """
        return 2.0 * NODES * float(np.sum(self._parts(width)))

    def _parts(self, width: float) -> Array:
        """How many parts each panel has when none is wider than this."""
        return np.maximum(1.0, np.ceil(np.diff(self.edges) / width - 1e-9))

    def values_at(self, values: Array, x: Array) -> Array:
        """Functions, given by their values, at increasing points."""
        return interpolated(self.all_edges, values, x)

    @classmethod
    def resolving(
        cls,
        functions: list[Scaled],
        reach: float,
        tolerance: float,
        most: int,
        label: str,
        finest: float = 0.0,
        scale: float = _FIRST,
    ) -> Mesh:
        """The only mesh of `each_resolving`; ``label`` is what the error message calls the functions.

        Raises PrecisionLost if more nodes are needed.
        """
        found = cls.each_resolving(functions, np.array([reach]), tolerance, most, finest, np.array([scale]))[0]
        if found is None:
            raise PrecisionLost(
                f"{label} is too rough for {most} nodes on [-{reach:.3g}, {reach:.3g}] deviations; rescale the "
                "data, or use method='quadrature'"
            )
        return found

    @classmethod
    def each_resolving(
        cls,
        functions: list[Scaled],
        reach: Array,
        tolerance: float,
        most: int,
        finest: float = 0.0,
        scale: Array | None = None,
    ) -> list[Mesh | None]:
        """Several meshes: panels on which functions of x are resolved where the normal law has mass.

        A mesh does not depend on the others; together they take fewer calls of the functions.

        ``functions``: each takes points, whose axis before the last one is that of the panels, and the mesh of each
        panel. It gives an array with one more axis in front, of rows of unit norm.
        ``reach``: where each mesh ends.
        ``tolerance``: what may be left unresolved, relative to the norm.
        ``most``: the largest number of nodes of a mesh; None stands for a mesh that needs more.
        ``finest``: panels no wider than this are not divided, whatever the functions do there.
        ``scale``: how close to zero the functions of each mesh must be looked at. At large deviations a sigmoid is a
        step, and wide panels to both sides of it show nothing else.
        """
        scale = np.full(len(reach), _FIRST) if scale is None else scale
        edges = [_first_edges(far, near) for far, near in zip(reach.tolist(), scale.tolist(), strict=True)]
        todo = np.concatenate([np.stack([some[:-1], some[1:]], axis=1) for some in edges])
        owner = np.repeat(np.arange(len(edges)), [len(some) - 1 for some in edges])
        done: list[tuple[Array, Index]] = []
        resolved, fits = np.zeros(len(edges), dtype=int), np.ones(len(edges), dtype=bool)
        for _ in range(_DEEPEST):
            rough = np.zeros(len(todo), dtype=bool)
            for function in functions:
                rough |= _is_rough(function, todo, owner, tolerance)
            rough &= np.diff(todo)[:, 0] > finest
            done.append((todo[~rough], owner[~rough]))
            resolved += np.bincount(owner[~rough], minlength=len(edges))
            left = np.bincount(owner[rough], minlength=len(edges))
            fits &= (left == 0) | (2 * NODES * (resolved + 2 * left) <= most)
            some = rough & fits[owner]
            todo, owner = todo[some], np.tile(owner[some], 2)
            if not len(todo):
                break
            middle = todo.mean(axis=1)
            todo = np.concatenate([np.stack([todo[:, 0], middle], 1), np.stack([middle, todo[:, 1]], 1)])
        ends = np.concatenate([*(panels for panels, _ in done), todo])[:, 1]
        owner = np.concatenate([*(index for _, index in done), owner])
        return [
            cls(np.concatenate([[0.0], np.sort(ends[owner == index])])) if fits[index] else None
            for index in range(len(edges))
        ]


def _first_edges(reach: float, scale: float) -> Array:
    """Panels to begin with; they double from ``scale`` if the nodes of the first one would not come as close to zero.

    Examples
    --------
    >>> _first_edges(1.0, 0.1).tolist(), _first_edges(1.0, 2e-3).round(3).tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.004, 0.008, 0.016, 0.031, 0.062, 0.125, 0.25, 0.5, 1.0])
    """
    edges = np.linspace(0.0, reach, 1 + int(np.ceil(reach / _FIRST)))
    if scale >= edges[1] * legendre_rule(NODES)[0][0]:
        return edges
    return np.insert(edges, 1, edges[1] * 0.5 ** np.arange(np.ceil(np.log2(edges[1] / scale)) - 1, 0, -1))


def _is_rough(function: Scaled, panels: Array, owner: Index, tolerance: float) -> Array:
    """Whether a function is not resolved on each panel or on its mirror image."""
    t, _ = legendre_rule(NODES)
    width = np.diff(panels)
    x = np.array([1.0, -1.0])[:, None, None] * (panels[:, :1] + width * t)
    with np.errstate(all="ignore"):
        values = function(x, owner) * np.exp(-x * x / 4)
    sizes = np.abs(np.nan_to_num(values) @ _to_legendre().T)
    tail = np.max(sizes[..., -2:], axis=-1)
    earlier = np.max(sizes[..., -6:-2], axis=-1)
    # A flat tail far below the norm is rounding of the function itself, which narrower panels do not remove.
    noise = (tail > 0.1 * earlier) & (tail * np.sqrt(width[:, 0]) < 1e3 * tolerance)
    return np.asarray(np.any((tail * np.sqrt(width[:, 0]) > tolerance) & ~noise, axis=(0, 1)))


def _to_legendre() -> Array:
    """From values at the nodes to coefficients of Legendre polynomials."""
    t, w = legendre_rule(NODES)
    return np.asarray((legendre.legvander(2 * t - 1, NODES - 1) * w[:, None]).T * (2 * np.arange(NODES)[:, None] + 1))


_MATRIX: list[Array] = []


def lagrange(place: Array) -> Array:
    """The weights of the nodes in the interpolating polynomial at places in [0, 1] of a panel, in a new last axis.

    Examples
    --------
    >>> t, _ = legendre_rule(NODES)
    >>> bool(abs(lagrange(np.array([0.3])) @ t**3 - 0.027)[0] < 1e-15)
    True
    """
    if not _MATRIX:
        _MATRIX.append(_to_legendre())
    return np.asarray(legendre.legvander(2 * place - 1, NODES - 1) @ _MATRIX[0])


def panel_of(edges: Array, x: Array) -> Index:
    """The panel between edges that holds each point; points beyond the ends belong to the last ones."""
    return np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)


def interpolated(edges: Array, values: Array, x: Array) -> Array:
    """Functions, given by rows of values at the nodes of the panels between edges, at increasing points."""
    panel = panel_of(edges, x)
    weights = lagrange((x - edges[panel]) / (edges[panel + 1] - edges[panel]))
    result = np.empty((len(values), len(x)))
    bounds = np.searchsorted(panel, np.arange(len(edges)))
    for index in np.unique(panel):
        some = slice(bounds[index], bounds[index + 1])
        result[:, some] = values[:, index * NODES : (index + 1) * NODES] @ weights[some].T
    return result
