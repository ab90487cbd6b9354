"""How the harmonic coefficients of a kernel depend on the lengths of the points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np

from holokern.model.kernel import NetworkKernel, alike
from holokern.numeric import Array, Range, chebyshev_matrix

_NEGLIGIBLE = 1e-11  # Products u_kp(c) u_kp(c') below this share of the trace are left out.
# Lengths that the coefficients are factorised at, doubled until the functions between them are known so well.
_FEWEST, _MOST, _ACCURACY = 5, 33, 1e-7
# In lower dimensions the kernel times its weight is smooth in the angle, and not so in the cosine.
_SMALL_DIMENSION = 8


@dataclass(frozen=True, eq=False)
class Radial:
    """Functions u_b of a length, with μ_k(c, c') = Σ u_b(c) u_b(c') over the blocks b of degree k."""

    # kernel, dimension: the kernel, and the dimension of the points
    kernel: NetworkKernel
    dimension: int
    # degrees, weights: the degree of each block, and the mean of its u², in order of degrees
    degrees: tuple[int, ...]
    weights: tuple[float, ...]
    nodes: Array  # lengths c_j at which the coefficients were factorised
    factors: Array  # u_b(c) = Σ_j μ_k(c, c_j) factors[j, b], exact at the nodes and a projection beyond
    # low, high: the range of lengths of the points that it was made for
    low: float
    high: float
    at_zero: Array  # the values for zero vectors

    @classmethod
    def of(cls, kernel: NetworkKernel, points: Array, last: int) -> Radial:
        """For the lengths of these points and the degrees up to ``last``."""
        lengths = np.linalg.norm(kernel.checked(points), axis=1)
        positive = lengths[lengths > 0]
        low, high = (float(np.min(positive)), float(np.max(positive))) if len(positive) else (1.0, 1.0)
        count = 1 if high <= low * (1 + 1e-12) else _FEWEST
        while True:
            nodes = np.exp(Range(float(np.log(low)), float(np.log(high))).nodes(count))
            found = cls._at(kernel, points.shape[1], nodes, last, (low, high))
            if count == 1 or count >= _MOST or found._unexplained() < _ACCURACY:
                return found
            count = 2 * count - 1

    @classmethod
    def _at(cls, kernel: NetworkKernel, dimension: int, nodes: Array, last: int, ends: tuple[float, float]) -> Radial:
        every = coefficients(kernel, dimension, nodes, nodes, last)
        total = float(np.sum(np.trace(every, axis1=1, axis2=2)))
        degrees, weights, columns = [], [], []
        for k, matrix in enumerate(every):
            values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
            for value, vector in zip(values[::-1], vectors.T[::-1], strict=True):
                if value > _NEGLIGIBLE * total:
                    degrees.append(k)
                    weights.append(float(value) / len(nodes))
                    columns.append(vector / np.sqrt(value))
        factors = np.stack(columns, axis=1) if columns else np.zeros((len(nodes), 0))
        # A zero vector is at right angles to all others, and only the degree 0 does not feel the angle.
        axis = np.zeros((len(nodes), dimension))
        axis[:, 0] = nodes
        at_zero = np.where(np.array(degrees) == 0, kernel(np.zeros((1, dimension)), axis)[0] @ factors, 0.0)
        return cls(kernel, dimension, tuple(degrees), tuple(weights), nodes, factors, *ends, at_zero)

    def _unexplained(self) -> float:
        """The largest share of the coefficients that the nodes do not explain, at lengths between them."""
        between = np.sqrt(self.nodes[1:] * self.nodes[:-1])
        last = max(self.degrees, default=0)
        every = coefficients(self.kernel, self.dimension, between, between, last)
        exact = np.trace(every, axis1=1, axis2=2)
        made = np.zeros(last + 1)
        np.add.at(made, np.array(self.degrees, dtype=int), np.sum(self.values(between) ** 2, axis=0))
        return float(np.sum(np.abs(exact - made)) / np.sum(exact)) if np.sum(exact) else 0.0

    def values(self, lengths: Array) -> Array:
        """u_b of each length, one column for each block, from the kernel itself."""
        last = max(self.degrees, default=0)
        every = coefficients(self.kernel, self.dimension, lengths, self.nodes, last)
        columns = [every[k] @ self.factors[:, b] for b, k in enumerate(self.degrees)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(lengths), 0))

    def missing(self, blocks: list[int]) -> float:
        """The largest share of K(x, x), over the nodes, that these blocks do not hold."""
        points = np.zeros((len(self.nodes), self.dimension))
        points[:, 0] = self.nodes
        own = self.kernel.diagonal(points)
        held = np.sum(self.values(self.nodes)[:, blocks] ** 2, axis=1)
        return float(np.max(np.divide(np.maximum(own - held, 0.0), own, out=np.zeros_like(own), where=own > 0)))

    def __call__(self, xp: Any, x: Any) -> tuple[Any, Any]:
        """Unit vectors, and u_b of the lengths, one column for each block.

        Lengths beyond the range get a wider table; those of traced arrays cannot be looked at and become NaN.
        """
        if isinstance(x, np.ndarray):
            x = self.kernel.checked(x)
        lengths = xp.sqrt(xp.sum(x * x, axis=1))
        zero = lengths == 0
        safe = xp.where(zero, 1.0, lengths)
        low, high = self._range_of(xp, xp.where(zero, self.low, lengths))
        table = _table(self, low, high)
        middle, half = 0.5 * np.log(low * high), max(0.5 * float(np.log(high / low)), 1e-6)
        place = (xp.log(xp.where(zero, self.low, lengths)) - middle) / half
        place = xp.where((place >= -1.001) & (place <= 1.001), place, float("nan"))
        basis = [0.0 * place + 1.0, place]
        while len(basis) < len(table):
            basis.append(2.0 * place * basis[-1] - basis[-2])
        stacked = xp.stack(basis[: len(table)], axis=1)
        numbers = stacked @ alike(table, stacked)
        numbers = xp.where(zero[:, None], alike(self.at_zero, stacked)[None, :], numbers)
        return x / safe[:, None], numbers

    def _range_of(self, xp: Any, lengths: Any) -> tuple[float, float]:
        """The range of the table: its own, or as many octaves more as the data need."""
        try:
            least, most = float(xp.min(lengths)), float(xp.max(lengths))
        except Exception:  # a traced array has no values
            return self.low, self.high
        low, high = self.low * (1 - 1e-9), self.high * (1 + 1e-9)
        if least < low:
            low = self.low * 2.0 ** np.floor(np.log2(least / self.low))
        if most > high:
            high = self.high * 2.0 ** np.ceil(np.log2(most / self.high))
        return float(min(low, self.low)), float(max(high, self.high))


@lru_cache(maxsize=32)
def _table(radial: Radial, low: float, high: float) -> Array:
    """Chebyshev coefficients of the u_b in log c on [low, high], one column for each block."""
    if high <= low * (1 + 1e-6):
        return np.concatenate([radial.values(np.array([np.sqrt(low * high)])), np.zeros((1, len(radial.degrees)))])
    count = 2 * len(radial.nodes) + 7 + int(4 * np.log2(high / low))
    nodes = np.exp(Range(float(np.log(low)), float(np.log(high))).nodes(count))
    return np.asarray(chebyshev_matrix(count) @ radial.values(nodes))


def coefficients(kernel: NetworkKernel, dimension: int, rows: Array, columns: Array, last: int) -> Array:
    """μ_k(c, c') for all degrees up to ``last``, all lengths in ``rows`` and all in ``columns``.

    >>> from holokern.network import Network
    >>> found = coefficients(NetworkKernel(Network("relu", 1), "nngp"), 3, np.ones(1), np.ones(1), 60)
    >>> bool(abs(np.sum(found) - 1) < 1e-3), bool(np.all(found > -1e-12))
    (True, True)
    """
    cosines, weights = _rule(dimension, last)
    left = np.zeros((len(rows), max(dimension, 2)))
    left[:, 0] = rows
    right = np.zeros((len(columns), len(cosines), max(dimension, 2)))
    right[:, :, 0] = columns[:, None] * cosines
    right[:, :, 1] = columns[:, None] * np.sqrt(1.0 - cosines**2)
    points = right.reshape(-1, right.shape[2])
    if dimension == 1:
        left, points = left[:, :1], points[:, :1]
    values = kernel(left, points).reshape(len(rows), len(columns), len(cosines))
    result = np.empty((last + 1, len(rows), len(columns)))
    for mean, now in zip(result, polynomials(cosines, dimension), strict=False):
        # 1/N_k is the mean square of P_k.
        mean[:] = values @ (weights * now / np.sum(weights * now * now))
    return result


def polynomials(cosines: Any, dimension: int) -> Iterator[Any]:
    """P_0, P_1, …, by (k + d - 2) P_{k+1} = (2k + d - 2) t P_k - k P_{k-1}."""
    before, now = cosines, 0.0 * cosines + 1.0
    for degree in count():
        yield now
        # in one dimension there are no harmonics beyond degree 1
        if degree == 0 or dimension == 1:
            before, now = now, cosines * now
        else:
            share = degree / (degree + dimension - 2)
            before, now = now, (1.0 + share) * cosines * now - share * before


@lru_cache(maxsize=16)
def _rule(dimension: int, last: int) -> tuple[Array, Array]:
    """Nodes and weights for cosines of angles between uniform directions, for products with degrees up to ``last``."""
    count = 2 * last + 64
    if dimension == 1:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    if dimension <= _SMALL_DIMENSION:
        nodes, weights = np.polynomial.legendre.leggauss(count)
        angles = 0.5 * np.pi * (nodes + 1)
        weights = weights * np.sin(angles) ** (dimension - 2)
        return np.cos(angles), weights / np.sum(weights)
    from scipy.special import roots_gegenbauer

    nodes, weights = roots_gegenbauer(count, (dimension - 2) / 2)
    return nodes, weights / np.sum(weights)
