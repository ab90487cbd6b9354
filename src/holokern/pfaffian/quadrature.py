"""Gaussian moments E[He_p(u/c1) He_q(v/c2) σ1(u) σ2(v)] by tensor Gauss–Legendre panels; a checker's quadrature.

Nothing about σ is used but its values and its break points, so this shares no code with what it checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermevander
from numpy.polynomial.legendre import leggauss, legvander
from numpy.typing import NDArray

from holokern.errors import BadInput, PrecisionLost

__all__ = ["HermiteMoments", "hermite_moments"]

Array = NDArray[np.float64]
Function = Callable[[Array], Any]

_NODES = (14, 20)
_REACH = 40.0
_CUTOFF = 45.0
_RESOLVED = 1e-13
_MAX_PANELS = 400
_ROUNDS = 3
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class HermiteMoments:
    """The moments of one pair of functions at one covariance.

    ``values[p, q]`` is E[He_p(u/c1) He_q(v/c2) σ1(u) σ2(v)] with the probabilists' Hermite polynomials, and
    ``errors[p, q]`` bounds its quadrature error (difference of two rules) plus its rounding error.
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
    breaks: Sequence[Any] = (),
    other_breaks: Sequence[Any] = (),
    tolerance: float = 1e-12,
) -> HermiteMoments:
    """Compute all moments with p, q up to ``degree``.

    The (u, v) box is found by a scan of the integrand.  Each axis is cut at the breaks and then bisected until its
    function is resolved, so an undeclared kink or an algebraic singularity costs panels, not accuracy.

    Parameters
    ----------
    first, second : callable
        Vectorised functions of one real variable.
    covariance : (float, float, float)
        Σ11, Σ12, Σ22, positive definite.
    degree : int
        The largest p and q.
    breaks, other_breaks : sequence of numbers
        Where ``first`` and ``second`` are not smooth.
    tolerance : float
        Panels are halved until two rules differ by less than this, relative to the integral of the absolute value.

    Raises
    ------
    PrecisionLost
        When the integrand does not decay at this covariance.

    Examples
    --------
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
    values, errors = _converged(functions, cuts, correlation, degree, tolerance)
    return HermiteMoments((s11, s12, s22), values, errors)


def _scaled(function: Function, deviation: float) -> Function:
    def scaled(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(function(deviation * x), dtype=float), x.shape)

    return scaled


def _converged(
    functions: tuple[Function, Function], cuts: tuple[Array, ...], correlation: float, degree: int, tolerance: float
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
        if np.all(change <= tolerance * sizes):
            break
        width /= 2
    errors = change + 8 * _EPS * sizes
    if not np.all(np.isfinite(values)):
        raise PrecisionLost("the expectation is not finite: a function has a value that is not a number in the range")
    return values, errors


@dataclass(frozen=True)
class _Profile:
    """Where one axis matters: points and the logarithm of the largest integrand there, at most 0."""

    points: Array
    logs: Array

    @property
    def box(self) -> tuple[float, float]:
        (inside,) = np.nonzero(self.logs > -_CUTOFF)
        low, high = max(inside[0] - 1, 0), min(inside[-1] + 1, len(self.points) - 1)
        return float(self.points[low]), float(self.points[high])

    def largest(self, low: Array, high: Array) -> Array:
        """The largest logarithm near each interval."""
        left = np.maximum(np.searchsorted(self.points, low) - 1, 0)
        right = np.minimum(np.searchsorted(self.points, high), len(self.points) - 1)
        return np.array([np.max(self.logs[a : b + 1]) for a, b in zip(left, right, strict=True)])


def _scan(
    functions: tuple[Function, Function], cuts: tuple[Array, ...], correlation: float, degree: int
) -> tuple[_Profile, _Profile] | None:
    """Find the box that holds the integrand to within exp(-45), or None for the function 0."""
    points, logs = [], []
    for function, cut in zip(functions, cuts, strict=True):
        # points beside the breaks and between them, so that a short piece is not overlooked
        near = cut[np.abs(cut) < _REACH]
        x = np.unique(np.concatenate([np.linspace(-_REACH, _REACH, 161), near - 1e-6, near + 1e-6, _middles(near)]))
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.log(np.abs(function(x))) + degree * np.log1p(np.abs(x))
        points.append(x)
        logs.append(np.where(np.isnan(y), -np.inf, y))
    x, y = points[0][:, None], points[1][None, :]
    gaussian = (x * x - 2 * correlation * x * y + y * y) / (2 * (1 - correlation**2))
    total = logs[0][:, None] + logs[1][None, :] - gaussian
    top = np.max(total)
    if top == -np.inf:
        return None
    profiles = [np.max(total, axis=1), np.max(total, axis=0)]
    ends = max(float(profile[i]) for profile in profiles for i in (0, -1))
    if not np.isfinite(top) or ends > top - _CUTOFF:
        raise PrecisionLost("the integrand does not decay at this covariance; take a smaller covariance")
    return _Profile(points[0], profiles[0] - top), _Profile(points[1], profiles[1] - top)


def _middles(cut: Array) -> Array:
    return (cut[1:] + cut[:-1]) / 2


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
        bad = _tail(function, left, right) * np.exp(np.minimum(profile.largest(left, right), 0.0))
        bad = bad * (right - left) / (high - low) > _RESOLVED
        if count + len(left) > _MAX_PANELS:
            bad[:] = False
        done.append((left[~bad], right[~bad]))
        count += int(np.sum(~bad))
        middle = (left[bad] + right[bad]) / 2
        left, right = np.concatenate([left[bad], middle]), np.concatenate([middle, right[bad]])
    return np.concatenate([a for a, _ in done]), np.concatenate([b for _, b in done])


def _tail(function: Function, left: Array, right: Array) -> Array:
    """The last Legendre coefficients on each panel, relative to the largest value there."""
    x, projection = _legendre(_NODES[0])
    values = function(_spread(left, right, x))
    size = np.max(np.abs(values), axis=1)
    tail = np.max(np.abs(values @ projection[:, -3:]), axis=1)
    return np.asarray(np.divide(tail, size, out=np.zeros_like(tail), where=size > 0))


def _spread(left: Array, right: Array, x: Array) -> Array:
    return (left[:, None] + right[:, None]) / 2 + (right - left)[:, None] / 2 * x[None, :]


@lru_cache(maxsize=4)
def _legendre(n: int) -> tuple[Array, Array]:
    """Gauss nodes and the matrix from values to Legendre coefficients."""
    x, w = leggauss(n)
    return x, w[:, None] * legvander(x, n - 1) * (np.arange(n) + 0.5)


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
    u, v = points[0][:, None], points[1][None, :]
    gap = 1 - correlation**2
    density = np.exp((2 * correlation * u * v - u * u - v * v) / (2 * gap)) / (2 * np.pi * np.sqrt(gap))
    return factors[0].T @ density @ factors[1], np.abs(factors[0].T) @ density @ np.abs(factors[1])
