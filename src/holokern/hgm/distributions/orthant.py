"""Orthant probabilities of zero-mean normal vectors by the HGM, in any small dimension.

For a covariance matrix Σ and a set J of coordinates let P_J be the probability that the coordinates outside J are all
positive, given that those in J vanish.  Coordinates are taken away in pairs: with partial correlations ρ_(ij|J)

    dP_J = (1/2π) Σ_(i<j outside J) P_(J∪{i,j}) d arcsin ρ_(ij|J),

the recursion over the faces of the orthant [KoyamaTakemura2013].  The vector of all P_J with |J| even satisfies a
Pfaffian system of rank 2^(d-1).  The Taylor steps that serve dual activations solve it along the straight line from the
identity to the correlation matrix.

In balls let Q_J be (2π)^(-|J|/2) p_J^(-1/2) P_J, p_J the principal minors of (1 - t) I + t R.  Then no root is left:

    Q_J' = -½ (p_J'/p_J) Q_J + Σ_(i<j) (n' - ½ n (p_(J∪i)'/p_(J∪i) + p_(J∪j)'/p_(J∪j))) / p_J · Q_(J∪{i,j}),

where n is the minor with the rows J ∪ i and the columns J ∪ j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from flint import arb, arb_poly
from numpy.typing import ArrayLike, NDArray

from holokern.errors import BadInput, PrecisionLost
from holokern.hgm.distributions.covariance import covariance_matrices
from holokern.hgm.lines.ball_lines import precisely
from holokern.hgm.lines.initial import as_ball
from holokern.hgm.steps.balls import carry_balls
from holokern.hgm.steps.fixed_point import BallRow
from holokern.hgm.steps.series import Array, SeriesEquation, multiply_series, nearest_root, power_of_series
from holokern.hgm.steps.stepper import transport
from holokern.numeric import EPS

MOST = 8
"""The largest dimension; the rank doubles with each one."""


@dataclass(frozen=True)
class OrthantProbability:
    """The probability that all coordinates are positive; arrays for many covariance matrices.

    Attributes
    ----------
    value : float, array or arb
    error : float or array
        An estimate of the absolute error; the radius of a ball.
    gradient : array, (…, d, d), optional
        The derivatives in the correlations ρ_ij = ρ_ji; zero on the diagonal.  Floats only.
    """

    value: float | Array | arb
    error: float | Array
    gradient: Array | None = None


def orthant(covariance: ArrayLike | Sequence[object], *, balls: bool = False, digits: int = 30) -> OrthantProbability:
    """P(x_1 > 0, …, x_d > 0) for x ~ N(0, covariance), 1 ≤ d ≤ 8.

    Parameters
    ----------
    covariance : array_like, (…, d, d)
        Symmetric and positive definite; many matrices are computed together.
    balls : bool
        Whether to prove the probability.  Then there is one matrix, whose entries may be floats (with their exact
        binary values), integers, fractions, texts such as "1/3", or balls.
    digits : int
        The least number of digits of a ball.

    Raises
    ------
    BadInput
        If the matrix is not square, symmetric, finite and positive definite, or too large.

    Examples
    --------
    >>> round(orthant([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]]).value, 12)
    0.25
    >>> orthant([[2, 1], [1, 2]], balls=True).value.overlaps(arb(1) / 3)
    True
    """
    if balls:
        ball = orthant_ball(covariance, digits)
        return OrthantProbability(ball, float(ball.rad()))
    correlation = _correlation(covariance)
    d = correlation.shape[-1]
    path = OrthantPath(correlation.reshape(-1, d, d))
    tracks = np.arange(len(path.correlation))
    start = np.array([0.5 ** (d - len(face)) for face in path.faces])
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(path.rank, 3))
    state = np.concatenate([start[:, None], EPS * start[:, None] * signs], axis=1)
    states = np.repeat(state[None], len(tracks), axis=0)
    arrival = transport(path, np.zeros(len(tracks)), states, tracks, np.ones(len(tracks)), every_entry=True)
    value, tail = arrival.value[:, 0], arrival.tail[:, 0]
    if not np.all(np.isfinite(tail)):
        raise PrecisionLost("a correlation matrix is too close to a singular one for its orthant probability")
    spread = np.sqrt(np.mean(value[:, 1:] ** 2, axis=1))
    i, j = np.triu_indices(d, 1)
    sines = np.sqrt(1 - path.correlation[:, i, j] ** 2)
    # correlations are rounded, and a probability moves by dρ/(2π√(1-ρ²)) with each
    moved = np.sum(EPS / sines, axis=1) / (2 * np.pi)
    error = 5 * spread + 6 * tail + moved + 2 * EPS * value[:, 0]
    gradient = np.zeros_like(path.correlation)
    pairs = [place for place, face in enumerate(path.faces) if len(face) == 2]
    gradient[:, i, j] = gradient[:, j, i] = arrival.value[:, pairs, 0] / (2 * np.pi * sines)
    shape = correlation.shape[:-2]
    if not shape:
        return OrthantProbability(float(value[0, 0]), float(error[0]), gradient[0])
    return OrthantProbability(value[:, 0].reshape(shape), error.reshape(shape), gradient.reshape(correlation.shape))


@dataclass(frozen=True)
class OrthantPath:
    """The Pfaffian system of orthant probabilities along (1 - t) I + t R, as a path for the Taylor stepper."""

    correlation: Array  # (tracks, d, d): R, one a track

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return int(self.correlation.shape[-1])

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
        found = [np.full((len(self.correlation), 1), np.inf)]
        for face in self.faces[1:]:
            parts = self.correlation[:, face][:, :, face]
            values = np.linalg.eigvalsh(parts - np.eye(len(face)))
            with np.errstate(divide="ignore"):
                found.append(np.where(np.abs(values) > EPS, -1 / values, np.inf))
        return np.concatenate(found, axis=1)

    def distance(self, tracks: Array, at: Array) -> Array:
        """How far the nearest zero of a principal minor is."""
        return nearest_root(np.asarray(at), self._roots[tracks])

    def equation_at(self, tracks: Array, at: Array, order: int) -> SeriesEquation:
        """The equation as series in t - ``at``: D = 1 and N the coefficients of d arcsin ρ_(ij|J)."""
        d = self.dimension
        change = self.correlation[tracks] - np.eye(d)
        line = np.zeros((len(tracks), d, d, order + 2))
        line[..., 0], line[..., 1] = np.eye(d) + at[:, None, None] * change, change
        given = self._conditionals(line)
        rows, columns, i, j = self._edges
        speed = _arcsine_speed(given[:, rows, i, i], given[:, rows, i, j], given[:, rows, j, j])
        top = np.zeros((len(tracks), order + 1, self.rank, self.rank))
        top[:, :, rows, columns] = np.moveaxis(speed, 2, 1) / (2 * np.pi)
        bottom = np.zeros((len(tracks), order + 1))
        bottom[:, 0] = 1.0
        return SeriesEquation(bottom, top, None)

    def _conditionals(self, line: Array) -> Array:
        """The covariance given that the coordinates of a face vanish: (tracks, faces, d, d, terms).

        Faces that leave fewer than two coordinates have no edges and are left out; they are the last ones.
        """
        order = line.shape[-1] - 1
        known: dict[tuple[int, ...], Array] = {(): line}
        needed = [face for face in self.faces if len(face) <= self.dimension - 2] or [()]
        for face in needed[1:]:
            given = known[face[:-2]]
            for i in face[-2:]:
                row = given[:, i]
                scaled = multiply_series(row, power_of_series(given[:, i, i], -1.0)[:, None], order)
                given = given - multiply_series(row[:, :, None], scaled[:, None], order)
            known[face] = given
        return np.stack([known[face] for face in needed], axis=1)


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


def _correlation(covariance: object) -> Array:
    matrix = covariance_matrices(covariance, MOST)
    scale = np.sqrt(np.einsum("...ii->...i", matrix))
    correlation = matrix / (scale[..., :, None] * scale[..., None, :])
    correlation = (correlation + np.swapaxes(correlation, -1, -2)) / 2
    i = np.arange(matrix.shape[-1])
    correlation[..., i, i] = 1.0
    return np.asarray(correlation)


Face = tuple[int, ...]


def orthant_ball(covariance: object, digits: int) -> arb:
    """A ball that contains P(x_1 > 0, …, x_d > 0) for x ~ N(0, covariance)."""
    rows = [list(row) for row in covariance] if isinstance(covariance, (Sequence, np.ndarray)) else []
    if not 1 <= len(rows) <= MOST or any(len(row) != len(rows) for row in rows):
        raise BadInput(f"expected one square covariance matrix of size 1 to {MOST} for a ball")
    balls = [[as_ball(entry) for entry in row] for row in rows]
    if any(not isinstance(a, arb) for row in balls for a in row):
        raise BadInput("expected a covariance matrix of real numbers")
    if any(not balls[i][j].overlaps(balls[j][i]) for i in range(len(balls)) for j in range(i)):
        raise BadInput("the covariance matrix is not symmetric; pass (S + S.T)/2 if that is meant")
    covariance_matrices([[float(a) for a in row] for row in balls], MOST)
    # fractions are read anew at every precision
    ball: arb = precisely(lambda: [_Minors([[as_ball(a) for a in row] for row in rows]).probability()], digits)[0]
    return ball


class _Minors:
    """The minors along the line as polynomials, each computed once."""

    def __init__(self, covariance: list[list[arb]]) -> None:
        self.d = len(covariance)
        scale = [covariance[i][i].sqrt() for i in range(self.d)]
        # the diagonal is 1 for every t, the rest grows with t
        self.line = [
            [
                arb_poly([1]) if i == j else arb_poly([0, covariance[i][j] / (scale[i] * scale[j])])
                for j in range(self.d)
            ]
            for i in range(self.d)
        ]
        self.known: dict[tuple[Face, Face], arb_poly] = {((), ()): arb_poly([1])}
        everything = range(self.d)
        self.faces = [face for size in range(0, self.d + 1, 2) for face in combinations(everything, size)]

    def probability(self) -> arb:
        """Q_∅ at t = 1."""
        start = [(2 * arb.pi()) ** (-(len(J) // 2)) * arb(2) ** (len(J) - self.d) for J in self.faces]
        (values,) = carry_balls([self._row(J) for J in self.faces], [start])
        probability: arb = values[0]
        return probability

    def _row(self, J: Face) -> BallRow:
        place = {face: k for k, face in enumerate(self.faces)}
        outside = [i for i in range(self.d) if i not in J]
        own = self._minor(J, J)
        larger = {i: self._minor(_with(J, i), _with(J, i)) for i in outside}
        whole = prod(larger.values(), start=arb_poly([1]))
        without = {i: prod((f for j, f in larger.items() if j != i), start=arb_poly([1])) for i in larger}
        entries = {place[J]: own.derivative() * whole * (arb(-1) / 2)} if J else {}
        for i, j in combinations(outside, 2):
            n = self._signed(J, i, j)
            slope = larger[i].derivative() * without[i] + larger[j].derivative() * without[j]
            entries[place[_with(_with(J, i), j)]] = n.derivative() * whole - n * slope * (arb(1) / 2)
        return BallRow(own * whole, entries)

    def _signed(self, J: Face, i: int, j: int) -> arb_poly:
        """The numerator of the covariance of i and j given J: the determinant with rows (J, i) and columns (J, j)."""
        rows, columns = _with(J, i), _with(J, j)
        # moving i and j from the end to their sorted places
        sign = (-1) ** (len(J) - rows.index(i) + len(J) - columns.index(j))
        minor: arb_poly = self._minor(rows, columns) * sign
        return minor

    def _minor(self, rows: Face, columns: Face) -> arb_poly:
        """A determinant by expansion along its first row."""
        if (rows, columns) not in self.known:
            total = arb_poly([])
            for k, column in enumerate(columns):
                inner = self._minor(rows[1:], columns[:k] + columns[k + 1 :])
                total = total + self.line[rows[0]][column] * inner * (-1) ** k
            self.known[rows, columns] = total
        return self.known[rows, columns]


def _with(J: Face, i: int) -> Face:
    return tuple(sorted((*J, i)))
