"""Gaussian moments E[He_p(u/c1) He_q(v/c2) σ1(u) σ2(v)] by tensor Gauss–Legendre panels; a checker's quadrature.

Nothing about σ is used but its values and its break points, so this shares no code with what it checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import SupportsFloat

import numpy as np
from numpy.polynomial.hermite_e import hermevander
from numpy.polynomial.legendre import leggauss, legvander

from holokern.errors import BadInput, PrecisionLost
from holokern.numeric import EPS, Array

#: Where a function is not smooth: anything that ``float`` takes.
Break = SupportsFloat
Function = Callable[[Array], Array]

_TOLERANCE = 1e-12  # panels are halved until two rules differ by less, relative to the integral of the absolute value
_NODES = (14, 20)  # two rules, whose difference is the error; the finer one is exact up to degree 39 on a panel
_REACH = 40.0  # deviations that are scanned: fast growing functions have their mass far out; sin and relu need ten
_CUTOFF = 45.0  # exp(-45) = 3e-20 of the largest integrand is below rounding
_RESOLVED = 1e-13  # a tenth of the tolerance of the moments: the panels of an axis share it
_MULTIPLIERS = 10  # the rule of 14 nodes (exact to degree 27) then still resolves a σ of degree 18 times each of these
_MAX_PANELS = 160  # of an axis: with 40 panels √|u| is off by 5e-11, with 160 by 3e-13, and 640 do not help
_ROUNDS = 3  # panels of 2.5, 1.25 and 0.6 conditional deviations; finer ones would not help a σ that is not smooth
# multiplications of a block: OpenBLAS starts threads above 262144, and they would compete with other work
_BLOCK = 200_000
_MAX_LOG = 700.0  # exp(709) is the largest float


@dataclass(frozen=True, eq=False)
class HermiteMoments:
    """The moments of one pair of functions at one covariance.

    ``values[p, q]`` is E[He_p(u/c1) He_q(v/c2) σ1(u) σ2(v)] with the probabilists' Hermite polynomials, and
    ``errors[p, q]`` estimates its quadrature error (from the difference of two rules) plus its rounding error.
    """

    covariance: tuple[float, float, float]
    values: Array
    errors: Array

    def apply(self, coefficients: Array) -> tuple[float, float]:
        """The expectation of a polynomial given in the basis He_p(u/c1) He_q(v/c2), and its error."""
        rows, columns = coefficients.shape
        values, errors = self.values[:rows, :columns], self.errors[:rows, :columns]
        return float(np.sum(coefficients * values)), float(np.sum(np.abs(coefficients) * errors))


def hermite_moments(
    first: Function,
    second: Function,
    covariance: Sequence[float],
    degree: int,
    *,
    breaks: Sequence[Break] = (),
    other_breaks: Sequence[Break] = (),
) -> HermiteMoments:
    """Compute all moments with p, q up to ``degree``.

    The (u, v) box is found by a scan of the integrand.  Each axis is cut at the breaks and then bisected until its
    function is resolved, so an undeclared kink or an algebraic singularity costs panels, not accuracy.

    ``first``, ``second``: vectorised functions of one real variable.
    ``covariance``: Σ11, Σ12, Σ22, positive definite.
    ``degree``: the largest p and q.
    ``breaks``, ``other_breaks``: where ``first`` and ``second`` are not smooth.
    Raises PrecisionLost when the integrand does not decay at this covariance.

    >>> relu = lambda u: np.maximum(u, 0)
    >>> table = hermite_moments(relu, relu, (1.0, 0.5, 1.0), 2, breaks=(0,), other_breaks=(0,))
    >>> round(float(table.values[0, 0]), 12)
    0.304498890522
    """
    s11, s12, s22 = (float(value) for value in covariance)
    if not (s11 > 0 and s22 > 0 and s11 * s22 > s12 * s12):
        raise BadInput(f"expected a positive definite covariance (Σ11, Σ12, Σ22), got {(s11, s12, s22)}")
    deviations = np.sqrt([s11, s22])
    correlation = s12 / float(deviations[0] * deviations[1])
    functions = (_scaled(first, deviations[0]), _scaled(second, deviations[1]))
    cuts = tuple(
        np.unique([float(b) / c for b in places]) for places, c in zip((breaks, other_breaks), deviations, strict=True)
    )
    values, errors = _converged(functions, cuts, correlation, degree)
    return HermiteMoments((s11, s12, s22), values, errors)


def _scaled(function: Function, deviation: float) -> Function:
    def scaled(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(function(deviation * x), dtype=float), x.shape)

    return scaled


def _converged(
    functions: tuple[Function, Function], cuts: tuple[Array, ...], correlation: float, degree: int
) -> tuple[Array, Array]:
    profiles = _scan(functions, cuts, correlation, degree)
    shape = (degree + 1, degree + 1)
    if profiles is None:
        return np.zeros(shape), np.zeros(shape)
    width = 2.5 * np.sqrt(1 - correlation**2)
    for _ in range(_ROUNDS):
        edges = [_panels(f, cut, p, width) for f, cut, p in zip(functions, cuts, profiles, strict=True)]
        coarse, _ = _tensor_rule(functions, edges, correlation, degree, _NODES[0])
        values, sizes = _tensor_rule(functions, edges, correlation, degree, _NODES[1])
        change = np.abs(values - coarse)
        if np.all(change <= _TOLERANCE * sizes) or max(len(left) for left, _ in edges) > _MAX_PANELS // 2:
            break
        width /= 2
    errors = 4 * change + 8 * EPS * sizes
    if not np.all(np.isfinite(values)):
        raise PrecisionLost("the expectation is not finite: a function has a value that is not a number in the range")
    return values, errors


@dataclass(frozen=True)
class _Profile:
    """Where one axis matters, at sample points of it.

    ``logs`` is the logarithm of the largest integrand there, at most 0, and ``weights`` that of the largest factor
    which multiplies the function of this axis, on the same scale.
    """

    points: Array
    logs: Array
    weights: Array

    @property
    def box(self) -> tuple[float, float]:
        (inside,) = np.nonzero(self.logs > -_CUTOFF)
        low, high = max(inside[0] - 1, 0), min(inside[-1] + 1, len(self.points) - 1)
        return float(self.points[low]), float(self.points[high])

    def weight(self, low: Array, high: Array) -> Array:
        """The largest factor near each interval."""
        left = np.maximum(np.searchsorted(self.points, low) - 1, 0)
        right = np.minimum(np.searchsorted(self.points, high), len(self.points) - 1)
        logs = [np.max(self.weights[a : b + 1]) for a, b in zip(left, right, strict=True)]
        return np.asarray(np.exp(np.minimum(logs, _MAX_LOG)))


def _scan(
    functions: tuple[Function, Function], cuts: tuple[Array, ...], correlation: float, degree: int
) -> tuple[_Profile, _Profile] | None:
    """Find the box that holds the integrand to within exp(-45), or None for the function 0."""
    points, logs = [], []
    for function, cut in zip(functions, cuts, strict=True):
        # points beside the breaks and between them, so that a short piece is not overlooked
        near = cut[np.abs(cut) < _REACH]
        middles = (near[1:] + near[:-1]) / 2
        x = np.unique(np.concatenate([np.linspace(-_REACH, _REACH, 160), near - 1e-6, near + 1e-6, middles]))
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.log(np.abs(function(x)))
        points.append(x)
        logs.append(np.where(np.isnan(y), -np.inf, y))
    x, y = points[0][:, None], points[1][None, :]
    gaussian = (x * x - 2 * correlation * x * y + y * y) / (2 * (1 - correlation**2))
    polynomial = np.log1p(np.abs(x)) + np.log1p(np.abs(y))
    profiles: list[list[tuple[Array, Array]]] = [[], []]
    # low moments must be as accurate as the highest, which live further out
    for power in (0, degree):
        common = power * polynomial - gaussian
        # ∞ - ∞: where a function overflows and the other has no mass there is none
        with np.errstate(invalid="ignore"):
            weights = np.max(common + logs[1][None, :], axis=1), np.max(common + logs[0][:, None], axis=0)
            totals = [log + weight for log, weight in zip(logs, weights, strict=True)]
        totals = [np.where(np.isnan(total), -np.inf, total) for total in totals]
        top = np.max(totals[0])
        if top == -np.inf:
            return None
        ends = max(float(total[i]) for total in totals for i in (0, -1))
        if not np.isfinite(top) or ends > top - _CUTOFF:
            raise PrecisionLost("the integrand does not decay at this covariance; take a smaller covariance")
        for profile, total, weight in zip(profiles, totals, weights, strict=True):
            profile.append((total - top, weight - top))
    first, second = (
        _Profile(p, np.maximum(low[0], high[0]), np.maximum(low[1], high[1]))
        for p, (low, high) in zip(points, profiles, strict=True)
    )
    return first, second


def _panels(function: Function, cut: Array, profile: _Profile, width: float) -> tuple[Array, Array]:
    """Cut the box at the breaks, then bisect until every panel resolves the function as far as it matters."""
    low, high = profile.box
    marks = np.concatenate([[low], cut[(cut > low) & (cut < high)], [high]])
    pieces = [np.linspace(a, b, int(np.ceil((b - a) / width)) + 1) for a, b in pairwise(marks)]
    left = np.concatenate([piece[:-1] for piece in pieces])
    right = np.concatenate([piece[1:] for piece in pieces])
    done: list[tuple[Array, Array]] = []
    count = 0
    while len(left):
        length = right - left
        bad = _gap(function, left, right) * profile.weight(left, right) > _RESOLVED
        # below a few units in the last place the nodes would fall on the ends
        bad &= length > 1e3 * EPS * np.maximum(np.abs(left), np.abs(right))
        if count + len(left) > _MAX_PANELS:
            bad[:] = False
        done.append((left[~bad], right[~bad]))
        count += int(np.sum(~bad))
        middle = (left[bad] + right[bad]) / 2
        left, right = np.concatenate([left[bad], middle]), np.concatenate([middle, right[bad]])
    return np.concatenate([a for a, _ in done]), np.concatenate([b for _, b in done])


def _gap(function: Function, left: Array, right: Array) -> Array:
    """How far two rules differ on each panel, over the products of the function with low Legendre polynomials.

    The Gaussian and the Hermite polynomials look like such multipliers on a panel.
    """
    coarse, fine = (function(_spread(left, right, _legendre(n)[0])) @ _legendre(n)[1] for n in _NODES)
    return np.asarray(np.max(np.abs(coarse - fine), axis=1) * (right - left) / 2)


def _spread(left: Array, right: Array, x: Array) -> Array:
    return (left[:, None] + right[:, None]) / 2 + (right - left)[:, None] / 2 * x[None, :]


@lru_cache(maxsize=4)
def _legendre(n: int) -> tuple[Array, Array]:
    """Gauss nodes, and the matrix from values there to integrals against the first Legendre polynomials."""
    x, w = leggauss(n)
    return x, w[:, None] * legvander(x, _MULTIPLIERS - 1)


def _tensor_rule(
    functions: tuple[Function, Function], edges: list[tuple[Array, Array]], correlation: float, degree: int, n: int
) -> tuple[Array, Array]:
    """The moments and the same sums with absolute values."""
    x, w = leggauss(n)
    factors, points = [], []
    for function, (left, right) in zip(functions, edges, strict=True):
        nodes = _spread(left, right, x)
        weighted = (function(nodes) * w * ((right - left) / 2)[:, None]).ravel()
        points.append(nodes.ravel())
        factors.append(weighted[:, None] * hermevander(points[-1], degree))
    return _contracted(points, factors, correlation, degree)


def _contracted(points: list[Array], factors: list[Array], correlation: float, degree: int) -> tuple[Array, Array]:
    """Σ_ij factor_i density_ij factor_j, in blocks that fit the cache and are too small for threads to compete for."""
    u, v = points[0][:, None], points[1][None, :]
    gap = 1 - correlation**2
    right = np.hstack([factors[1], np.abs(factors[1])])
    total = np.zeros((2, degree + 1, degree + 1))
    step = max(1, _BLOCK // right.size)
    for start in range(0, len(u), step):
        block, left = u[start : start + step], factors[0][start : start + step]
        inner = np.exp((2 * correlation * block * v - block * block - v * v) / (2 * gap)) @ right
        total[0] += left.T @ inner[:, : degree + 1]
        total[1] += np.abs(left.T) @ inner[:, degree + 1 :]
    total /= 2 * np.pi * np.sqrt(gap)
    return total[0], total[1]
