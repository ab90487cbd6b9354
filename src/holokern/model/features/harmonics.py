"""Features from the expansion of a kernel in spherical harmonics: exact for low degrees, random for the others.

The kernel of a network depends on two lengths and an angle. On points of dimension d it is [Schoenberg1942, Thm 1]

    K(x, y) = Σ_k μ_k(|x|, |y|) P_k(cos θ),   every μ_k positive semidefinite in the lengths,

with the Gegenbauer polynomials P_k of the sphere, P_k(1) = 1; for large d they become Hermite polynomials, and the μ_k
of one layer the squares of the Hermite coefficients of σ. The coefficients are integrals of the exact kernel, so any
activation, depth and bias is served, and lengths may vary: μ_k is the sum of products u_kp(|x|) u_kp(|y|).

There are N_k harmonics of degree k. Degrees for which there is room become exact features. The others share random
directions w: E[N_k P_k(x̂·w) P_k(ŷ·w)] = P_k(x̂·ŷ), so that

    φ_w(x) = Σ_kp s_kp u_kp(|x|) √N_k P_k(x̂·w),   random signs s_kp,

has the expectation E[φ_w(x) φ_w(y)] = K(x, y) [HanZandiehAvron2022, Def. 2].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from math import comb
from typing import Any

import numpy as np

from holokern.model.features.feature_map import measure
from holokern.model.features.radial import Radial, polynomials
from holokern.model.kernel import NetworkKernel, alike
from holokern.numeric import Array

_LAST_DEGREES = (3, 5, 8, 12, 20)  # Degrees at which the random part may end; the best one on pairs of points is taken.
_ROWS = 128  # Pairs between so many rows and columns tell which of them is best.
_OVERSAMPLING = 1.5  # More directions than harmonics of a degree, so that the matrix between them is well conditioned.
_LARGEST_ORTHOGONAL = 1000  # Blocks of orthogonal directions cost a factorisation of this size at most.


@dataclass(frozen=True, eq=False)
class HarmonicFeatures:
    """Features of one kernel on points of one dimension."""

    radial: Radial  # the functions u of the lengths, one for each block (k, p)
    exact: tuple[int, ...]  # the blocks whose harmonics are all features
    # for each exact degree above 1 its directions and a matrix that turns their polynomials into harmonics
    bases: dict[int, tuple[Array, Array]]
    mixed: tuple[int, ...]  # the blocks that share the random directions
    # directions, signs: random unit vectors, one row each, and ±1 for each mixed block and direction
    directions: Array
    signs: Array

    @classmethod
    def of(cls, kernel: NetworkKernel, points: Array, count: int, rng: np.random.RandomState) -> HarmonicFeatures:
        """At most ``count`` features for points such as these; the last degree is the best one on some of their pairs.

        >>> from holokern.network import Network
        >>> kernel = NetworkKernel(Network("erf", depth=1, bias=0.5), "ntk")
        >>> x = np.random.default_rng(0).normal(size=(50, 2))
        >>> features = HarmonicFeatures.of(kernel, x, 200, np.random.RandomState(0)).features(x)
        >>> bool(np.allclose(features @ features.T, kernel(x), atol=1e-4))
        True
        """
        radial = Radial.of(kernel, points, _degrees(points.shape[1], count))
        seed = int(rng.randint(2**31))
        sample = points[rng.permutation(len(points))[: 2 * _ROWS]]
        rows, columns = (sample[::2], sample[1::2]) if len(sample) > 1 else (sample, sample)
        tried: dict[int, tuple[float, HarmonicFeatures]] = {}
        for last in _LAST_DEGREES:
            if not tried or last < 2 * radial.degrees[-1]:
                found = cls._up_to(radial, count, last, np.random.RandomState(seed))
                tried[last] = measure(found, rows, columns).mean, found
        return min(tried.values(), key=lambda pair: pair[0])[1]

    @classmethod
    def _up_to(cls, radial: Radial, count: int, last: int, rng: np.random.RandomState) -> HarmonicFeatures:
        """With this last degree of the random part."""
        d = radial.dimension
        sizes = [_harmonics(d, k) for k in radial.degrees]
        # Blocks that are worth most for each feature become exact: so many of them that what is left to the random
        # part, over the root of its number of features, is least.
        order = sorted(range(len(sizes)), key=lambda b: -radial.weights[b] / sizes[b])
        exact: list[int] = []
        room, least = count, np.inf
        for place in range(len(order) + 1):
            free = count - sum(sizes[b] for b in order[:place])
            rest = sum(radial.weights[b] for b in order[place:] if radial.degrees[b] <= last)
            if free < 0:
                break
            spread = rest / np.sqrt(free) if free else rest
            if spread < least:
                exact, room, least = order[:place], free, spread
        mixed = [b for b in range(len(sizes)) if room and b not in exact and radial.degrees[b] <= last]
        free = room if mixed else 0
        bases = {k: _basis(d, k, rng) for k in sorted({radial.degrees[b] for b in exact}) if k > 1}
        signs = rng.choice([-1.0, 1.0], size=(len(mixed), free))
        return cls(radial, tuple(sorted(exact)), bases, tuple(mixed), _directions(d, free, rng), signs)

    @property
    def kernel(self) -> NetworkKernel:
        """The kernel."""
        return self.radial.kernel

    @property
    def count(self) -> int:
        """The number of features."""
        d = self.radial.dimension
        return sum(_harmonics(d, self.radial.degrees[b]) for b in self.exact) + len(self.directions)

    @property
    def truncation(self) -> float:
        """The largest share of K(x, x) that belongs to degrees left out, which bounds what they add to any pair."""
        return self.radial.missing([*self.exact, *self.mixed])

    def proved(self, x: Array) -> None:
        """Nothing: of random features only the expectation is known."""

    def features(self, x: Any) -> Any:
        """φ of each row of ``x``, an array of numpy, JAX or torch."""
        from array_api_compat import array_namespace

        xp = array_namespace(x)
        unit, radial = self.radial(xp, x)
        parts = []
        for degree, blocks in groupby(self.exact, key=lambda b: self.radial.degrees[b]):
            harmonics = self._harmonics_of(unit, degree)
            parts += [radial[:, b : b + 1] * harmonics for b in blocks]
        if self.mixed:
            parts.append(self._random(xp, unit, radial))
        return xp.concat(parts, axis=1) if hasattr(xp, "concat") else np.concatenate(parts, axis=1)

    def _harmonics_of(self, unit: Any, degree: int) -> Any:
        """All harmonics of a degree, with Σ Y(x) Y(y) = P_k(x·y)."""
        if degree < 2:
            return unit if degree else 0.0 * unit[:, :1] + 1.0
        directions, root = self.bases[degree]
        cosines = unit @ alike(directions.T, unit)
        return _polynomial(cosines, degree, self.radial.dimension) @ alike(root, unit)

    def _random(self, xp: Any, unit: Any, radial: Any) -> Any:
        cosines = unit @ alike(self.directions.T, unit)
        d = self.radial.dimension
        signs = alike(self.signs, unit)
        total, place = 0.0 * cosines, 0
        for degree, now in enumerate(islice(polynomials(cosines, d), self.radial.degrees[self.mixed[-1]] + 1)):
            mine = [b for b in self.mixed if self.radial.degrees[b] == degree]
            if mine:
                size = float(np.sqrt(_harmonics(d, degree) / len(self.directions)))
                adjacent = mine[-1] - mine[0] == len(mine) - 1
                weights = radial[:, mine[0] : mine[-1] + 1] if adjacent else xp.stack([radial[:, b] for b in mine], 1)
                total = total + (size * (weights @ signs[place : place + len(mine), :])) * now
                place += len(mine)
        return total


def _polynomial(cosines: Any, degree: int, dimension: int) -> Any:
    return next(islice(polynomials(cosines, dimension), degree, None))


def _harmonics(dimension: int, degree: int) -> int:
    """The number of harmonics.

    >>> [_harmonics(3, k) for k in range(4)], [_harmonics(2, k) for k in range(4)], [_harmonics(1, k) for k in range(3)]
    ([1, 3, 5, 7], [1, 2, 2, 2], [1, 1, 0])
    """
    if dimension == 1:
        return int(degree < 2)
    return comb(dimension + degree - 1, degree) - (comb(dimension + degree - 3, degree - 2) if degree > 1 else 0)


def _degrees(dimension: int, count: int) -> int:
    """The last degree to look at: as many as could be exact, and at least those that random features try."""
    degree, total = 0, 0
    while total < count and degree < 200 and _harmonics(dimension, degree):
        total += _harmonics(dimension, degree)
        degree += 1
    return 1 if dimension == 1 else max(degree, _LAST_DEGREES[-1])


@lru_cache(maxsize=8)
def _orthogonal(dimension: int, seed: int) -> Array:
    q, r = np.linalg.qr(np.random.RandomState(seed).standard_normal((dimension, dimension)))
    return np.asarray(q * np.sign(np.diagonal(r)))


def _directions(dimension: int, count: int, rng: np.random.RandomState) -> Array:
    """Uniform unit vectors, orthogonal in groups, which lowers the variance."""
    if not count:
        return np.empty((0, dimension))
    if dimension > _LARGEST_ORTHOGONAL:
        found = rng.standard_normal((count, dimension))
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))
    groups = [_orthogonal(dimension, int(rng.randint(2**31))) for _ in range(-(-count // dimension))]
    return np.concatenate(groups)[:count]


def _basis(dimension: int, degree: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Directions w and a matrix R with P_k(x·wᵀ) R the harmonics of x: as many as there are, so they span them all."""
    size = _harmonics(dimension, degree)
    directions = _directions(dimension, int(np.ceil(_OVERSAMPLING * size)) + 4, rng)
    values, vectors = np.linalg.eigh(_polynomial(directions @ directions.T, degree, dimension))
    return directions, vectors[:, -size:] / np.sqrt(values[-size:])
