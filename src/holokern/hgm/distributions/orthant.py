"""Orthant probabilities of zero-mean normal vectors by the HGM, in any small dimension.

For a covariance matrix Σ and a set J of coordinates let P_J be the probability that the coordinates outside J are all
positive, given that those in J vanish.  Coordinates are taken away in pairs: with partial correlations ρ_(ij|J)

    dP_J = (1/2π) Σ_(i<j outside J) P_(J∪{i,j}) d arcsin ρ_(ij|J),

the recursion over the faces of the orthant [KoyamaTakemura2013].  The vector of all P_J with |J| even satisfies a
Pfaffian system of rank 2^(d-1), which along the straight line from the identity to the correlation matrix is solved by
the Taylor steps that carry dual activations as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holokern.errors import BadInput, PrecisionLost
from holokern.hgm.steps.path import SeriesEquation
from holokern.hgm.steps.series import multiply_series, power_of_series
from holokern.hgm.steps.stepper import transport
from holokern.numeric.panels import Array

__all__ = ["OrthantPath", "OrthantProbability", "orthant"]

MOST = 8
"""The largest dimension; the rank doubles with each one."""

# the distance from 1 to the next float
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class OrthantProbability:
    """The probability that all coordinates are positive, with an estimate of its absolute error."""

    value: float
    error: float


def orthant(covariance: ArrayLike) -> OrthantProbability:
    """P(x_1 > 0, …, x_d > 0) for x ~ N(0, covariance), 1 ≤ d ≤ 8.

    Parameters
    ----------
    covariance : array_like, (d, d)
        Symmetric and positive definite.

    Raises
    ------
    BadInput
        If the matrix is not square, symmetric, finite and positive definite, or too large.

    Examples
    --------
    >>> round(orthant([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]]).value, 12)
    0.25
    """
    correlation = _correlation(covariance)
    path = OrthantPath(correlation)
    start = np.array([0.5 ** (path.dimension - len(face)) for face in path.faces])
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(path.rank, 3))
    state = np.concatenate([start[:, None], _EPS * start[:, None] * signs], axis=1)
    arrival = transport(path, np.zeros(1), state[None], np.zeros(1, dtype=np.intp), np.ones(1))
    value, tail = arrival.value[0, 0], float(arrival.tail[0, 0])
    if not np.isfinite(tail):
        raise PrecisionLost("the correlation matrix is too close to a singular one for its orthant probability")
    spread = float(np.sqrt(np.mean(value[1:] ** 2)))
    # correlations are rounded, and a probability moves by dρ/(2π√(1-ρ²)) with each
    moved = np.sum(_EPS / np.sqrt(1 - correlation[np.triu_indices(path.dimension, 1)] ** 2)) / (2 * np.pi)
    return OrthantProbability(float(value[0]), 5 * spread + 6 * tail + float(moved) + 2 * _EPS * float(value[0]))


@dataclass(frozen=True)
class OrthantPath:
    """The Pfaffian system of orthant probabilities along (1 - t) I + t R, as a path for the Taylor stepper.

    Attributes
    ----------
    correlation : array, (d, d)
        R.
    """

    correlation: Array

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.correlation)

    @cached_property
    def faces(self) -> tuple[tuple[int, ...], ...]:
        """The sets J of even size, smaller ones first."""
        everything = range(self.dimension)
        return tuple(face for size in range(0, self.dimension + 1, 2) for face in combinations(everything, size))

    @property
    def rank(self) -> int:
        """The number of faces."""
        return len(self.faces)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Only the probability itself matters."""
        return (0,)

    @cached_property
    def _edges(self) -> tuple[NDArray[np.intp], ...]:
        """Places of J and of J ∪ {i, j}, with i and j, for all J and i < j outside of it."""
        place = {face: i for i, face in enumerate(self.faces)}
        found = []
        for face in self.faces:
            for i, j in combinations([i for i in range(self.dimension) if i not in face], 2):
                found.append((place[face], place[tuple(sorted((*face, i, j)))], i, j))
        return tuple(np.array(found, dtype=np.intp).reshape(-1, 4).T)

    @cached_property
    def _roots(self) -> Array:
        """Where a principal minor vanishes: they are products of 1 + tλ over the eigenvalues λ of R_JJ - I."""
        found = [np.zeros(0)]
        for face in self.faces[1:]:
            values = np.linalg.eigvalsh(self.correlation[np.ix_(face, face)] - np.eye(len(face)))
            found.append(-1 / values[np.abs(values) > _EPS])
        return np.concatenate(found)

    def distance(self, tracks: Array, at: Array) -> Array:
        """How far the nearest zero of a principal minor is."""
        at = np.asarray(at)
        return np.asarray(np.min(np.abs(at[..., None] - self._roots), axis=-1, initial=np.inf))

    def equation_at(self, tracks: Array, at: Array, order: int) -> SeriesEquation:
        """The equation as series in t - ``at``: D = 1 and N the coefficients of d arcsin ρ_(ij|J)."""
        top = np.zeros((len(tracks), order + 1, self.rank, self.rank))
        change = self.correlation - np.eye(self.dimension)
        for number, t in enumerate(at):
            line = np.zeros((self.dimension, self.dimension, order + 2))
            line[:, :, 0], line[:, :, 1] = np.eye(self.dimension) + t * change, change
            given = self._conditionals(line)
            rows, columns, i, j = self._edges
            speed = _arcsine_speed(given[rows, i, i], given[rows, i, j], given[rows, j, j])
            top[number][:, rows, columns] = speed.T / (2 * np.pi)
        bottom = np.zeros((len(tracks), order + 1))
        bottom[:, 0] = 1.0
        return SeriesEquation(bottom, top, None)

    def _conditionals(self, line: Array) -> Array:
        """The covariance given that the coordinates of a face vanish, for every face: (faces, d, d, order + 2)."""
        order = line.shape[-1] - 1
        known: dict[tuple[int, ...], Array] = {(): line}
        for face in self.faces[1:]:
            given = known[face[:-2]]
            for i in face[-2:]:
                scaled = multiply_series(given[i], power_of_series(given[i, i], -1.0), order)
                given = given - multiply_series(given[i][:, None], scaled[None], order)
            known[face] = given
        return np.stack([known[face] for face in self.faces])


def _arcsine_speed(variance: Array, covariance: Array, other: Array) -> Array:
    """The derivative of arcsin of a correlation, as a series one shorter than those of the covariances."""
    order = variance.shape[-1] - 2
    # ρ'/√(1-ρ²) = (c' - c (a'/a + b'/b)/2)/√(ab - c²)
    slopes = [part[..., 1:] * np.arange(1, order + 2) for part in (variance, covariance, other)]
    a, c, b = (part[..., :-1] for part in (variance, covariance, other))
    relative = multiply_series(slopes[0], power_of_series(a, -1.0), order)
    relative = relative + multiply_series(slopes[2], power_of_series(b, -1.0), order)
    top = slopes[1] - multiply_series(c, relative, order) / 2
    det = multiply_series(a, b, order) - multiply_series(c, c, order)
    return multiply_series(top, power_of_series(det, -0.5), order)


def _correlation(covariance: ArrayLike) -> Array:
    try:
        matrix = np.asarray(covariance, dtype=float)
    except (TypeError, ValueError):
        raise BadInput("expected a covariance matrix of real numbers") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not 1 <= len(matrix) <= MOST:
        raise BadInput(f"expected a square covariance matrix of size 1 to {MOST}, got shape {matrix.shape}")
    if not np.all(np.isfinite(matrix)):
        raise BadInput("the covariance matrix has entries that are NaN or infinite; pass finite numbers")
    if not np.allclose(matrix, matrix.T, rtol=1e-12, atol=1e-12 * float(np.max(np.abs(matrix)))):
        raise BadInput("the covariance matrix is not symmetric; pass (S + S.T)/2 if that is meant")
    diagonal = np.diag(matrix)
    if not (np.all(diagonal > 0) and float(np.min(np.linalg.eigvalsh(matrix))) > 0):
        raise BadInput("the covariance matrix is not positive definite; drop dependent coordinates")
    scale = np.sqrt(diagonal)
    correlation = matrix / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray((correlation + correlation.T) / 2)
